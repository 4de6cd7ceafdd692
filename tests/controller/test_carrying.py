"""A change on its way: taken once, renewed, reported, timed, all against the real store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest

from stead.catalog import KINDS
from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Report, Request
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import ABSENT, Trigger
from stead.lifecycle.snapshot import Fence, Snapshot
from stead.store import Row, Store
from stead.store.commit import CommitResult, Custody
from tests.action_requests import requested
from tests.engine import engine_without_bus

CUSTODY, RESEND = Pace().custody, Pace().resend

PATH = "/ns/m/g/1"
ME, YOU = Custody("me", 1), Custody("you", 1)


@dataclass
class Engine:
    """One controller without a bus: what it would send is kept, and its clock is set by hand."""

    store: Store
    now: float = 1000.0
    sent: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        one = engine_without_bus(
            self.store, clock=lambda: self.now, publisher=self.send, follows_commits=False
        ).controller
        self.executor, self.admission, self.custody, self.clock = one.executor, one.admission, one.custody, one.clock

    async def send(self, written: CommitResult) -> None:
        self.sent += written.orders

    async def ask(self, action: str) -> Accepted:
        wish = requested("vm", PATH, Request(action), "ann", {"size": 1}, "sim.a")
        answer = await self.admission.admit(*wish)
        assert isinstance(answer, Accepted), answer
        return answer

    async def row(self) -> Row:
        row = await self.store.resources.read(PATH)
        assert row is not None
        return row

    async def take(self, who: Custody = ME) -> Fence | None:
        taken = await self.custody.take(who, {PATH: (await self.row()).snapshot.fence})
        return taken.get(PATH)

    async def say(self, kind: Trigger, fence: Fence, seen: str = "") -> object:
        (answer,) = await self.executor.apply(
            [TransitionInput(PATH, Report(kind, fence, seen=seen), facts={"id": "i-1"})]
        )
        return answer

    async def later(self, seconds: float) -> int:
        self.now += seconds
        return await self.clock.tick()


@asynccontextmanager
async def engine(dsn: str) -> AsyncIterator[Engine]:
    async with Store.open(dsn, connections=4) as store:
        yield Engine(store)


async def test_the_whole_way_of_a_vm(migrated: str) -> None:
    async with engine(migrated) as e:
        for action, state in (("create", "Running"), ("suspend", "Suspended"), ("terminate", "Terminated")):
            operation = await e.ask(action)
            fence = await e.take()
            assert fence is not None
            await e.say(Trigger.SUCCEEDED, fence)
            row = await e.row()
            assert (row.snapshot.state, row.snapshot.operation, row.order_id) == (state, None, 0)
            assert (await e.store.claims.list_below("/", 9)) == []
            del operation
        await e.store.journal.number()
        assert [x["target"] for x in await e.store.journal.read(0)] == [
            "Creating",
            "Running",
            "Suspending",
            "Suspended",
            "Terminating",
            "Terminated",
        ]


async def test_of_twenty_that_want_an_order_one_gets_it(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = (await e.row()).snapshot.fence
        asked = [e.custody.take(Custody(f"agent-{i}", 1), {PATH: fence}) for i in range(20)]
        assert sum(bool(taken) for taken in await asyncio.gather(*asked)) == 1


@pytest.mark.req("X-04")
async def test_a_revived_worker_cannot_write(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        old = await e.take(ME)
        assert old is not None
        await e.later(CUSTODY + 1)  # nothing was heard: the object is looked at
        assert e.sent[-1]["verb"] == "probe"
        new = await e.take(YOU)
        assert new is not None
        assert isinstance(await e.say(Trigger.SUCCEEDED, old), Rejection)
        assert await e.custody.renew(ME, {PATH: old}) == {PATH}
        assert (await e.row()).snapshot.state == "Creating"
        await e.say(Trigger.OBSERVED, new, "Running")
        assert (await e.row()).snapshot.state == "Running"


async def test_custody_lasts_while_it_is_renewed(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = await e.take(ME)
        assert fence is not None
        for _ in range(3):
            e.now += CUSTODY - 1
            assert await e.custody.renew(ME, {PATH: fence}) == set()
            assert await e.clock.tick() == 0
        assert await e.custody.renew(YOU, {PATH: fence}) == {PATH}
        assert await e.later(CUSTODY + 1) == 1


async def test_an_order_that_nobody_takes_is_sent_anew(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        first = (await e.row()).snapshot.fence
        assert await e.later(RESEND + 1) == 1
        assert e.sent[-1]["members"][0]["fence"][1] == first.counter + 1
        assert await e.custody.take(ME, {PATH: first}) == {}
        assert await e.take() is not None


async def test_order_that_no_agent_takes_keeps_its_age_when_it_is_sent_anew(migrated: str) -> None:
    """Or no alert would ever tell of it: it is sent anew every few seconds."""
    async with engine(migrated) as e:
        await e.ask("create")
        first = (await e.row()).order_id
        await e.store.pool.execute("UPDATE orders SET created_at = now() - interval '1 hour'")
        assert await e.later(RESEND + 1) == 1
        assert (await e.row()).order_id != first
        count, age = (await e.store.diagnostics.read_gauges(10, 30.0))["untaken"]
        assert (count, age > 3500) == (1, True)


async def test_two_clocks_fire_a_timer_once(migrated: str) -> None:
    async with engine(migrated) as one, engine(migrated) as two:
        await one.ask("create")
        one.now = two.now = 1000 + RESEND + 1
        await asyncio.gather(one.clock.tick(), two.clock.tick())
        assert len([*one.sent, *two.sent]) == 2


@pytest.mark.req("S0-14")
async def test_gone_needs_three_misses(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.SUCCEEDED, fence)
        for state in ("Running", "Running", "Terminated"):
            await e.say(Trigger.OBSERVED, (await e.row()).snapshot.fence, ABSENT)
            assert (await e.row()).snapshot.state == state


async def test_a_batch_of_reports_is_one_commit_and_each_counts_for_itself(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = await e.take()
        assert fence is not None
        good = TransitionInput(PATH, Report(Trigger.SUCCEEDED, fence))
        stale = TransitionInput(PATH, Report(Trigger.FAILED, Fence(1, 0)))
        nobody = TransitionInput("/not/there", Report(Trigger.SUCCEEDED, fence))
        answers = await e.executor.apply([stale, good, nobody, good])
        assert isinstance(answers[0], Rejection)
        assert isinstance(answers[1], Applied)
        assert answers[2] is None
        assert isinstance(answers[3], Rejection)
        assert (await e.row()).snapshot.state == "Running"


async def test_the_recycle_bin_is_emptied_by_an_operation_of_the_clocks_own(migrated: str) -> None:
    async with engine(migrated) as e:
        machine = KINDS["machine"]
        path = "/acme/space/1"
        row = Row(path, "machine", Snapshot("DELETED", Fence(1, 0)), "sim.a", uuid4(), {})
        report = Report(Trigger.OBSERVED, Fence(1, 0), seen="DELETED")
        seen = await e.executor.apply([TransitionInput(path, report, facts={"id": "1"}, new=row)])
        assert isinstance(seen[0], Applied)
        expires = machine.state("DELETED").expiry
        assert expires is not None
        assert await e.later(expires.after + 1) == 1
        gone = await e.store.resources.read(path)
        assert gone is not None
        assert gone.snapshot.state == "DESTROYING"
        assert gone.snapshot.operation is not None
        operation = await e.store.operations.read(UUID(gone.snapshot.operation.id))
        assert operation is not None
        assert (operation["action"], operation["principal"]) == ("destroy", "clock")


async def test_any_number_of_words_about_one_resource_are_all_heard(migrated: str) -> None:
    async with engine(migrated) as e:
        await e.ask("create")
        fence = await e.take()
        assert fence is not None
        await e.say(Trigger.SUCCEEDED, fence)
        seen = [
            TransitionInput(PATH, Report(Trigger.OBSERVED, fence, seen="Running"), facts={"n": n}) for n in range(25)
        ]
        answers = await e.executor.apply(seen)
        assert [isinstance(answer, Applied) for answer in answers] == [True] * 25
        assert (await e.row()).facts == {"id": "i-1", "n": 24}
