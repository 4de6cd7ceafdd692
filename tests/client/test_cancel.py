"""Cancel and retry through the client: typed, repeatable, with and without a loop."""

from __future__ import annotations

import asyncio
import re
from uuid import uuid4

import pytest

from stead.client import Client, NotFound, Rejected, SyncClient
from tests.api.cell import Cell
from tests.client.proxy import Proxy
from tests.client.test_client import SPEC, client, running

__all__ = ["client"]


async def suspending(cell: Cell, client: Client, path: str) -> str:
    await running(cell, client, path)
    accepted = await client.request_action(path, "suspend")
    assert accepted.operation is not None
    return accepted.operation.id


async def test_an_operation_is_cancelled_and_tried_again(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = await suspending(cell, client, path)
    cell.shows(ns, "Running")
    said = await client.cancel(id)
    assert (said.id, said.cancelled) == (id, True)
    assert (await client.wait(id, 20)).outcome == "cancelled"
    again = await client.retry(id)
    assert again.operation is not None
    assert (again.operation.action, again.operation.path) == ("suspend", path)
    assert again.operation.id != id


async def test_what_is_refused_is_raised(cell: Cell, client: Client, ns: str) -> None:
    id = await running(cell, client, f"/{ns}/m/g/1")
    with pytest.raises(Rejected) as cancelled:
        await client.cancel(id)
    assert cancelled.value.problem.code == "ended"
    with pytest.raises(Rejected) as retried:
        await client.retry(id)
    assert retried.value.problem.code == "not-retryable"
    for ask in (client.cancel, client.retry):
        with pytest.raises(NotFound):
            await ask(f"shop/{uuid4()}")


@pytest.mark.req("X-10")
async def test_lost_answers_are_asked_for_again_and_nothing_is_done_twice(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    async with Client(cell.url) as direct:
        id = await suspending(cell, direct, path)
    async with Proxy(cell.url) as proxy, Client(proxy.url, retries=1) as client:
        proxy.losing = 1
        assert (await client.cancel(id)).cancelled
        await asyncio.to_thread(cell.look, path, "Running")
        proxy.losing = 1
        again = await client.retry(id)
        assert again.repeated
        keys = re.findall(rb"idempotency-key: (\S+)", b"".join(proxy.asked), re.IGNORECASE)
        assert len(keys) == 2
        assert keys[0] == keys[1]
    verbs = [order["verb"] for order in cell.sent if order["members"][0]["path"] == path]
    assert verbs == ["create", "suspend", "probe", "suspend"]


def test_without_a_loop(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    with SyncClient(cell.url, retries=0) as client:
        client.request_action(path, "create", kind="vm", spec=SPEC)
        cell.settle(path)
        accepted = client.request_action(path, "reboot")
        assert accepted.operation is not None
        cell.shows(ns, "Running")
        assert client.cancel(accepted.operation.id).id == accepted.operation.id
        assert client.wait(accepted.operation.id, 20).outcome == "cancelled"
        assert client.retry(accepted.operation.id, key=f"{ns}-1").operation is not None
