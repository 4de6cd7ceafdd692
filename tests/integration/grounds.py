"""Where processes live: databases, cells, places at the simulated cloud, and what can be seen there from outside."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import asyncpg
import nats
from nats.js.errors import NotFoundError
from nats.js.manager import JetStreamManager

from stead.bus.subjects import Subjects
from stead.dev.engines import Nats, Postgres
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration.lives import Moment, Nursery, Process

PATIENCE = 90.0
"""Seconds for anything that is to happen, on a machine that has other things to do."""

LEFT = {
    "a resource with something under way": "SELECT state, condition, order_id, timers FROM resources "
    "WHERE path = $1 AND (operation IS NOT NULL OR order_id IS NOT NULL OR timers <> '{}' OR condition <> '{}')",
    "an operation": "SELECT action FROM operations WHERE path = $1",
    "a claim": "SELECT operation FROM claims WHERE path = $1",
    "an order": "SELECT verb FROM orders o WHERE EXISTS "
    "(SELECT FROM resources r WHERE r.path = $1 AND r.id = ANY (o.members))",
}

UNDER_WAY = "SELECT EXISTS (SELECT FROM resources WHERE operation IS NOT NULL OR order_id IS NOT NULL)"


@dataclass
class Grounds:
    """All that lives need. A database is used again: each life has a path, a cell and a lane of its own."""

    postgres: Postgres
    template: str
    nats: Nats
    cloud: SimCloud
    nursery: Nursery
    free: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def one(self, pause: float = 0.05) -> AsyncIterator[Ground]:
        """A place for one life, with so many seconds between looks at it.

        What somebody failed on is left alone, and so is what somebody left under way: later controllers would go on
        with it, on buses of their own, where nobody serves its lane."""
        name = self.free.pop() if self.free else await self._new()
        client = await nats.connect(self.nats.url)
        world = SimWorld(self.cloud)
        database = await asyncpg.connect(self.postgres.dsn(name))
        ground = Ground(self, self.postgres.dsn(name), database, client.jsm(), world)
        ground.pause = pause
        try:
            yield ground
            if not await database.fetchval(UNDER_WAY):
                self.free.append(name)
        finally:
            await ground.close()
            await database.close()
            await world.close()
            await client.close()

    async def _new(self) -> str:
        name = f"ground_{secrets.token_hex(6)}"
        await asyncio.to_thread(self.postgres.create_database, name, self.template)
        return name


class Ground:
    """A path, a cell and a lane, and the processes there."""

    def __init__(
        self,
        of: Grounds,
        dsn: str,
        database: asyncpg.Connection[asyncpg.Record],
        streams: JetStreamManager,
        world: SimWorld,
    ) -> None:
        self.of = of
        self.dsn = dsn
        self.database = database
        self.streams = streams
        self.world = world
        self.cell = f"cell-{secrets.token_hex(6)}"
        self.path = f"/ns/m/g/{secrets.token_hex(6)}"
        self.lane = f"{world.provider}.{world.region}"
        self.pause = 0.05
        self.members: list[Process] = []

    @asynccontextmanager
    async def elsewhere(self, backup: str) -> AsyncIterator[Ground]:
        """The same path, cell and lane in another database, as it was when the backup was made."""
        name = f"restored_{secrets.token_hex(6)}"
        dsn = await asyncio.to_thread(self.of.postgres.create_database, name)
        await asyncio.to_thread(self.of.postgres.tool, "pg_restore", f"--dbname={name}", backup)
        database = await asyncpg.connect(dsn)
        other = Ground(self.of, dsn, database, self.streams, self.world)
        other.cell, other.path, other.lane = self.cell, self.path, self.lane
        try:
            yield other
        finally:
            for process in other.members:
                await process.close()
            await database.close()

    async def close(self) -> None:
        for process in self.members:
            await process.close()
        for stream in self._streams():
            with suppress(NotFoundError):
                await self.streams.delete_stream(stream)

    # Processes

    async def controller(self) -> Process:
        return await self._born(role="controller", database=self.dsn)

    async def agent(self, name: str = "a1", moment: Moment | None = None) -> Process:
        return await self._born(moment, role="agent", name=name, lane=self.lane, cloud=self.of.cloud.url)

    async def _born(self, moment: Moment | None = None, **what: str) -> Process:
        process = await Process.born(self.of.nursery, moment, nats=self.of.nats.url, cell=self.cell, **what)
        self.members.append(process)
        return process

    # What can be seen

    async def fetch(self, query: str, *values: object) -> list[asyncpg.Record]:
        """Records, by the path and further values."""
        return await self.database.fetch(query, self.path, *values)

    async def until(self, query: str, *values: object) -> asyncpg.Record:
        """The first such record, when there is one."""

        async def there() -> asyncpg.Record:
            while not (found := await self.fetch(query, *values)):
                await asyncio.sleep(self.pause)
            return found[0]

        return await self.soon(there(), f"{query} with {values}")

    async def soon[T](self, what: Awaitable[T], name: str) -> T:
        """What comes of it, if it comes in time; otherwise how things stand."""
        try:
            async with asyncio.timeout(PATIENCE):
                return await what
        except TimeoutError as error:
            stands = await self.fetch("SELECT state, condition::text, timers::text FROM resources WHERE path = $1")
            alive = [process.pid for process in self.members if not process.died.is_set()]
            said = self.of.nursery.log.read_text(errors="replace")[-2000:]
            raise TimeoutError(f"no {name}; {[dict(r) for r in stands]}; alive: {alive}; {said}") from error

    async def quiet(self, *streams: str) -> None:
        """Until streams, or both, carry nothing any more: all that was said has been heard."""

        async def silence() -> None:
            for stream in streams or self._streams():
                with suppress(NotFoundError):  # whoever makes it may have been killed before
                    while (await self.streams.stream_info(stream)).state.messages:
                        await asyncio.sleep(self.pause)

        try:
            await self.soon(silence(), "silence on the bus")
        except TimeoutError as error:
            raise TimeoutError(f"{await self._heard()}; {error}") from error

    async def _heard(self) -> str:
        """What the streams still carry, and who is to hear it."""
        found = []
        for stream in self._streams():
            with suppress(NotFoundError):
                info = await self.streams.stream_info(stream)
                consumers = await self.streams.consumers_info(stream)
                left = await self.streams.get_msg(stream, seq=info.state.first_seq) if info.state.messages else None
                found.append(f"{stream}: {info.state}, {left}, {consumers}")
        return "; ".join(found)

    def _streams(self) -> tuple[str, str]:
        subjects = Subjects(self.cell)
        return subjects.orders_stream(self.lane), subjects.reports_stream

    async def all_are(self, state: str, paths: Sequence[str]) -> None:
        """Until all of them are in that state."""
        query = "SELECT FROM resources WHERE $1 <> '' AND state = $2 AND path = ANY ($3) HAVING count(*) = $4"
        await self.until(query, state, list(paths), len(paths))

    async def order(self, verb: str) -> asyncpg.Record:
        """The order of that verb, when it is given."""
        query = "SELECT o.* FROM orders o JOIN resources r ON r.order_id = o.id WHERE r.path = $1 AND o.verb = $2"
        return await self.until(query, verb)

    async def ended(self) -> list[tuple[str, str]]:
        """All operations that have ended, with how."""
        query = "SELECT action, outcome FROM ended_operations WHERE path = $1 ORDER BY ended_at"
        return [(record["action"], record["outcome"]) for record in await self.fetch(query)]

    async def outcomes(self, action: str) -> list[str]:
        return [outcome for name, outcome in await self.ended() if name == action]

    async def left(self) -> list[str]:
        """What has not come to an end."""
        return [f"{what} is left: {dict(r)}" for what, query in LEFT.items() for r in await self.fetch(query)]

    async def done(self) -> Counter[str]:
        """What the provider did for the VM, which it has once."""
        (record,) = await self.fetch("SELECT token FROM resources WHERE path = $1")
        (instance,) = await self.world.history(str(record["token"]))
        return Counter(line["verb"] for line in instance["history"])
