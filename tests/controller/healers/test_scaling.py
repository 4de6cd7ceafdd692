"""Controllers that run, several at once, follow demand: each policy is carried out by one of them."""

from __future__ import annotations

from uuid import uuid4

import asyncpg
import pytest

from stead.catalog.scaling import Policy, written
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from tests.integration.whole import controller, until

POLICIES = 20


async def furnish(dsn: str) -> None:
    """A site with a cluster, both ready."""
    connection = await asyncpg.connect(dsn)
    for path, kind in (("/shop/s", "cloudlet"), ("/shop/s/c", "clusterinst")):
        await connection.execute(
            "INSERT INTO resources (path, kind, state, lane, token) VALUES ($1, $2, 'Ready', 'edge.shop.s', $3)",
            *(path, kind, uuid4()),
        )
    await connection.close()


async def put(one: Controller, name: str) -> None:
    policy = Policy(app=name, places=("/shop/s/c",), up_above=100, down_below=40, maximum=2, minimum=1)
    await one.store.scaling.put("shop", name, written(policy), policy.places, [""], "ann")


@pytest.mark.long
@pytest.mark.req("S1-12")
async def test_controllers_beside_each_other(migrated: str, nats_server: Nats, cell: str) -> None:
    await furnish(migrated)
    async with controller(migrated, nats_server, cell) as one, controller(migrated, nats_server, cell):
        for n in range(POLICIES):
            await put(one, f"app{n}")

        async def all_made() -> bool:
            return len(await one.store.resources.list_paths("appinst", "/shop/s/c/", "", 100)) >= POLICIES

        await until(all_made)
        assert await one.store.resources.list_paths("appinst", "/shop/s/c/", "", 100) == sorted(
            f"/shop/s/c/app{n}-1" for n in range(POLICIES)
        )

        async def all_at_rest() -> bool:
            kept = await one.store.scaling.read_page("shop", ("", ""), 100)
            return all(not each.deeds and each.evaluate_at is None for each in kept)

        await until(all_at_rest)
        kept = await one.store.scaling.read_page("shop", ("", ""), 100)
        assert [len(each.acts) for each in kept] == [1] * POLICIES
        operations = await one.store.operations.read_outcomes([each.acts[0]["operation"] for each in kept])
        assert len(operations) == POLICIES


@pytest.mark.req("S1-12")
async def test_ten_thousand_at_rest_are_not_visited(migrated: str, nats_server: Nats, cell: str) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute(
        "INSERT INTO scaling (namespace, name, id, policy, changed_by, evaluate_at) "
        "SELECT 'n' || i % 100, 'p' || i, gen_random_uuid(), '{}', 'ann', NULL FROM generate_series(1, 10000) i"
    )
    await connection.execute(
        "INSERT INTO scaling_places (place, site, namespace, name) "
        "SELECT '/' || namespace || '/s/c', '/' || namespace || '/s', namespace, name FROM scaling"
    )
    await connection.execute("ANALYZE")
    await furnish(migrated)
    async with controller(migrated, nats_server, cell) as one:
        await put(one, "web")

        async def made() -> bool:
            return bool(await one.store.resources.list_paths("appinst", "/shop/s/c/", "", 10))

        await until(made)
        visited = await connection.fetchval("SELECT count(*) FROM scaling WHERE turn > 0 AND namespace <> 'shop'")
        assert visited == 0
        text = (
            "EXPLAIN (FORMAT JSON) SELECT namespace, name FROM scaling WHERE evaluate_at <= now() "
            "ORDER BY evaluate_at LIMIT 50 FOR UPDATE SKIP LOCKED"
        )
        assert "scaling_evaluate" in await connection.fetchval(text)
    await connection.close()
