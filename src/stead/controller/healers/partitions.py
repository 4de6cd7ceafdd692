"""Keeps partitions made ahead, so that a new day finds a table of its own."""

from __future__ import annotations

from stead.store import Store

AHEAD = 7


class Partitions:
    """Makes partitions for the days to come."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def __call__(self) -> int:
        """Make what is missing; nothing more is to be done at once, so it never says that it mended anything."""
        await self.store.make_partitions(AHEAD)
        return 0
