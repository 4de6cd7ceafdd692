"""Looks at what is settled, from time to time: what has changed by itself is found and believed."""

from __future__ import annotations

from stead.controller.looks import Looks, told_of

BATCH = 500

PATIENCE = 60.0
"""Seconds after which what nobody could look at comes up again."""


class Drift:
    """Finds what is due for a look; several controllers share the work."""

    def __init__(self, looks: Looks) -> None:
        self.looks = looks

    async def __call__(self) -> int:
        """Look at what is due; how many were seen."""
        store = self.looks.mover.store
        rows = await store.read_many(await store.due_looks(BATCH, min(PATIENCE, self.looks.pace.look)))
        settled = [row for row in rows.values() if row.snapshot.operation is None and row.snapshot.hidden is None]
        seen = await self.looks.ask(settled)
        told = told_of(seen)
        await self.looks.apply(told)
        return len(told)
