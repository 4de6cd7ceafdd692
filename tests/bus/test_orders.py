from __future__ import annotations

import asyncio
import time

import nats
import pytest
from nats.aio.msg import Msg

from stead.bus import Bus, Consumer, NotPublished, Recipient, TooLarge, Unavailable
from stead.bus.codec import encode
from stead.bus.messages import Order, OrderMember
from stead.dev.engines import Nats
from stead.lifecycle.snapshot import Fence
from tests.bus.samples import LANE, drain, eventually, order
from tests.subscribing import flushed


async def stored(bus: Bus, server: Nats) -> int:
    """How many orders the stream holds: those not yet acknowledged."""
    client = await nats.connect(server.url)
    try:
        return (await client.jetstream().stream_info(bus.subjects.orders_stream(LANE))).state.messages
    finally:
        await client.close()


async def test_an_order_arrives_once_and_is_gone_when_acknowledged(bus: Bus, nats_server: Nats) -> None:
    sent = order()
    assert await bus.publish_order(sent) is False
    async with bus.orders(LANE, ack_wait=0.4) as lane:
        (delivery,) = await lane.fetch(10)
        assert delivery.message == sent
        assert delivery.times == 1
        await delivery.ack()
        assert await lane.fetch(10, timeout=0.8) == []
    assert await stored(bus, nats_server) == 0


async def test_an_order_that_nobody_acknowledges_comes_again(bus: Bus) -> None:
    await bus.publish_order(order())
    async with bus.orders(LANE, ack_wait=0.3) as lane:
        for time_ in (1, 2, 3):
            (delivery,) = await lane.fetch(10)
            assert delivery.times == time_
        await delivery.ack()


async def test_an_order_that_is_worked_on_does_not_come_again(bus: Bus, other: Bus) -> None:
    await bus.publish_order(order())
    async with bus.orders(LANE, ack_wait=1) as worker, other.orders(LANE, ack_wait=1) as second:
        (delivery,) = await worker.fetch()
        for _ in range(5):
            await delivery.working()
            assert await second.fetch(timeout=0.3) == []
        (again,) = await second.fetch(timeout=5)
        assert again.times == 2


async def test_an_order_given_back_comes_again_at_once_or_when_asked(bus: Bus) -> None:
    await bus.publish_order(order())
    async with bus.orders(LANE, ack_wait=30) as lane:
        (first,) = await lane.fetch()
        await first.nak()
        (second,) = await lane.fetch()
        await second.nak(0.5)
        assert await lane.fetch(timeout=0.2) == []
        (third,) = await lane.fetch()
        assert [first.times, second.times, third.times] == [1, 2, 3]


async def test_a_fetch_takes_what_is_there_and_waits_for_the_first_otherwise(bus: Bus) -> None:
    async with bus.orders(LANE) as lane:
        waiting = asyncio.create_task(lane.fetch(10, timeout=20))
        sent = [order() for _ in range(5)]
        await bus.publish_order(sent[0])
        (first,) = await waiting
        assert first.message == sent[0]
        await bus.publish_orders(sent[1:])
        assert [one.message for one in await lane.fetch(3, timeout=20)] == sent[1:4]
        assert [one.message for one in await lane.fetch(3, timeout=20)] == sent[4:]
        assert await lane.fetch(3, timeout=0) == []


async def test_a_fetch_that_has_ended_takes_nothing_from_others(bus: Bus, other: Bus) -> None:
    async with bus.orders(LANE, ack_wait=30) as one, other.orders(LANE, ack_wait=30) as two:
        await bus.publish_order(order())
        assert len(await one.fetch(10, timeout=20)) == 1
        later = order()
        await bus.publish_order(later)
        (delivery,) = await two.fetch(10)
        assert (delivery.message, delivery.times) == (later, 1)


async def test_what_comes_for_a_fetch_given_up_is_there_for_the_next(bus: Bus) -> None:
    async with bus.orders(LANE, ack_wait=30) as lane:
        await give_up_a_fetch(bus, lane)
        sent = order()
        await bus.publish_order(sent)
        async with asyncio.timeout(60):
            (delivery,) = await lane.fetch(timeout=60)
        assert (delivery.message, delivery.times) == (sent, 1)


async def test_what_comes_for_a_fetch_given_up_is_not_held_back_by_the_next(bus: Bus) -> None:
    async with bus.orders(LANE, ack_wait=30) as lane:
        await give_up_a_fetch(bus, lane)
        fetching = asyncio.create_task(lane.fetch(timeout=60))
        await asyncio.sleep(0)
        sent = order()
        await bus.publish_order(sent)
        async with asyncio.timeout(60):
            (delivery,) = await fetching
        assert (delivery.message, delivery.times) == (sent, 1)


async def test_what_came_for_a_fetch_given_up_is_not_kept_from_others_and_used_too(bus: Bus, other: Bus) -> None:
    async with bus.orders(LANE, ack_wait=0.5) as lane, other.orders(LANE, ack_wait=0.5) as second:
        await give_up_a_fetch(bus, lane)
        await bus.publish_order(order())
        (delivery,) = await second.fetch()
        assert delivery.times == 2
        await delivery.ack()
        assert await lane.fetch(timeout=0.1) == []


async def give_up_a_fetch(bus: Bus, lane: Consumer[Order]) -> None:
    """Let the server wait for an order to deliver, and wait no more oneself."""
    await lane.fetch(timeout=0)
    given_up = asyncio.create_task(lane.fetch(timeout=20))
    await asyncio.sleep(0)
    await bus.identity()  # the server has heard what was sent before this
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up


async def test_a_repeat_is_swallowed_and_an_order_sent_anew_is_not(bus: Bus) -> None:
    sent = order(id=7_000_001)
    anew = order(id=7_000_001, counter=2)
    assert await bus.publish_order(sent) is False
    assert await bus.publish_order(sent) is True
    assert await bus.publish_order(order(id=7_000_001, attempt=2)) is True
    assert await bus.publish_order(anew) is False
    assert await bus.publish_orders([sent, anew, order()]) == [True, True, False]
    async with bus.orders(LANE) as lane:
        found = [delivery.message for delivery in await drain(lane, 3)]
    assert found[:2] == [sent, anew]


async def test_one_risen_fence_among_many_makes_another_message(bus: Bus) -> None:
    def batch(*counters: int) -> Order:
        members = [OrderMember(f"/m/{index}", Fence(0, counter)) for index, counter in enumerate(counters)]
        return order(id=7_000_002, members=members)

    assert await bus.publish_orders([batch(1, 1, 1), batch(1, 2, 1), batch(1, 1, 1)]) == [False, False, True]


async def test_two_agents_share_a_lane(bus: Bus, other: Bus) -> None:
    sent = [order() for _ in range(40)]
    await bus.publish_orders(sent)
    async with bus.orders(LANE) as one, other.orders(LANE) as two:
        shares: list[list[int]] = [[], []]
        for _ in range(4):
            for consumer, share in zip((one, two), shares, strict=True):
                for delivery in await consumer.fetch(5):
                    share.append(delivery.message.id)
                    await delivery.ack()
    assert [len(share) for share in shares] == [20, 20]
    assert sorted(shares[0] + shares[1]) == [one.id for one in sent]


async def test_an_agent_that_dies_leaves_its_orders_to_the_other(bus: Bus, nats_server: Nats, cell: str) -> None:
    sent = [order() for _ in range(6)]
    await bus.publish_orders(sent)
    async with Bus(nats_server.url, cell) as dying:
        await dying.connect(60)
        held = await dying.orders(LANE, ack_wait=0.5).fetch(4)
        assert len(held) == 4
    async with bus.orders(LANE, ack_wait=0.5) as survivor:
        got: dict[int, int] = {}
        while len(got) < 6:
            for delivery in await survivor.fetch():
                got[delivery.message.id] = delivery.times
                await delivery.ack()
    assert sorted(got) == [one.id for one in sent]
    assert sorted(got.values()) == [1, 1, 2, 2, 2, 2]


async def test_an_order_for_one_run_of_an_agent_reaches_no_other(bus: Bus) -> None:
    old, new = Recipient("agent-1", 3), Recipient("agent-1", 4)
    shared, for_old, for_new = order(id=8_000_001), order(id=8_000_002), order(id=8_000_002)
    assert await bus.publish_order(shared) is False
    assert await bus.publish_order(for_old, old) is False
    assert await bus.publish_orders([for_new], new) == [False]
    async with bus.orders(LANE) as all_, bus.orders(LANE, "agent-1", 3) as one, bus.orders(LANE, "agent-1", 4) as two:
        for consumer, expected in ((all_, shared), (one, for_old), (two, for_new)):
            (delivery,) = await consumer.fetch(10)
            assert delivery.message == expected
            await delivery.ack()
            assert await consumer.fetch(10, timeout=0.05) == []


async def test_a_run_that_is_over_can_be_forgotten(bus: Bus, nats_server: Nats) -> None:
    gone = Recipient("agent-1", 3)
    await bus.publish_order(order(), gone)
    await bus.publish_order(order())
    async with bus.orders(LANE, "agent-1", 3) as consumer:
        assert len(await consumer.fetch()) == 1
    assert await stored(bus, nats_server) == 2
    await bus.forget(LANE, gone)
    assert await stored(bus, nats_server) == 1
    await bus.forget(LANE, gone)
    async with bus.orders(LANE) as lane:
        assert len(await lane.fetch()) == 1


def test_an_agent_has_an_epoch(cell: str) -> None:
    bus = Bus("nats://127.0.0.1:1", cell)
    with pytest.raises(ValueError, match="without"):
        bus.orders(LANE, "agent-1")
    with pytest.raises(ValueError, match="not the URL"):
        Bus("somewhere", cell)


async def test_two_hundred_lanes(bus: Bus) -> None:
    lanes = [f"edge.site-{number}" for number in range(200)]
    sent = {lane: order(lane) for lane in lanes}
    await bus.publish_orders(list(sent.values()))

    async def serve(lane: str) -> None:
        async with bus.orders(lane) as consumer:
            (delivery,) = await consumer.fetch(10, timeout=10)
            assert delivery.message == sent[lane]
            await delivery.ack()

    await asyncio.gather(*map(serve, lanes))


async def test_what_is_no_message_is_dropped_and_another_version_left_to_others(bus: Bus, nats_server: Nats) -> None:
    subject = bus.subjects.order(LANE)
    client = await nats.connect(nats_server.url)
    await client.jetstream().publish(subject, b"\xff garbage")
    await client.jetstream().publish(subject, encode(order()).replace(b'"v":[1,', b'"v":[2,'))
    await client.close()
    good = order()
    await bus.publish_order(good)
    async with bus.orders(LANE, ack_wait=0.3) as lane:
        (delivery,) = await lane.fetch(10)
        assert delivery.message == good
        await delivery.ack()
        assert await lane.fetch(10, timeout=0.6) == []

    async def only_the_other_version() -> bool:
        return await stored(bus, nats_server) == 1

    await eventually(only_the_other_version)


async def test_what_fails_among_many_is_told_apart(bus: Bus) -> None:
    huge = order(members=[OrderMember("/a", Fence(), spec={"x": "x" * 2_000_000})])
    with pytest.raises(TooLarge):
        await bus.publish_order(huge)
    again = order()
    await bus.publish_order(again)
    with pytest.raises(NotPublished, match="1 of 3 orders not published") as caught:
        await bus.publish_orders([order(), huge, again])
    assert caught.value.published == {0: False, 2: True}
    assert {index: type(error) for index, error in caught.value.failed.items()} == {1: TooLarge}


async def test_without_streams_nothing_is_silent(other: Bus) -> None:
    with pytest.raises(Unavailable, match="nobody listens"):
        await other.publish_order(order())
    with pytest.raises(Unavailable, match="stream not found"):
        await other.orders(LANE).fetch(timeout=0.2)


async def test_what_the_server_refuses_is_an_error_at_once(bus: Bus, nats_server: Nats) -> None:
    client = await nats.connect(nats_server.url)
    manager = client.jetstream()
    config = (await manager.stream_info(bus.subjects.orders_stream(LANE))).config
    await manager.update_stream(config.evolve(max_msgs=1, discard="new"))
    await client.close()
    with pytest.raises(NotPublished, match="maximum messages exceeded") as caught:
        await bus.publish_orders([order(), order()], timeout=60)
    assert list(caught.value.published) == [0]


async def test_throughput(bus: Bus, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: a figure to be startled by."""
    count = 3000
    sent = [order() for _ in range(count)]
    start = time.perf_counter()
    await bus.publish_orders(sent, timeout=30)
    published = time.perf_counter()
    async with bus.orders(LANE, ack_wait=30) as lane:
        for delivery in await drain(lane, count, 500):
            await delivery.ack()
    done = time.perf_counter()
    with capsys.disabled():
        print(f"\n{count / (published - start):,.0f} orders published a second, ", end="")
        print(f"{count / (done - published):,.0f} fetched and acknowledged")


async def test_what_somebody_writes_to_an_inbox_is_garbage_and_ends_nobody(bus: Bus, nats_server: Nats) -> None:
    spy = await nats.connect(nats_server.url)
    heard = asyncio.get_running_loop().create_future()

    async def overheard(message: Msg) -> None:
        if not heard.done() and ".CONSUMER.MSG.NEXT." in message.subject:
            heard.set_result(message.reply)

    try:
        await spy.subscribe("$JS.API.CONSUMER.MSG.NEXT.>", cb=overheard)
        await flushed(spy)
        async with bus.orders(LANE) as lane:
            fetching = asyncio.create_task(lane.fetch(10, timeout=10))
            inbox = await heard
            await spy.publish(inbox, b"hello", reply="a.b")
            await flushed(spy)
            await eventually(lambda: counted(bus))
            await bus.publish_order(order())
            assert len(await fetching) == 1
    finally:
        await spy.close()


async def counted(bus: Bus) -> bool:
    return bus.invalid_messages.count == 1
