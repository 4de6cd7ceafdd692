"""Latency: from when a caller hears yes until the provider hears of it, at a steady hundred actions a second."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing

from bench.figure import Figure
from bench.fleet import Fleet, fleet
from bench.ground import postgres
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

PACE = 100.0


async def paced(cell: Fleet, paths: list[str]) -> dict[str, float]:
    """Ask for each in its time, whatever became of those before; when each was let in."""
    let_in: dict[str, float] = {}

    async def ask(path: str) -> None:
        answer = await cell.web.post(f"/v1/resources{path}", params={"action": "suspend"})
        assert answer.status_code == 202, answer.text
        let_in[path] = time.time()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for n, path in enumerate(paths):
            await asyncio.sleep(max(0.0, began + n / PACE - time.perf_counter()))
            group.create_task(ask(path))
    await cell.settled()
    return let_in


def heard(cloud: SimCloud) -> dict[str, float]:
    """When the provider was called for each, by token, as its ledger has it."""
    with closing(sqlite3.connect(cloud.folder / "data" / "ledger.sqlite")) as ledger:
        calls = ledger.execute("SELECT order_token, at FROM call WHERE verb = 'suspend'")
        return {token.split(".")[0]: at for token, at in calls}


async def measure(small: bool) -> list[Figure]:
    """The middle, and the slowest of a hundred."""
    count = 200 if small else 2_000
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with fleet(server, nats, cloud, count) as cell:
            rows = await cell.database.fetch(
                "SELECT path, token::text FROM resources WHERE kind = 'vm' ORDER BY path"
            )
            let_in = await paced(cell, [row["path"] for row in rows])
            called = heard(cloud)
    waits = sorted(called[row["token"]] - let_in[row["path"]] for row in rows)
    half, worst = (waits[round(len(waits) * part) - 1] * 1000 for part in (0.5, 0.99))
    beside = f"{PACE:.0f} actions a second"
    return [
        Figure("latency p50", half, "ms from accepted to the provider's call", beside),
        Figure("latency p99", worst, "ms from accepted to the provider's call", beside),
    ]
