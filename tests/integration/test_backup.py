"""A backup under load: all that was accepted before comes to its end after a restore.

Real controllers, agents and a simulated cloud; the agents run on through it all, as they would.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import nats
import pytest
from nats.aio.msg import Msg

from stead import backup
from stead.bus.subjects import Subjects
from stead.cli.output import Code
from stead.client import Client, ProblemError
from stead.dev.engines import Nats, Postgres
from stead.lifecycle.pace import DEFAULT
from tests.cli.remote import Answer, Nowhere, command
from tests.drivers.cloud import SimWorld
from tests.integration.doomed import PACE
from tests.integration.served import served
from tests.integration.whole import agent, running, until
from tests.subscribing import flushed

KNOWN = """
SELECT id::text FROM operations UNION SELECT id::text FROM ended_operations UNION SELECT operation::text FROM queued
"""
ROWS = """
SELECT path, state, condition::text, fence, version, operation, hidden, order_id, sends, lane, token, spec::text,
       facts::text, timers::text FROM resources ORDER BY path
"""
NEXT = {"Running": "suspend", "Suspended": "resume"}


@dataclass
class Load:
    """Whoever asks for one change after the other, and remembers when each was accepted."""

    client: Client
    lane: str
    paths: Sequence[str]
    accepted: dict[str, float] = field(default_factory=dict)
    """By operation, when its 202 had come."""

    async def ask(self, path: str, action: str) -> str:
        """The operation; empty where it was refused."""
        try:
            taken = await self.client.request_action(
                path, action, kind="vm", spec={"cpu": 2}, lane=self.lane, expect_agent=True
            )
        except ProblemError:
            return ""
        assert taken.operation is not None
        self.accepted[str(taken.operation.id)] = time.monotonic()
        return str(taken.operation.id)

    async def one(self, path: str) -> None:
        """For ever."""
        while True:
            with suppress(ProblemError):  # too many requests a second, for one
                resource = await self.client.resource(path)
                if resource.state in NEXT and resource.operation is None:
                    await self.ask(path, NEXT[resource.state])
            await asyncio.sleep(0.002 * len(self.paths))

    async def busy(self) -> bool:
        """Whether each has been made and, in the middle, asked for something else."""
        return len(self.accepted) > 2 * len(self.paths)

    @asynccontextmanager
    async def going(self) -> AsyncIterator[None]:
        async with running(*(self.one(path) for path in self.paths)):
            yield


class Life:
    """A cell, what is known of it from outside, and the databases that it has lived in."""

    def __init__(self, postgres: Postgres, template: str, bus: Nats, world: SimWorld, folder: Path) -> None:
        self.postgres, self.bus, self.world, self.folder = postgres, bus, world, folder
        self.cell = f"b{secrets.token_hex(4)}"
        self.lane = f"{world.provider}.{world.region}"
        self.databases = [f"life_{secrets.token_hex(6)}"]
        self.dsn = postgres.create_database(self.databases[0], template)

    async def fetch(self, query: str, *values: object) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self.dsn)
        try:
            return list(await connection.fetch(query, *values))
        finally:
            await connection.close()

    async def back(
        self, file: Path, *, hold: bool = False, custody: float = DEFAULT.custody
    ) -> backup.RestoreSummary:
        """From now on it lives in a new database."""
        self.databases.append(f"life_{secrets.token_hex(6)}")
        self.dsn = await asyncio.to_thread(self.postgres.create_database, self.databases[-1])
        return await backup.restore(self.dsn, file, hold=hold, custody=custody)

    async def silent(self) -> None:
        """Until all that was said has been heard."""
        client = await nats.connect(self.bus.url)
        stream = Subjects(self.cell).reports_stream

        async def empty() -> bool:
            return (await client.jsm().stream_info(stream)).state.messages == 0

        await until(empty, 60)
        await client.close()

    @asynccontextmanager
    async def heard(self) -> AsyncIterator[list[Msg]]:
        """What agents say meanwhile, as they say it."""
        said: list[Msg] = []

        async def hear(message: Msg) -> None:
            said.append(message)

        client = await nats.connect(self.bus.url)
        try:
            for subject in Subjects(self.cell).all_reports:
                await client.subscribe(subject, cb=hear)
            await flushed(client)
            yield said
        finally:
            await client.close()

    async def again(self, said: Sequence[Msg]) -> None:
        """All of it is said once more, on the same subjects."""
        client = await nats.connect(self.bus.url)
        for message in said:
            await client.jetstream().publish(message.subject, message.data)
        await client.close()
        await self.silent()

    async def all_end(self, operations: Sequence[str]) -> dict[str, str]:
        """Until all have ended; how."""
        query = "SELECT id::text, outcome FROM ended_operations WHERE id = ANY ($1::uuid[])"

        async def ended() -> bool:
            return len(await self.fetch(query, operations)) == len(operations)

        await until(ended, 90)
        return {r["id"]: r["outcome"] for r in await self.fetch(query, operations)}

    def close(self) -> None:
        for name in self.databases:
            self.postgres.drop_database(name)


async def compared(url: str, monkeypatch: pytest.MonkeyPatch, code: Code) -> dict[str, Any]:
    stead = command(Nowhere(url), monkeypatch)
    answer: Answer = await asyncio.to_thread(partial(stead, "backup", "compare", "-o", "json"))
    assert answer.code == code, answer
    found: dict[str, Any] = json.loads(answer.out)
    return found


async def round_(life: Life, monkeypatch: pytest.MonkeyPatch, *, members: int, number: int) -> None:
    """A life under load, a backup in it, and the life after that."""
    file = life.folder / f"{number}.stead"
    before = [f"/ns/m/g/{number}-{i}" for i in range(members)]
    doomed, late = f"/ns/m/g/{number}-doomed", [f"/ns/m/g/{number}-late-{i}" for i in range(3)]
    async with life.heard() as said:
        async with served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s, Client(s.url) as client:
            load = Load(client, life.lane, before)
            await life.world.fault(kind="slow", seconds=0.3)
            for path in (*before, doomed):
                assert await load.ask(path, "create")
            await life.all_end(list(load.accepted))
            async with load.going():
                await until(load.busy, 60)
                began = time.monotonic()
                manifest = await backup.take(life.dsn, file, life.cell)
                took = time.monotonic() - began
                accepted = [operation for operation, at in load.accepted.items() if at < began]
                assert manifest.operations > 0, "it was to be taken in the middle of something"
                after = [await load.ask(path, "create") for path in late] + [await load.ask(doomed, "terminate")]
                assert set((await life.all_end(after)).values()) == {"succeeded"}
                await asyncio.sleep(0.2)
            since = [operation for operation in load.accepted if operation not in accepted]
            tokens = await life.fetch("SELECT token::text FROM resources WHERE path = ANY ($1)", late)
        reports = list(said)
    await life.world.heal()
    restored = await life.back(file, custody=PACE.custody)
    assert restored.incarnation > manifest.incarnation
    known = {r["id"] for r in await life.fetch(KNOWN)}
    assert set(accepted) <= known, "nothing that was accepted before is missing"
    assert set(since) - known, "it was to be of an earlier time"
    async with served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s:
        await life.again(reports[-200:])  # while what was under way is carried on
        outcomes = await life.all_end(accepted)
        assert set(outcomes.values()) == {"succeeded"}
        await life.silent()
        rows, lines = await life.fetch(ROWS), await life.fetch("SELECT count(*) FROM journal")
        await life.again(reports)
        assert await life.fetch(ROWS) == rows
        assert await life.fetch("SELECT count(*) FROM journal") == lines
        found = await compared(s.url, monkeypatch, Code.FAILED)
        assert doomed in [one["path"] for one in found["missing"]]
        assert {r["token"] for r in tokens} <= {one["token"] for one in found["unknown"]}
        # Some were changed once more after the backup, and are otherwise than believed.
        assert found["kinds"]["vm"]["matches"] + found["kinds"]["vm"]["differs"] >= members
        assert found["kinds"]["vm"]["unobserved"] == 0
    print(f"{len(accepted)} accepted before, {len(since)} since, {len(reports)} reports, {took:.2f} s")


@pytest.fixture
def life(postgres: Postgres, template: str, nats_server: Nats, world: SimWorld, tmp_path: Path) -> Iterator[Life]:
    one = Life(postgres, template, nats_server, world, tmp_path)
    yield one
    one.close()


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.req("X-04")
async def test_nothing_accepted_before_a_backup_is_missing_after_a_restore(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with agent(life.bus, life.cell, life.world, timeout=PACE.call):
        await round_(life, monkeypatch, members=12, number=1)


@pytest.mark.long
async def test_lives_one_after_the_other(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes back is backed up in turn; three times, with more going on."""
    async with agent(life.bus, life.cell, life.world, timeout=PACE.call):
        for number in range(3):
            await round_(life, monkeypatch, members=30, number=number)
