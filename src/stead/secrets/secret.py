"""A value that shows itself to whoever asks for it by name, and to nobody else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from stead.secrets.scrubbing import HIDDEN, KNOWN
from stead.secrets.sources import Source, UnreadableSecret

log = logging.getLogger(__name__)

RELOAD_INTERVAL = 5.0
"""Seconds between two readings at the least, however often a provider says that a secret is wrong."""


class Secret:
    """One secret. In a text, a log, a traceback's values or JSON there is nothing of it."""

    __slots__ = ("_again", "_clock", "_lock", "_read_at", "_source", "_value")

    def __init__(
        self, source: Source | None, *, again: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source
        self._value: str | None = None
        self._read_at = 0.0
        self._again = RELOAD_INTERVAL if again is None else again
        self._clock = clock
        self._lock = threading.Lock()

    def reveal(self) -> str:
        """The secret itself, read when it is first asked for. May block for as long as its source does."""
        with self._lock:
            return self._read() if self._value is None else self._value

    def doubt(self, used: str) -> bool:
        """A provider did not take what was used: is it another one by now? To be called in a thread that may wait.

        Whoever keeps the secret may have changed it, so it is read anew, unless that was done a moment ago."""
        with self._lock:
            if self._source is None or self._value != used:
                return self._source is not None
            if self._clock() - self._read_at < self._again:
                return False
            try:
                return self._read() != used
            except UnreadableSecret as error:
                log.warning("a secret could not be read anew: %s", error)
                self._read_at = self._clock()
                return False

    def _read(self) -> str:
        if self._source is None:
            raise UnreadableSecret("there is no secret")
        value = self._source()
        KNOWN.remember(value)
        self._value, self._read_at = value, self._clock()
        return value

    def __bool__(self) -> bool:
        """Whether there is one."""
        return self._source is not None

    def __repr__(self) -> str:
        """Nothing of it."""
        return f"Secret({HIDDEN if self else ''})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Nothing of it, however wide."""
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """It cannot be pickled."""
        raise TypeError("a secret is not to be written anywhere")

    def __copy__(self) -> Secret:
        """The same one."""
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        """The same one."""
        return self


NO_SECRET = Secret(None)
"""Where none is given."""
