"""An operation step by step, over connections that break."""

from __future__ import annotations

import asyncio

import pytest

from stead.client import Client, InvalidRequest, NotFound
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.client.proxy import Proxy


def finish(cell: Cell, path: str) -> None:
    """The agent that has begun is done."""
    row = cell.run(cell.store.resources.read(path))
    assert row is not None
    cell.run(
        cell.executor.apply([TransitionInput(path, Report(Trigger.SUCCEEDED, row.snapshot.fence), principal="agent")])
    )


@pytest.mark.req("S1-13")
async def test_a_cut_connection_loses_and_repeats_nothing(cell: Cell, ns: str) -> None:
    path = f"/{ns}/s/c"
    await asyncio.to_thread(cell.put, f"/{ns}/s", "cloudlet")
    async with Proxy(cell.url) as proxy, Client(proxy.url) as client, asyncio.timeout(60):
        asked = await client.request_action(path, "create", kind="clusterinst")
        assert asked.operation is not None
        steps = client.steps(asked.operation.id)
        first = await anext(steps)
        proxy.cut()
        await asyncio.to_thread(cell.settle, path, Trigger.STARTED)
        proxy.cut()
        await asyncio.to_thread(finish, cell, path)
        rest = [step async for step in steps]
        assert [(s.source, s.target) for s in (first, *rest)] == [
            ("NotPresent", "CreateRequested"),
            ("CreateRequested", "Creating"),
            ("Creating", "Ready"),
        ]
        assert first.position < rest[0].position < rest[1].position
        again = [s.position async for s in client.steps(asked.operation.id, after=first.position)]
        assert again == [s.position for s in rest]


@pytest.mark.req("S1-13")
async def test_only_its_own_steps_and_only_to_its_end(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    async with Client(cell.url) as client, asyncio.timeout(60):
        made = await client.request_action(path, "create", kind="vm", lane="sim.a")
        await asyncio.to_thread(cell.settle, path)
        after = await client.request_action(path, "suspend")
        assert made.operation is not None
        assert after.operation is not None
        found = [step async for step in client.steps(made.operation.id)]
        assert [step.target for step in found] == ["Creating", "Running"]
        following = client.steps(after.operation.id)
        assert (await anext(following)).target == "Suspending"
        await asyncio.to_thread(cell.settle, path, Trigger.FAILED)
        assert [step.operation async for step in following] == [after.operation.id]


@pytest.mark.req("S1-13")
async def test_its_end_is_not_told_before_its_last_step(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    async with Client(cell.url) as client, asyncio.timeout(60):
        made = await client.request_action(path, "create", kind="vm", lane="sim.a")
        assert made.operation is not None
        cell.numbered()
        with cell.unnumbered():
            await asyncio.to_thread(cell.settle, path)
            following = client.steps(made.operation.id)
            assert (await anext(following)).target == "Creating"
            assert (await client.operation(made.operation.id)).outcome == "succeeded"
            rest = asyncio.create_task(anext(following))
            done, _ = await asyncio.wait([rest], timeout=1)
            assert not done
        assert (await rest).target == "Running"
        assert [step async for step in following] == []


async def test_what_is_not_there_is_not_followed(cell: Cell, ns: str) -> None:
    async with Client(cell.url) as client:
        with pytest.raises(NotFound):
            await anext(client.steps(f"{ns}/00000000-0000-0000-0000-000000000000"))
        made = await client.request_action(f"/{ns}/m/g/1", "create", kind="vm", lane="sim.a")
        assert made.operation is not None
        with pytest.raises(InvalidRequest):
            await anext(client.steps(made.operation.id, after=10**9))
