"""Claims in the database against the algebra of claims: random takes, releases, handovers, by two connections.

What `lifecycle.claims` says of two holders, the commit function must do, whichever controller asks it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stead.dev.engines import Postgres
from stead.lifecycle.claims import Claim, ClaimHandle, ClaimTable, Conflict, Mode, claims_for
from stead.store.store import speak_json
from tests.lanes import every_lane
from tests.lifecycle.test_claims import NODES
from tests.tiers import examples

X, I = Mode.EXCLUSIVE, Mode.INTENTION  # noqa: E741
HOLDERS = ("one", "two", "three")
COMMIT = "SELECT commit_changes($1, '{1}', $2, $3, $4, 0, NULL, 100)"

paths = st.sampled_from(NODES)
wants = st.builds(claims_for, st.lists(paths, max_size=2, unique=True), st.lists(paths, max_size=2, unique=True))
steps = st.one_of(
    st.tuples(st.just("take"), st.sampled_from(HOLDERS), wants.filter(bool)),
    st.tuples(st.just("release"), st.sampled_from(HOLDERS), st.just(())),
    st.tuples(st.just("hand"), st.sampled_from(HOLDERS), st.just(())),
)


@dataclass
class Holder:
    """An operation on a resource of its own: what it claims may lie anywhere."""

    resource: str
    operation: UUID = field(default_factory=uuid4)
    id: int | None = None
    version: int = 0

    def template(self, **more: Any) -> dict[str, Any]:
        plain = {
            "kind": "vm",
            "state": "s",
            "condition": {},
            "fence_delta": 0,
            "hidden": "none",
            "stop_timers": [],
            "start_timers": {},
        }
        quiet = {
            "resend": False,
            "journal_lines": [],
            "unchanged_lines": [],
            "principal": "ann",
            "close_order": False,
            "take_order": False,
        }
        still = {"delete_row": False, "is_transition": False, "operation": "new", "new": str(self.operation)}
        return plain | quiet | still | more

    def change(self, take: Sequence[Mapping[str, str]] = (), **more: Any) -> list[Any]:
        """What the commit function is given."""
        mine = {"path": self.resource, "fence": 0, "lane": "", "token": str(uuid4()), "spec": {}}
        template = self.template(**more, **({"claim": "take"} if take else {}))
        return [[template], [self.id], [self.version], [mine | ({"take": list(take)} if take else {})]]


@dataclass
class Database:
    """The commit function, asked through two connections in turn."""

    connections: list[asyncpg.Connection[asyncpg.Record]]
    numbers: count[int] = field(default_factory=count)
    holders: dict[str, Holder] = field(default_factory=dict)

    @property
    def connection(self) -> asyncpg.Connection[asyncpg.Record]:
        return self.connections[next(self.numbers) % len(self.connections)]

    def holder(self, name: str) -> Holder:
        return self.holders.setdefault(name, Holder(f"/resources/{uuid4()}"))

    async def commit(self, holder: Holder, take: Sequence[Mapping[str, str]] = (), **more: Any) -> Mapping[str, Any]:
        """What stands in the way, or nothing."""
        connection = self.connection
        answer = await connection.fetchval(COMMIT, *holder.change(take, **more))
        if answer["conflicts"]:
            return dict(answer["conflicts"][0])
        found = await connection.fetchrow("SELECT id, version FROM resources WHERE path = $1", holder.resource)
        assert found is not None
        holder.id, holder.version = found["id"], found["version"]
        return {}

    def begins(self, name: str, holder: Holder) -> dict[str, Any]:
        return {
            "id": str(holder.operation),
            "action": "a",
            "kind": "vm",
            "path": holder.resource,
            "principal": name,
            "reason": "",
            "request": {},
        }

    async def take(self, name: str, claims: Iterable[Claim]) -> Mapping[str, Any]:
        holder = self.holder(name)
        taking = [{"path": claim.path, "mode": "x" if claim.mode is X else "i"} for claim in claims]
        begun = {} if holder.id else {"start_operation": self.begins(name, holder)}
        return await self.commit(holder, taking, **begun)

    async def release(self, name: str) -> None:
        holder = self.holder(name)
        if holder.id is not None:
            await self.commit(holder, end_operations=[{"of": "operation", "outcome": "succeeded"}], operation="none")
        del self.holders[name]

    async def hand(self, name: str) -> None:
        """Another operation of the same resource takes over."""
        holder = self.holder(name)
        if holder.id is not None:
            holder.operation = uuid4()
            ends = [{"of": "operation", "outcome": "preempted"}]
            await self.commit(holder, claim="hands", start_operation=self.begins(name, holder), end_operations=ends)

    async def held(self) -> dict[str, dict[str, Mode]]:
        """By holder: the paths that it has, in the strongest mode."""
        names = {holder.operation: name for name, holder in self.holders.items()}
        rows = await self.connection.fetch("SELECT path, mode, operation FROM claims")
        found: dict[str, dict[str, Mode]] = {}
        for row in rows:
            found.setdefault(names[row["operation"]], {})[row["path"]] = X if row["mode"] == b"x" else I
        return found


@asynccontextmanager
async def database(dsn: str) -> AsyncIterator[Database]:
    connections = [await asyncpg.connect(dsn) for _ in range(2)]
    try:
        for connection in connections:
            await speak_json(connection)
        await connections[0].execute("DELETE FROM claims")
        yield Database(connections)
    finally:
        for connection in connections:
            await connection.close()


def strongest(handles: Iterable[ClaimHandle]) -> dict[str, dict[str, Mode]]:
    found: dict[str, dict[str, Mode]] = {}
    for handle in sorted(handles, key=lambda h: h.claim.mode is X):
        found.setdefault(handle.holder, {})[handle.claim.path] = handle.claim.mode
    return found


async def drive(dsn: str, sequence: list[tuple[str, str, tuple[Claim, ...]]]) -> None:
    async with database(dsn) as db:
        held = ClaimTable()
        for what, name, claims in sequence:
            if what == "release":
                held = held.release(name)
                await db.release(name)
            elif what == "hand":
                await db.hand(name)
            else:
                wanted, answer = held.acquire(name, claims), await db.take(name, claims)
                if isinstance(wanted, Conflict):
                    assert answer["conflict"] == "claim"
                    ids = {str(db.holder(other).operation) for other in wanted.holders}
                    assert answer["holder"]["operation"] in ids
                    assert answer["holder"]["path"] in {handle.claim.path for handle in wanted.in_the_way}
                else:
                    assert "conflict" not in answer
                    held = wanted
            assert await db.held() == strongest(held.handles)


@pytest.mark.req("S4-03", "S4-04")
@given(sequence=st.lists(steps, min_size=1, max_size=25))
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_database_grants_what_the_algebra_grants(
    migrated: str, sequence: list[tuple[str, str, tuple[Claim, ...]]]
) -> None:
    """Partial takes are taken back whole, the same again changes nothing, and a refusal names who is in the way."""
    asyncio.run(drive(migrated, sequence))


@pytest.mark.req("S4-03")
async def test_a_use_becomes_a_change_where_nobody_else_uses_it(migrated: str) -> None:
    async with database(migrated) as db:
        await db.take("one", [Claim("/a/b", I)])
        await db.take("one", [Claim("/a/b", I)])  # the same again
        assert await db.held() == {"one": {"/a/b": I}}
        await db.take("one", [Claim("/a/b", X)])
        assert await db.held() == {"one": {"/a/b": X}}
        await db.take("one", [Claim("/a/b", I)])
        assert await db.held() == {"one": {"/a/b": X}}
        assert (await db.take("two", [Claim("/a/b", I)]))["conflict"] == "claim"


@pytest.mark.req("S4-03")
async def test_part_of_what_was_wanted_is_not_taken(migrated: str) -> None:
    async with database(migrated) as db:
        await db.take("one", [Claim("/m/b")])
        answer = await db.take("two", [Claim("/m/a"), Claim("/m/b"), Claim("/m/c")])
        assert (answer["conflict"], answer["holder"]["path"], answer["holder"]["by"]) == ("claim", "/m/b", "one")
        assert await db.held() == {"one": {"/m/b": X}}
        assert db.holder("two").id is None  # and nothing else of it was written


@pytest.mark.req("S4-03")
async def test_nobody_waits_for_a_claim(migrated: str) -> None:
    async with database(migrated) as db:
        await db.take("one", [Claim("/m/a")])
        for connection in db.connections:
            await connection.execute("SET statement_timeout = '500ms'")
        for claim in (Claim("/m/a"), Claim("/m"), Claim("/m/a/x"), Claim("/m/a", I)):
            assert (await db.take("two", [claim]))["conflict"] == "claim"


@pytest.mark.req("S4-03")
async def test_of_many_that_want_overlapping_paths_at_once_no_two_get_them(migrated: str) -> None:
    """A tree, its branches and its leaves, by twenty at once: whoever has one excludes all above and below."""
    async with asyncpg.create_pool(migrated, min_size=20, max_size=20, init=speak_json) as pool:
        wanted = ["/t", "/t/a", "/t/b", "/t/a/x", "/t/b/y"] * 4
        for _ in range(10):
            await pool.execute("DELETE FROM claims")
            holders = [Holder(f"/resources/{uuid4()}") for _ in wanted]
            changes = [h.change([{"path": path, "mode": "x"}]) for h, path in zip(holders, wanted, strict=True)]
            asked = [pool.fetchval(COMMIT, *change) for change in changes]
            answers = await asyncio.wait_for(asyncio.gather(*asked), 60)
            got = [path for path, answer in zip(wanted, answers, strict=True) if not answer["conflicts"]]
            held = ClaimTable()
            for i, path in enumerate(got):
                after = held.acquire(str(i), [Claim(path)])
                assert isinstance(after, ClaimTable), got
                held = after
            assert got


LOOK = """
WITH gate AS MATERIALIZED (SELECT pg_advisory_lock(42))
SELECT find_holder('[{"path": "/m/a", "mode": "x"}]', NULL) FROM gate
"""


async def test_a_read_does_not_show_claims_that_are_newer_than_itself(migrated: str) -> None:
    """Else an old state would be shown beside the claim of whoever has changed it since."""
    async with (
        database(migrated) as db,
        asyncpg.create_pool(migrated, min_size=2, max_size=2, init=speak_json) as pool,
    ):
        async with pool.acquire() as guard:
            await guard.execute("SELECT pg_advisory_lock(42)")
            looking = asyncio.create_task(pool.fetchval(LOOK))
            while not await guard.fetchval(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"
            ):
                await asyncio.sleep(0)
            await db.take("one", [Claim("/m/a")])
            await guard.execute("SELECT pg_advisory_unlock(42)")
        assert await asyncio.wait_for(looking, 60) is None


@pytest.mark.long
@pytest.mark.req("S4-03")
def test_claims_outlast_a_restart_of_everything() -> None:
    async def first(dsn: str) -> UUID:
        async with database(dsn) as db:
            await db.take("one", [Claim("/m/a"), Claim("/net", I)])
            return db.holder("one").operation

    async def then(dsn: str, operation: UUID) -> None:
        connection = await asyncpg.connect(dsn)
        await speak_json(connection)
        try:
            db = Database([connection])
            for claim, free in ((Claim("/m"), False), (Claim("/m/a/x"), False), (Claim("/net", I), True)):
                answer = await db.take(f"for {claim}", [claim])
                assert ("conflict" not in answer) is free
                if not free:
                    assert answer["holder"]["operation"] == str(operation)
        finally:
            await connection.close()

    with Postgres(fsync=False) as postgres:
        dsn = postgres.create_database("own")
        every_lane(dsn)
        operation = asyncio.run(first(dsn))
        postgres.stop()
        postgres.start()
        asyncio.run(then(dsn, operation))
