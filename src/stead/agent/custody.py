"""The right to work on an order, for some seconds, renewed while the work goes on.

When it cannot be renewed in time the work is cancelled: the agent stops by itself before anybody else may begin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from stead.bus import Bus, NoAnswer
from stead.bus.messages import Order, RenewCustody, Report, ReportResult
from stead.lifecycle.snapshot import Fence


class CustodyLost(Exception):
    """Custody has run out: nothing more may be done."""


class Custody:
    """Wraps the work: cancels it when custody is lost."""

    def __init__(
        self, bus: Bus, agent: str, epoch: int, order: Order, fences: Mapping[str, Fence], until: float
    ) -> None:
        self.bus = bus
        self.agent = agent
        self.epoch = epoch
        self.order = order
        self.fences = dict(fences)
        self._gone: set[str] = set()
        self.until = until
        self.held = True
        self.traceparent = order.traceparent
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
        """Before every call: a process that was stopped for a while wakes up in the middle of its work."""
        if asyncio.get_running_loop().time() >= self.until:
            self.held = False
            raise CustodyLost

    def settled(self, paths: Iterable[str]) -> None:
        """Members whose results are reported are not held any longer."""
        for path in paths:
            if self.fences.pop(path, None) is not None:
                self._gone.add(path)

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(max(0.0, (self.until - loop.time()) / 3))
            asked = loop.time()
            try:
                renew = RenewCustody(order=self.order.id, agent=self.agent, epoch=self.epoch, fences=self.fences)
                reply = await self.bus.renew(renew, timeout=max(0.1, self.until - asked))
            except NoAnswer:
                break
            if not reply.ok and not (reply.lost and self._gone.issuperset(reply.lost)):
                break
            self.until = asked + reply.custody
        self.held = False
        if self._work is not None:
            self._work.cancel()

    def report(self, lane: str, results: Sequence[ReportResult]) -> Report:
        """What came of it, in the form the bus takes."""
        return Report(
            agent=self.agent,
            epoch=self.epoch,
            order=self.order.id,
            lane=lane,
            results=list(results),
            request_id=self.order.request_id,
            traceparent=self.traceparent,
        )
