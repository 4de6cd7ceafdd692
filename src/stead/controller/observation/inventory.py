"""What there should be on a lane, for an agent that wants to tell what is there.

When thousands of agents come at once, each asks for little; so those who ask at the same time are answered by one
statement.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from stead.batcher import Batcher
from stead.bus.messages import InventoryReply, InventoryRequest, OrderMember
from stead.bus.parts import parts_of
from stead.controller.dispatch.publisher import member_of
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.kinds.kinds import CompiledKind
from stead.controller.observation.trust import ReportTrust
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ABSENT
from stead.lifecycle.table import observations
from stead.store import Row

log = logging.getLogger(__name__)

PAGE = 500
"""Members on one page."""

MAX_BATCH = 50
"""Lanes that are read by one statement."""


MARGIN = 4_096
"""Bytes of a message beside its members."""


class ExpectedInventory:
    """Answers agents."""

    def __init__(self, executor: TransitionExecutor, trust: ReportTrust, max_message: Callable[[], int]) -> None:
        """`max_message` says how many bytes a message of the bus has at most."""
        self.executor = executor
        self.trust = trust
        self.max_message = max_message
        self._read = Batcher(self._pages, MAX_BATCH, at_once=2)
        self._seen = CompiledKind(executor.kinds, _visible)
        """Kinds that can be looked at."""

    async def __call__(self, roster: InventoryRequest) -> InventoryReply:
        """What there may be on a lane: all but what is settled and gone."""
        await self.trust.check(roster.agent, [roster.lane])
        now = self.executor.clock()
        page = await self._read((roster.lane, roster.after))
        rows = {row.path: row for row in page if self._may_be(row)}
        members = {path: member_of(row) for path, row in rows.items()}
        too_large = {path for path, member in members.items() if self._is_too_large(member)}
        sent = [_without_values(member) if path in too_large else member for path, member in members.items()]
        part, *rest = parts_of(sent, PAGE) or [[]]
        taken = [m.path for m in part if m.path in too_large or rows[m.path].snapshot.taken]
        after = part[-1].path if rest else page[-1].path if len(page) == PAGE else ""
        return InventoryReply(part, after, now, taken)

    def _is_too_large(self, member: OrderMember) -> bool:
        """Whether no message has room for a member: the agent hears of it, and does not observe it."""
        size = len(msgspec.json.encode(member))
        if size <= self.max_message() - MARGIN:
            return False
        log.error("inventory.member_too_large path=%s bytes=%d max=%d", member.path, size, self.max_message())
        return True

    async def _pages(self, asked: Sequence[tuple[str, str]]) -> list[list[Row]]:
        return await self.executor.store.observations.read_expected(asked, PAGE)

    def _may_be(self, row: Row) -> bool:
        if row.kind not in self._seen():
            return False
        moving = row.snapshot.operation is not None or row.snapshot.hidden is not None
        return moving or self.executor.kinds[row.kind].state(row.snapshot.state).observed_as != ABSENT


def _without_values(member: OrderMember) -> OrderMember:
    """A member by which its object at the provider is known, without spec and facts."""
    id = member.facts.get("id")
    return msgspec.structs.replace(member, spec={}, facts={"id": id[:1000]} if isinstance(id, str) else {})


def _visible(kinds: Mapping[str, Lifecycle]) -> frozenset[str]:
    return frozenset(name for name, kind in kinds.items() if observations(kind))
