"""Whether what a cell uses is flat: the last quarter of a run beside the quarter before it.

The record of what was done (journal, ended operations, the keys of requests) grows with what is done, until it is
archived. It has to grow by the same for every operation, first and last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.soak.samples import Sample

RECORD = ("journal", "ended_operations", "idempotency_keys", "operation_members")

MB = 1024.0 * 1024.0

ROOM = {"memory": (0.03, 2 * MB), "stored": (0.03, MB), "table": (0.03, MB / 2), "indexes": (0.03, MB / 2)}
"""By how much, of its size and beside that, the last quarter may be above the one before."""

FEW = 3.0
"""Connections and files that may come beside."""

ALIKE = 1.15
"""How much more an operation of the last half may leave in the record than one of the first."""

LEAST = 12
"""Looks without which nothing can be said."""


@dataclass(frozen=True)
class Trend:
    """How one thing went."""

    name: str
    before: float
    last: float
    allowed: float

    @property
    def flat(self) -> bool:
        return self.last <= self.allowed

    def __str__(self) -> str:
        word = "flat" if self.flat else "GROWS"
        return f"{word:<6} {self.name:<34} {shown(self.name, self.before):>12} -> {shown(self.name, self.last)}"


def trends(samples: Sequence[Sample]) -> list[Trend]:
    """All that was looked at, by name."""
    if len(samples) < LEAST:
        raise ValueError(f"{len(samples)} looks are too few; there have to be {LEAST}")
    names = sorted(samples[-1].keys() - {"seconds", "operations", "ms p50", "ms p99"})
    plain = [_trend(name, samples) for name in names if not of_record(name)]
    return [*plain, _record(samples)]


def of_record(name: str) -> bool:
    """Whether it is a part of the record of what was done."""
    return name.partition(" ")[2] in RECORD


def record(sample: Sample) -> float:
    """Bytes of the record."""
    return sum(value for name, value in sample.items() if of_record(name))


def shown(name: str, value: float) -> str:
    """A value as anybody reads it."""
    if name == "record per operation":
        return f"{value:,.0f} bytes"
    return f"{value / MB:,.2f} MB" if name.split(maxsplit=1)[0] in ROOM else f"{value:,.0f}"


def _trend(name: str, samples: Sequence[Sample]) -> Trend:
    values = [sample.get(name, 0.0) for sample in samples]
    quarter = len(values) // 4
    before, last = median(values[-2 * quarter : -quarter]), median(values[-quarter:])
    if (sort := name.split(maxsplit=1)[0]) in ROOM:
        part, beside = ROOM[sort]
        return Trend(name, before, last, before * (1 + part) + beside)
    return Trend(name, before, last, before + FEW if name != "under way" else max(2 * before, before + 50))


def _record(samples: Sequence[Sample]) -> Trend:
    middle = samples[len(samples) // 2]
    first, last = (
        (record(b) - record(a)) / max(1.0, b["operations"] - a["operations"])
        for a, b in ((samples[0], middle), (middle, samples[-1]))
    )
    return Trend("record per operation", first, last, first * ALIKE)
