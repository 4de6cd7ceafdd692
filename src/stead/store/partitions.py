"""Statements about days: tables of those to come, and of those that are long over."""

from __future__ import annotations

import logging

import asyncpg

from stead.store.statements import Statements

log = logging.getLogger(__name__)

LOCK_TIMEOUT = "500ms"
"""How long a lock is waited for that keeps others waiting, too."""


class Days(Statements):
    """What is written for ever has a partition for each day."""

    async def make_partitions(self, days: int) -> int:
        """Make the partitions of the days to come; how many were missing.

        None is made while a statement reads for long: waiting for it, this would keep everything else waiting.
        """
        async with self._pool.acquire() as connection:
            try:
                async with connection.transaction():
                    await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
                    return int(await connection.fetchval("SELECT make_partitions($1)", days))
            except asyncpg.LockNotAvailableError:
                log.info("a statement reads for long; partitions of the days to come are made later")
                return 0

    async def forget_operations(self, after: float) -> str | None:
        """Forget operations that ended on a day that was over so many seconds ago; the partition that is gone.

        None where there is no such day, where another forgets it, or where somebody reads operations for long.
        """
        try:
            (record,) = await self.fetch("forget_operations", after)
        except asyncpg.LockNotAvailableError:
            log.info("somebody reads operations for long; old ones are forgotten later")
            return None
        part: str | None = record["part"]
        return part

    async def forget_keys(self, after: float, most: int) -> int:
        """Forget keys of requests that are older than so many seconds; how many."""
        (record,) = await self.fetch("forget_keys", after, most)
        keys: int = record["keys"]
        return keys
