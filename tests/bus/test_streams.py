from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import RetentionPolicy, StorageType, StreamConfig

from stead.bus import Bus, WrongStream
from stead.dev.engines import Nats
from tests.bus.samples import LANE, order


@pytest.fixture
async def jetstream(nats_server: Nats) -> AsyncIterator[JetStreamContext]:
    client = await nats.connect(nats_server.url)
    yield client.jetstream()
    await client.close()


async def test_the_streams_are_as_the_design_says(bus: Bus, jetstream: JetStreamContext) -> None:
    for stream in (*bus.subjects.orders_streams, bus.subjects.reports_stream):
        config = (await jetstream.stream_info(stream)).config
        assert (config.retention, config.storage) == ("workqueue", "file")
        assert config.duplicate_window == 120
        # An agent that says too much waits for itself alone.
        most = (50_000, "new", True) if stream == bus.subjects.reports_stream else (-1, "old", False)
        assert (config.max_msgs_per_subject, config.discard, bool(config.discard_new_per_subject)) == most
        # Without a number of its own, a stream has the server's limit: a thousand consumers, so a thousand lanes.
        assert config.max_consumers == 1_000_000


async def test_the_identity_stays_while_the_stream_does(bus: Bus, other: Bus) -> None:
    identity = await bus.identity()
    assert identity.orders != identity.reports
    await bus.publish_order(order())
    assert await bus.identity() == identity
    assert await other.identity() == identity


@pytest.mark.parametrize("lost", [0, 1])
async def test_a_stream_made_anew_is_another(bus: Bus, jetstream: JetStreamContext, lost: int) -> None:
    before = await bus.identity()
    await jetstream.delete_stream([bus.subjects.orders_stream(LANE), bus.subjects.reports_stream][lost])
    after = await bus.identity()
    assert after != before
    assert after[lost] != before[lost]
    assert after[1 - lost] == before[1 - lost]


async def test_many_controllers_make_the_streams_at_once(nats_server: Nats, cell: str) -> None:
    controllers = [Bus(nats_server.url, cell) for _ in range(12)]
    try:
        await asyncio.gather(*(controller.connect(60) for controller in controllers))
        identities = await asyncio.gather(*(controller.identity() for controller in controllers))
        assert len(set(identities)) == 1
    finally:
        await asyncio.gather(*(controller.close() for controller in controllers))


async def test_a_stream_of_other_settings_is_mended_and_stays_itself(bus: Bus, jetstream: JetStreamContext) -> None:
    identity = await bus.identity()
    name = bus.subjects.orders_stream(LANE)
    config = (await jetstream.stream_info(name)).config
    await jetstream.update_stream(config.evolve(duplicate_window=30, max_consumers=5, max_bytes=10**9))
    assert await bus.identity() == identity
    mended = (await jetstream.stream_info(name)).config
    assert (mended.duplicate_window, mended.max_consumers, mended.max_bytes) == (120, 1_000_000, 10**9)


async def test_a_stream_made_by_hand_has_an_identity(other: Bus, jetstream: JetStreamContext) -> None:
    subjects = other.subjects
    await jetstream.add_stream(
        StreamConfig(subjects.reports_stream, subjects=subjects.all_reports, retention=RetentionPolicy.WORK_QUEUE)
    )
    identity = await other.identity()
    assert identity.reports.startswith("made ")
    assert await other.identity() == identity


async def test_a_stream_that_cannot_be_mended_is_an_error(other: Bus, jetstream: JetStreamContext) -> None:
    subjects = other.subjects
    await jetstream.add_stream(StreamConfig(subjects.reports_stream, subjects=subjects.all_reports))
    with pytest.raises(WrongStream, match="can not change retention policy"):
        await other.identity()


async def test_cells_of_a_bus_with_more_streams_than_one_answer_holds_are_all_named(
    own_bus: Bus, own_nats: Nats, cell: str
) -> None:
    client = await nats.connect(own_nats.url)
    try:
        made = [StreamConfig(name=f"A-{i}", subjects=[f"a.{i}"], storage=StorageType.MEMORY) for i in range(260)]
        await asyncio.gather(*(client.jetstream().add_stream(config) for config in made))
    finally:
        await client.close()
    assert await own_bus.cells() == [cell]
