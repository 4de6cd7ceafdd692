"""Belief beside what is really there, on a real database, bus and provider; and nothing is made of what was seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from stead.access.caller import anonymous
from stead.application.commands import Application
from stead.application.models import DriftReport
from stead.build import assemble_application
from stead.bus.messages import StateLine
from stead.controller.admission.request import Accepted
from stead.controller.observation.observer import ProviderObserver, UnknownReason
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.drivers.base import PROBE, Member
from stead.lifecycle.events import Request
from stead.lifecycle.pace import DEFAULT
from stead.store import Row
from tests.action_requests import requested
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until

WITHOUT = ("drift", "orphans")


def paths(count: int) -> list[str]:
    return [f"/ns/m/g/{i}" for i in range(1, count + 1)]


@asynccontextmanager
async def several(
    dsn: str, nats: Nats, cell: str, world: SimWorld, count: int
) -> AsyncIterator[tuple[Controller, Application]]:
    """So many VMs that run, and somebody who serves their lane."""
    soon = replace(DEFAULT, again=1)  # between the looks that an absence takes
    async with controller(dsn, nats, cell, pace=soon, without=WITHOUT) as one, agent(nats, cell, world):
        for path in paths(count):
            await ask(one, world, "create", path)
        for path in paths(count):
            await settled(one, "Running", path)
        yield one, service(one)


def service(one: Controller, observer: ProviderObserver | None = None) -> Application:
    return replace(assemble_application(one), observer=observer or one.observer)


async def every(one: Application, below: str = "/", **options: Any) -> list[DriftReport]:
    return list((await one.queries(one.authorization.view(anonymous())).truth(None, below, "", 100, **options)).items)


async def token(one: Controller, path: str) -> str:
    row = await one.store.resources.read(path)
    assert row is not None
    return str(row.token)


@pytest.mark.req("X-07")
async def test_belief_beside_what_is_there(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with several(migrated, nats_server, cell, world, 5) as (one, asked):
        await ask(one, world, "terminate", paths(5)[4])
        await settled(one, "Terminated", paths(5)[4])
        for path, deed in zip(paths(5)[1:4], ("stop", "delete", "break"), strict=True):
            await world.drift(deed, tokens=[await token(one, path)])
        before = await one.store.resources.read_many(paths(5))
        found = await every(asked)
        assert [(x.path, x.recorded, x.expected, x.observed, x.matches, x.reason) for x in found] == [
            (paths(5)[0], "Running", "Running", "Running", True, None),
            (paths(5)[1], "Running", "Running", "Suspended", False, None),
            (paths(5)[2], "Running", "Running", "absent", False, None),
            (paths(5)[3], "Running", "Running", "broken", False, None),
            (paths(5)[4], "Terminated", "absent", "absent", True, None),
        ]
        assert {(x.kind, x.lane) for x in found} == {("vm", f"{world.provider}.{world.region}")}
        assert [x.observed_at for x in found] == [before[path].observed_at for path in paths(5)]
        assert await one.store.resources.read_many(paths(5)) == before  # nothing was made of it


async def test_what_moves_is_shown_and_not_judged(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, asked):
        late = await world.fault(kind="late", verb="suspend", seconds=60)
        await ask(one, world, "suspend")

        async def done() -> bool:
            (found,) = await every(asked)
            assert (found.recorded, found.matches, found.reason) == ("Suspending", None, "moving")
            return found.observed == "Suspended"

        await until(done)
        await world.client.delete(f"/v1/_faults/{late}")
        await settled(one, "Suspended")


@pytest.mark.long
async def test_what_is_on_its_way_at_the_provider_is_not_judged(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, asked):
        await world.fault(kind="slow", seconds=60)
        hand = world.driver()  # nobody here knows of this
        await hand.perform("suspend", [Member(path=PATH, token=await token(one, PATH), spec={}, facts={})], "by-hand")
        await hand.close()
        (found,) = await every(asked)
        assert (found.recorded, found.observed, found.matches, found.reason) == ("Running", None, None, "moving")


async def test_a_state_that_says_nothing_of_the_provider(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, asked):
        await world.drift("break", tokens=[await token(one, PATH)])
        await ask(one, world, "suspend")
        await settled(one, "Failed")
        await world.drift("start", tokens=[await token(one, PATH)])
        (found,) = await every(asked)
        assert (found.recorded, found.expected, found.observed) == ("Failed", "", "Running")
        assert (found.matches, found.reason) == (None, "unsaid")


async def test_who_cannot_be_asked_is_told(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (_, asked):
        await world.fault(kind="drop", verb="describe")
        (found,) = await every(asked)
        assert (found.recorded, found.observed, found.matches, found.reason) == ("Running", None, None, "no-provider")
        await world.heal()
        await put(migrated, "/ns/m/h/1", lane="nobody.serves")
        await put(migrated, "/ns/m/h/2", lane="")
        assert [(x.path, x.matches, x.reason) for x in await every(asked)] == [
            (PATH, True, None),
            ("/ns/m/h/1", None, "no-agent"),
            ("/ns/m/h/2", None, "unasked"),
        ]


@pytest.mark.long
async def test_nobody_waits_long_for_who_does_not_answer(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.application.drift.OBSERVE_SECONDS", 0.2)
    async with several(migrated, nats_server, cell, world, 1) as (_, asked):
        await world.fault(kind="hang", verb="describe")
        async with asyncio.timeout(60):
            (found,) = await every(asked)
        assert (found.matches, found.reason) == (None, "no-agent")


async def test_without_a_wish_for_fresh_news_nobody_is_asked(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, asked):
        row = await one.store.resources.read(PATH)
        assert row is not None
        calls = await world.calls(PROBE)
        (found,) = await every(asked, fresh=False)
        assert (found.recorded, found.expected, found.observed) == ("Running", "Running", None)
        assert (found.matches, found.reason, found.observed_at) == (None, "unasked", row.observed_at)
        assert await world.calls(PROBE) == calls
        (found,) = await every(asked)
        assert found.matches is True
        assert await world.calls(PROBE) == calls + 1


class Told(ProviderObserver):
    """Sees what a test says, after something has happened."""

    def __init__(self, one: Controller, seen: str, revision: int | None = None, meanwhile: str = "") -> None:
        super().__init__(one.executor, one.bus)
        self.one, self.seen, self.revision, self.meanwhile = one, seen, revision, meanwhile

    async def look(self, rows: Iterable[Row], patience: float = 0.0) -> dict[str, StateLine | UnknownReason]:
        found = list(rows)
        if self.meanwhile:
            answer = await self.one.admission.admit(*requested("vm", PATH, Request(self.meanwhile), "ann"))
            assert isinstance(answer, Accepted)
        return {row.path: StateLine(row.snapshot.fence, self.seen, row.path, revision=self.revision) for row in found}


@pytest.mark.long
async def test_what_changes_while_somebody_looks_is_not_judged(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, _):
        (found,) = await every(service(one, Told(one, "Suspended")))
        assert (found.observed, found.matches, found.reason) == ("Suspended", False, None)
        (found,) = await every(service(one, Told(one, "Suspended", meanwhile="suspend")))
        assert (found.observed, found.matches, found.reason) == ("Suspended", None, "moving")


async def test_what_is_there_with_another_spec_is_broken(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 1) as (one, _):
        for revision, seen, agrees in ((0, "Running", True), (7, "broken", False)):
            (found,) = await every(service(one, Told(one, "Running", revision)))
            assert (found.observed, found.matches) == (seen, agrees)


@pytest.mark.long
async def test_a_page_begins_with_the_path_itself(migrated: str, nats_server: Nats, cell: str) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one:
        asked = service(one)
        for path in ("/ns/a", "/ns/a/1", "/ns/a/2", "/ns/a-b", "/ns/c"):
            await put(migrated, path)

        async def pages(below: str, limit: int, kind: str | None = None) -> list[list[str]]:
            found, after = [], ""
            while True:
                queries = asked.queries(asked.authorization.view(anonymous()))
                page = await queries.truth(kind, below, after, limit, fresh=False)
                found.append([item.path for item in page.items])
                if page.next is None:
                    return found
                after = str(page.next)

        assert await pages("/ns/a", 100) == [["/ns/a", "/ns/a/1", "/ns/a/2"]]
        assert await pages("/ns/a", 2) == [["/ns/a", "/ns/a/1"], ["/ns/a/2"]]
        assert await pages("/ns/a", 1) == [["/ns/a"], ["/ns/a/1"], ["/ns/a/2"]]
        assert await pages("/ns/a", 1, "vm") == [["/ns/a"], ["/ns/a/1"], ["/ns/a/2"]]
        assert await pages("/ns", 3) == [["/ns/a", "/ns/a-b", "/ns/a/1"], ["/ns/a/2", "/ns/c"]]
        assert await pages("/", 5, "vm") == [["/ns/a", "/ns/a-b", "/ns/a/1", "/ns/a/2", "/ns/c"]]
        assert await pages("/ns/a", 5, "disk") == [[]]
        assert await pages("/ns/none", 5) == [[]]


async def put(dsn: str, path: str, lane: str = "", kind: str = "vm", state: str = "Running") -> None:
    """A resource that is settled, as far as the record goes."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "INSERT INTO resources (path, kind, state, lane, token) VALUES ($1, $2, $3, $4, gen_random_uuid())",
        path,
        kind,
        state,
        lane,
    )
    await connection.close()
