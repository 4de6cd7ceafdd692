"""Gives the journal its positions, in batches, after commit. Whoever gets the cell's row first does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from stead.store import Store
from stead.telemetry import metrics


class JournalNumbering:
    """The numberer."""

    def __init__(self, store: Store, tell: Callable[[Sequence[str]], Awaitable[object]]) -> None:
        self.store = store
        self.tell = tell
        """Whoever wants to know below which paths something has moved."""

    async def __call__(self) -> int:
        """Number what has committed; how many lines that were."""
        _, numbered, parents = await self.store.journal.number()
        metrics.NUMBERED.inc(numbered)
        if parents:
            await self.tell(parents)
        return numbered
