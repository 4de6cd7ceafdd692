"""Gives the journal its positions, in batches, after commit. Whoever gets the cell's row first does it."""

from __future__ import annotations

from stead.store import Store


class Numbering:
    """The numberer."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def __call__(self) -> int:
        """Number what has committed; how many lines that were."""
        _, numbered = await self.store.number_journal()
        return numbered
