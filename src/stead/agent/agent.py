"""An agent: one process that serves some lanes, each through a driver.

It keeps nothing. An order whose custody it has is in PostgreSQL, so its message is acknowledged at once; if the agent
dies, its custody runs out and another agent probes the outcome. When it connects it says who it is and what it has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress

from stead.agent.custody import CustodyClient
from stead.agent.handover import Handover
from stead.agent.incarnations import Incarnations
from stead.agent.lane_driver import LaneDriver
from stead.agent.lane_requests import LaneRequests
from stead.agent.lane_worker import LaneWorker
from stead.agent.session import AgentSession
from stead.agent.site import Site
from stead.agent.state_sync import StateSyncLoop
from stead.agent.supersession import Supersession
from stead.bus import Bus, BusError, BusState
from stead.drivers.base import Driver
from stead.telemetry import metrics

log = logging.getLogger(__name__)


class Agent:
    """Serves lanes until it is cancelled."""

    def __init__(
        self,
        bus: Bus,
        name: str,
        drivers: Mapping[str, Driver],
        max_orders: int = 32,
        handover: Handover | None = None,
    ) -> None:
        """With a `handover`, it can be replaced by an agent of another version, or replaces one itself."""
        self.bus = bus
        self.drivers = drivers
        self.handover = handover
        self.session = AgentSession(bus, name, list(drivers))
        self.supersession = Supersession(self.session)
        self._presence_changed = asyncio.Event()
        """A provider has begun, or ceased, to reject the agent: this is announced at once."""
        incarnations, custody = Incarnations(), CustodyClient(self.session)
        self.lanes: dict[str, LaneWorker] = {}
        self._requests: list[LaneRequests] = []
        for lane, driver in drivers.items():
            lane_driver = LaneDriver(driver)
            sync = StateSyncLoop(self.session, lane, lane_driver, self._presence_changed.set)
            self._requests.append(LaneRequests(self.session, lane, lane_driver, incarnations, sync))
            self.lanes[lane] = LaneWorker(
                self.session,
                lane,
                lane_driver,
                sync=sync,
                site=Site(self.session, lane_driver, handover, self._take_over_again),
                custody=custody,
                incarnations=incarnations,
                on_superseded=self.supersession.hear,
                max_orders=max_orders,
            )

    async def run(self) -> None:
        """Serve every lane, each for itself: a slow one slows no other."""
        with metrics.REGISTRY.before_scrape(self._measure):
            await self._run()

    async def _run(self) -> None:
        await self.supersession.begin_epoch()
        self.supersession.check()
        if self.handover is not None and self.handover.succeeds:
            await self.handover.take_over(self.session, self.drivers)
        self.bus.on_state(self._on_state)
        await self.bus.on_superseded(self.supersession.hear)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.supersession.run())
            group.create_task(self._announce())
            for requests in self._requests:
                group.create_task(requests.serve())
            for lane in self.lanes.values():
                group.create_task(lane.run())
                group.create_task(lane.sync.run())
                group.create_task(lane.until_failure())

    def _measure(self) -> None:
        metrics.IN_HAND.set(sum(lane.in_hand for lane in self.lanes.values()))
        metrics.BUS.set(self.bus.connected)

    def _on_state(self, state: BusState) -> None:
        """After every new connection the agent sends its full state again."""
        if state is BusState.DISCONNECTED:
            metrics.BREAKS.inc()
        if state is BusState.CONNECTED:
            for lane in self.lanes.values():
                lane.sync.request()

    async def _announce(self) -> None:
        """Say that the agent is there, again and again, and when a provider has begun or ceased to reject it."""
        await self.session.say_hello()
        while True:
            throttled = {name: lane.driver.throttled for name, lane in self.lanes.items() if lane.driver.throttled}
            rejected = {name: lane.sync.rejected for name, lane in self.lanes.items() if lane.sync.rejected}
            try:
                await self.session.announce(throttled=throttled, rejected=rejected)
            except BusError as error:
                log.debug("agent.presence_lost agent=%s error=%r", self.session.name, str(error))
            else:
                for name, calls in throttled.items():
                    self.lanes[name].driver.throttled -= calls
            with suppress(TimeoutError):
                await asyncio.wait_for(self._presence_changed.wait(), self.session.presence_interval)
            self._presence_changed.clear()

    async def _take_over_again(self) -> None:
        """Take over in a new epoch: this run had taken over, and was restarted before a controller heard of it."""
        await self.supersession.begin_epoch()
        assert self.handover is not None
        await self.handover.take_over(self.session, self.drivers)
