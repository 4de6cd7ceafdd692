"""An agent with a valid identity that says whatever it likes: nothing changes but what is its own to say."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import resource
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from stead.access.policies import AGENTS
from stead.agent import Agent
from stead.build import assemble_engine
from stead.bus import Bus
from stead.bus.codec import MessageFormat, encode
from stead.bus.messages import (
    FullState,
    Hello,
    Presence,
    Report,
    ReportResult,
    StateLine,
    TakeCustody,
    TakeCustodyReply,
)
from stead.bus.subjects import Subjects, inbox
from stead.controller.observation.agent_identities import AgentIdentities
from stead.controller.runtime import Controller
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import Fence
from stead.pki.identity import Candidate, Description, Identity
from stead.store import Store
from tests.action_requests import permission
from tests.drivers.cloud import SimWorld
from tests.integration.whole import ask, running, settled
from tests.pki.safe import CELL, SafeNats, Speaker, speaking
from tests.subscribing import flushed

FOREIGN = "/ns/m/g/1"
OWN_LANE = "hostile.place"
OF = Subjects(CELL)
ROUNDS = 3000


@dataclass
class Scene:
    """A controller, a good agent with a VM, and somebody hostile with an identity for another lane."""

    one: Controller
    world: SimWorld
    hostile: Speaker
    dsn: str
    lane: str
    """The good agent's."""

    async def rows(self) -> list[dict[str, Any]]:
        """All that is believed, but for when it was looked at."""
        connection = await asyncpg.connect(self.dsn)
        try:
            found = await connection.fetch(
                "SELECT path, state, condition, fence, version, operation, lane, spec, facts, timers FROM resources"
                " ORDER BY path"
            )
            agents = await connection.fetch("SELECT name, lanes FROM agents WHERE name <> 'h1' ORDER BY name")
            lanes = await connection.fetch("SELECT name, throttled FROM lanes WHERE name = $1", self.lane)
            orphans = await connection.fetch("SELECT * FROM orphans WHERE lane = $1", self.lane)
        finally:
            await connection.close()
        return [dict(row) for row in (*found, *agents, *lanes, *orphans)]

    async def say(self, subject: str, data: bytes) -> None:
        await self.hostile.client.publish(subject, data, f"{inbox('h1')}.x")

    async def heard(self, left: int = 0) -> None:
        """Until controllers have had all that was said, and so much at most is left to others."""
        await flushed(self.hostile.client)
        manager = self.one.bus._link.client().jsm()
        async with asyncio.timeout(60):
            while True:
                info = await manager.consumer_info(OF.reports_stream, "controllers")
                if not info.num_pending and (info.num_ack_pending or 0) <= left:
                    return
                await asyncio.sleep(0.05)

    async def still_good(self, *actions: tuple[str, str]) -> None:
        """The good agent works as before."""
        for action, state in actions:
            await ask(self.one, self.world, action)
            await settled(self.one, state)

    async def fence(self) -> Fence:
        row = await self.one.store.resources.read(FOREIGN)
        assert row is not None
        return row.snapshot.fence


async def let_in(identities: AgentIdentities, folder: Path, name: str, lanes: list[str]) -> Identity:
    invited = await identities.invite(name, lanes, 60, permission("ann", Actor.ADMIN, AGENTS))
    candidate = Candidate(name)
    joined = await identities.join(invited.token, name, candidate.user_key, candidate.request, candidate.proof)
    about = Description(name, CELL, list(joined.bus), "agent", lanes)
    issued = joined.issued
    candidate.admitted(folder, about, issued.jwt, issued.certificate, issued.authority)
    return Identity(folder)


@asynccontextmanager
async def stage(safe: SafeNats, dsn: str, world: SimWorld, folder: Path) -> AsyncIterator[Scene]:
    async with (
        Store.open(dsn, connections=5) as store,
        Bus(safe.url, CELL, options=safe.controller.options) as bus,
    ):
        await bus.connect(60)
        await bus.identity()
        await bus._link.client().jsm().purge_stream(OF.reports_stream)
        identities = AgentIdentities(store, safe.controller)
        one = assemble_engine(store, bus, identities=identities).controller
        one.healers = tuple(healer for healer in one.healers if healer.name not in ("drift", "orphans"))
        lane = f"{world.provider}.{world.region}"
        good = await let_in(identities, folder / "good", f"good-{secrets.token_hex(3)}", [lane])
        bad = await let_in(identities, folder / "bad", "h1", [OWN_LANE])
        driver = world.driver()
        async with (
            running(one.run()),
            Bus(safe.url, CELL, agent=good.name, apart=True, options=good.options) as agents_bus,
            speaking(safe, bad) as hostile,
        ):
            await agents_bus.connect(60)
            async with running(Agent(agents_bus, good.name, {lane: driver}).run()):
                scene = Scene(one, world, hostile, dsn, lane)
                await scene.still_good(("create", "Running"))
                yield scene
        await driver.close()


@pytest.fixture
async def scene(safe: SafeNats, migrated: str, world: SimWorld, tmp_path: Path) -> AsyncIterator[Scene]:
    async with stage(safe, migrated, world, tmp_path) as one:
        yield one


async def test_reports_of_what_is_anothers_change_nothing(scene: Scene) -> None:
    """With the right path and the right fence, on its own lane, where alone it may report."""
    fence = await scene.fence()
    before = await scene.rows()
    for kind in ("started", "succeeded", "failed", "declined", "observed"):
        result = ReportResult(FOREIGN, fence, kind, observed="Suspended", facts={"id": "stolen"})
        await scene.say(OF.report(OWN_LANE), encode(Report("h1", 1, 1, OWN_LANE, [result])))
    for seen in ("Suspended", "absent", "broken"):
        for end in (False, True, True, True):
            line = StateLine(fence, seen, FOREIGN, facts={"id": "stolen"})
            await scene.say(OF.report(OWN_LANE), encode(FullState("h1", 1, OWN_LANE, [line], end)))
    await scene.heard()
    assert await scene.rows() == before
    await scene.still_good(("suspend", "Suspended"), ("resume", "Running"))


async def test_a_message_for_another_lane_on_ones_own_subject_is_garbage(scene: Scene) -> None:
    fence = await scene.fence()
    before, count = await scene.rows(), scene.one.bus.invalid_messages.count
    said = [
        Report("h1", 1, 1, scene.lane, [ReportResult(FOREIGN, fence, "observed", observed="Suspended")]),
        FullState("h1", 1, scene.lane, [StateLine(fence, "Suspended", FOREIGN)], True),
        FullState("h1", 1, scene.lane, [StateLine(fence, "Running", token="made-up")], True, 1e10),
    ]
    for message in said:
        await scene.say(OF.report(OWN_LANE), encode(message))
    await scene.say(OF.hello("h1"), encode(Hello("h2", 1, [OWN_LANE], "1")))
    await scene.say(OF.hello("h1"), encode(Hello("h1", 1, [scene.lane], "1")))
    await scene.say(OF.presence("h1"), encode(Presence("h2", 1, [OWN_LANE], "1", {scene.lane: 7})))
    await scene.say(OF.presence("h1"), encode(Presence("h1", 1, [scene.lane], "1", {scene.lane: 7})))
    await scene.say(OF.presence("h1"), encode(Presence("h1", 2**62, [OWN_LANE], "1")))
    await scene.heard()
    await asyncio.sleep(0.2)
    assert scene.one.bus.invalid_messages.count - count == 8
    assert await scene.rows() == before
    assert [member.name for member in await scene.one.identities.members() if member.last_seen] != []  # type: ignore[union-attr]


async def test_nobody_takes_renews_or_lists_what_is_anothers(scene: Scene) -> None:
    hang = await scene.world.fault(kind="late", verb="suspend", seconds=60)
    await ask(scene.one, scene.world, "suspend")
    fence = await scene.fence()
    mine = await scene.hostile.client.subscribe(f"{inbox('h1')}.asked")

    async def asked(subject: str, data: bytes) -> bytes:
        await scene.hostile.client.publish(subject, data, f"{inbox('h1')}.asked")
        return (await mine.next_msg(5)).data

    for counter in (fence.counter - 1, fence.counter, fence.counter + 1, 2**62):
        members = [(FOREIGN, Fence(fence.incarnation, counter))]
        said = MessageFormat(TakeCustodyReply).decode(
            await asked(OF.agent_request("take-custody", "h1"), encode(TakeCustody("h1", 1, members)))
        )
        assert (said.ok, said.fences) == (False, {})
    assert b"not a fence" in await asked(
        OF.agent_request("take-custody", "h1"),
        encode(TakeCustody("h1", 1, [])).replace(b"[]", b'[["/a",[1,%d]]]' % 2**63),
    )
    name = next(m.name for m in await scene.one.identities.members() if m.name != "h1")  # type: ignore[union-attr]
    assert b"another's name" in await asked(
        OF.agent_request("take-custody", "h1"), encode(TakeCustody(name, 1, [(FOREIGN, fence)]))
    )
    renew = {
        "t": "renew-custody",
        "v": [1, 0],
        "order": 1,
        "agent": "h1",
        "epoch": 1,
        "fences": {FOREIGN: list(fence)},
    }
    assert b'"ok":false' in await asked(OF.agent_request("renew-custody", "h1"), json.dumps(renew).encode())
    inventory = {"t": "inventory", "v": [1, 0], "lane": scene.lane, "agent": "h1"}
    assert b"not its own" in await asked(OF.agent_request("inventory", "h1"), json.dumps(inventory).encode())
    assert b"another's name" in await asked(
        OF.agent_request("inventory", "h1"), json.dumps({**inventory, "agent": name}).encode()
    )
    assert b"future" in await asked(
        OF.agent_request("take-custody", "h1"), encode(TakeCustody("h1", 2**62, [(FOREIGN, fence)]))
    )
    await scene.world.client.delete(f"/v1/_faults/{hang}")
    await settled(scene.one, "Suspended")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def wild(dice: random.Random, fence: Fence, lane: str) -> bytes:
    """A message, or something like one."""
    paths = [FOREIGN, "/ns/m", "/ns", "/", "x" * 5000, "", "/ns/m/g/2", "\0", "/../.."]
    numbers = [0, 1, -1, 2**31, 2**62, 2**63 - 1, 2**63, 2**70, 1.5, "1", None, fence.counter]
    fences: list[Any] = [list(fence), [0, 0], [2**40, 1], [1, 2**63 - 1], [1], [], "x", [fence.incarnation, -1]]
    values: list[Any] = [{}, {"a": "b"}, {"a": nested(200)}, {"a": nested(15)}, {"a": 2**70}, {"a": "x" * 100_000}]
    values += [{str(n): n for n in range(3000)}, None, [], {"\0": "\0"}, {"a": 1e308}, {"a": "\ud800"}]
    lanes = [OWN_LANE, lane, "", "x" * 2000]
    pick = dice.choice
    line = {"fence": pick(fences), "observed": pick(["Running", "absent", "x" * 2000, "", 7]), "path": pick(paths)}
    line |= {"token": pick(["", "t", "x" * 3000, secrets.token_hex(8)]), "facts": pick(values)}
    line |= {"working": pick([True, False]), "revision": pick(numbers)}
    result = {
        "path": pick(paths),
        "fence": pick(fences),
        "kind": pick(["succeeded", "failed", "observed", "x", "started"]),
    }
    result |= {"facts": pick(values), "error": pick(["", "x" * 50_000, "\0"]), "observed": "Running"}
    said: dict[str, Any] = {
        "t": pick(["report", "full-state", "hello", "order", "presence", "take-custody", "x"]),
        "v": pick([[1, 0], [1, 99], [1, 0], [1, 0], [9, 0], [], "1", [1, 2**70]]),
        "agent": pick(["h1", "h1", "h1", "h2", "", "x" * 3000]),
        "epoch": pick(numbers),
        "order": pick(numbers),
        "lane": pick(lanes),
        "lanes": pick([[OWN_LANE], [lane], [], ["x" * 2000], 7]),
        "version": pick(["1", "x" * 5000, 1]),
        "results": [result] * pick([0, 1, 1, 3]),
        "objects": [line] * pick([0, 1, 1, 3]),
        "end": pick([True, False, "x"]),
        "began": pick([0, 1e308, -1, 1e11, 1.9e9, "x"]),
        "members": pick([[], [[FOREIGN, list(fence)]], [[FOREIGN, [2**40, 1]]], "x"]),
        "throttled": pick([{}, {lane: 5}, {OWN_LANE: 2**62}]),
    }
    data = json.dumps(said).encode()
    match dice.randrange(10):
        case 0:
            return dice.randbytes(dice.randrange(200))
        case 1:
            return data[: dice.randrange(len(data))]
        case 2:
            return b"[" * 50_000
    return data


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_whatever_is_said_everything_else_is_as_it_was(
    scene: Scene, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    dice = random.Random(seed)
    fence = await scene.fence()
    subjects = [OF.report(OWN_LANE)] * 4 + [
        OF.hello("h1"),
        OF.agent_request("take-custody", "h1"),
        OF.agent_request("renew-custody", "h1"),
        OF.agent_request("inventory", "h1"),
    ]
    subjects += [OF.presence("h1"), OF.agent_request("renew-identity", "h1")]
    before = await scene.rows()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with caplog.at_level(logging.INFO):
        for number in range(ROUNDS):
            await scene.say(dice.choice(subjects), wild(dice, fence, scene.lane))
            if number % 500 == 0:
                await scene.heard(ROUNDS)
        await scene.heard(ROUNDS // 5)  # what is of another version is left to others for a while
        await asyncio.sleep(1)  # sleep: nothing may happen meanwhile
    assert await scene.rows() == before
    assert scene.one.bus.invalid_messages.count > ROUNDS / 3
    ours = [record for record in caplog.records if record.name.startswith("stead")]
    assert len(ours) < 60, [record.getMessage()[:100] for record in ours[:60]]
    assert not [record.getMessage() for record in ours if record.exc_info]
    assert max(len(record.getMessage()) for record in ours) < 2000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 100_000  # kilobytes
    await scene.still_good(("suspend", "Suspended"), ("resume", "Running"), ("terminate", "Terminated"))
