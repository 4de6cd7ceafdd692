"""Keeps the days: a new one finds tables of its own, and what ended long ago is forgotten.

The journal is not touched: it says for ever what was done, by whom and why. What is forgotten is what became of a
request, for who asks for it by its id, or asks for the same once more.
"""

from __future__ import annotations

import logging

from stead.lifecycle.rows import DAY
from stead.store import Store

log = logging.getLogger(__name__)

DAYS_AHEAD = 7

RETENTION = 90.0 * DAY
"""Seconds for which operations that have ended are kept, and keys of requests."""

MAX_ROWS = 10_000
"""Keys that are forgotten in one go."""


class PartitionReconciler:
    """Makes partitions for the days to come, and drops those of operations that are over."""

    def __init__(self, store: Store, kept: float = RETENTION) -> None:
        self.store = store
        self.kept = kept

    async def __call__(self) -> int:
        """Make what is missing; nothing more is to be done at once, so it never says that it mended anything."""
        await self.store.partitions.create(DAYS_AHEAD)
        while part := await self.store.partitions.drop_operations(self.kept):
            log.info("%s is forgotten: the operations of that day", part)
        while await self.store.operations.delete_keys(self.kept, MAX_ROWS) == MAX_ROWS:
            pass
        return 0
