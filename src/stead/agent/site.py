"""What an agent does for the site it runs on, apart from the resources that it makes there.

A controller that has heard of the agent has it count what the site has. Where the driver cannot say that, the agent
ends, and the machine's service manager starts it again: under a new epoch the controller greets it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from stead import __version__
from stead.agent.handover import Handover, HandoverRejected
from stead.agent.lane_driver import LaneDriver
from stead.agent.order_results import Fences
from stead.agent.session import AgentSession
from stead.bus.messages import Order, OrderMember, ReportKind, ReportResult
from stead.drivers.base import DriverError

KIND = "cloudlet"
"""The kind of a site."""

LANES = "edge."
"""Prefix of the lanes of sites."""

GATHER = "gather"
UPGRADE = "upgrade"

MAX_TRIES, PAUSE = 5, 1.0
"""Tries to read what the site has, and seconds between two."""


class SiteStateUnavailable(Exception):
    """A controller asked what a site has, and its driver could not say."""


class Site:
    """The site of one lane."""

    def __init__(
        self,
        session: AgentSession,
        driver: LaneDriver,
        handover: Handover | None,
        take_over_again: Callable[[], Awaitable[None]],
    ) -> None:
        """`take_over_again` begins a new epoch, and takes over as the new agent of an upgrade."""
        self.session = session
        self.driver = driver
        self.handover = handover
        self.take_over_again = take_over_again

    async def execute(self, order: Order, fences: Fences) -> list[ReportResult]:
        """Carry out an order about the site itself, its one member."""
        facts: dict[str, object] = {}
        try:
            if order.verb == GATHER:
                facts = await self._gather()
                error = ""
            elif order.verb == UPGRADE:
                error = await self._upgrade(order.members[0])
                if not error:
                    return []  # the new agent, which this one is now, has reported already that it took over
            else:
                error = f"this agent, of version {__version__}, does not know {order.verb} of a {order.kind}"
        except DriverError as failed:
            error = failed.message
        kind: ReportKind = "failed" if error else "succeeded"
        return [ReportResult(path, fence, kind, facts=facts, error=error) for path, fence in fences.items()]

    async def _upgrade(self, member: OrderMember) -> str:
        """Be replaced, which ends this process; otherwise why not."""
        version = member.spec.get("version")
        if not isinstance(version, str) or not version:
            return "the order does not say to which version"
        if self.handover is None:
            return "this agent does not know where its other versions are (--versions)"
        if version != __version__:
            return await self.handover.hand_over(version)
        # It had taken over, and was started anew before the controller heard of it.
        try:
            await self.take_over_again()
        except HandoverRejected as error:
            return str(error)
        return ""

    async def _gather(self) -> dict[str, object]:
        for left in reversed(range(MAX_TRIES)):
            try:
                found = await self.driver.inventory()
                break
            except DriverError:
                if not left:
                    raise
                await asyncio.sleep(PAUSE)
        kinds = sorted(self.driver.kinds)
        return {"agent": self.session.name, "version": __version__, "kinds": kinds, "objects": len(found)}
