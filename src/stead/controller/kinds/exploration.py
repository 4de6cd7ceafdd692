"""Explores a lifecycle in a process of its own, so that whoever serves requests goes on serving them.

A search keeps a processor busy for seconds and may be large; the process is polite, takes nothing but the document,
and is killed when its time is over or when nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import asdict

import msgspec

from stead.lifecycle.document import load
from stead.lifecycle.explore import Bounds, explore

BOUNDS = Bounds()
"""The same that built-in kinds are explored in."""
MAX_STATES = 250_000
"""Worlds that are looked at; the built-in kinds of most people's liking have less."""
TIMEOUT_SECONDS = 240.0
"""Seconds for all of it."""
NICENESS = 10
"""By how much others go first."""


class ExplorationResult(msgspec.Struct, frozen=True):
    """What a search found."""

    worlds: int
    steps: int
    complete: bool
    """All there is within the bounds was seen, and all of it was as it must be."""
    bounds: dict[str, int]
    story: str = ""
    """The shortest way to something that must not be."""


class TooLarge(Exception):
    """It was not done in time."""


async def explored(document: str, patience: float = TIMEOUT_SECONDS) -> ExplorationResult:
    """Explore what a document says. Raises `TooLarge`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(patience):
            said, _ = await process.communicate(document.encode())
    except TimeoutError:
        raise TooLarge(f"exploring it took longer than {patience:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the explorer ended with {process.returncode}")
    return msgspec.json.decode(said, type=ExplorationResult)


def search(document: str) -> ExplorationResult:
    """Explore it here and now."""
    found = explore(load(document), BOUNDS, most=MAX_STATES)
    story = found.violation.story() if found.violation is not None else ""
    return ExplorationResult(found.visited, found.steps, found.complete, asdict(BOUNDS), story)


if __name__ == "__main__":
    os.nice(NICENESS)
    sys.stdout.buffer.write(msgspec.json.encode(search(sys.stdin.read())))
