"""Bad requests to a server that runs: each has an answer that is no fault, and memory stays as it was."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from tests.fuzz.asking import Asking, send
from tests.fuzz.ground import Ground
from tests.fuzz.memory import Memory
from tests.fuzz.result import Result
from tests.fuzz.samples import made, own
from tests.fuzz.spoil import Spoiler

AT_ONCE = 16
LOAD = (b'"busy"', b'"too-many-streams"', b'"agent-unavailable"')
"""The codes of a 503 that are no fault: there is too much at once, or nobody serves the place that is asked about."""


def bad_requests(
    ground: Ground, count: int, seed: int, examples: int = 0, say: Callable[[str], None] = lambda _: None
) -> Result:
    """So many; with `examples`, so many for each endpoint are schemathesis's, sent as they are and spoiled."""
    samples = [own(ground.known)]
    if examples:
        samples.append(made(examples, seed))
        say(f"  {sum(map(len, samples))} requests to make bad ones of")
    tokens = [*ground.tokens, *ground.tokens[2:3] * 5]  # most are an admin's: others are sent away early
    asking = Asking(Spoiler(f"requests {seed}"), samples, tokens)
    answers: Counter[str] = Counter()
    failures: list[str] = []
    memory = Memory(ground.pids)
    began = time.monotonic()
    done = 0

    async def ask() -> None:
        nonlocal done
        while done < count:
            done += 1
            sent = asking.next()
            try:
                status, body = await send(ground.server.port, sent)
            except OSError as error:
                failures.append(f"{sent.about}: {error!r}")
                continue
            answers[status] += 1
            if status >= "500" and status.isdigit() and not (status == "503" and any(code in body for code in LOAD)):
                failures.append(f"{status} to {sent.about}: {body[:500]!r}, {ground.told(body)}")
            elif status == "silence" or (sent.whole and status == "none"):
                failures.append(f"no answer to {sent.about}")
            if memory.at(done, count):
                say(f"  {done} requests, {memory.line}")

    async def all_of_them() -> None:
        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))

    asyncio.run(all_of_them())
    seconds = time.monotonic() - began
    failures += ground.complaints() + ground.ordinary()
    return Result("requests", count, seed, dict(answers), failures, memory.samples, seconds)
