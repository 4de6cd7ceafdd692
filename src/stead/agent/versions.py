"""The versions of an agent on a machine: `VERSION/bin/stead` in one folder, and `current` for the one in use."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

CURRENT = "current"

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")

POLL_INTERVAL = 0.05
"""Seconds before another try for the turn."""


class UnknownVersion(Exception):
    """There is no program of that version."""


class InstalledVersions:
    """A folder of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def program(self, version: str) -> Path:
        """The program of a version."""
        program = self.folder / version / "bin" / "stead"
        if not _VERSION.fullmatch(version) or version == CURRENT or not os.access(program, os.X_OK):
            there = ", ".join(sorted(p.parts[-3] for p in self.folder.glob("*/bin/stead") if p.parts[-3] != CURRENT))
            raise UnknownVersion(f"there is no version {version!r} on this machine; there are {there or 'none'}")
        return program

    def choose(self, version: str) -> None:
        """From now on this is the one that is started."""
        if (self.folder / version).is_dir():
            new = self.folder / f".{CURRENT}.{os.getpid()}"
            new.unlink(missing_ok=True)
            new.symlink_to(version)
            new.replace(self.folder / CURRENT)

    @asynccontextmanager
    async def turn(self, patience: float) -> AsyncIterator[bool]:
        """Whether it is one's turn to end the other of two agents; whoever dies with it has it no longer."""
        with (self.folder / ".turn").open("w") as file:
            until = asyncio.get_running_loop().time() + patience
            while not (has := _try_lock(file.fileno())) and asyncio.get_running_loop().time() < until:
                await asyncio.sleep(POLL_INTERVAL)
            yield has


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
