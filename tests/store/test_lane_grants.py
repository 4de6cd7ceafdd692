"""Which lanes a namespace may use, in the database: what a grant stands for, what a denial outranks, an upgrade."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from stead.store import Store


@pytest.fixture
async def store(strict: str) -> AsyncIterator[Store]:
    async with Store.open(strict, connections=3) as one:
        yield one


async def may(store: Store, namespace: str, *lanes: str) -> list[str]:
    """Those of some lanes that a namespace may use."""
    refused = await store.lanes.find_denied({"of": namespace, "on": lanes})
    return [lane for lane in lanes if lane not in (refused or {}).get("lanes", ())]


LANES = ("aws.us-east-1", "aws.us-west-1", "awsome.x", "edge.a.one", "edge.b.one", "local")


async def test_nothing_is_allowed_but_what_was_given_and_own_sites(store: Store) -> None:
    assert await may(store, "a", *LANES) == ["edge.a.one"]
    assert await may(store, "a.b", "edge.a.b", "edge.a.b.c", "edge.a") == []
    assert await may(store, "edge", "edge.edge.", "edge.edge.x.y") == []


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("aws.us-east-1", ["aws.us-east-1"]),
        ("aws.*", ["aws.us-east-1", "aws.us-west-1"]),
        ("edge.b.*", ["edge.b.one"]),
        ("local", ["local"]),
        ("aws", []),
        ("*", [*LANES]),
    ],
)
async def test_grant_stands_for_what_it_says_and_no_more(store: Store, pattern: str, allowed: list[str]) -> None:
    await store.lanes.allow(pattern, "a", "ann")
    assert await may(store, "a", *LANES) == sorted({*allowed, "edge.a.one"}, key=LANES.index)
    assert await may(store, "z", *LANES) == []


async def test_grant_to_all_counts_for_namespaces_to_come_and_a_denial_outranks_it(store: Store) -> None:
    await store.lanes.allow("aws.*", "*", "ann")
    assert await may(store, "new", "aws.x") == ["aws.x"]
    assert (await store.lanes.deny("aws.x", "new", "ann"))["outranks"]
    assert await may(store, "new", "aws.x", "aws.y") == ["aws.y"]
    assert await may(store, "other", "aws.x") == ["aws.x"]
    assert (await store.lanes.allow("aws.*", "*", "ann"))["except"] == ["new"]
    await store.lanes.allow("aws.x", "new", "ann")
    assert await may(store, "new", "aws.x") == ["aws.x"]


async def test_denial_takes_every_grant_within_it(store: Store) -> None:
    for lane, namespace in (("aws.x", "a"), ("aws.*", "b"), ("aws.x", "*"), ("gcp.x", "a")):
        await store.lanes.allow(lane, namespace, "ann")
    await store.lanes.deny("aws.x", "*", "ann")
    for namespace in ("a", "b", "c"):
        assert await may(store, namespace, "aws.x") == []
    assert await may(store, "b", "aws.y") == ["aws.y"]
    assert await may(store, "a", "gcp.x") == ["gcp.x"]
    assert (await store.lanes.allow("aws.x", "a", "ann"))["denied"] == {"namespace": "*", "lane": "aws.x"}
    assert await may(store, "a", "aws.x") == []


async def test_denial_waits_for_whoever_commits_a_use_and_holds_for_whoever_comes_later(store: Store) -> None:
    await store.lanes.allow("aws.x", "a", "ann")
    async with store.pool.acquire() as other, other.transaction():
        await other.execute("""SELECT lock_paths('[{"path": "/a/m/g/1", "mode": "x"}]')""")
        denying = asyncio.create_task(store.lanes.deny("aws.x", "a", "ann"))
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        async with asyncio.timeout(60):
            while not await other.fetchval(waits):
                await asyncio.sleep(0.01)
        assert not denying.done()
    await asyncio.wait_for(denying, 60)
    assert await may(store, "a", "aws.x") == []


async def test_row_gets_no_lane_that_its_namespace_may_not_use_whoever_writes_it(store: Store) -> None:
    insert = "INSERT INTO resources (path, kind, state, lane, token) VALUES ($1, 'thing', 'x', $2, gen_random_uuid())"
    async with store.pool.acquire() as connection:
        with pytest.raises(asyncpg.PostgresError, match=r"namespace a may not use the lane aws\.x") as caught:
            await connection.execute(insert, "/a/x", "aws.x")
        assert caught.value.sqlstate == "ST005"
        await connection.execute(insert, "/a/y", "edge.a.one")
