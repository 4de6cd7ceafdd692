"""A group that nothing is done to goes where its members are: where most of them are, or where the worst of them is.

Members change one by one, some by themselves; whoever numbers the journal hears of it. What they amount to is read
from counts that are of the same moment as the group, so nothing here sees a member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import TransitionInput
from stead.controller.groups.counts import amounts
from stead.controller.kinds.kinds import CompiledKind
from stead.lifecycle.claims import ROOT, ancestors
from stead.lifecycle.decide.children import followed
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Aggregation

FOLLOWS = (Aggregation.DOMINANT, Aggregation.WORST)


class GroupStateReconciler:
    """Brings groups to where their members are."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor
        self.groups = CompiledKind(executor.kinds, _follow)

    async def __call__(self, parents: Sequence[str]) -> int:
        """Groups at these paths, and those that they are in; how many were brought somewhere."""
        kinds = self.executor.kinds
        paths = {path for parent in parents for path in (*ancestors(parent), parent)} - {ROOT}
        told = []
        for record in await self.executor.store.groups.list_idle(sorted(paths), self.groups()):
            event = amounts(kinds[record["kind"]], record["counts"])
            if followed(kinds[record["kind"]], record["state"], event) != record["state"]:
                told.append(TransitionInput(record["path"], event, principal="controller"))
        await self.executor.apply(told)
        return len(told)


def _follow(kinds: Mapping[str, Lifecycle]) -> dict[str, str]:
    """By kind of group, the kind of its members."""
    return {kind.kind: kind.members for kind in kinds.values() if kind.aggregation in FOLLOWS}
