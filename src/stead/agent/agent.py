"""An agent: one process that serves some lanes, each through a driver.

It keeps nothing. An order that it has taken is in PostgreSQL, so its message is acknowledged at once; if the agent
dies, its custody runs out and somebody looks at what it did. When it connects it says who it is and what it has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from stead import __version__
from stead.agent.custody import Custody
from stead.agent.resync import Resync
from stead.agent.work import Work, members_of
from stead.bus import Bus, BusError, BusState, Delivery, NoAnswer
from stead.bus.messages import (
    Hello,
    Look,
    LookReply,
    Order,
    Presence,
    ReportResult,
    StateLine,
    Survey,
    SurveyReply,
    Take,
)
from stead.drivers.base import Driver, Error

log = logging.getLogger(__name__)

PRESENCE = 10.0
"""Seconds between words that it is still there."""

MOST_MET = 10_000

PAUSE = 2.0
"""Seconds before another try to tell a full state."""


class Agent:
    """Serves lanes until it is cancelled."""

    def __init__(self, bus: Bus, name: str, epoch: int, lanes: Mapping[str, Driver], at_once: int = 32) -> None:
        self.bus = bus
        self.name = name
        self.epoch = epoch
        self.at_once = at_once
        self.lanes = {lane: Lane(self, lane, driver) for lane, driver in lanes.items()}

    async def run(self) -> None:
        """Serve every lane, each for itself: a slow one slows no other."""
        self.bus.on_state(self._on_state)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._greet())
            for lane in self.lanes.values():
                group.create_task(lane.run())
                group.create_task(lane.tell())

    def _on_state(self, state: BusState) -> None:
        """Whoever has connected again tells anew what it has."""
        if state is BusState.CONNECTED:
            for lane in self.lanes.values():
                lane.wanted.set()

    async def _greet(self) -> None:
        names = list(self.lanes)
        await self.bus.publish_report(Hello(self.name, self.epoch, names, __version__))
        while True:
            try:
                await self.bus.announce(Presence(self.name, self.epoch, names, __version__))
            except BusError as error:
                log.debug("nobody hears that %s is there: %s", self.name, error)
            await asyncio.sleep(PRESENCE)


class Lane:
    """One lane: its orders, and looks at what is there."""

    def __init__(self, agent: Agent, lane: str, driver: Driver) -> None:
        self.agent = agent
        self.name = lane
        self.work = Work(driver)
        self.room = asyncio.Semaphore(agent.at_once)
        self.jobs: set[asyncio.Task[None]] = set()
        self.met: dict[tuple[object, ...], None] = {}
        """Orders that this run has taken or asks for, each under its fences; the latest some thousand of them."""
        self.wanted = asyncio.Event()
        """Somebody wants to know the full state."""
        self.wanted.set()

    async def run(self) -> None:
        """Pull for ever; work on as many orders at once as there is room for."""
        bus = self.agent.bus
        await bus.serve_look(self.name, self._look)
        await bus.serve_survey(self.name, self._survey)
        async with bus.orders(self.name) as consumer:
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

    async def tell(self) -> None:
        """Tell what is there: at first, after every new connection, and when asked to."""
        resync = Resync(self.agent.bus, self.agent.name, self.agent.epoch, self.name, self.work)
        while True:
            await self.wanted.wait()
            self.wanted.clear()
            try:
                await resync.send()
            except (BusError, Error) as error:
                log.info("%s: the full state could not be told: %s", self.name, error)
                await asyncio.sleep(PAUSE)
                self.wanted.set()

    async def _look(self, look: Look) -> LookReply:
        fences = {member.path: member.fence for member in look.members}
        try:
            seen = await self.work.look(members_of(look.members))
        except Error as error:
            log.info("%s: nobody can say what is there: %s", self.name, error)
            return LookReply([], error.message)
        return LookReply(
            [StateLine(fences[s.path], s.state, s.path, revision=s.revision, facts=dict(s.facts)) for s in seen]
        )

    async def _survey(self, survey: Survey) -> SurveyReply:
        self.wanted.set()
        return SurveyReply()

    def _done(self, job: asyncio.Task[None]) -> None:
        self.jobs.discard(job)
        self.room.release()
        if not job.cancelled() and job.exception() is not None:
            log.error("%s: an order was given up", self.name, exc_info=job.exception())

    async def _carry(self, delivery: Delivery[Order]) -> None:
        """Take the order, do it while custody lasts, report it."""
        order, agent = delivery.message, self.agent
        key = (order.id, *(member.fence for member in order.members))
        if key in self.met:  # it came again while the first was being taken, or its acknowledgement was lost
            await delivery.ack()
            return
        self.met[key] = None
        if len(self.met) > MOST_MET:
            del self.met[next(iter(self.met))]
        asked = asyncio.get_running_loop().time()
        take = Take(
            order=order.id, agent=agent.name, epoch=agent.epoch, members=[(m.path, m.fence) for m in order.members]
        )
        try:
            reply = await agent.bus.take(take)
        except NoAnswer:
            self.met.pop(key, None)
            return  # not acknowledged: it comes again
        await delivery.ack()
        if not reply.ok:
            return
        custody = Custody(agent.bus, agent.name, agent.epoch, order.id, reply.fences, asked + reply.custody)
        longest = self.work.driver.longest_call
        async with custody:
            if 0 < reply.call < longest:  # it could act when nobody expects it any more
                says = f"a call of the driver may last {longest:g} s, and the cell allows {reply.call:g} s"
                log.error("%s: %s", self.name, says)
                results = [ReportResult(path, fence, "failed", error=says) for path, fence in reply.fences.items()]
            else:
                results = await self.work.do(order, reply.fences, custody.check)
        if custody.held and results:
            await agent.bus.publish_report(custody.report(self.name, results))
