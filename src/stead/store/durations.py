"""Durations of transitions, learned from the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import asyncpg

from stead.lifecycle.durations import BOUNDS, MEDIAN, NEARLY_ALL, Histogram
from stead.store.statements import StorePart


class DurationKey(NamedTuple):
    """Of what it is known how long it takes; without a lane, on all of them."""

    kind: str
    action: str
    state: str
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a transition that succeeds takes."""

    samples: float
    """From so many."""
    typical: float
    """Seconds within which half of them were over."""
    p99: float
    """Seconds within which 99 of 100 were."""


class Durations(StorePart):
    """Durations of transitions."""

    async def learn(self, most: int, well: Sequence[tuple[str, str, str, str]]) -> int:
        """Learn from the lines of the journal since the last time; how many lines that were.

        `well` are the moves that count: kind, action, the state that is left, and the target.
        """
        moves = [list(column) for column in zip(*well, strict=True)] or [[], [], [], []]
        async with self._sql.transaction() as sql:
            read = 0
            fresh: defaultdict[DurationKey, dict[int, int]] = defaultdict(dict)
            for row in await sql.fetch("collect_durations", most, *moves, list(BOUNDS)):
                read = row["read"]
                if row["moves"]:
                    key = DurationKey(row["kind"], row["action"], row["state"], row["lane"])
                    fresh[key][row["span"]] = row["moves"]
            if fresh:
                known = {
                    _key(row): Histogram({int(span): moves for span, moves in row["counts"].items()})
                    for row in await sql.fetch("read_durations", *_columns(fresh))
                }
                written = [_written(key, known.get(key, Histogram()).plus(more)) for key, more in fresh.items()]
                await sql.execute("put_durations", written)
        return read

    async def read(self, keys: Iterable[DurationKey]) -> dict[DurationKey, Duration]:
        """The durations that are known of some transitions."""
        asked = set(keys)
        rows = await self._sql.fetch("read_durations", *_columns(asked)) if asked else []
        return {_key(row): Duration(row["samples"], row["typical"], row["p99"]) for row in rows}

    async def remove_unused(self, unheard: float) -> int:
        """Delete durations without a new sample for so many seconds; how many."""
        return len(await self._sql.fetch("delete_unused_durations", unheard))


def _key(row: asyncpg.Record) -> DurationKey:
    return DurationKey(row["kind"], row["action"], row["state"], row["lane"])


def _columns(keys: Iterable[DurationKey]) -> list[list[str]]:
    return [list(column) for column in zip(*keys, strict=True)]


def _written(key: DurationKey, known: Histogram) -> dict[str, Any]:
    counts = {str(span): moves for span, moves in sorted(known.counts.items())}
    figures = {"samples": known.moves, "typical": known.within(MEDIAN), "p99": known.within(NEARLY_ALL)}
    return {**key._asdict(), "counts": counts, **figures}
