"""What an agent answers to a controller that asks about a lane."""

from __future__ import annotations

from collections.abc import Sequence

from stead.agent.custody import Custody
from stead.agent.incarnations import Incarnations
from stead.agent.lane_driver import LaneDriver
from stead.agent.lane_requests import LaneRequests
from stead.agent.session import AgentSession
from stead.agent.state_sync import StateSyncLoop
from stead.bus import Bus
from stead.bus.messages import Order, OrderMember, ProbeRequest, Report, ReportResult
from stead.dev.engines import Nats
from stead.drivers.base import Member, ObservedObject
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.snapshot import Fence

LANE = "aws.a"
FACTS = {"text": "x" * 60_000}
PATHS = [f"/a/{n}" for n in range(40)]


class Talkative(SimDriver):
    """A driver that says much of each object."""

    def __init__(self) -> None:
        """Without a provider."""

    def batch_limit(self, verb: str, kind: str = "vm") -> int:
        return 100

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        return [ObservedObject(path=member.path, state="Running", facts=FACTS) for member in members]


async def test_probe_is_answered_with_as_much_as_a_message_carries(nats_server: Nats, cell: str) -> None:
    async with Bus(nats_server.url, cell, agent="a1") as bus, Bus(nats_server.url, cell) as controller:
        await bus.connect(60)
        await controller.connect(60)
        session, driver = AgentSession(bus, "a1", [LANE]), LaneDriver(Talkative())
        sync = StateSyncLoop(session, LANE, driver, lambda: None)
        await LaneRequests(session, LANE, driver, Incarnations(), sync).serve()
        await bus.identity()  # answered after the subscriptions were
        left, answers = [OrderMember(path, Fence(0, 1)) for path in PATHS], 0
        observed: list[str] = []
        while left:
            answers += 1
            reply = await controller.probe(ProbeRequest(LANE, left))
            observed += [line.path for line in reply.objects]
            left = [member for member in left if member.path in reply.omitted]
        assert (observed, answers) == (PATHS, 5)


async def test_results_larger_than_a_message_are_reported_in_several(nats_server: Nats, cell: str) -> None:
    async with Bus(nats_server.url, cell, agent="a1") as bus, Bus(nats_server.url, cell) as controller:
        await bus.connect(60)
        await controller.connect(60)
        await controller.identity()
        order = Order(1, LANE, "vm", "create", "t", "op", 1, [OrderMember(path, Fence(0, 1)) for path in PATHS])
        custody = Custody(AgentSession(bus, "a1", [LANE]), order, {}, 0.0)
        await custody.report(LANE, [ReportResult(path, Fence(0, 2), "succeeded", facts=FACTS) for path in PATHS])
        reported: list[str] = []
        async with controller.reports() as reports:
            while len(reported) < len(PATHS):
                for delivery in await reports.fetch(timeout=30):
                    assert isinstance(delivery.message, Report)
                    reported += [result.path for result in delivery.message.results]
        assert reported == PATHS
