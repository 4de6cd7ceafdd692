"""The orders of one lane: each is pulled, taken into custody, carried out, and reported."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

from stead.agent.custody import Custody, CustodyClient
from stead.agent.incarnations import Incarnations
from stead.agent.lane_driver import LaneDriver
from stead.agent.order_work import OrderWork
from stead.agent.orders import RecentOrders, granted_fences, parts, started_results, summary
from stead.agent.session import AgentSession
from stead.agent.site import GATHER, KIND, Site, SiteStateUnavailable
from stead.agent.state_sync import StateSyncLoop
from stead.bus import BusError, Delivery, NoAnswer
from stead.bus.messages import Order, ReportResult, TakeCustodyReply
from stead.lifecycle.snapshot import Fence
from stead.telemetry import metrics, tracing
from stead.telemetry.context import log_context

log = logging.getLogger(__name__)

FETCH_TIMEOUT = 60.0
"""Seconds that a request for orders stands: with thousands of lanes, requests in vain add up."""

FETCH_PAUSE = 0.5
"""Seconds before orders are requested again, where the bus could not be asked."""

NAK_DELAY = 0.5
"""Seconds after which an order comes again that came before the full state was sent."""


class LaneWorker:
    """Works on as many orders of one lane at once as there is room for."""

    def __init__(
        self,
        session: AgentSession,
        lane: str,
        driver: LaneDriver,
        *,
        sync: StateSyncLoop,
        site: Site,
        custody: CustodyClient,
        incarnations: Incarnations,
        on_superseded: Callable[[], None],
        max_orders: int,
    ) -> None:
        """`on_superseded` is called when a controller answers that a newer run of the agent serves the lane."""
        self.session = session
        self.name = lane
        self.driver = driver
        self.sync = sync
        self.site = site
        self.custody = custody
        self.incarnations = incarnations
        self.on_superseded = on_superseded
        self.max_orders = max_orders
        self.work = OrderWork(driver)
        self.recent = RecentOrders()
        self.in_hand = 0
        """Orders that are being taken or carried out."""
        self.jobs: set[asyncio.Task[None]] = set()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._free = asyncio.Event()
        self._free.set()

    async def run(self) -> None:
        """Pull orders for ever."""
        async with self.session.bus.orders(self.name) as consumer:
            while True:
                await self._free.wait()
                try:
                    deliveries = await consumer.fetch(self.max_orders - self.in_hand, FETCH_TIMEOUT)
                except BusError as error:
                    log.info("fetch.failed lane=%s error=%r", self.name, str(error))
                    await asyncio.sleep(FETCH_PAUSE)
                    continue
                deliveries = await self._after_state_sync(deliveries)
                self._count(len(deliveries))
                for part in parts(deliveries):
                    self._begin(self._take(part))

    async def until_failure(self) -> None:
        """Raise when this is a site's lane and its driver cannot say what the site has; otherwise never end."""
        await self.failure

    async def _after_state_sync(self, deliveries: list[Delivery[Order]]) -> list[Delivery[Order]]:
        """Before the full state is sent only orders about the site itself; the others come again."""
        if self.sync.completed.is_set():
            return deliveries
        own = [delivery for delivery in deliveries if delivery.message.kind == KIND]
        for delivery in deliveries:
            if delivery.message.kind != KIND:
                await delivery.nak(NAK_DELAY)
        return own

    def _count(self, orders: int) -> None:
        """So many orders more, or fewer, are in hand."""
        self.in_hand += orders
        (self._free.set if self.in_hand < self.max_orders else self._free.clear)()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        job = asyncio.create_task(work)
        self.jobs.add(job)
        job.add_done_callback(self._ended)

    def _ended(self, job: asyncio.Task[None]) -> None:
        self.jobs.discard(job)
        if not job.cancelled() and job.exception() is not None:
            log.error("order.failed lane=%s", self.name, exc_info=job.exception())

    async def _take(self, deliveries: Sequence[Delivery[Order]]) -> None:
        """Ask for custody of orders that came together, and begin to carry out those that it was given for."""
        begun = 0
        try:
            asked = asyncio.get_running_loop().time()
            wanted = [delivery for delivery in deliveries if await self._is_new(delivery)]
            members = [(m.path, m.fence) for delivery in wanted for m in delivery.message.members]
            if not members:
                return
            reply = await self.custody.take(members)
            if isinstance(reply, NoAnswer):
                for delivery in wanted:
                    self.recent.discard(delivery.message)
                return  # not acknowledged: they come again
            if reply.superseded:
                for delivery in wanted:
                    await delivery.nak()  # to the newer run, at once
                self.on_superseded()
                return
            for delivery in wanted:
                await delivery.ack()
                order = delivery.message
                fences = granted_fences(order, reply)
                if fences:
                    begun += 1
                    self._begin(self._carry(order, fences, reply, asked))
        finally:
            self._count(begun - len(deliveries))

    async def _is_new(self, delivery: Delivery[Order]) -> bool:
        """Acknowledge an order that came again while it was being taken, or whose acknowledgement was lost, or that
        is from before a restore of the cell."""
        order = delivery.message
        if self.incarnations.rejects(order) or not self.recent.add(order):
            await delivery.ack()
            return False
        return True

    async def _carry(self, order: Order, fences: Mapping[str, Fence], reply: TakeCustodyReply, asked: float) -> None:
        """Carry out an order while custody lasts, and report it."""
        fields = {"operation": order.operation, "lane": self.name, "agent": self.session.name}
        path = next(iter(fences)) if len(fences) == 1 else ""
        with (
            log_context(request_id=order.request_id, path=path, **fields),
            tracing.span("order", order.traceparent, _wall_clock(asked), verb=order.verb, **fields) as made,
        ):
            with tracing.span("take", since=_wall_clock(asked)):
                log.info("order %d is taken: %s of %d", order.id, order.verb, len(fences))
            try:
                custody = Custody(self.session, order, fences, asked + reply.custody, made.traceparent)
                await self._execute(custody, fences, reply.max_call)
            finally:
                self._count(-1)

    async def _execute(self, custody: Custody, fences: Mapping[str, Fence], max_call: float) -> None:
        order, results = custody.order, list[ReportResult]()
        async with custody:
            if order.report_start:
                await custody.report(self.name, started_results(fences))
            if 0 < max_call < self.driver.longest_call:  # it could act when no controller expects it any more
                longest = self.driver.longest_call
                why = f"a call of the driver may last {longest:g} s, and the cell allows {max_call:g} s"
                log.error("order.failed lane=%s order=%d error=%r", self.name, order.id, why)
                results = [ReportResult(path, fence, "failed", error=why) for path, fence in fences.items()]
            elif order.kind == KIND:
                results = await self.site.execute(order, fences)
            else:
                results = await self.work.execute(order, fences, custody.check, partial(self._report_part, custody))
        if not custody.held:
            metrics.LOST.inc()
            log.warning("order.custody_lost lane=%s order=%d", self.name, order.id)
        elif not results:
            log.warning("order.outcome_unknown lane=%s order=%d", self.name, order.id)
        else:
            log.info("order %d is reported: %s", order.id, summary(results))
            await custody.report(self.name, results)
            self._follow_up(order, results)

    async def _report_part(self, custody: Custody, results: Sequence[ReportResult]) -> None:
        """Report members of an order that goes on for others."""
        custody.check()
        log.info("order %d goes on, and is reported in part: %s", custody.order.id, summary(results))
        custody.release(result.path for result in results)
        await custody.report(self.name, results)

    def _follow_up(self, order: Order, results: Sequence[ReportResult]) -> None:
        """After a controller has met the site: send the full state, or end this run."""
        if order.kind != KIND or order.verb != GATHER:
            return
        if any(result.kind == "failed" for result in results):
            if not self.failure.done():
                self.failure.set_exception(SiteStateUnavailable(f"{self.name}: {results[0].error}"))
        else:
            self.sync.request_unless_recent()


def _wall_clock(moment: float) -> float:
    """A time of the event loop by the wall clock."""
    return time.time() - (asyncio.get_running_loop().time() - moment)
