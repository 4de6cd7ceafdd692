"""Answers to what controllers ask about a lane: probes, offers, logs, and a full state. None of them is an order."""

from __future__ import annotations

import logging

from stead.agent.incarnations import Incarnations
from stead.agent.inventory import line_of
from stead.agent.lane_driver import LaneDriver, members_of
from stead.agent.orders import fitting
from stead.agent.session import AgentSession
from stead.agent.state_sync import StateSyncLoop
from stead.bus.messages import (
    LogsReply,
    LogsRequest,
    MissingOffer,
    OffersReply,
    OffersRequest,
    ProbeReply,
    ProbeRequest,
    StateSyncReply,
    StateSyncRequest,
)
from stead.bus.parts import parts_of
from stead.drivers.base import DriverError

log = logging.getLogger(__name__)

MAX_LINES = 1000
"""Members in one answer to a probe."""


class LaneRequests:
    """Serves the requests about one lane."""

    def __init__(
        self,
        session: AgentSession,
        lane: str,
        driver: LaneDriver,
        incarnations: Incarnations,
        sync: StateSyncLoop,
    ) -> None:
        self.session = session
        self.lane = lane
        self.driver = driver
        self.incarnations = incarnations
        self.sync = sync

    async def serve(self) -> None:
        """Begin to listen; the bus keeps the subscriptions."""
        bus = self.session.bus
        await bus.probe.serve(self.lane, self._probe)
        await bus.state_sync.serve(self.lane, self._state_sync)
        await bus.offers.serve(self.lane, self._offers)
        await bus.logs.serve(self.lane, self._logs)

    async def _probe(self, request: ProbeRequest) -> ProbeReply:
        fences = {member.path: member.fence for member in request.members}
        self.incarnations.meet(request.members)
        try:
            observed = await self.driver.observe(members_of(request.members))
        except DriverError as error:
            log.info("probe.failed lane=%s error=%r", self.lane, error.message)
            return ProbeReply([], error.message)
        lines = [line_of(each.path, fences[each.path], each) for each in observed if each.path in fences]
        first, *rest = parts_of([line for line in lines if line is not None], MAX_LINES) or [[]]
        omitted = [line.path for part in rest for line in part]
        return ProbeReply(first, agent=self.session.name, epoch=self.session.epoch, omitted=omitted)

    async def _offers(self, request: OffersRequest) -> OffersReply:
        missing: list[MissingOffer] = []
        try:
            for want in request.wanted:
                near = await self.driver.check_offer(want.field, want.name)
                if near is not None:
                    missing.append(MissingOffer(want, near))
        except DriverError as error:
            log.info("offers.failed lane=%s error=%r", self.lane, error.message)
            return OffersReply(error=error.message)
        return OffersReply(kinds=sorted(self.driver.kinds), missing=missing)

    async def _logs(self, request: LogsRequest) -> LogsReply:
        (member,) = members_of([request.member])
        try:
            tail = await self.driver.logs(member, request.lines, request.since)
        except DriverError as error:
            log.info("logs.failed lane=%s path=%s error=%r", self.lane, member.path, error.message)
            return LogsReply(error=error.message)
        if tail is None:
            return LogsReply(supported=False)
        lines = fitting(tail.lines)
        return LogsReply(lines, tail.position, omitted=len(tail.lines) - len(lines))

    async def _state_sync(self, _: StateSyncRequest) -> StateSyncReply:
        self.sync.request()
        return StateSyncReply()
