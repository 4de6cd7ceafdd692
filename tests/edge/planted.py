"""`python -m tests.edge.planted BUG PACE …`: the command `stead` as it would be with a bug in it; or with `none`.

An agent says that it is there as often as suits how long is waited for its word.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from stead.agent import lane_worker, session, state_sync
from stead.agent.lane_worker import LaneWorker
from stead.agent.order_work import OrderWork
from stead.bus import Delivery
from stead.bus.messages import FromAgent, FullState, Order, ReportResult, TakeCustodyReply
from stead.cli.main import app
from stead.controller.execution.transition import TransitionInput
from stead.controller.observation.listener import Listener
from stead.drivers.base import Member, ObservedObject, Result, RetryableError
from stead.drivers.guard import Guarded
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle import events
from stead.lifecycle.pace import DEFAULT
from stead.lifecycle.rows import ABSENT
from stead.lifecycle.snapshot import Fence
from tests.chaos.planted import fence_ignored, put

WORDS = 3
"""So many in the time after which an agent counts as gone."""


def order_repeated() -> None:
    """An agent does whatever order it hears, however often it hears it, and whoever has it."""

    async def is_new(self: LaneWorker, delivery: Delivery[Order]) -> bool:
        return True

    def believe(order: Order, reply: TakeCustodyReply) -> dict[str, Fence]:
        return {member.path: member.fence.raised() for member in order.members}

    put(LaneWorker, "_is_new", is_new)
    put(lane_worker, "granted_fences", believe)


def absence_assumed() -> None:
    """An agent that gets no answer at its site says that nothing is there."""
    look = SimDriver.describe

    async def describe(self: SimDriver, members: Sequence[Member]) -> list[ObservedObject]:
        try:
            return await look(self, members)
        except RetryableError:
            return [ObservedObject(path=member.path, state=ABSENT) for member in members]

    put(SimDriver, "describe", describe)


def end_mark_ignored() -> None:
    """What a part of a full state does not name is believed to be gone, though more is to come."""
    apply = Listener._apply

    async def believe(self: Listener, messages: Sequence[FromAgent]) -> None:
        await apply(self, messages)
        for message in messages:
            if isinstance(message, FullState) and not message.end:
                named = {line.path for line in message.objects}
                ((*page,),) = await self.executor.store.observations.read_expected([(message.lane, "")], 1000)
                rows = {row.path: row for row in page if row.path not in named}
                gone = [
                    (path, events.FullState(r.snapshot.fence, ABSENT, None, False, True)) for path, r in rows.items()
                ]
                await self.observer.apply(
                    [TransitionInput(path, event, lanes=frozenset((message.lane,))) for path, event in gone]
                )

    put(Listener, "_apply", believe)
    put(state_sync, "MAX_PART_LINES", 2)


def undo_dropped() -> None:
    """An agent says that the previous spec is back, and has not touched anything."""
    work = OrderWork.execute

    async def execute(self: OrderWork, order: Order, fences: Mapping[str, Fence], *rest: Any) -> list[ReportResult]:
        if order.verb == "restore":
            return [ReportResult(path, fence, "succeeded") for path, fence in fences.items()]
        return await work(self, order, fences, *rest)

    put(OrderWork, "execute", execute)


def token_forgotten() -> None:
    """An agent that makes something once more, since no answer came, does it under another token."""
    work = Guarded.perform
    asked: Counter[str] = Counter()

    async def perform(self: Guarded, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        if verb == "create":
            asked.update(member.token for member in members)
            others = [f"{member.token}-{asked[member.token]}" for member in members]
            members = [
                msgspec.structs.replace(member, token=other) if asked[member.token] > 1 else member
                for member, other in zip(members, others, strict=True)
            ]
        return await work(self, verb, members, token)

    put(Guarded, "perform", perform)


BUGS: dict[str, Callable[[], None]] = {
    "fence-ignored": fence_ignored,
    "order-repeated": order_repeated,
    "absence-assumed": absence_assumed,
    "end-mark-ignored": end_mark_ignored,
    "undo-dropped": undo_dropped,
    "token-forgotten": token_forgotten,
}

if __name__ == "__main__":
    bug = sys.argv.pop(1)
    if bug != "none":
        BUGS[bug]()
    pace = DEFAULT.scaled(float(sys.argv.pop(1)))
    put(session, "PRESENCE_INTERVAL", pace.away / WORDS)
    app()
