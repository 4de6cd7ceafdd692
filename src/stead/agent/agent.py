"""An agent: one process that serves some lanes, each through a driver.

It keeps nothing. An order that it has taken is in PostgreSQL, so its message is acknowledged at once; if the agent
dies, its custody runs out and somebody looks at what it did. When it connects it says who it is and what it has.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from stead import __version__
from stead.agent.custody import Custody
from stead.agent.handover import Handover
from stead.agent.incarnations import Incarnations
from stead.agent.inventory import line_of
from stead.agent.order_work import OrderWork, members_of
from stead.agent.orders import MOST_TAKEN, given, in_words, key, parts, started, within
from stead.agent.site import GATHER, KIND, LANES, Site
from stead.agent.state_sync import StateSync
from stead.agent.supersession import Supersession
from stead.batcher import Batcher
from stead.bus import Bus, BusError, BusState, Delivery, NoAnswer
from stead.bus.messages import (
    Hello,
    LogsReply,
    LogsRequest,
    MissingOffer,
    OffersReply,
    OffersRequest,
    Order,
    Presence,
    ProbeReply,
    ProbeRequest,
    ReportResult,
    SiteRequest,
    StateSyncReply,
    StateSyncRequest,
    TakeCustody,
    TakeCustodyReply,
)
from stead.drivers.base import Driver, Error, Permanent
from stead.lifecycle.snapshot import Fence
from stead.telemetry import metrics, tracing
from stead.telemetry.context import about

log = logging.getLogger(__name__)

PRESENCE = 10.0
"""Seconds between words that it is still there, where no controller says otherwise."""

MOST_MET = 2_000

IDLE = 60.0
"""Seconds that a request for orders stands: with thousands of lanes, what is asked for in vain adds up."""

MAX_REASON = 500
"""Characters of the reason for which a provider rejects the agent."""
PAUSE, LONGEST_PAUSE = 2.0, 16.0
"""Seconds before another try to tell a full state: at first, and in the end. All may have come back at once."""

RECENT = 60.0
"""Seconds for which a full state is as good as one that is told now, to somebody who was not there before."""

HOLD = 0.5
"""Seconds after which an order comes again that came before the full state was told."""


class SiteStateUnavailable(Exception):
    """A controller wanted to know what a site has, and it could not be said."""


class Agent:
    """Serves lanes until it is cancelled."""

    def __init__(
        self,
        bus: Bus,
        name: str,
        lanes: Mapping[str, Driver],
        at_once: int = 32,
        succession: Handover | None = None,
    ) -> None:
        """With a `succession`, it can be replaced by an agent of another version, or replaces one itself."""
        self.bus = bus
        self.name = name
        self.epoch = 0
        """One run of an agent has a later one than any before it."""
        self.certain = False
        """A controller has said which epochs there were before."""
        self.began = time.monotonic()
        self.presence = PRESENCE
        self.news = asyncio.Event()
        """Whether it is there for its lanes has changed: this is announced at once."""
        self.at_once = at_once
        self.succession = succession
        self.supersession = Supersession(self)
        self.incarnations = Incarnations()
        self.lanes = {lane: LaneWorker(self, lane, driver) for lane, driver in lanes.items()}
        self.take = Batcher(self._take, MOST_TAKEN, at_once=2, size=len)
        """Ask for custody of members, together with whoever else does at the same time."""

    async def _take(self, asked: Sequence[Sequence[tuple[str, Fence]]]) -> list[TakeCustodyReply | NoAnswer]:
        members = [member for each in asked for member in each]
        try:
            reply = await self.bus.take(TakeCustody(agent=self.name, epoch=self.epoch, members=members))
        except NoAnswer as error:
            return [error for _ in asked]
        return [reply for _ in asked]

    def count(self) -> None:
        """Tell the metrics what is in hand, and whether there is a bus."""
        metrics.IN_HAND.set(sum(lane.in_hand for lane in self.lanes.values()))
        metrics.BUS.set(self.bus.connected)

    async def run(self) -> None:
        """Serve every lane, each for itself: a slow one slows no other."""
        with metrics.REGISTRY.before(self.count):
            await self._run()

    async def _run(self) -> None:
        await self.begin_epoch()
        self.supersession.check()
        if self.succession is not None and self.succession.succeeds:
            await self.succession.take_over(self)
        self.bus.on_state(self._on_state)
        await self.bus.on_superseded(self.supersession.hear)
        async with asyncio.TaskGroup() as group:
            group.create_task(self.supersession.run())
            group.create_task(self._greet())
            for lane in self.lanes.values():
                group.create_task(lane.run())
                group.create_task(lane.tell())
                group.create_task(lane.until_failure())

    def _on_state(self, state: BusState) -> None:
        """Whoever has connected again tells anew what it has."""
        if state is BusState.DISCONNECTED:
            metrics.BREAKS.inc()
        if state is BusState.CONNECTED:
            for lane in self.lanes.values():
                lane.wanted.set()

    async def begin_epoch(self) -> None:
        """The cell's time, or its own while no controller answers; always later than any epoch before."""
        last = self.epoch
        self.epoch = max(time.time_ns() // 1_000_000, last + 1)
        self.began = time.monotonic()
        try:
            before = await self.bus.greet(SiteRequest(agent=self.name, lanes=list(self.lanes)))
        except BusError as error:
            log.info("nobody says which epochs there were: %s", error)
        else:
            self.certain = True
            self.presence = before.every or PRESENCE
            self.epoch = max(int(before.now * 1000) or self.epoch, last + 1, before.after + 1)
            if before.forgotten:
                self.supersession.forget(before.forgotten)

    async def say_hello(self) -> None:
        """Tell controllers that a new epoch has begun."""
        await self.bus.publish_report(Hello(self.name, self.epoch, list(self.lanes), __version__))

    async def _greet(self) -> None:
        names = list(self.lanes)
        await self.say_hello()
        while True:
            slowed = {name: lane.work.throttled for name, lane in self.lanes.items() if lane.work.throttled}
            try:
                await self.bus.announce(self._presence(names, slowed))
            except BusError as error:
                log.debug("nobody hears that %s is there: %s", self.name, error)
            else:
                for name, calls in slowed.items():
                    self.lanes[name].work.throttled -= calls
            with suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), self.presence)
            self.news.clear()

    def _presence(self, names: list[str], slowed: dict[str, int]) -> Presence:
        rejected = {name: lane.rejected for name, lane in self.lanes.items() if lane.rejected}
        return Presence(self.name, self.epoch, names, __version__, slowed, now=time.time(), rejected=rejected)


class LaneWorker:
    """One lane: its orders, and looks at what is there."""

    def __init__(self, agent: Agent, lane: str, driver: Driver) -> None:
        self.agent = agent
        self.name = lane
        self.work = OrderWork(driver)
        self.in_hand = 0
        """Orders that are being taken or carried out."""
        self.free = asyncio.Event()
        self.free.set()
        self.jobs: set[asyncio.Task[None]] = set()
        self.met: dict[tuple[object, ...], None] = {}
        """Orders that this run has taken or asks for, each under its fences; the latest of them."""
        self.wanted = asyncio.Event()
        """Somebody wants to know the full state; a run that begins tells it by itself, whatever its site is in."""
        self.wanted.set()
        self.told = asyncio.Event()
        """This run has told its full state once. Before that it carries out no order for clusters and apps."""
        if not lane.startswith(LANES):
            self.told.set()
        self.rejected = ""
        """Why the provider rejects the agent; empty while it does not."""
        self.told_at = float("-inf")
        """When the last full state was begun that was told to its end."""
        self.site = Site(agent, self.work)
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Pull for ever; work on as many orders at once as there is room for."""
        bus = self.agent.bus
        await bus.serve_look(self.name, self._look)
        await bus.serve_survey(self.name, self._survey)
        await bus.serve_offers(self.name, self._offers)
        await bus.serve_logs(self.name, self._logs)
        async with bus.orders(self.name) as consumer:
            while True:
                await self.free.wait()
                try:
                    deliveries = await consumer.fetch(self.agent.at_once - self.in_hand, IDLE)
                except BusError as error:
                    log.info("%s: no orders: %s", self.name, error)
                    await asyncio.sleep(0.5)
                    continue
                deliveries = await self._in_turn(deliveries)
                self._count(len(deliveries))
                for part in parts(deliveries):
                    self._begin(self._take(part))

    async def _in_turn(self, deliveries: list[Delivery[Order]]) -> list[Delivery[Order]]:
        """Those whose turn it is: state first, then orders. The site's own orders are about the agent itself."""
        if self.told.is_set():
            return deliveries
        own = [delivery for delivery in deliveries if delivery.message.kind == KIND]
        for delivery in deliveries:
            if delivery.message.kind != KIND:
                await delivery.nak(HOLD)
        return own

    def _count(self, orders: int) -> None:
        """So many orders more, or less, are in hand."""
        self.in_hand += orders
        (self.free.set if self.in_hand < self.agent.at_once else self.free.clear)()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        job = asyncio.create_task(work)
        self.jobs.add(job)
        job.add_done_callback(self._done)

    async def until_failure(self) -> None:
        """Raise when nobody can say what the site has, if this is a site's lane; otherwise never end."""
        await self.failure

    async def tell(self) -> None:
        """Tell what is there: at first, after every new connection, and when asked to."""
        agent, pause = self.agent, PAUSE
        await self.work.recover()
        while True:
            await self.wanted.wait()
            self.wanted.clear()
            began = asyncio.get_running_loop().time()
            try:
                await StateSync(agent.bus, agent.name, agent.epoch, self.name, self.work).send()
                self.told_at, pause = began, PAUSE
                self.told.set()
                self._is_rejected("")
            except Permanent as error:
                log.error("observe.failed lane=%s error=%r", self.name, error.message)
                self._is_rejected(error.message or type(error).__name__)
                pause = await self._pause_before_next(pause)
            except Exception as error:  # whatever a provider returns, the agent goes on
                expected = isinstance(error, BusError | Error)
                level = logging.INFO if expected else logging.ERROR
                log.log(level, "%s: the full state could not be told: %s", self.name, error, exc_info=not expected)
                pause = await self._pause_before_next(pause)

    def _is_rejected(self, why: str) -> None:
        """Why the provider rejects the agent now, or that it does not."""
        if self.rejected != (why := why[:MAX_REASON]):
            self.rejected = why
            self.agent.news.set()

    async def _pause_before_next(self, pause: float) -> float:
        """Wait before the full state is told once more; returns the pause after that."""
        await asyncio.sleep(random.uniform(pause / 2, pause))
        self.wanted.set()
        return min(pause * 2, LONGEST_PAUSE)

    async def _look(self, look: ProbeRequest) -> ProbeReply:
        fences = {member.path: member.fence for member in look.members}
        self.agent.incarnations.meet(look.members)
        try:
            seen = await self.work.look(members_of(look.members))
        except Error as error:
            log.info("%s: nobody can say what is there: %s", self.name, error)
            return ProbeReply([], error.message)
        lines = [line_of(s.path, fences[s.path], s) for s in seen if s.path in fences]
        told = [line for line in lines if line is not None]
        return ProbeReply(told, agent=self.agent.name, epoch=self.agent.epoch)

    async def _offers(self, offers: OffersRequest) -> OffersReply:
        driver = self.work.driver
        lacks: list[MissingOffer] = []
        try:
            for want in offers.wants:
                near = await self.work.lacks(want.field, want.name)
                if near is not None:
                    lacks.append(MissingOffer(want, near))
        except Error as error:
            log.info("%s: nobody can say what there is to be had: %s", self.name, error)
            return OffersReply(why=error.message)
        return OffersReply(kinds=sorted(driver.kinds), lacks=lacks)

    async def _logs(self, asked: LogsRequest) -> LogsReply:
        (member,) = members_of([asked.member])
        try:
            tail = await self.work.logs(member, asked.lines, asked.since)
        except Error as error:
            log.info("%s: nobody can say what %s wrote: %s", self.name, member.path, error)
            return LogsReply(why=error.message)
        if tail is None:
            return LogsReply(known=False)
        lines = within(tail.lines)
        return LogsReply(lines, tail.position, omitted=len(tail.lines) - len(lines))

    async def _survey(self, survey: StateSyncRequest) -> StateSyncReply:
        self.wanted.set()
        return StateSyncReply()

    def _done(self, job: asyncio.Task[None]) -> None:
        self.jobs.discard(job)
        if not job.cancelled() and job.exception() is not None:
            log.error("%s: an order was given up", self.name, exc_info=job.exception())

    async def _take(self, deliveries: Sequence[Delivery[Order]]) -> None:
        """Ask for custody of orders that came together, and begin to carry out those that it was given for."""
        begun = 0
        try:
            asked = asyncio.get_running_loop().time()
            wanted = [delivery for delivery in deliveries if await self._fresh(delivery)]
            members = [(m.path, m.fence) for delivery in wanted for m in delivery.message.members]
            if not members:
                return
            reply = await self.agent.take(members)
            if isinstance(reply, NoAnswer):
                for delivery in wanted:
                    self.met.pop(key(delivery.message), None)
                return  # not acknowledged: they come again
            if reply.superseded:
                for delivery in wanted:
                    await delivery.nak()  # to the newer run, at once
                self.agent.supersession.hear()
                return
            for delivery in wanted:
                await delivery.ack()
                order = delivery.message
                fences = given(order, reply)
                if fences:
                    begun += 1
                    self._begin(self._carry(order, fences, reply, asked))
        finally:
            self._count(begun - len(deliveries))

    async def _fresh(self, delivery: Delivery[Order]) -> bool:
        """Whether it is new; or it came again while it was being taken, or its acknowledgement was lost, or it is
        from before a restore of the cell."""
        number = key(delivery.message)
        if self.agent.incarnations.rejects(delivery.message) or number in self.met:
            await delivery.ack()
            return False
        self.met[number] = None
        if len(self.met) > MOST_MET:
            del self.met[next(iter(self.met))]
        return True

    async def _carry(self, order: Order, fences: Mapping[str, Fence], reply: TakeCustodyReply, asked: float) -> None:
        """Do an order while custody lasts, and report it."""
        words = {"operation": order.operation, "lane": self.name, "agent": self.agent.name}
        path = next(iter(fences)) if len(fences) == 1 else ""
        with (
            about(request_id=order.request_id, path=path, **words),
            tracing.span("order", order.traceparent, _moment(asked), verb=order.verb, **words) as made,
        ):
            with tracing.span("take", since=_moment(asked)):
                log.info("order %d is taken: %s of %d", order.id, order.verb, len(fences))
            await self._work_on(order, fences, reply, asked, made.traceparent)

    async def _work_on(
        self, order: Order, fences: Mapping[str, Fence], reply: TakeCustodyReply, asked: float, traceparent: str
    ) -> None:
        agent = self.agent
        try:
            custody = Custody(agent.bus, agent.name, agent.epoch, order, fences, asked + reply.custody)
            custody.traceparent = traceparent or order.traceparent
            longest = self.work.driver.longest_call
            async with custody:
                if order.tell:
                    await agent.bus.publish_report(custody.report(self.name, started(fences)))
                if 0 < reply.call < longest:  # it could act when nobody expects it any more
                    says = f"a call of the driver may last {longest:g} s, and the cell allows {reply.call:g} s"
                    log.error("%s: %s", self.name, says)
                    results = [ReportResult(path, fence, "failed", error=says) for path, fence in fences.items()]
                elif order.kind == KIND:
                    results = await self.site.do(order, fences)
                else:
                    results = await self.work.do(order, fences, custody.check, partial(self._tell_of, custody))
            if not custody.held:
                metrics.LOST.inc()
                log.warning("order %d is another's by now: its custody was lost", order.id)
            elif not results:
                log.warning("order %d: nobody knows what became of it; somebody will look", order.id)
            if custody.held and results:
                log.info("order %d is reported: %s", order.id, in_words(results))
                await agent.bus.publish_report(custody.report(self.name, results))
                self._after(order, results)
        finally:
            self._count(-1)

    async def _tell_of(self, custody: Custody, results: Sequence[ReportResult]) -> None:
        """Report members of an order that goes on for others."""
        custody.check()
        log.info("order %d goes on, and is reported in part: %s", custody.order.id, in_words(results))
        custody.settled(result.path for result in results)
        await self.agent.bus.publish_report(custody.report(self.name, results))

    def _after(self, order: Order, results: Sequence[ReportResult]) -> None:
        """What follows for a site whose controller has met it: it is told everything, or this run ends."""
        if order.kind != KIND or order.verb != GATHER:
            return
        if any(result.kind == "failed" for result in results):
            if not self.failure.done():
                self.failure.set_exception(SiteStateUnavailable(f"{self.name}: {results[0].error}"))
        elif asyncio.get_running_loop().time() - self.told_at > RECENT:
            self.wanted.set()


def _moment(asked: float) -> float:
    """A time of the loop's, as others have it."""
    return time.time() - (asyncio.get_running_loop().time() - asked)
