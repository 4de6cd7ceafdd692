"""Looks at what is settled, from time to time: what has changed by itself is found and believed."""

from __future__ import annotations

from stead.controller.observation.observer import ProviderObserver, calls_for, told_of
from stead.store import Row
from stead.store.decision_template import observation_interval

BATCH = 500

MAX_WAIT_SECONDS = 60.0
"""Seconds after which what nobody could look at comes up again."""


class DriftReconciler:
    """Finds what is due for a look; several controllers share the work."""

    def __init__(self, observer: ProviderObserver) -> None:
        self.observer = observer

    async def __call__(self) -> int:
        """Look at what is due; how many were seen."""
        store = self.observer.executor.store
        rows = await store.resources.read_many(
            await store.observations.due(BATCH, min(MAX_WAIT_SECONDS, self.observer.pace.look))
        )
        settled = [row for row in rows.values() if row.snapshot.operation is None and row.snapshot.hidden is None]
        seen = await self.observer.ask(settled)
        told = told_of(seen)
        await self.observer.apply(told)
        looked = [rows[line.path] for line in seen]
        if looked:
            await store.observations.count_calls(calls_for(looked), sum(self._stands_for(row) for row in looked))
        return len(told)

    def _stands_for(self, row: Row) -> int:
        """How many looks this one is in the place of: what changes seldom is looked at less often."""
        return max(
            1,
            observation_interval(self.observer.executor.kinds[row.kind], row.snapshot.state)
            // self.observer.pace.look,
        )
