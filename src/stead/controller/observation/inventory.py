"""What there should be on a lane, for an agent that wants to tell what is there.

When thousands of agents come at once, each asks for little; so those who ask at the same time are answered by one
statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stead.batcher import Batcher
from stead.bus.messages import InventoryReply, InventoryRequest
from stead.controller.dispatch.publisher import member_of
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.kinds.kinds import CompiledKind
from stead.controller.observation.trust import ReportTrust
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ABSENT
from stead.lifecycle.table import observations
from stead.store import Row

PAGE = 500
"""Members on one page."""

TOGETHER = 50
"""Lanes that are read by one statement."""


class ExpectedInventory:
    """Answers agents."""

    def __init__(self, executor: TransitionExecutor, trust: ReportTrust) -> None:
        self.executor = executor
        self.trust = trust
        self._read = Batcher(self._pages, TOGETHER, at_once=2)
        self._seen = CompiledKind(executor.kinds, _visible)
        """Kinds that can be looked at."""

    async def __call__(self, roster: InventoryRequest) -> InventoryReply:
        """What there may be on a lane: all but what is settled and gone."""
        await self.trust.check(roster.agent, [roster.lane])
        now = self.executor.clock()
        page = await self._read((roster.lane, roster.after))
        there = [row for row in page if self._may_be(row)]
        taken = [row.path for row in there if row.snapshot.taken]
        return InventoryReply(list(map(member_of, there)), page[-1].path if len(page) == PAGE else "", now, taken)

    async def _pages(self, asked: Sequence[tuple[str, str]]) -> list[list[Row]]:
        return await self.executor.store.observations.read_expected(asked, PAGE)

    def _may_be(self, row: Row) -> bool:
        if row.kind not in self._seen():
            return False
        moving = row.snapshot.operation is not None or row.snapshot.hidden is not None
        return moving or self.executor.kinds[row.kind].state(row.snapshot.state).seen != ABSENT


def _visible(kinds: Mapping[str, Lifecycle]) -> frozenset[str]:
    return frozenset(name for name, kind in kinds.items() if observations(kind))
