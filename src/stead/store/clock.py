"""The clock of the database, as this process knows it: the one clock by which a cell decides.

Controllers and servers run on machines whose clocks may be wrong. Each reads the database's clock with every new
connection and once a second, and counts from there by its monotonic clock, which is never set.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


def _since_boot() -> float:
    """Seconds by a clock that is never set and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class DatabaseClock:
    """Unix time, in seconds, by the database. Before the first reading it is the time of this machine."""

    def __init__(self, steady: Callable[[], float] = _since_boot) -> None:
        self.steady = steady
        self._ahead: float | None = None
        """By how much the database's clock is ahead of the steady one."""

    def __call__(self) -> float:
        """The time now."""
        return time.time() if self._ahead is None else self.steady() + self._ahead

    def now(self) -> datetime:
        """The time now, as a date."""
        return datetime.fromtimestamp(self(), UTC)

    def read(self, asked: float, there: float, answered: float) -> None:
        """The database has said its time, between two times of the steady clock.

        What is known stays where the answer allows it, however long that was on its way; otherwise it is corrected
        by no more than the answer proves.
        """
        least, most = there - answered, there - asked
        if self._ahead is None:
            self._ahead = (least + most) / 2
        self._ahead = min(max(self._ahead, least), most)

    @property
    def offset(self) -> float:
        """Seconds by which the clock of this machine is ahead of the database's."""
        return time.time() - self()
