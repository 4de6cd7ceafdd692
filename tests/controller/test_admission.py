"""The door: exactly one of two that race gets in, keys repeat safely, refusals are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from stead.catalog import KINDS
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.execution.executor import TransitionExecutor
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import Request
from stead.store import Store
from stead.store.commit import CommitResult
from stead.store.connections import Connections
from stead.store.store import speak_json
from tests.action_requests import AuthorizedRequest, changed, requested

RACES = 10_000


@asynccontextmanager
async def door(dsn: str, connections: int = 5) -> AsyncIterator[Admission]:
    async with Store.open(dsn, connections=connections) as store:
        yield Admission(TransitionExecutor(store, KINDS, time.time))


def wish(path: str, action: str = "create", **extra: object) -> AuthorizedRequest:
    request = {k: v for k, v in extra.items() if k in ("force", "reason")}
    rest = {k: v for k, v in extra.items() if k not in request}
    return requested("vm", path, Request(action, **request), "ann", {"size": 1}, "sim.a", **rest)  # type: ignore[arg-type]


async def test_a_creation_is_accepted_for_good_before_anything_is_sent(migrated: str) -> None:
    async with door(migrated) as admission:
        sent: list[Any] = []

        async def send(written: CommitResult) -> None:
            sent.extend(written.orders)

        admission.executor.on_commit(send)
        answer = await admission.admit(*wish("/ns/m/g/1"))
        assert isinstance(answer, Accepted)
        (order,) = sent
        assert (order["verb"], order["lane"], order["operation"]) == ("create", "sim.a", answer.operation)
        row = await admission.executor.store.resources.read("/ns/m/g/1")
        assert row is not None
        assert row.snapshot.operation is not None
        assert row.snapshot.operation.id == answer.operation
        assert [c["path"] for c in await admission.executor.store.claims.list_below("/", 9)] == ["/ns/m/g/1"]


async def test_what_is_not_there_is_not_found(migrated: str) -> None:
    async with door(migrated) as admission:
        assert isinstance(await admission.admit(*wish("/ns/m/g/1", "suspend")), NotFound)
        assert isinstance(await admission.admit(*changed(wish("/a"), kind="nonsense")), NotFound)


async def test_a_refusal_names_the_holder_and_is_in_the_journal(migrated: str) -> None:
    async with door(migrated) as admission:
        accepted = await admission.admit(*wish("/ns/m/g/1"))
        assert isinstance(accepted, Accepted)
        refusal = await admission.admit(*wish("/ns/m/g/1", "suspend"))
        assert isinstance(refusal, Rejection)
        assert refusal.holder is not None
        assert (refusal.holder.operation, refusal.holder.by) == (accepted.operation, "ann")
        assert refusal.holder.since
        await admission.executor.store.journal.number()
        last = (await admission.executor.store.journal.read(0))[-1]
        assert (last["trigger"], last["detail"], last["rejections"]) == ("rejected", "suspend", 1)


@pytest.mark.req("X-10")
async def test_the_same_key_again_is_the_same_operation(migrated: str) -> None:
    async with door(migrated) as admission:
        first = await admission.admit(*wish("/ns/m/g/1", key="k-1"))
        again = await admission.admit(*wish("/ns/m/g/1", key="k-1"))
        assert isinstance(first, Accepted)
        assert again == Accepted(first.operation, repeated=True)
        other = await admission.admit(*wish("/ns/m/g/2", key="k-1"))
        assert isinstance(other, Rejection)
        assert other.code is Code.KEY_REUSED


@pytest.mark.req("X-10")
async def test_the_same_key_at_the_same_moment_begins_one_operation(migrated: str) -> None:
    async with door(migrated) as one, door(migrated) as two:
        asked = [door.admit(*wish("/ns/m/g/1", key="k-1")) for door in (one, two) for _ in range(5)]
        answers = await asyncio.gather(*asked)
        assert len({a.operation for a in answers if isinstance(a, Accepted)}) == 1
        assert all(isinstance(a, Accepted) for a in answers)


async def test_claims_above_and_below_stand_in_the_way(migrated: str) -> None:
    async with door(migrated) as admission:
        assert isinstance(await admission.admit(*wish("/ns/m/g/1")), Accepted)
        assert isinstance(await admission.admit(*wish("/ns/m/g/2")), Accepted)  # a sibling
        for path in ("/ns/m/g", "/ns/m/g/1/disk"):
            refusal = await admission.admit(*wish(path))
            assert isinstance(refusal, Rejection)
            assert refusal.code is Code.HELD
            assert refusal.holder is not None
            assert refusal.holder.path.startswith("/ns/m/g/")
        assert isinstance(await admission.admit(*wish("/ns/m/gg")), Accepted)  # no child, though it begins alike


@pytest.mark.parametrize(("key", "most"), [("", 2), ("k-1", 3)])
async def test_a_single_action_takes_at_most_three_statements(migrated: str, key: str, most: int) -> None:
    asked: list[str] = []

    async def listen(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        await speak_json(connection)
        connection.add_query_logger(lambda query: asked.append(query.query))

    async with Connections(migrated, 1, listen) as pool:
        admission = Admission(TransitionExecutor(Store(pool), KINDS, time.time))
        await admission.admit(*wish("/warm"))  # types are looked up once per connection
        asked.clear()
        assert isinstance(await admission.admit(*wish("/ns/m/g/1", key=key)), Accepted)
    assert len([a for a in asked if "pg_advisory_unlock_all" not in a]) == most, asked


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.req("S2-05")
@pytest.mark.req("S4-03")
async def test_of_two_that_race_exactly_one_wins_and_the_other_knows_who(migrated: str) -> None:
    """10,000 races for as many objects, through two controllers."""
    async with door(migrated, 8) as one, door(migrated, 8) as two:
        gate = asyncio.Semaphore(64)

        async def race(i: int) -> tuple[object, object]:
            path = f"/ns/m/g/{i}"
            async with gate:
                return await asyncio.gather(one.admit(*wish(path)), two.admit(*wish(path)))

        for a, b in await asyncio.gather(*(race(i) for i in range(RACES))):
            won, lost = (a, b) if isinstance(a, Accepted) else (b, a)
            assert isinstance(won, Accepted)
            assert isinstance(lost, Rejection)
            assert lost.holder is not None
            assert lost.holder.operation == won.operation
