"""An agent behind a leaf node that has a JetStream of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from stead.bus import Bus, BusError
from stead.bus.messages import LogsReply, LogsRequest
from stead.dev.children import free_port
from stead.dev.engines import Nats
from tests.bus.samples import LANE, order, report

DOMAIN = "hub"


@pytest.fixture
def leaf(tmp_path: Path) -> Iterator[tuple[Nats, Nats]]:
    """The server of a cell, and one of a site."""
    port = free_port()
    hub, site = tmp_path / "hub.conf", tmp_path / "site.conf"
    hub.write_text(f'jetstream {{domain: {DOMAIN}}}\nleafnodes {{listen: "127.0.0.1:{port}"}}\n')
    site.write_text(f'jetstream {{domain: site}}\nleafnodes {{remotes: [{{url: "nats://127.0.0.1:{port}"}}]}}\n')
    with ExitStack() as stack:
        servers = [stack.enter_context(Nats("--config", str(file))) for file in (hub, site)]
        yield servers[0], servers[1]


@pytest.fixture
async def controller(leaf: tuple[Nats, Nats], cell: str) -> AsyncIterator[Bus]:
    async with Bus(leaf[0].url, cell) as bus:
        await bus.connect(60)
        await bus.identity()
        yield bus


@pytest.mark.req("S1-08")
async def test_with_the_domain_of_the_cell_everything_passes(
    leaf: tuple[Nats, Nats], cell: str, controller: Bus
) -> None:
    async with Bus(leaf[1].url, cell, agent="agent-1", domain=DOMAIN) as bus:
        await bus.connect(60)
        wanted = order()
        async with bus.orders(wanted.lane) as orders, controller.reports() as reports:
            await controller.publish_order(wanted)
            (delivery,) = await orders.fetch(1, 10)
            assert delivery.message.id == wanted.id
            await delivery.ack()
            await bus.publish_report(report(), 10)
            (told,) = await reports.fetch(1, 10)
            assert told.message == report()
            await told.ack()
        await bus.logs.serve(LANE, _wrote)
        async with asyncio.timeout(60):
            while True:
                try:
                    answer = await controller.logs(LogsRequest(LANE, wanted.members[0], 10))
                    break
                except BusError:
                    await asyncio.sleep(0.05)  # the leaf has not told of it yet
        assert answer.lines == ["hello"]


async def _wrote(asked: LogsRequest) -> LogsReply:
    return LogsReply(["hello"], "")


async def test_without_it_the_site_is_asked_which_knows_nothing(
    leaf: tuple[Nats, Nats], cell: str, controller: Bus
) -> None:
    async with Bus(leaf[1].url, cell, agent="agent-1") as bus:
        await bus.connect(60)
        wanted = order()
        await controller.publish_order(wanted)
        async with bus.orders(wanted.lane) as orders:
            with pytest.raises(BusError):
                await orders.fetch(1, 3)
