"""An action on a group: members act as sets, those that cannot follow are told, and the last one decides."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from stead.catalog import KINDS
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.dispatch.custody import CustodyService
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import TransitionInput
from stead.controller.groups.expansion import GroupExpansion
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import PROBE, Actor, Trigger
from stead.lifecycle.snapshot import Fence
from stead.store import Row, Store
from stead.store.commit import CommitResult, Custody
from stead.store.connections import Connections
from stead.store.store import speak_json
from tests import background
from tests.action_requests import cancel, requested, retry

GROUP = "/ns/m"
ME = Custody("me", 1)


@dataclass
class Engine:
    """One controller without a bus; what it would send is kept."""

    store: Store
    chunk: int = 2000
    sent: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.executor = TransitionExecutor(self.store, KINDS, lambda: 1000.0)
        self.executor.on_commit(self.send)
        self.groups = GroupExpansion(self.executor, self.chunk)
        self.executor.on_commit(self.groups)
        self.admission = Admission(self.executor)
        self.custody = CustodyService(self.executor)

    async def send(self, written: CommitResult) -> None:
        self.sent += written.orders

    async def make(self, states: Sequence[str], lanes: Sequence[str] = ("sim.a",)) -> None:
        """A group in Running, with VMs in these states."""
        text = """INSERT INTO resources (path, kind, state, fence, lane, token)
                  VALUES ($1, $2, $3, 1, $4, gen_random_uuid())"""
        vms = [(f"{GROUP}/g/{i:05}", "vm", state, lanes[i % len(lanes)]) for i, state in enumerate(states)]
        async with self.store.pool.acquire() as connection:
            await connection.executemany(text, [(GROUP, "mci", "Running", ""), *vms])

    async def ask(self, action: str) -> Accepted | Rejection | NotFound:
        answer = await self.admission.admit(*requested("mci", GROUP, Request(action), "ann"))
        await self.idle()
        return answer

    async def idle(self) -> None:
        await background.done(self.groups.background)

    async def carry(self, failing: Sequence[str] = (), batch: int = 1000) -> None:
        """Agents take every order that was sent and say that it is done, or failed."""
        orders, self.sent = self.sent, []
        fences: dict[str, Fence] = {}
        for order in orders:
            fences |= await self.custody.take(ME, {m["path"]: Fence(*m["fence"]) for m in order["members"]})
        said = [
            TransitionInput(
                path,
                Report(Trigger.FAILED if path in failing else Trigger.SUCCEEDED, fence),
                detail=told(path, failing),
            )
            for path, fence in fences.items()
        ]
        await asyncio.gather(*(self.executor.apply(said[i : i + batch]) for i in range(0, len(said), batch)))
        await self.idle()

    async def states(self) -> Counter[str]:
        found = await self.store.groups.count_members(GROUP, "vm")
        assert found is not None
        return Counter(found["counts"])

    async def group(self) -> Row:
        row = await self.store.resources.read(GROUP)
        assert row is not None
        return row


def told(path: str, failing: Sequence[str]) -> dict[str, str] | None:
    return {"error": "quota"} if path in failing else None


@asynccontextmanager
async def engine(dsn: str, chunk: int = 2000) -> AsyncIterator[Engine]:
    async with Store.open(dsn, connections=6) as store:
        yield Engine(store, chunk)


@pytest.mark.req("S0-11")
async def test_those_that_can_act_and_the_others_are_told_why(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Running"] * 3 + ["Suspended", "Undefined"])
        accepted = await e.ask("suspend")
        assert isinstance(accepted, Accepted)
        assert (await e.group()).snapshot.state == "Suspending"
        assert await e.states() == {"Suspending": 3, "Suspended": 1, "Undefined": 1}
        (order,) = e.sent  # one lane, one verb: one order for all of them
        assert [m["path"] for m in order["members"]] == [f"{GROUP}/g/{i:05}" for i in range(3)]
        skipped = await e.store.operations.read_members(UUID(accepted.operation), "", 10)
        assert [(s["path"], s["outcome"]) for s in skipped] == [
            (f"{GROUP}/g/00003", "unchanged"),
            (f"{GROUP}/g/00004", "skipped"),
        ]
        assert all("suspend cannot start in" in s["says"] for s in skipped)
        await e.carry()
        assert (await e.group()).snapshot.state == "Suspended"
        ended = await e.store.operations.read(UUID(accepted.operation))
        assert ended is not None
        assert (ended["outcome"], ended["total"], ended["remaining"], ended["failed"]) == ("succeeded", 3, 0, 0)
        assert await e.store.claims.list_below("/", 9) == []


@pytest.mark.req("S0-11")
async def test_refused_only_if_nobody_can(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Suspended"] * 2)
        refusal = await e.ask("suspend")
        assert isinstance(refusal, Rejection)
        assert refusal.code is Code.NO_MEMBER
        assert "2 in Suspended" in refusal.reasons[0].message
        assert isinstance(await e.ask("resume"), Accepted)


@pytest.mark.req("S0-20", "S1-04")
async def test_while_it_runs_neither_the_group_nor_a_member_can_be_changed(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Running"] * 2)
        await e.ask("suspend")
        second = await e.ask("terminate")
        assert isinstance(second, Rejection)
        assert second.holder is not None
        assert (second.holder.action, second.holder.by) == ("suspend", "ann")
        member = await e.admission.admit(*requested("vm", f"{GROUP}/g/00000", Request("terminate"), "bob"))
        assert isinstance(member, Rejection)
        assert member.holder is not None
        assert member.holder.by == "ann"


async def test_partial_failure_is_told_by_member(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Running"] * 4)
        accepted = await e.ask("suspend")
        assert isinstance(accepted, Accepted)
        await e.carry(failing=[f"{GROUP}/g/00002"])
        ended = await e.store.operations.read(UUID(accepted.operation))
        assert ended is not None
        assert (ended["outcome"], ended["total"], ended["failed"]) == ("failed", 4, 1)
        (failed,) = await e.store.operations.read_members(UUID(accepted.operation), "", 10)
        assert (failed["path"], failed["outcome"], failed["says"]) == (f"{GROUP}/g/00002", "failed", "quota")
        assert await e.states() == {"Suspended": 3, "Failed": 1}
        assert (await e.group()).snapshot.state == "Suspended"


async def test_in_chunks_by_two_controllers_at_once_every_member_is_asked_once(migrated: str) -> None:
    async with engine(migrated, chunk=7) as one, engine(migrated, chunk=5) as two:
        await one.make(["Running"] * 100)
        one.groups.chunk = 7
        accepted = await one.admission.admit(*requested("mci", GROUP, Request("suspend"), "ann"))
        assert isinstance(accepted, Accepted)
        await asyncio.gather(two.groups.expand(accepted.operation), one.idle())
        asked = [m["path"] for e in (one, two) for order in e.sent for m in order["members"]]
        assert sorted(asked) == [f"{GROUP}/g/{i:05}" for i in range(100)]
        operation = await one.store.operations.read(UUID(accepted.operation))
        assert operation is not None
        assert (operation["total"], operation["remaining"]) == (100, 100)


async def test_what_a_crash_left_is_gone_on_with(migrated: str) -> None:
    async with engine(migrated, chunk=10) as e:
        await e.make(["Running"] * 35)
        e.executor._commit_hooks.clear()  # it dies right after the commit
        accepted = await e.ask("suspend")
        assert isinstance(accepted, Accepted)
        assert await e.states() == {"Running": 35}
    async with engine(migrated, chunk=10) as other:
        await other.groups.expand(accepted.operation)
        await other.groups.expand(accepted.operation)
        assert await other.states() == {"Suspending": 35}
        await other.carry()
        assert (await other.group()).snapshot.state == "Suspended"


async def test_of_many_that_report_at_once_one_is_the_last(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Running"] * 200, lanes=["sim.a", "sim.b", "sim.c"])
        counted: list[str] = []

        async def watch(written: CommitResult) -> None:
            counted.extend(written.recount)

        accepted = await e.ask("reboot")
        assert isinstance(accepted, Accepted)
        e.executor.on_commit(watch)
        await e.carry(batch=5)
        assert counted == [GROUP]
        assert (await e.group()).snapshot.state == "Running"


async def test_a_large_group_costs_few_statements(migrated: str) -> None:
    asked: list[str] = []

    async def listen(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        await speak_json(connection)
        connection.add_query_logger(lambda query: asked.append(query.query))

    async with Connections(migrated, 1, listen) as pool:
        e = Engine(Store(pool))
        await e.make(["Running"] * 1000)
        await e.ask("reboot")  # types are looked up once per connection
        await e.carry()
        asked.clear()
        await e.ask("suspend")
        assert len(e.sent) == 10  # a hundred members each
        assert len([a for a in asked if "pg_advisory_unlock_all" not in a]) <= 10, asked


async def outcome(e: Engine, operation: str) -> tuple[str, int, int]:
    record = await e.store.operations.read(UUID(operation))
    assert record is not None
    return record["outcome"], record["total"], record["failed"]


async def looked(e: Engine, seen: str) -> None:
    """Agents look at whatever they are told to, and say what is there."""
    orders, e.sent = [order for order in e.sent if order["verb"] == PROBE], []
    fences: dict[str, Fence] = {}
    for order in orders:
        fences |= await e.custody.take(ME, {m["path"]: Fence(*m["fence"]) for m in order["members"]})
    await e.executor.apply(
        [TransitionInput(path, Report(Trigger.OBSERVED, fence, seen=seen)) for path, fence in fences.items()]
    )
    await e.idle()


@pytest.mark.req("X-09")
async def test_only_the_members_that_failed_are_tried_once_more(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.make(["Running"] * 9)
        failing = [f"{GROUP}/g/00002", f"{GROUP}/g/00005"]
        accepted = await e.ask("terminate")
        assert isinstance(accepted, Accepted)
        await e.carry(failing)
        assert await outcome(e, accepted.operation) == ("failed", 9, 2)
        # As they are, they cannot follow; and nobody else is asked.
        refused = await retry(e.admission, UUID(accepted.operation), "ann", Actor.USER)
        assert isinstance(refused, Rejection)
        says = "2 in Failed: terminate cannot start in Failed; it could be forced, with a reason"
        assert [r.message for r in refused.reasons] == [says]
        again = await retry(
            e.admission, UUID(accepted.operation), "ann", Actor.USER, force=True, reason="the quota was raised"
        )
        assert isinstance(again, Accepted)
        await e.idle()
        assert sorted(m["path"] for order in e.sent for m in order["members"]) == failing
        await e.carry()
        assert {(o["verb"], len(o["members"])) for o in e.sent} == {(PROBE, 2)}  # what was forced is looked at
        assert await outcome(e, again.operation) == ("", 2, 0)
        assert await e.states() == {"Terminated": 7, "Terminating": 2}


async def test_a_group_is_cancelled_with_its_members(migrated: str) -> None:
    async with engine(migrated, chunk=10) as e:
        await e.make(["Running"] * 30)
        accepted = await e.ask("suspend")
        assert isinstance(accepted, Accepted)
        first, e.sent = e.sent[:1], e.sent[1:]
        rest, e.sent = e.sent, first
        await e.carry()  # some are done
        e.sent = rest
        answer = await cancel(e.admission, UUID(accepted.operation), "ann")
        assert isinstance(answer, Accepted)
        assert (await cancel(e.admission, UUID(accepted.operation), "ann")) == Accepted(
            accepted.operation, joined=True
        )
        await e.idle()
        states = await e.states()
        assert states["Suspended"] == len(first[0]["members"])
        await looked(e, "Running")  # those that nobody had begun are as they were
        assert (await outcome(e, accepted.operation))[0] == "cancelled"
        assert (await e.group()).snapshot.operation is None
        assert await e.states() == {"Suspended": len(first[0]["members"]), "Running": 30 - len(first[0]["members"])}


async def test_whoever_was_not_asked_yet_is_not_asked_after_a_cancel(migrated: str) -> None:
    async with engine(migrated, chunk=10) as e:
        await e.make(["Running"] * 30)
        e.executor._commit_hooks.remove(e.groups)  # it stops in the middle
        accepted = await e.ask("suspend")
        assert isinstance(accepted, Accepted)
        assert await e.groups._chunk(accepted.operation)
        assert await e.states() == {"Suspending": 10, "Running": 20}
        assert isinstance(await cancel(e.admission, UUID(accepted.operation), "ann"), Accepted)
        e.executor.on_commit(e.groups)
        await e.groups.expand(accepted.operation)
        await looked(e, "Running")
        assert await outcome(e, accepted.operation) == ("cancelled", 10, 11)
        assert await e.states() == {"Running": 30}
