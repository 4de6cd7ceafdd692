"""A controller is killed in the middle of a thousand actions: another one finishes them."""

from __future__ import annotations

import asyncio
import math
import time

import asyncpg
import httpx
import pytest

from stead.store import Store
from tests.audit.test_chain import gone_over
from tests.chaos.cell import PLACES, Cell, running

ACTIONS = 1000
FIRST_MOVE = 8.0
"""Seconds after the kill within which things go on."""


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.req("S1-08")
async def test_another_controller_finishes_what_a_killed_one_had_begun() -> None:
    async with running(1) as cell:
        connection = await asyncpg.connect(cell.dsn)
        killed = await asyncio.gather(ask_for_all(cell), kill_in_the_middle(cell, connection))
        at = killed[1]
        first = await connection.fetchval(
            "SELECT min(extract(epoch FROM at)) FROM journal WHERE at > to_timestamp($1)", at
        )
        await until(connection, ACTIONS, within=120)
        outcomes = await connection.fetch("SELECT outcome, count(*) FROM ended_operations GROUP BY outcome")
        assert {row["outcome"]: row["count"] for row in outcomes} == {"succeeded": ACTIONS}
        assert not cell.controllers[0].running
        assert float(first) - at < FIRST_MOVE
        async with Store.open(cell.dsn) as store:
            await store.journal.number()
            assert (await gone_over(store)).lines > ACTIONS  # whoever numbered them, they make one chain
        await connection.close()


async def ask_for_all(cell: Cell) -> None:
    """A thousand VMs, asked for at the controller that will die, and at another when it does not answer."""
    room = asyncio.Semaphore(20)
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:

        async def ask(number: int) -> None:
            provider, region = PLACES[number % len(PLACES)]
            path, body = f"/v1/resources/t/m/g/{number}", {"kind": "vm", "action": "create", "expect_agent": True}
            spec = {"spec": {"provider": provider, "region": region}}
            for url in (*cell.addresses, *cell.addresses):
                async with room:
                    try:
                        answer = await client.post(
                            f"{url}{path}", json=body | spec, headers={"Idempotency-Key": f"k{number}"}
                        )
                    except httpx.TransportError:
                        continue
                assert answer.status_code == 202, answer.text
                return
            raise AssertionError(f"nobody took {path}")

        await asyncio.gather(*map(ask, range(ACTIONS)))


async def kill_in_the_middle(cell: Cell, connection: asyncpg.Connection[asyncpg.Record]) -> float:
    """When the kill was, by the clock that the journal goes by."""
    await until(connection, ACTIONS // 4, within=60)
    at = time.time()
    cell.kill(cell.controllers[0])
    cell.controllers[0].down_until = math.inf
    assert await connection.fetchval("SELECT count(*) FROM ended_operations") < ACTIONS
    return at


async def until(connection: asyncpg.Connection[asyncpg.Record], ended: int, within: float) -> None:
    async with asyncio.timeout(within):
        while await connection.fetchval("SELECT count(*) FROM ended_operations") < ended:
            await asyncio.sleep(0.05)
