"""Notices that this process was stopped for a while, or the machine asleep.

What it finds in its ears then was said long ago. One look at the clock every now and then is enough for all that
run in one event loop.
"""

from __future__ import annotations

import asyncio
import math
from weakref import WeakKeyDictionary

TICK = 0.5
SUSPENDED = 2.0
"""Seconds of silence in this process after which it has been stopped."""
RESUME_GRACE = 1.0
"""Seconds after waking in which questions are taken for old ones: whoever asked has given up, or asks again."""


class SuspendDetector:
    """Looks at the clock while anybody wants to know."""

    def __init__(self) -> None:
        self._last = self._woke = -math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._users = 0

    def begin(self) -> None:
        """Somebody wants to know."""
        self._users += 1
        if self._users == 1:
            self._last = asyncio.get_running_loop().time()
            self._tick()

    def end(self) -> None:
        """And no longer."""
        self._users -= 1
        if not self._users and self._timer is not None:
            self._timer.cancel()

    @property
    def resuming(self) -> bool:
        """Whether it sleeps, or has just woken up."""
        now = asyncio.get_running_loop().time()
        return now - self._last > SUSPENDED or now - self._woke < RESUME_GRACE

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - self._last > SUSPENDED:
            self._woke = loop.time()
        self._last = loop.time()
        self._timer = loop.call_later(TICK, self._tick)


_all: WeakKeyDictionary[asyncio.AbstractEventLoop, SuspendDetector] = WeakKeyDictionary()


def suspend_detector() -> SuspendDetector:
    """The one of the event loop that runs."""
    return _all.setdefault(asyncio.get_running_loop(), SuspendDetector())
