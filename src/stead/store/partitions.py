"""Partitions by day: created ahead, and dropped when all in them is old."""

from __future__ import annotations

import logging

import asyncpg

from stead.store.statements import StorePart

log = logging.getLogger(__name__)
LOCK_TIMEOUT = "500ms"
"""How long a lock is waited for that keeps others waiting, too."""


class Partitions(StorePart):
    """Partitions of tables that grow by the day."""

    async def create(self, days: int) -> int:
        """Make the partitions of the days to come; how many were missing.

        None is made while a statement reads for long: waiting for it, this would keep everything else waiting.
        """
        try:
            async with self._sql.transaction() as sql:
                await sql.execute("set_lock_timeout", LOCK_TIMEOUT)
                return int(await sql.value("create_partitions", days))
        except asyncpg.LockNotAvailableError:
            log.info("a statement reads for long; partitions of the days to come are made later")
            return 0

    async def drop_operations(self, after: float) -> str | None:
        """Forget operations that ended on a day that was over so many seconds ago; the partition that is gone.

        None where there is no such day, where another forgets it, or where a statement reads operations for long.
        """
        try:
            (record,) = await self._sql.fetch("drop_operations", after)
        except asyncpg.LockNotAvailableError:
            log.info("a statement reads operations for long; old ones are dropped later")
            return None
        part: str | None = record["part"]
        return part
