"""What apps wrote, fetched through a whole cell from where they run: over HTTP, by the client and by the command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import msgspec
import pytest

from stead.agent import Agent
from stead.agent.orders import fitting
from stead.bus import Bus
from stead.cli.output import Code
from stead.client import Client, Unavailable
from stead.dev.engines import Nats
from stead.drivers.base import LogDriver, Member
from stead.drivers.guard import guarded
from stead.secrets import KNOWN
from tests.api.cell import Cell
from tests.api.test_resources import problem, running
from tests.cli.remote import command
from tests.controller.test_truth import put
from tests.drivers.cloud import SimWorld
from tests.drivers.edge_conformance import make
from tests.drivers.process_world import ProcessWorld
from tests.integration.served import Served, served
from tests.integration.whole import running as beside

LANE = "edge.lab.berlin"
WRITES = "echo one; echo two; read go < go; echo three; printf 'a\\033[31mb\\n'; exec sleep 1000"
"""Two lines, and more when somebody says so."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ProcessWorld]:
    world = ProcessWorld(tmp_path / "site")
    yield world
    world.clean()


@asynccontextmanager
async def serving(nats: Nats, cell: str, site: ProcessWorld) -> AsyncIterator[None]:
    """An agent of the site."""
    driver = guarded(site.driver())
    async with Bus(nats.url, cell, agent="a1") as bus:
        await bus.connect(60)
        async with beside(Agent(bus, "a1", {LANE: driver}).run()):
            yield
    await driver.close()


async def app_at(site: ProcessWorld, server: Served, dsn: str) -> Member:
    """An app that runs at the site, on record as it would be if somebody had asked for it."""
    driver = site.driver()
    (cluster,) = await make(driver, site.cluster())
    wanted = site.app(cluster, command=["sh", "-c", f"mkfifo go; {WRITES}"])
    await put(dsn, wanted.path, LANE, "appinst", "Ready")
    row = await server.controller.store.resources.read(wanted.path)
    assert row is not None
    (app,) = await make(driver, msgspec.structs.replace(wanted, token=str(row.token)))
    await driver.close()
    return app


def go_on(site: ProcessWorld, app: Member) -> None:
    (site.place(app).work / "go").write_text("go\n")


async def test_logs_are_fetched_and_followed(
    migrated: str, nats_server: Nats, site: ProcessWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(migrated, nats_server) as s, Client(s.url) as client:
        app = await app_at(site, s, migrated)
        async with serving(nats_server, s.cell, site):
            async with asyncio.timeout(60):
                while (found := await answered(client, app.path)) is None or found[-1] != "two":
                    await asyncio.sleep(0.05)
            assert found == ("stead: started, with revision 1", "one", "two")
            assert (await client.logs(app.path, lines=1)).lines == ("two",)
            async with asyncio.timeout(60), aclosing(client.follow_logs(app.path, lines=2, pause=0.1)) as lines:
                assert [await anext(lines), await anext(lines)] == ["one", "two"]
                go_on(site, app)
                assert [await anext(lines), await anext(lines)] == ["three", "a\x1b[31mb"]
            stead = command(s, monkeypatch)
            told = await asyncio.to_thread(partial(stead, "app", "logs", app.path, "--lines", "2"))
            assert (told.code, told.out) == (Code.DONE, "three\na\x1b[31mb\n")
            monkeypatch.setattr("stead.agent.lane_requests.fitting", partial(fitting, most=80))
            told = await asyncio.to_thread(partial(stead, "app", "logs", app.path, "--lines", "4"))
            assert (told.code, told.out) == (Code.DONE, "three\na\x1b[31mb\n")
            assert "2 older lines left out" in told.err
        told = await asyncio.to_thread(partial(stead, "app", "logs", app.path))
        assert (told.code, "agent is away" in told.err) == (Code.FAILED, True)


async def answered(client: Client, path: str) -> tuple[str, ...] | None:
    """What it wrote; None where its agent is not there yet."""
    try:
        return (await client.logs(path)).lines
    except Unavailable:
        return None


async def test_who_cannot_say_says_so(migrated: str, nats_server: Nats, site: ProcessWorld, world: SimWorld) -> None:
    async with served(migrated, nats_server) as s, httpx.AsyncClient(base_url=s.url, trust_env=False) as web:
        lane = f"{world.provider}.{world.region}"
        await put(migrated, "/lab/m/g/1", lane)
        await put(migrated, "/lab/berlin/one/gone", LANE, "appinst", "Ready")
        said = problem(await web.get("/v1/logs/lab/m/g/1"), 503, "agent-unavailable")
        assert lane in said["detail"]
        driver = world.driver()
        async with Bus(nats_server.url, s.cell, agent="a2") as bus, serving(nats_server, s.cell, site):
            await bus.connect(60)
            async with beside(Agent(bus, "a2", {lane: driver}).run()):
                async with asyncio.timeout(60):
                    while (answer := await web.get("/v1/logs/lab/m/g/1")).status_code == 503:
                        await asyncio.sleep(0.05)
                assert lane in problem(answer, 409, "no-logs")["detail"]
                async with asyncio.timeout(60):
                    while "away" in (answer := await web.get("/v1/logs/lab/berlin/one/gone")).json()["detail"]:
                        await asyncio.sleep(0.05)
                assert "not there" in problem(answer, 503, "agent-unavailable")["detail"]
        await driver.close()


def test_what_has_no_place_has_no_logs(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    assert "place" in problem(web.get(f"/v1/logs/{ns}/m/g/1"), 409, "no-logs")["detail"]
    problem(web.get(f"/v1/logs/{ns}/none"), 404, "not-found")
    for wrong in ({"lines": 0}, {"lines": 10_001}, {"since": "x" * 201}):
        problem(web.get(f"/v1/logs/{ns}/m/g/1", params=wrong), 422, "invalid")


async def test_no_secret_leaves_the_driver(site: ProcessWorld) -> None:
    KNOWN.remember("open-sesame-397")
    driver = guarded(site.driver())
    assert isinstance(driver, LogDriver)
    (cluster,) = await make(driver, site.cluster())
    (app,) = await make(driver, site.app(cluster, command=["sh", "-c", "echo open-sesame-397; exec sleep 1000"]))
    assert (await driver.logs(app, 1)).lines == ["***"]
    await driver.close()


def test_an_answer_has_room_in_a_message() -> None:
    lines = [f"{number:05}" + "x" * 1000 for number in range(1000)]
    kept = fitting(lines)
    assert 100 < len(kept) < 200
    assert kept == lines[-len(kept) :]
    assert fitting(["x" * 10_000_000]) == []
