"""Moves a second over the last minute. A second that is over is counted once, however many ask."""

from __future__ import annotations

from datetime import UTC, datetime

from stead.store import Store

SECONDS = 60
LATE = 3
"""Seconds for which lines of a second that is over may still come."""


class TransitionRate:
    """Remembers what it has counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted: dict[int, int] = {}

    async def last(self) -> tuple[int, ...]:
        """Moves in each of the last seconds, the oldest first; the one that runs is left out."""
        now = int(self._store.clock())
        first = now - SECONDS
        since = max((second for second in self._counted if second < now - LATE), default=first - 1) + 1
        fresh = await self._store.journal.count_transitions(datetime.fromtimestamp(max(since, first), UTC))
        kept = {second: n for second, n in self._counted.items() if first <= second < since}
        self._counted = kept | {second: fresh.get(second, 0) for second in range(max(since, first), now)}
        return tuple(self._counted.get(second, 0) for second in range(first, now))
