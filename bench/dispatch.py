"""Dispatch: orders from commit to taken, beside as many messages that the bare bus carries."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
from nats import connect

from bench import bare_bus
from bench.figure import Figure, middle
from bench.ground import LIKE_THE_FIRST, ROOT, background, filled, path_of, postgres
from stead.build import assemble_engine
from stead.bus import Bus
from stead.bus.codec import encode
from stead.catalog import KINDS
from stead.controller.dispatch.publisher import order_of
from stead.controller.execution.transition import Applied, TransitionInput
from stead.dev.engines import Nats, Postgres
from stead.lifecycle.events import Request
from stead.store import Store
from stead.store.decision_template import OperationStart

BAR = 0.25


async def ordered(server: Postgres, name: str, orders: int, lanes: Sequence[str]) -> str:
    """A database in which so many orders stand, each for one VM, spread over lanes."""
    dsn = await filled(server, name, orders + 1, lanes)
    async with Store.open(dsn, connections=1) as store:
        one = assemble_engine(store, Bus("nats://127.0.0.1:1", "none")).controller.executor
        one._commit_hooks.clear()
        begin = OperationStart(uuid4(), "suspend", "ann")
        request = Request("suspend", operation=str(begin.id), by="ann")
        (asked,) = await one.apply([TransitionInput(path_of(orders), request, principal="ann", begin=begin)])
        assert isinstance(asked, Applied), asked
    connection = await asyncpg.connect(dsn)
    await connection.execute("DELETE FROM orders")
    await connection.execute("SELECT setval('orders_id_seq', 100000000)")
    await connection.execute(LIKE_THE_FIRST, path_of(orders), orders, "", 0)
    await connection.execute("UPDATE resources SET timers = '{}', due = NULL")
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return dsn


@asynccontextmanager
async def takers(nats: Nats, bus: Bus, cell: str, lanes: Sequence[str], count: int) -> AsyncIterator[None]:
    """Agents that share the lanes, each in a process of its own, as agents are; one after the other begins."""
    processes = []
    try:
        for n in range(count):
            shared = lanes[n::count]
            words = (sys.executable, "-m", "bench.taker", nats.url, cell, f"taker{n}", ",".join(shared))
            processes.append(await asyncio.create_subprocess_exec(*words, cwd=ROOT))
            await served(nats, bus, sum(len(lanes[i::count]) for i in range(n + 1)))
        yield
    finally:
        for process in processes:
            process.kill()
            await process.wait()


@asynccontextmanager
async def standing(
    server: Postgres, nats: Nats, lanes: Sequence[str], orders: int, agents: int = 1
) -> AsyncIterator[tuple[Store, Bus, list[Mapping[str, Any]]]]:
    """A controller, agents that wait, and orders that stand committed and that nobody was told of."""
    name = f"dispatch_{secrets.token_hex(4)}"
    dsn = await ordered(server, name, orders, lanes)
    async with Store.open(dsn, connections=4) as store, Bus(nats.url, name) as bus:
        await bus.connect(5)
        one = assemble_engine(store, bus).controller
        one.healers = ()
        await bus.identity()
        async with background(asyncio.ensure_future(one.run())), takers(nats, bus, name, lanes, agents):
            await quiet(store)
            yield store, bus, await store.orders.list_untaken(0, orders)  # what the commits have answered with
    server.drop_database(name)


async def ours(server: Postgres, nats: Nats, lanes: Sequence[str], orders: int) -> float:
    """Orders a second, from when they stand committed until the last of them is taken."""
    async with standing(server, nats, lanes, orders) as (store, bus, told):
        warm = orders // 10
        await carried(store, bus, told[:warm], len(told) - warm)
        began = time.perf_counter()
        await carried(store, bus, told[warm:], 0)
        return (orders - warm) / (time.perf_counter() - began)


async def carried(store: Store, bus: Bus, told: Sequence[Mapping[str, Any]], left: int) -> None:
    """Send orders as the controller does, and wait until all but so many are taken."""
    for batch in itertools.batched(told, 500):
        await bus.publish_orders([order_of(order, KINDS) for order in batch])
    await all_taken(store, left)


async def all_taken(store: Store, left: int = 0) -> None:
    """Until all orders but so many are."""
    while await store.pool.fetchval("SELECT count(*) FROM orders WHERE agent = ''") > left:
        await asyncio.sleep(0.02)


async def served(nats: Nats, bus: Bus, lanes: int) -> None:
    """Until so many lanes have their consumers."""
    client = await connect(nats.url)
    streams = client.jetstream(timeout=60)  # it is busy making them
    made = 0
    while made < lanes:
        await asyncio.sleep(0.2)
        found = [await streams.stream_info(name) for name in bus.subjects.orders_streams]
        made = sum(stream.state.consumer_count for stream in found)
    await client.close()


async def quiet(store: Store) -> None:
    """Until nobody asks the database for anything: an agent that has come asks what there is."""
    busy = "SELECT max(query_start) > now() - interval '0.5 s' FROM pg_stat_activity"
    busy += " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    await asyncio.sleep(1)
    while await store.pool.fetchval(busy):
        await asyncio.sleep(0.2)


async def bare(nats: Nats, payload: bytes, count: int) -> float:
    """Messages a second, published by one process, and fetched and acknowledged by another at the same time."""
    stream = f"bare{secrets.token_hex(4)}"
    await bare_bus.make(nats.url, stream)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.bare_bus", nats.url, stream, str(count)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    await process.stdout.readline()
    began, _ = await bare_bus.publish(nats.url, stream, payload, count)
    ended = float(await process.stdout.readline())
    await process.wait()
    return count / (ended - began)


async def payload(server: Postgres) -> bytes:
    """What an order looks like on its way."""
    dsn = await ordered(server, "sample", 1, ["sim.a"])
    async with Store.open(dsn, connections=1) as store:
        (told,) = await store.orders.list_untaken(0, 1)
    return encode(order_of(told, KINDS))


async def measure(small: bool) -> list[Figure]:
    """The ratio, and what a hundred times as many lanes cost."""
    times, orders = (1, 1_000) if small else (3, 5_000)
    lanes = [f"sim.r{i:02}" for i in range(20)]
    with postgres() as server, Nats() as nats:
        message = await payload(server)
        found = [(await ours(server, nats, lanes, orders), await bare(nats, message, orders)) for _ in range(times)]
        ratio = middle([rate / beside for rate, beside in found])
        detail = {
            "orders a second": round(middle([r for r, _ in found])),
            "bare": round(middle([b for _, b in found])),
        }
        return [Figure("dispatch", ratio, "of the bare engine", "publish + fetch + ack", BAR, detail=detail)]
