"""Learns how long moves take when they go well, by reading on in the journal.

Whoever comes first reads; the others find it locked and have nothing to do. At most so many lines are read at a time,
and what is more than that is passed over: the latest are enough to learn from, and a busy cell is not kept busier.
"""

from __future__ import annotations

from collections.abc import Mapping

from stead.controller.kinds.kinds import CompiledKind, live
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.durations import well
from stead.lifecycle.rows import DAY
from stead.store import Store

JOURNAL_BATCH = 2000
"""Lines of the journal that are read in one go."""
RETENTION = 90 * DAY
"""Seconds for which something is known of what does not happen any more."""
SELDOM = 1000
"""After so many times, what is too old is forgotten."""


class DurationLearner:
    """Reads on, and remembers."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle]) -> None:
        self.store = store
        self.well = CompiledKind(live(kinds), _well)
        self._times = 0

    async def __call__(self) -> int:
        """Learn from what was written last. There is never a need to go on at once, so none was out of order."""
        await self.store.durations.learn(JOURNAL_BATCH, self.well())
        self._times += 1
        if self._times % SELDOM == 0:
            await self.store.durations.remove_unused(RETENTION)
        return 0


def _well(kinds: Mapping[str, Lifecycle]) -> list[tuple[str, str, str, str]]:
    return [(kind.kind, *move) for kind in kinds.values() for move in well(kind)]
