"""Diagnostics: operations without progress, gauges and the state of the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stead.lifecycle.durations import ENOUGH, ENOUGH_ON_LANE
from stead.store.statements import StorePart


class Diagnostics(StorePart):
    """What operators ask when something takes too long."""

    async def list_stuck(
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
        return [dict(r) for r in await self._sql.fetch("list_stuck", *values)]

    async def list_recovered(
        self, below: str, since: datetime, before: tuple[datetime, int], limit: int
    ) -> list[Mapping[str, Any]]:
        """Operations settled without a report since a time, the latest first."""
        return [dict(r) for r in await self._sql.fetch("list_recovered", limit, below, since, *before)]

    async def read_gauges(self, most: int, there: float) -> Mapping[str, Any]:
        """What goes on as numbers, for metrics; nothing is counted beyond `most`."""
        (record,) = await self._sql.fetch("read_gauges", most, there)
        return dict(record)

    async def examine_database(self) -> Mapping[str, Any]:
        """How the database itself is."""
        (record,) = await self._sql.fetch("examine_database")
        return dict(record)
