"""Statements about how long moves take, and about what takes longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from stead.lifecycle.durations import BOUNDS, ENOUGH, ENOUGH_ON_LANE, MEDIAN, NEARLY_ALL, Histogram
from stead.store.statements import Statements


class DurationKey(NamedTuple):
    """Of what it is known how long it takes; without a lane, on all of them."""

    kind: str
    action: str
    state: str
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a move takes that goes well."""

    moves: float
    """From so many."""
    usual: float
    """Seconds within which half of them were over."""
    p99: float
    """Seconds within which 99 of 100 were."""


class Durations(Statements):
    """Durations, learned from the journal."""

    async def learn_durations(self, most: int, well: Sequence[tuple[str, str, str, str]]) -> int:
        """Learn from the last of what the journal has and nobody has read; how many lines that were.

        `well` are the moves that count: kind, action, the state that is left, and the target.
        """
        moves = [list(column) for column in zip(*well, strict=True)] or [[], [], [], []]
        async with self._pool.acquire() as connection, connection.transaction():
            read = 0
            fresh: defaultdict[DurationKey, dict[int, int]] = defaultdict(dict)
            for row in await connection.fetch(self._text("learn_durations"), most, *moves, list(BOUNDS)):
                read = row["read"]
                if row["moves"]:
                    key = DurationKey(row["kind"], row["action"], row["state"], row["lane"])
                    fresh[key][row["span"]] = row["moves"]
            if fresh:
                known = {
                    _key(row): Histogram({int(span): moves for span, moves in row["counts"].items()})
                    for row in await connection.fetch(self._text("read_durations"), *_columns(fresh))
                }
                written = [_written(key, known.get(key, Histogram()).plus(more)) for key, more in fresh.items()]
                await connection.execute(self._text("write_durations"), written)
        return read

    async def durations(self, keys: Iterable[DurationKey]) -> dict[DurationKey, Duration]:
        """What is known of how long some moves take."""
        asked = set(keys)
        rows = await self.fetch("read_durations", *_columns(asked)) if asked else []
        return {_key(row): Duration(row["moves"], row["usual"], row["p99"]) for row in rows}

    async def stuck(
        self,
        below: str,
        after: tuple[datetime, int],
        limit: int,
        declared: Sequence[tuple[str, str, float]],
        grace: float,
        away: float,
    ) -> list[Mapping[str, Any]]:
        """What is under way for longer than it usually takes or may, is being looked at, has timers that nobody
        fires, or waits for an agent that was not heard of in `away` seconds: its path, since when it is where it is,
        and its number."""
        columns = [list(column) for column in zip(*declared, strict=True)] or [[], [], []]
        values = limit, below, *after, *columns, float(ENOUGH), float(ENOUGH_ON_LANE), grace, away
        return [dict(r) for r in await self.fetch("list_stuck", *values)]

    async def last_failures(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, why the last that was done to each did not do what was asked; the others are left out."""
        found = await self.fetch("last_failures", list(paths)) if paths else ()
        return {r["path"]: r["failure"] for r in found}

    async def healed(
        self, below: str, since: datetime, before: tuple[datetime, int], limit: int
    ) -> list[Mapping[str, Any]]:
        """What was settled since a time though nobody had reported, the latest first."""
        return [dict(r) for r in await self.fetch("list_healed", limit, below, since, *before)]

    async def last_lines(
        self, asked: Sequence[tuple[str, str, datetime]], limit: int
    ) -> dict[str, list[Mapping[str, Any]]]:
        """By path, the last lines of the journal about it and an operation, from a time on."""
        found: dict[str, list[Mapping[str, Any]]] = {path: [] for path, _, _ in asked}
        if asked:
            paths, operations, since = ([each[i] for each in asked] for i in range(3))
            for row in await self.fetch("last_lines", paths, operations, since, limit):
                found[row["path"]].append(dict(row))
        return found

    async def forget_durations(self, unheard: float) -> int:
        """Forget what nobody has learned anything about for so many seconds; how much that was."""
        return len(await self.fetch("forget_durations", unheard))


def _key(row: asyncpg.Record) -> DurationKey:
    return DurationKey(row["kind"], row["action"], row["state"], row["lane"])


def _columns(keys: Iterable[DurationKey]) -> list[list[str]]:
    return [list(column) for column in zip(*keys, strict=True)]


def _written(key: DurationKey, known: Histogram) -> dict[str, Any]:
    counts = {str(span): moves for span, moves in sorted(known.counts.items())}
    figures = {"moves": known.moves, "usual": known.within(MEDIAN), "p99": known.within(NEARLY_ALL)}
    return {**key._asdict(), "counts": counts, **figures}
