"""What an agent does for the site it runs on, apart from what it makes there.

A controller that has heard of it has it gather what the site has. Where that cannot be said, the agent ends, and
whoever sees to it starts it anew: under a new epoch it is let in again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from stead import __version__
from stead.agent.handover import HandoverRejected
from stead.agent.order_work import Fences, OrderWork
from stead.bus.messages import Order, OrderMember, ReportKind, ReportResult
from stead.drivers.base import Error

if TYPE_CHECKING:
    from stead.agent.agent import Agent

KIND = "cloudlet"
"""What controllers call a site."""

LANES = "edge."
"""How the lanes of sites begin."""

GATHER = "gather"
UPGRADE = "upgrade"

TRIES, PAUSE = 5, 1.0
"""How often it is tried to gather what there is, and seconds before another try."""


class Site:
    """The site of one lane."""

    def __init__(self, agent: Agent, work: OrderWork) -> None:
        self.agent = agent
        self.work = work

    async def do(self, order: Order, fences: Fences) -> list[ReportResult]:
        """Carry out what is the site's own, for the one member that it is about."""
        facts: dict[str, object] = {}
        try:
            if order.verb == GATHER:
                facts = await self._gather()
                error = ""
            elif order.verb == UPGRADE:
                error = await self._upgrade(order.members[0])
                if not error:
                    return []  # that it has taken over was said already, by the new agent that this one is now
            else:
                error = f"this agent, of version {__version__}, does not know {order.verb} of a {order.kind}"
        except Error as failed:
            error = failed.message
        kind: ReportKind = "failed" if error else "done"
        return [ReportResult(path, fence, kind, facts=facts, error=error) for path, fence in fences.items()]

    async def _upgrade(self, member: OrderMember) -> str:
        """Be replaced, which ends this process; otherwise why not."""
        version, succession = member.spec.get("version"), self.agent.succession
        if not isinstance(version, str) or not version:
            return "it is not said to which version"
        if succession is None:
            return "this agent was not told where other versions of it are (--versions)"
        if version != __version__:
            return await succession.hand_over(version)
        # It had taken over, and was started anew before the controller heard of it.
        await self.agent.begin_epoch()
        try:
            await succession.take_over(self.agent)
        except HandoverRejected as error:
            return str(error)
        return ""

    async def _gather(self) -> dict[str, object]:
        for left in reversed(range(TRIES)):
            try:
                found = await self.work.inventory()
                break
            except Error:
                if not left:
                    raise
                await asyncio.sleep(PAUSE)
        kinds = sorted(self.work.driver.kinds)
        return {"agent": self.agent.name, "version": __version__, "kinds": kinds, "objects": len(found)}
