"""Deploys, teardowns and deletions on random trees, through several controllers at once, against the document's lock.

It is written down anew: one intention lock for every node, and nothing of ours in it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stead.controller.admission.request import Accepted, NotFound
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Trigger
from stead.store import Store
from tests.action_requests import requested
from tests.systems.town import LANE, Town, serve_lane, service
from tests.tiers import examples

NODES = 1000
CONTROLLERS = 3
KINDS = ("deploy",) * 12 + ("teardown", "delete") + ("finish",) * 5

type Answer = Accepted | Rejection | NotFound


class IntentionLock:
    """Exclusive, or intention-exclusive by any number. It never waits."""

    def __init__(self) -> None:
        self.exclusive = ""
        self.intends: set[str] = set()

    def lock(self, holder: str, exclusive: bool) -> bool:
        if self.exclusive or (exclusive and self.intends):
            return False
        if exclusive:
            self.exclusive = holder
        else:
            self.intends.add(holder)
        return True

    def unlock(self, holder: str) -> None:
        self.intends.discard(holder)
        if self.exclusive == holder:
            self.exclusive = ""


class LifecycleActions:
    """A tree of them for one system: intention on every internal node of a path, exclusive on its last one."""

    def __init__(self) -> None:
        self.locks: dict[str, IntentionLock] = {}

    def acquire(self, holder: str, path: str) -> bool:
        way = ["/"]
        for name in path.strip("/").split("/") if path != "/" else ():
            way.append(f"{way[-1].rstrip('/')}/{name}")
        taken: list[IntentionLock] = []
        for node in way:
            lock = self.locks.setdefault(node, IntentionLock())
            if not lock.lock(holder, exclusive=node == way[-1]):
                for other in taken:
                    other.unlock(holder)
                return False
            taken.append(lock)
        return True

    def release(self, holder: str) -> None:
        for lock in self.locks.values():
            lock.unlock(holder)


def allowed_together(places: Mapping[str, str]) -> bool:
    """Whether the document's lock grants all of them at once."""
    actions = LifecycleActions()
    return all(actions.acquire(holder, place) for holder, place in places.items())


def grown(seed: int) -> list[str]:
    """A tree of a thousand paths, some of it bushy and some of it deep."""
    dice = random.Random(seed)
    paths = ["/"]
    for number in range(NODES - 1):
        deep = dice.random() < 0.4
        above = paths[-1 - dice.randrange(min(8, len(paths)))] if deep else dice.choice(paths)
        if above.count("/") > 40:
            above = "/"
        paths.append(f"{above.rstrip('/')}/n{number}")
    return paths


@dataclass
class System:
    """A system under several controllers, and what is believed to run on it."""

    towns: Sequence[Town]
    paths: Sequence[str]
    path: str = field(default_factory=lambda: f"/locks/s{uuid4().hex}")
    running: dict[str, str] = field(default_factory=dict)
    """Places by operation."""

    async def found(self) -> None:
        wish = requested("system", self.path, Request("create"), "ann", {"lanes": [LANE]})
        self.towns[0].let_in(await self.towns[0].admission.admit(*wish))
        await self.towns[0].rest()

    async def ask(self, by: int, kind: str, place: str) -> Answer:
        spec: dict[str, Any] = {}
        if kind == "deploy":
            spec = {"path": place, "definition": {"s": service(uuid4().hex)}}  # there is always something to do
        request = Request(kind, on_conflict=OnConflict.REJECT)
        return await self.towns[by].admission.admit(*requested("system", self.path, request, f"p{by}", spec))

    async def round(self, wanted: Sequence[tuple[int, str, str]]) -> None:
        """All of these at the same moment."""
        before = dict(self.running)
        answers = await asyncio.gather(*(self.ask(*one) for one in wanted))
        for town in self.towns:
            await town.idle()
        let_in = {a.operation: w for a, w in zip(answers, wanted, strict=True) if isinstance(a, Accepted)}
        if any(kind == "delete" for _, kind, _ in let_in.values()):
            await self.deleted(let_in)
            return
        self.running |= {id: place if kind == "deploy" else "/" for id, (_, kind, place) in let_in.items()}
        met = dict(self.running)
        for id in [id for id, (_, kind, _) in let_in.items() if kind == "teardown"]:
            if await self.outcome(id):  # there was nothing to be taken down
                del self.running[id]
        assert await self.claimed() == self.running
        assert allowed_together(self.running), self.running
        for answer, (_, kind, place) in zip(answers, wanted, strict=True):
            if isinstance(answer, Rejection):
                assert answer.code is Code.HELD, answer
                wish = place if kind == "deploy" else "/"
                assert any(not allowed_together({"it": wish, id: at}) for id, at in met.items()), (kind, wish, answer)
                holders = {holder.operation for holder in answer.holders}
                assert holders, answer
                assert holders <= {*before, *let_in}
        assert all(isinstance(answer, Accepted | Rejection) for answer in answers)

    async def deleted(self, let_in: Mapping[str, tuple[int, str, str]]) -> None:
        """Whatever ran is cancelled, the root is the deletion's, and in the end there is nothing."""
        (gone,) = {id for id, (_, kind, _) in let_in.items() if kind == "delete"}
        others = [*self.running, *(id for id, (_, kind, _) in let_in.items() if kind != "delete")]
        assert {await self.outcome(id) for id in others} <= {"cancelled", "succeeded"}
        claims = await self.towns[0].store.claims.list_below(self.path, 1000)
        assert {(str(c["operation"]), c["path"]) for c in claims} in ({(gone, self.path)}, set())
        self.running = {}
        town = self.towns[0]
        town.system = self.path
        await town.expire()
        assert await self.outcome(gone) == "succeeded"
        assert await town.store.resources.read(self.path) is None
        await self.found()

    async def finish(self, nth: int) -> None:
        """One of those that run is carried to its end."""
        if not self.running:
            return
        operation = sorted(self.running)[nth % len(self.running)]
        town = self.towns[nth % len(self.towns)]
        while not await self.outcome(operation):
            todo = await town.store.pool.fetch("SELECT path FROM resources WHERE operation = $1", UUID(operation))
            for row in todo:
                await town.report(row["path"], Trigger.SUCCEEDED)
            for each in self.towns:
                await each.idle()
        del self.running[operation]

    async def outcome(self, operation: str) -> str:
        record = await self.towns[0].store.operations.read(UUID(operation))
        assert record is not None
        return str(record["outcome"])

    async def claimed(self) -> dict[str, str]:
        """Places by operation, as the database has them."""
        found = await self.towns[0].store.systems.read_concurrent(self.path)
        return {str(one["id"]): one["place"].removeprefix(self.path) or "/" for one in found}


async def drive(dsn: str, seed: int, rounds: Sequence[Sequence[tuple[int, int, int]]]) -> None:
    await serve_lane(dsn)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(Store.open(dsn, connections=4)) for _ in range(CONTROLLERS)]
        system = System([Town(store) for store in stores], grown(seed))
        await system.found()
        for steps in rounds:
            said = [(by % CONTROLLERS, KINDS[kind % len(KINDS)], place) for by, kind, place in steps]
            wanted = [(by, kind, system.paths[place % NODES]) for by, kind, place in said if kind != "finish"]
            if wanted:
                await system.round(wanted)
            for _, kind, place in said:
                if kind == "finish":
                    await system.finish(place)
        while system.running:
            await system.finish(0)
        assert await system.claimed() == {}


step = st.tuples(st.integers(0, CONTROLLERS - 1), st.integers(0, len(KINDS) - 1), st.integers(0, NODES - 1))
near = st.tuples(st.integers(0, CONTROLLERS - 1), st.integers(0, len(KINDS) - 1), st.integers(0, 30))
"""Near the root, where they meet."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.req("S4-03", "S4-04", "S4-06")
@given(
    seed=st.integers(0, 2**32),
    rounds=st.lists(st.lists(step | near, min_size=1, max_size=8), min_size=4, max_size=10),
)
@settings(
    max_examples=examples(25),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # what is smaller meets others at other moments
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_what_runs_is_what_the_lock_allows_and_nothing_allowed_is_refused(
    migrated: str, seed: int, rounds: list[list[tuple[int, int, int]]]
) -> None:
    asyncio.run(drive(migrated, seed, rounds))


def test_the_oracle_is_the_documents_lock() -> None:
    """A check on the test itself."""
    assert allowed_together({"a": "/a/b", "b": "/a/c", "c": "/d"})
    for one, other in (("/a", "/a"), ("/a", "/a/b"), ("/a/b", "/a"), ("/", "/x"), ("/x/y/z", "/")):
        assert not allowed_together({"one": one, "other": other})
    assert len(set(grown(7))) == NODES
    assert max(path.count("/") for path in grown(7)) > 10


async def test_restarted_controllers_know_who_has_what(migrated: str) -> None:
    """Claims are the database's: a controller that begins after a deploy refuses as the one that let it in does."""
    await serve_lane(migrated)
    async with Store.open(migrated, connections=4) as store:
        first = System([Town(store)], ["/"])
        await first.found()
        answer = await first.ask(0, "deploy", "/a/b")
        assert isinstance(answer, Accepted)
    async with Store.open(migrated, connections=4) as store:
        second = System([Town(store)], ["/"], first.path, {answer.operation: "/a/b"})
        for place, granted in (("/a", False), ("/a/b", False), ("/a/b/c", False), ("/a/c", True)):
            assert isinstance(await second.ask(0, "deploy", place), Accepted) is granted
    connection = await asyncpg.connect(migrated)
    assert await connection.fetchval("SELECT count(*) FROM claims") == 2
    await connection.close()
