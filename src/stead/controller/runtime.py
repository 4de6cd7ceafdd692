"""A controller that runs: it answers agents, applies what they report, fires timers and heals.

Any number of them run beside each other on one database and one bus. None has anything of its own that matters.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence

from stead.bus import Bus, BusError, Delivery
from stead.bus.messages import FromAgent, Renew, RenewReply, ReportResult, Take, TakeReply
from stead.bus.messages import FullState as FullStateMessage
from stead.bus.messages import Report as ReportMessage
from stead.controller.admission import Admission
from stead.controller.carrier import Carrier
from stead.controller.clock import Clock
from stead.controller.healers import Healer
from stead.controller.healers.numbering import Numbering
from stead.controller.healers.partitions import Partitions
from stead.controller.mover import Mover, Told
from stead.controller.reports import Reports
from stead.controller.takes import Takes
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import FullState, Report
from stead.lifecycle.rows import HOUR, Trigger
from stead.lifecycle.timers import CUSTODY
from stead.store import Store
from stead.store.change import Custody

log = logging.getLogger(__name__)

LONGEST_CALL = 10.0
"""Of the time after which custody counts as lost, so much is kept for the call that may be under way."""


class Controller:
    """One controller."""

    def __init__(
        self, store: Store, bus: Bus, kinds: Mapping[str, Lifecycle], clock: Callable[[], float] = time.time
    ) -> None:
        self.store = store
        self.bus = bus
        relay = Carrier(bus)
        mover = Mover(store, kinds, clock)
        self.admission = Admission(mover, relay)
        self.takes = Takes(mover)
        self.reports = Reports(mover, relay)
        self.clock = Clock(mover, relay)
        self.healers = (
            Healer("clock", 0.5, self.clock.tick, _told),
            Healer("numbering", 0.2, Numbering(store), _told),
            Healer("partitions", HOUR, Partitions(store), _told),
        )

    async def run(self) -> None:
        """Until cancelled."""
        await self.bus.identity()
        await self.bus.serve_take(self._take)
        await self.bus.serve_renew(self._renew)
        loops: list[Coroutine[None, None, None]] = [self._listen(), *(healer.run() for healer in self.healers)]
        async with asyncio.TaskGroup() as group:
            for loop in loops:
                group.create_task(loop)

    async def _take(self, take: Take) -> TakeReply:
        members = dict(take.members)
        fences = await self.takes.take(Custody(take.agent, take.epoch), members)
        if not fences:
            return TakeReply(ok=False, why="the order is another's, was sent anew, or is no longer wanted")
        return TakeReply(ok=True, custody=CUSTODY - LONGEST_CALL, fences=fences)

    async def _renew(self, renew: Renew) -> RenewReply:
        lost = await self.takes.renew(Custody(renew.agent, renew.epoch), renew.fences)
        return RenewReply(ok=not lost, custody=CUSTODY - LONGEST_CALL, lost=sorted(lost))

    async def _listen(self) -> None:
        """Reports in batches, for ever; each is acknowledged when it is committed."""
        async with self.bus.reports() as consumer:
            while True:
                try:
                    deliveries = await consumer.fetch()
                except BusError as error:
                    log.info("no reports: %s", error)
                    await asyncio.sleep(0.5)
                    continue
                if deliveries:
                    await self._apply(deliveries)

    async def _apply(self, deliveries: Sequence[Delivery[FromAgent]]) -> None:
        told = [word for delivery in deliveries for word in words(delivery.message)]
        try:
            await self.reports.apply(told)
        except Exception:
            log.exception("reports were not applied and come again")
            return
        for delivery in deliveries:
            await delivery.ack()


def words(message: FromAgent) -> list[Told]:
    """What a message says of each resource."""
    match message:
        case ReportMessage():
            return [_word(result) for result in message.results]
        case FullStateMessage():
            return [
                Told(line.path, FullState(line.fence, line.seen, line.revision, line.working, message.end))
                for line in message.objects
                if line.path
            ]
    return []


def _word(result: ReportResult) -> Told:
    event = Report(Trigger(result.kind), result.fence, seen=result.seen, revision=result.revision)
    detail = {"error": result.error} if result.error else None
    return Told(result.path, event, facts=result.facts or None, detail=detail)


def _told(healer: str, error: Exception) -> None:
    log.warning("%s: %s: %s", healer, type(error).__name__, error)
