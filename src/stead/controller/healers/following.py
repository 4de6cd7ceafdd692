"""A group that nothing is done to goes where most of its members are.

Members change one by one, some by themselves; whoever numbers the journal hears of it. What they amount to is read
from the counts, so nothing here sees a member.
"""

from __future__ import annotations

from collections.abc import Sequence

from stead.controller.mover import Mover, Told
from stead.lifecycle.decide.children import fold
from stead.lifecycle.events import Children
from stead.lifecycle.rows import Fold


class Following:
    """Brings groups to where their members are."""

    def __init__(self, mover: Mover) -> None:
        self.mover = mover
        kinds = mover.kinds.values()
        self.groups = {kind.kind: kind for kind in kinds if kind.fold is Fold.DOMINANT}

    async def __call__(self, parents: Sequence[str]) -> int:
        """Groups at these paths, and those that they are in; how many were brought somewhere."""
        paths = {path for parent in parents for path in (parent, parent.rpartition("/")[0]) if path}
        told = []
        for record in await self.mover.store.resting_groups(sorted(paths), list(self.groups)):
            kind = self.groups[record["kind"]]
            counts = {state: n for state, n in record["counts"].items() if kind.has_state(state) and n > 0}
            event = Children(tuple(sorted(counts.items())))
            if fold(kind, event) not in ("", record["state"]):
                told.append(Told(record["path"], event, principal="controller"))
        await self.mover.move(told)
        return len(told)
