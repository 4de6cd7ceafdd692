"""Statements about days: tables of those to come, and of those that are long over."""

from __future__ import annotations

from stead.store.statements import Statements


class Days(Statements):
    """What is written for ever has a partition for each day."""

    async def make_partitions(self, days: int) -> int:
        """Make the partitions of the days to come; how many were missing."""
        made: int = await self._pool.fetchval("SELECT make_partitions($1)", days)
        return made

    async def forget_operations(self, after: float) -> str | None:
        """Forget operations that ended on a day that was over so many seconds ago; the partition that is gone."""
        (record,) = await self.fetch("forget_operations", after)
        part: str | None = record["part"]
        return part

    async def forget_keys(self, after: float, most: int) -> int:
        """Forget keys of requests that are older than so many seconds; how many."""
        (record,) = await self.fetch("forget_keys", after, most)
        keys: int = record["keys"]
        return keys
