"""The right to work on an order, for some seconds, renewed while the work goes on.

When it cannot be renewed in time the work is cancelled: the agent stops by itself before another agent may begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from stead.agent.session import AgentSession
from stead.batcher import Batcher
from stead.bus import NoAnswer
from stead.bus.messages import Order, RenewCustody, Report, ReportResult, TakeCustody, TakeCustodyReply
from stead.bus.parts import parts_of
from stead.lifecycle.snapshot import Fence

MAX_TAKEN = 1000
"""Members in one request for custody: it counts from before the request, so the answer has to come soon."""


MAX_RESULTS = 10_000
"""Results in one report."""


class CustodyLost(Exception):
    """Custody has run out: the agent may do nothing more."""


class CustodyClient:
    """Asks controllers for custody, for orders of all lanes together."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self._take = Batcher(self._take_all, MAX_TAKEN, at_once=2, size=len)

    async def take(self, members: Sequence[tuple[str, Fence]]) -> TakeCustodyReply | NoAnswer:
        """Custody of the members that no other agent has; it counts from before the call."""
        return await self._take(members)

    async def _take_all(self, requests: Sequence[Sequence[tuple[str, Fence]]]) -> list[TakeCustodyReply | NoAnswer]:
        session = self.session
        members = [member for request in requests for member in request]
        try:
            reply = await session.bus.take_custody(
                TakeCustody(agent=session.name, epoch=session.epoch, members=members)
            )
        except NoAnswer as error:
            return [error for _ in requests]
        return [reply for _ in requests]


class Custody:
    """Custody of one order. As a context, it cancels the work in it when custody is lost."""

    def __init__(
        self, session: AgentSession, order: Order, fences: Mapping[str, Fence], until: float, traceparent: str = ""
    ) -> None:
        """`until` is a time of the event loop; `fences` are those of the members that the agent has custody of."""
        self.session = session
        self.epoch = session.epoch
        self.order = order
        self.fences = dict(fences)
        self.until = until
        self.held = True
        self.traceparent = traceparent or order.traceparent
        self._reported: set[str] = set()
        self._work: asyncio.Task[object] | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._work = asyncio.current_task()
        self._renewal = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        assert self._renewal is not None
        self._renewal.cancel()
        if kind is asyncio.CancelledError and not self.held and self._work is not None:
            self._work.uncancel()
            return True
        return kind is CustodyLost

    def check(self) -> None:
        """Raise where custody is over. To be called before every call: a process may have been stopped meanwhile."""
        if asyncio.get_running_loop().time() >= self.until:
            self.held = False
            raise CustodyLost

    def release(self, paths: Iterable[str]) -> None:
        """Hold members no longer whose results are reported."""
        for path in paths:
            if self.fences.pop(path, None) is not None:
                self._reported.add(path)

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(max(0.0, (self.until - loop.time()) / 3))
            asked = loop.time()
            try:
                request = RenewCustody(
                    order=self.order.id, agent=self.session.name, epoch=self.epoch, fences=self.fences
                )
                reply = await self.session.bus.renew_custody(request, timeout=max(0.1, self.until - asked))
            except NoAnswer:
                break
            if not reply.ok and not (reply.lost and self._reported.issuperset(reply.lost)):
                break
            self.until = asked + reply.custody
        self.held = False
        if self._work is not None:
            self._work.cancel()

    async def report(self, lane: str, results: Sequence[ReportResult]) -> None:
        """Report results of the order, in as many messages as they need."""
        for part in parts_of(results, MAX_RESULTS):
            await self.session.bus.publish_report(
                Report(
                    agent=self.session.name,
                    epoch=self.epoch,
                    order=self.order.id,
                    lane=lane,
                    results=part,
                    request_id=self.order.request_id,
                    traceparent=self.traceparent,
                )
            )
