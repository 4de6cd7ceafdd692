from __future__ import annotations

import asyncio

import pytest

from stead.bus import Bus, NoAnswer, streams
from stead.bus.messages import FromAgent, FullState, Hello, Presence, StateLine
from stead.dev.engines import Nats
from stead.lifecycle.snapshot import Fence
from tests.bus.samples import drain, presence, report


async def test_reports_come_in_batches_to_all_controllers_together(bus: Bus, other: Bus) -> None:
    sent = [report(number, lane=f"edge.site-{number % 3}") for number in range(30)]
    await asyncio.gather(*(bus.publish_report(one) for one in sent))
    async with bus.reports(batch=10) as one, other.reports(batch=10) as two:
        batches = [await one.fetch(), await two.fetch(), await one.fetch()]
        assert [len(batch) for batch in batches] == [10, 10, 10]
        found = [delivery.message for batch in batches for delivery in batch]
        assert sorted(message.order for message in found if not isinstance(message, (FullState, Hello))) == [
            *range(30)
        ]


async def test_a_batch_that_is_not_committed_comes_again(bus: Bus, other: Bus) -> None:
    await asyncio.gather(*(bus.publish_report(report(number)) for number in range(4)))
    async with bus.reports(ack_wait=1) as crashing, other.reports(ack_wait=1) as working:
        lost = await drain(crashing, 4)
        await lost[0].ack()
        async with asyncio.timeout(60):
            again = await drain(working, 3)
        assert {delivery.times for delivery in again} == {2}
        for delivery in again:
            await delivery.ack()
        assert await crashing.fetch(timeout=0.6) == []


async def test_all_that_agents_report_comes_by_the_same_way(bus: Bus) -> None:
    sent: list[FromAgent] = [
        Hello("agent-1", 3, ["edge.site-17"], "0.1.0"),
        FullState("agent-1", 3, "edge.site-17", [StateLine(Fence(0, 1), "running", "/a")], False),
        FullState("agent-1", 3, "edge.site-17", [], True),
        report(),
    ]
    for one in sent:
        await bus.publish_report(one)
    async with bus.reports() as reports:
        assert [delivery.message for delivery in await drain(reports, 4)] == sent


async def test_a_report_without_a_stream_waits_for_one(other: Bus) -> None:
    with pytest.raises(NoAnswer, match="not published in time"):
        await other.publish_report(report(1), timeout=0.2)
    publishing = asyncio.create_task(other.publish_report(report(2)))
    await other.identity()
    await publishing
    async with other.reports() as reports:
        (delivery,) = await reports.fetch()
    assert delivery.message == report(2)


async def test_presence_reaches_one_of_the_controllers_that_listen(bus: Bus, other: Bus) -> None:
    heard: asyncio.Queue[Presence] = asyncio.Queue()
    for controller in (bus, other):
        await controller.on_presence(lambda presence, _: heard.put(presence))
    # An answer to a question shows that the server knows of both who listen.
    await bus.identity()
    await other.identity()
    for _ in range(5):
        await bus.announce(presence())
    async with asyncio.timeout(60):
        assert [await heard.get() for _ in range(5)] == [presence()] * 5
    await bus.identity()
    await other.identity()
    assert heard.empty()


async def test_whoever_says_too_much_is_told_to_wait_and_nobody_else(
    nats_server: Nats, cell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MAX_REPORTS", 3)
    async with Bus(nats_server.url, cell) as bus:
        await bus.connect(60)
        await bus.identity()
        for number in range(3):
            await bus.publish_report(report(number, "flooded"))
        with pytest.raises(NoAnswer):
            await bus.publish_report(report(3, "flooded"), timeout=0.5)
        await bus.publish_report(report(4, "another"), timeout=5)
        async with bus.reports() as consumer:
            for delivery in await drain(consumer, 4):
                await delivery.ack()
        await bus.publish_report(report(5, "flooded"), timeout=5)
