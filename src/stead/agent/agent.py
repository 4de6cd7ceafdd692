"""An agent: one process that serves some lanes, each through a driver.

It keeps nothing. An order that it has taken is in PostgreSQL, so its message is acknowledged at once; if the agent
dies, its custody runs out and somebody looks at what it did.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from stead.agent.custody import Custody
from stead.agent.work import Work
from stead.bus import Bus, BusError, Delivery, NoAnswer
from stead.bus.messages import Order, Take
from stead.drivers.base import Driver

log = logging.getLogger(__name__)


class Agent:
    """Serves lanes until it is cancelled."""

    def __init__(self, bus: Bus, name: str, epoch: int, lanes: Mapping[str, Driver], at_once: int = 32) -> None:
        self.bus = bus
        self.name = name
        self.epoch = epoch
        self.lanes = lanes
        self.at_once = at_once

    async def run(self) -> None:
        """Serve every lane, each for itself: a slow one slows no other."""
        async with asyncio.TaskGroup() as group:
            for lane, driver in self.lanes.items():
                group.create_task(Lane(self, lane, driver).run())


class Lane:
    """The orders of one lane."""

    def __init__(self, agent: Agent, lane: str, driver: Driver) -> None:
        self.agent = agent
        self.name = lane
        self.work = Work(driver)
        self.room = asyncio.Semaphore(agent.at_once)
        self.jobs: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Pull for ever; work on as many orders at once as there is room for."""
        async with self.agent.bus.orders(self.name) as consumer:
            while True:
                await self.room.acquire()
                try:
                    deliveries = await consumer.fetch(1)
                except BusError as error:
                    log.info("%s: no orders: %s", self.name, error)
                    await asyncio.sleep(0.5)
                    deliveries = []
                if not deliveries:
                    self.room.release()
                    continue
                job = asyncio.create_task(self._carry(deliveries[0]))
                self.jobs.add(job)
                job.add_done_callback(self._done)

    def _done(self, job: asyncio.Task[None]) -> None:
        self.jobs.discard(job)
        self.room.release()
        if not job.cancelled() and job.exception() is not None:
            log.error("%s: an order was given up", self.name, exc_info=job.exception())

    async def _carry(self, delivery: Delivery[Order]) -> None:
        """Take the order, do it while custody lasts, report it."""
        order, agent = delivery.message, self.agent
        asked = asyncio.get_running_loop().time()
        take = Take(
            order=order.id, agent=agent.name, epoch=agent.epoch, members=[(m.path, m.fence) for m in order.members]
        )
        try:
            reply = await agent.bus.take(take)
        except NoAnswer:
            return  # not acknowledged: it comes again
        await delivery.ack()
        if not reply.ok:
            return
        custody = Custody(agent.bus, agent.name, agent.epoch, order.id, reply.fences, asked + reply.custody)
        async with custody:
            results = await self.work.do(order, reply.fences)
        if custody.held and results:
            await agent.bus.publish_report(custody.report(self.name, results))
