"""`stead vm drift`, `orphan list`, `lane list`, and drift in `stead journal`, on a whole cell with a provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import asyncpg
import pytest
import yaml

from stead.cli.journal import LINES
from stead.cli.output import Code, ListFormat
from stead.client import JournalLine
from stead.dev.engines import Nats
from stead.store.agents import PresentAgent
from tests.cli.remote import Answer, command
from tests.controller.healers.test_drift import due
from tests.controller.healers.test_orphans import TAGS, survey
from tests.controller.test_truth import put
from tests.drivers.cloud import SimWorld
from tests.integration.served import Served, served
from tests.integration.whole import agent, ask, settled, until

PATHS = [f"/ns/m/g/{i}" for i in (1, 2, 3)]


class Whole:
    """A cell whose VMs run, and somebody at a terminal."""

    def __init__(self, server: Served, world: SimWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.one = server.controller
        self.world = world
        self.lane = f"{world.provider}.{world.region}"
        self._stead = command(server, monkeypatch)

    async def stead(self, *words: str) -> Answer:
        return await asyncio.to_thread(partial(self._stead, *words))

    async def drift(self, deed: str, path: str) -> None:
        row = await self.one.store.resources.read(path)
        assert row is not None
        await self.world.drift(deed, tokens=[str(row.token)])

    async def worked_on(self, path: str) -> bool:
        """Whether an agent has begun."""
        row = await self.one.store.resources.read(path)
        return row is not None and row.snapshot.work is not None and row.snapshot.work.taken


@asynccontextmanager
async def whole(dsn: str, nats: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Whole]:
    async with served(dsn, nats) as s, agent(nats, s.cell, world, "a1"):
        for path in PATHS:
            await ask(s.controller, world, "create", path)
        for path in PATHS:
            await settled(s.controller, "Running", path)
        yield Whole(s, world, monkeypatch)


@pytest.mark.req("X-07")
async def test_what_differs(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        await put(migrated, "/ns/m/a-disk", w.lane, "disk", "CREATED")
        answer = await w.stead("vm", "drift")
        assert (answer.code, answer.err) == (Code.DONE, "0 of 3 differ\n")
        assert answer.rows == [["PATH", "RECORDED", "OBSERVED", "MATCHES", "LANE"]]
        await w.drift("stop", PATHS[1])
        answer = await w.stead("vm", "drift", "ns/m")
        assert (answer.code, answer.err) == (Code.FAILED, "1 of 3 differ\n")
        assert answer.rows[1:] == [[PATHS[1], "Running", "Suspended", "no", w.lane]]
        answer = await w.stead("vm", "drift", "--all")
        assert (answer.code, [row[3] for row in answer.rows[1:]]) == (Code.FAILED, ["yes", "no", "yes"])
        assert (await w.stead("vm", "drift", "-o", "name")).out == f"{PATHS[1]}\n"
        wide = (await w.stead("vm", "drift", "-o", "wide")).rows
        assert (wide[0][5:], wide[1][5]) == (["EXPECTED", "OBSERVED", "AT"], "Running")
        (found,) = json.loads((await w.stead("vm", "drift", "-o", "json")).out)
        assert (found["path"], found["observed"], found["matches"]) == (PATHS[1], "Suspended", False)
        assert yaml.safe_load((await w.stead("vm", "drift", "-o", "yaml")).out) == [found]
        one = await w.stead("vm", "drift", PATHS[0], "--all")
        assert (one.code, one.rows[1][:4]) == (Code.DONE, [PATHS[0], "Running", "Running", "yes"])
        assert json.loads((await w.stead("vm", "show", PATHS[1], "-o", "json")).out)["state"] == "Running"


@pytest.mark.req("X-07")
async def test_of_whom_nobody_can_say(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        await w.drift("break", PATHS[0])
        await ask(w.one, world, "suspend", PATHS[0])
        await settled(w.one, "Failed", PATHS[0])
        await w.drift("start", PATHS[0])
        await world.fault(kind="slow", seconds=60)
        await ask(w.one, world, "suspend", PATHS[1])
        await until(partial(w.worked_on, PATHS[1]))
        await w.drift("break", PATHS[2])
        answer = await w.stead("vm", "drift", "--all")
        assert answer.code == Code.FAILED
        assert answer.err == "1 of 3 differ, 1 in transition, 1 in a state without an expected one\n"
        assert answer.rows[1:] == [
            [PATHS[0], "Failed", "Running", "unsaid", w.lane],
            [PATHS[1], "Suspending", "moving", w.lane],
            [PATHS[2], "Running", "broken", "no", w.lane],
        ]
        await world.fault(kind="drop", verb="describe")
        answer = await w.stead("vm", "drift")
        assert (answer.code, answer.err) == (Code.DONE, "0 of 3 differ, 2 not observed, 1 in transition\n")


@pytest.mark.req("X-07")
async def test_drift_is_told_in_the_journal(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(migrated, nats_server, without=("orphans",)) as s, agent(nats_server, s.cell, world):
        w = Whole(s, world, monkeypatch)
        await ask(w.one, world, "create", PATHS[0])
        await settled(w.one, "Running", PATHS[0])
        await w.drift("stop", PATHS[0])
        await due(migrated)
        await settled(w.one, "Suspended", PATHS[0])
        await w.one.store.journal.number()
        rows = (await w.stead("journal", PATHS[0])).rows[1:]
        assert [row[3:] for row in rows] == [
            ["request", "create", "Absent", "Creating", "ann"],
            ["succeeded", "create", "Creating", "Running", "agent"],
            ["observed", "Suspended", "(drift)", "Running", "Suspended", "agent"],
        ]
        answer = await w.stead("vm", "drift")
        assert (answer.code, answer.err) == (Code.DONE, "0 of 1 differ\n")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({}, "observed Suspended (drift)"),
        ({"operation": "6c7c2a3e"}, "observed Suspended"),  # a look that an operation asked for
        ({"target": "Running"}, "observed Suspended"),  # no move
        ({"trigger": "succeeded", "detail": "suspend"}, "succeeded suspend"),
    ],
)
def test_drift_is_a_move_that_nobody_asked_for(line: dict[str, Any], what: str) -> None:
    seen: dict[str, Any] = {"trigger": "observed", "detail": "Suspended", "source": "Running", "target": "Suspended"}
    known: dict[str, Any] = {"principal": "", "change": {}, "rejections": 0, "kind": "vm", "actor": "agent"}
    shown = JournalLine(position=1, at=datetime.now(UTC), path="/a", **{**known, **seen, **line})
    assert LINES.row(shown, ListFormat.TABLE)[3] == what


@pytest.mark.req("X-08")
async def test_what_nobody_owns(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        (id,) = await world.drift("create", tags=TAGS)
        assert (await w.stead("orphan", "list")).rows == [["LANE", "TOKEN", "PATH", "STATE", "SINCE"]]
        for _ in range(2):
            await survey(migrated, w.one, w.lane)

        async def listed() -> bool:
            return len((await w.stead("orphan", "list", "--lane", w.lane)).rows) == 2

        await until(listed)
        row = (await w.stead("orphan", "list", "-o", "wide")).rows[1]
        assert [row[0], row[2], row[3], row[6]] == [w.lane, "/ns/lost", "Running", id]
        (found,) = json.loads((await w.stead("orphan", "list", "-o", "json")).out)
        assert (found["token"], found["facts"]["id"]) == (row[1], id)
        assert (await w.stead("orphan", "list", "-o", "name")).out == f"{row[1]}\n"
        assert (await w.stead("orphan", "list", "--lane", "another.lane", "-o", "name")).out == ""


async def test_lanes(migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        hang = await world.fault(kind="hang", verb="suspend")
        await ask(w.one, world, "suspend", PATHS[0])

        async def taken() -> bool:
            row = await w.one.store.resources.read(PATHS[0])
            return row is not None and row.snapshot.work is not None and row.snapshot.work.taken

        await until(taken)
        await w.one.store.agents.record_presence([PresentAgent("a2", 1, [w.lane, "edge.1"], "0.1")], "edge.")
        await away(migrated, "a2")
        listed = await w.stead("lane", "list")
        assert (listed.code, listed.rows) == (
            Code.DONE,
            [
                ["LANE", "LIMIT", "IN", "FLIGHT", "WAITING", "THROTTLED", "NAMESPACES", "AGENTS"],
                [w.lane, "30", "1", "0", "-", "*", "a1,", "a2", "(away)"],
                ["edge.1", "-", "0", "0", "-", "*", "a2", "(away)"],
            ],
        )
        wide = (await w.stead("lane", "list", "-o", "wide")).rows[0][8:]
        assert wide == ["REGIONS", "UNTAKEN", "LAST", "THROTTLED", "NEXT", "SURVEY"]
        found = json.loads((await w.stead("lane", "list", "-o", "json")).out)
        assert [(a["name"], a["connected"]) for a in found[0]["agents"]] == [("a1", True), ("a2", False)]
        assert (await w.stead("lane", "list", "-o", "name")).out == f"{w.lane}\nedge.1\n"
        await world.client.delete(f"/v1/_faults/{hang}")
        await settled(w.one, "Suspended", PATHS[0])


@pytest.mark.req("S0-12")
async def test_limits_are_changed_while_it_runs(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        said = await w.stead("lane", "limit", w.lane, "--members", "1")
        assert (said.code, said.out) == (Code.DONE, f"{w.lane}: 1\n")
        hang = await world.fault(kind="hang", verb="suspend")
        for path in PATHS:
            await ask(w.one, world, "suspend", path)

        async def room(flying: int, waiting: int) -> bool:
            (lane,) = [x for x in (await w.one.store.lanes.read_page("", 10, 30)) if x["name"] == w.lane]
            return (lane["most"], lane["in_flight"], lane["waiting"]) == (flying, flying, waiting)

        await until(partial(room, 1, 2))
        assert (await w.stead("lane", "list")).rows[1][:4] == [w.lane, "1", "1", "2"]
        await w.stead("lane", "limit", w.lane, "--members", "2")
        await until(partial(room, 2, 1), 5)
        await world.client.delete(f"/v1/_faults/{hang}")
        for path in PATHS:
            await settled(w.one, "Suspended", path)
        said = await w.stead("lane", "limit", "aws", "--members", "7", "--regions", "3")
        assert (said.code, said.out) == (Code.DONE, "aws: 7 members in a region, 3 regions\n")
        await w.stead("lane", "limit", w.lane)
        assert (await w.stead("lane", "list")).rows[1][:2] == [w.lane, "7"]
        assert (await w.stead("lane", "limit", w.lane, "--regions", "3")).code == Code.USAGE


@pytest.mark.long
async def test_calls_that_the_provider_refused_are_counted(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.agent.agent.PRESENCE", 0.2)
    async with whole(migrated, nats_server, world, monkeypatch) as w:
        await world.fault(kind="throttle", verb="suspend", rate=1, burst=1)
        for path in PATHS:
            await ask(w.one, world, "suspend", path)
        for path in PATHS:
            await settled(w.one, "Suspended", path)

        async def told() -> bool:
            return (await w.stead("lane", "list")).rows[1][4] not in ("-", "0")

        await until(told)


async def away(dsn: str, agent: str) -> None:
    """Nobody has heard of an agent for a while."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("UPDATE agents SET last_seen = now() - interval '1 minute' WHERE name = $1", agent)
    await connection.close()
