"""Queues through the client: typed, with and without a loop."""

from __future__ import annotations

import asyncio

import pytest

from stead.client import Client, NotFound, Rejected, SyncClient
from tests.api.cell import Cell
from tests.client.test_client import SPEC, client, running, settled

__all__ = ["client"]


@pytest.mark.req("X-11")
async def test_a_request_waits_and_is_followed_to_its_end(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    await running(cell, client, path)
    await client.request_action(path, "reboot")
    assert (await client.explain(path, "suspend", on_conflict="queue")).would_queue
    accepted = await client.request_action(path, "suspend", on_conflict="queue")
    assert accepted.operation is not None
    assert (accepted.queued, accepted.position) == (True, 1)
    id = accepted.operation.id
    seen: list[str | None] = []
    waiting = asyncio.create_task(client.wait(id, 20, lambda op: seen.append("queued" if op.queued else op.state)))
    while not seen:
        await asyncio.sleep(0.01)
    await settled(cell, path)
    while "Suspending" not in seen:
        await asyncio.sleep(0.01)
    await settled(cell, path)
    assert (await waiting).outcome == "succeeded"
    assert seen[0] == "queued"


@pytest.mark.req("S2-03")
async def test_queues_are_looked_at_changed_and_stopped(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    await running(cell, client, path)
    with pytest.raises(NotFound):
        await client.queue(path)
    assert (await client.open_queue(path)).waiting == 0
    await client.request_action(path, "suspend")
    asked = [await client.request_action(path, action, on_conflict="queue") for action in ("reboot", "resume")]
    one, two = [accepted.operation.id for accepted in asked if accepted.operation is not None]
    assert (await client.promote(two)).position == 1
    whole = await client.queue(path)
    assert ([op.id for op in whole.items], whole.waiting, whole.more) == ([two, one], 2, False)
    assert [queue.path async for queue in client.queues(below=f"/{ns}", limit=1)] == [path]
    assert (await client.stop_queue(path)).stopping
    with pytest.raises(Rejected) as refused:
        await client.request_action(path, "terminate", on_conflict="queue")
    assert refused.value.problem.code == "stopping"
    assert (await client.cancel(one)).outcome == "cancelled"
    with pytest.raises(Rejected):
        await client.promote(one)
    await settled(cell, path)
    await settled(cell, path)
    with pytest.raises(NotFound):
        await client.queue(path)


async def test_why_it_was_refused_at_its_turn(cell: Cell, client: Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    await running(cell, client, path)
    await client.request_action(path, "suspend")
    accepted = await client.request_action(path, "reboot", on_conflict="queue")
    assert accepted.operation is not None
    await settled(cell, path)
    ended = await client.operation(accepted.operation.id)
    assert (ended.outcome, [reason.code for reason in ended.reasons]) == ("rejected", ["wrong-state"])


def test_without_a_loop(cell: Cell, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    with SyncClient(cell.url, retries=0) as client:
        client.request_action(path, "create", kind="vm", spec=SPEC)
        assert client.request_action(path, "suspend", on_conflict="queue").position == 1
        assert [queue.path for queue in client.queues(below=path)] == [path]
        (op,) = client.queue(path).items
        assert client.promote(op.id).queued
