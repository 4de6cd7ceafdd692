"""Finds what a provider has and nobody owns.

Every order is on record, with its token, before the provider hears of it; so whatever carries our tag and a token
that no resource has any more was left behind. From time to time each lane is asked for its full state, in which
agents name what they have that is on nobody's roster. It is listed once it was found twice: the first time, its owner
may just have come to an end.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from stead.bus import Bus, BusError
from stead.bus.messages import FullState, StateLine, StateSyncRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import ABSENT
from stead.store import Row

log = logging.getLogger(__name__)


class OrphanDetector:
    """Has lanes surveyed, and keeps the list of what was found."""

    def __init__(self, executor: TransitionExecutor, bus: Bus, pace: Pace = DEFAULT) -> None:
        self.executor = executor
        self.bus = bus
        self.pace = pace

    async def __call__(self) -> int:
        """Ask one lane that is due; what it has comes on the stream of reports."""
        lane = await self.executor.store.observations.due_inventory(self.pace.survey)
        if lane is None:
            return 0
        try:
            await self.bus.state_sync(StateSyncRequest(lane))
        except BusError as error:
            log.debug("%s is not surveyed: %s", lane, error)
        return 1

    async def found(self, messages: Sequence[FullState]) -> None:
        """What agents have that is on nobody's roster."""
        store = self.executor.store
        strays = [(m.lane, {s.token: s for s in m.objects if s.token and not s.path}) for m in messages]
        tokens = {token for _, some in strays for token in some}
        owners = await store.resources.find_by_token(sorted(tokens)) if tokens else {}
        for lane, some in strays:
            orphans = [s for token, s in some.items() if not self._may_have(owners.get(token), lane)]
            if orphans:
                await store.orphans.record(lane, [_noted(orphan) for orphan in orphans])
        told = {message.lane: message.began for message in messages if message.end}
        if told:
            await store.orphans.remove_unseen(told)
            await store.observations.record_inventory(list(told), self.pace.survey)

    def _may_have(self, row: Row | None, lane: str) -> bool:
        """Whether there may be something on the lane for it: unless it is elsewhere, or settled and gone."""
        if row is None or row.lane != lane:
            return False
        state = self.executor.kinds[row.kind].state(row.snapshot.state)
        return row.snapshot.operation is not None or row.snapshot.hidden is not None or state.observed_as != ABSENT


def _noted(stray: StateLine) -> dict[str, Any]:
    return {
        "token": stray.token,
        "path": str(stray.facts.get("path", "")),
        "state": stray.observed,
        "facts": stray.facts,
    }
