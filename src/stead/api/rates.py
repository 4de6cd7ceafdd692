"""How often somebody may ask: a bucket for each caller and for each namespace, of which a request takes one token.

A bucket is one number, the time at which it is full again, so a request costs the same however many came before. One
that is full again is as good as none and is forgotten; so is the oldest, where there are too many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

MOMENT = 1e-6
"""Seconds that nobody is told to wait for."""

MOST = 10_000
"""Buckets of a sort."""


@dataclass(frozen=True)
class RateLimits:
    """Requests a second; 0 for as many as come."""

    changes: float = 200.0
    """Changes, for each caller."""
    reads: float = 500.0
    """Reads, for each caller."""
    namespace_changes: float = 1000.0
    """Changes in a namespace, whoever asks for them."""
    namespace_reads: float = 2500.0
    """Reads in a namespace, whoever asks for them."""
    unknown: float = 50.0
    """Of each address, those that show something that turns out to be nobody's."""
    burst: float = 2.0
    """Seconds for which somebody who was quiet may ask as fast as they can."""


UNLIMITED = RateLimits(0, 0, 0, 0, 0)


def said(words: Mapping[str, float]) -> RateLimits:
    """The usual rates, but for those that are named. Raises `ValueError` where there is no such one."""
    names = {field.name.replace("_", "-"): field.name for field in fields(RateLimits)}
    for word, number in words.items():
        if word not in names:
            raise ValueError(f"there is no rate {word}; there are {', '.join(names)}")
        if not 0 <= number < 1e9:
            raise ValueError(f"{word} is a number of requests a second, or 0 for no limit")
    return RateLimits(**{names[word]: number for word, number in words.items()})


class TokenBuckets:
    """Buckets of one sort, by name."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = 1 / rate if rate else 0.0
        self._room = max(burst * rate, 1.0) * self._each
        self._clock = clock
        self._full: dict[str, float] = {}
        """When each will be full again."""
        self._swept = 0.0

    def __len__(self) -> int:
        return len(self._full)

    def wait(self, name: str) -> float:
        """Seconds until there is a token; 0 where there is one. It is not taken."""
        if not self._each:
            return 0.0
        full = self._full.get(name)
        wait = 0.0 if full is None else full + self._each - self._clock() - self._room
        return wait if wait > MOMENT else 0.0

    def take(self, name: str) -> None:
        """Take a token, of which there is one."""
        if not self._each:
            return
        now = self._clock()
        full = self._full.pop(name, now)
        if len(self._full) >= MOST:
            self._forget(now)
        self._full[name] = max(full, now) + self._each

    def _forget(self, now: float) -> None:
        """Those that are full again, at most once in a while; and the one that was not used for longest."""
        if now - self._swept > self._room:
            self._swept = now
            self._full = {name: full for name, full in self._full.items() if full > now}
        while len(self._full) >= MOST:
            del self._full[next(iter(self._full))]
