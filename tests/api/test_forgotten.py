"""What ended long ago, over HTTP: the operation is forgotten, its key is a new one, and the journal has it all."""

from __future__ import annotations

from uuid import uuid4

import asyncpg
import httpx

from stead.controller.reconcilers.partitions import RETENTION, PartitionReconciler
from tests.api.cell import Cell
from tests.api.test_resources import problem, running
from tests.store.test_days import day, partition


async def aged(cell: Cell, id: str) -> None:
    """As if all of an operation had been a hundred days ago."""
    connection = await asyncpg.connect(cell.dsn)
    try:
        await partition(connection, 100)
        for what, where in (
            ("ended_operations SET ended_at", "id"),
            ("idempotency_keys SET created_at", "operation"),
        ):
            await connection.execute(f"UPDATE {what} = $2 WHERE {where}::text = $1", id, day(100))
    finally:
        await connection.close()


def test_an_operation_that_is_forgotten_and_its_key(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    words, key = {"force": True, "reason": "rack is gone"}, {"Idempotency-Key": str(uuid4()), "X-Actor": "admin"}

    def suspend() -> httpx.Response:
        return web.post(f"/v1/resources{path}?action=suspend", json=words, headers=key)

    id = suspend().json()["operation"]["id"]
    cell.settle(path)
    assert web.get(f"/v1/operations/{id}").json()["outcome"] == "succeeded"
    assert suspend().json()["operation"]["id"] == id  # the same request, and so the same answer
    cell.run(aged(cell, id.rpartition("/")[2]))
    cell.run(PartitionReconciler(cell.store, RETENTION)())
    problem(web.get(f"/v1/operations/{id}"), 404, "not-found")
    problem(web.post(f"/v1/operations/{id}/retry"), 404, "not-found")
    assert suspend().json()["operation"]["id"] != id
    cell.numbered()
    lines = web.get("/v1/journal", params={"path": path, "limit": 100}).json()["items"]
    (let_in, *_) = [line for line in lines if line["operation"] == id]
    assert (let_in["detail"], let_in["principal"], let_in["change"]["reason"]) == ("suspend", "ann", "rack is gone")
