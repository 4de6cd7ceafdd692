"""What gets no answer is looked at, settled or returned to where it was; and all of that is told, with why."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from stead.application.names import operation_id
from stead.application.reader import Reader
from stead.application.stuck import Stuck, span, stuck
from stead.catalog import KINDS
from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.durations import DurationLearner
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle.durations import ENOUGH
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import Actor, Trigger
from stead.store import Store
from stead.store.agents import PresentAgent
from stead.store.statements import statement
from tests.action_requests import requested
from tests.controller.healers.test_learning import database
from tests.controller.test_queues import MACHINE, ME, VM, Controller, controller

HOUR = timedelta(hours=1)

BULK = """
INSERT INTO resources (path, kind, state, token, lane, operation, condition)
SELECT '/bulk/m/g/' || i, 'vm', CASE WHEN moves THEN 'Creating' ELSE 'Running' END, gen_random_uuid(), 'sim.a',
       CASE WHEN moves THEN gen_random_uuid() END,
       CASE WHEN moves THEN '{"op": {"action": "create", "origin": ""}}'::jsonb ELSE '{}' END
  FROM generate_series(1, 40000) i, LATERAL (SELECT i % 2 = 1 AS moves) odd
"""


async def agents_there(store: Store) -> None:
    """The agents of the usual lanes are there, for as long as a test lasts."""
    await store.agents.record_presence(
        [PresentAgent("agent", 1, ["sim.a", "sim.b", "sim.c", "sim.d", "libvirt.dc"], "1", False)], "edge."
    )
    await store.pool.execute("UPDATE agents SET last_seen = now() + interval '1 day' WHERE name = 'agent'")


class Night:
    """A controller whose clock can be put forward, and what an operator sees of it."""

    def __init__(self, c: Controller, dsn: str) -> None:
        self.c = c
        self.dsn = dsn
        self.passed = 0.0
        c.executor.clock = self.now
        self.clock = TimerService(c.executor)
        self.view = Reader(c.store, KINDS)
        self.view.usual.clock = self.now
        self.view.usual.fresh = 0.0

    def now(self) -> float:
        return time.time() + self.passed

    async def later(self, seconds: float) -> None:
        """So much time passes, and whatever is due meanwhile is done."""
        end = self.passed + seconds
        while self.passed < end:
            self.passed = min(self.passed + 5.0, end)
            while await self.clock.tick():
                pass

    async def stuck(self, below: str = "/", limit: int = 100, after: str | None = None) -> list[Stuck]:
        since = datetime.now(UTC) - HOUR
        return list((await stuck(self.view, below, since, after, limit)).items)

    async def one(self) -> Stuck:
        (found,) = await self.stuck()
        return found

    async def take(self, path: str) -> Any:
        row = await self.c.store.resources.read(path)
        assert row is not None
        return (await self.c.custody.take(ME, {path: row.snapshot.fence}))[path]

    async def sees(self, path: str, seen: str) -> None:
        """An agent takes the order to look, and says what it sees."""
        fence = await self.take(path)
        await self.c.executor.apply(
            [TransitionInput(path, Report(Trigger.OBSERVED, fence, seen=seen), principal="agent")]
        )

    async def aged(self, path: str, seconds: float) -> None:
        """It has been where it is for so long, as far as the database knows."""
        async with database(self.dsn) as connection:
            await connection.execute(
                "UPDATE resources SET changed_at = changed_at - $2::interval WHERE path = $1",
                *(path, timedelta(seconds=seconds)),
            )


@asynccontextmanager
async def night(dsn: str) -> AsyncIterator[Night]:
    async with controller(dsn) as c:
        await agents_there(c.store)
        yield Night(c, dsn)


def codes(found: Stuck) -> list[str]:
    return [why.code for why in found.causes]


@pytest.mark.req("S2-10")
async def test_a_machine_that_gets_no_answer_at_all_is_returned_to_where_it_was(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(MACHINE, "deploy", "machine", lane="libvirt.dc")
        stop = operation_id(MACHINE, await n.c.begin(MACHINE, "stop", "machine"))
        await n.take(MACHINE)
        assert await n.stuck() == []
        await n.later(40)  # whoever took the order is not heard of
        found = await n.one()
        assert (found.path, found.state, found.action, found.operation) == (
            MACHINE,
            "STOPPING",
            "stop",
            stop,
        )
        assert (found.phase, codes(found), found.outcome) == ("probing", ["probing"], None)
        assert "nobody has taken the order to look at it" in found.causes[0].message
        assert [step.kind for step in found.steps] == ["agent", "wait", "cancel"]
        assert "libvirt.dc" in found.steps[0].description
        assert found.steps[2].operation == stop
        assert found.elapsed is not None
        assert (found.elapsed.limit, found.elapsed.typical) == (600, None)
        await n.later(180)  # unobserved, either
        assert await n.c.state(MACHINE) == "RUNNING"
        found = await n.one()
        assert (found.state, found.phase, found.outcome) == ("RUNNING", None, "unknown")
        assert codes(found) == ["unknown"]
        assert "no report came" in found.causes[0].message
        assert "no agent could observe it" in found.causes[0].message
        assert found.resolution == "returned to RUNNING, from STOPPING; for it, stop ended unknown"
        steps = {step.kind: step for step in found.steps}
        assert steps["retry"].operation == stop
        assert {"stop", "pause", "destroy"} <= set(steps["ask"].actions)


@pytest.mark.req("S2-10")
async def test_a_machine_that_is_seen_where_it_was_to_go_is_not_listed(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(MACHINE, "deploy", "machine")
        await n.c.begin(MACHINE, "stop", "machine")
        await n.take(MACHINE)
        await n.later(40)
        await n.sees(MACHINE, "HALTED")
        assert (await n.c.state(MACHINE), await n.stuck()) == ("HALTED", [])


@pytest.mark.req("S2-10")
async def test_past_its_deadline_it_is_fenced_off_then_looked_at(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(MACHINE, "deploy", "machine")
        await n.c.begin(MACHINE, "stop", "machine")
        await n.take(MACHINE)
        while (row := await n.c.store.resources.read(MACHINE)) is not None and row.snapshot.taken:
            await n.c.custody.renew(ME, {MACHINE: row.snapshot.fence})  # the agent lives, and gets nowhere
            await n.later(10)
        found = await n.one()
        assert (found.phase, codes(found)) == ("fencing", ["overdue", "fencing"])
        assert "is to last 10m there at most" in found.causes[0].message
        await n.later(31)
        assert codes(await n.one()) == ["overdue", "probing"]
        await n.sees(MACHINE, "RUNNING")
        found = await n.one()
        assert (found.state, found.outcome, codes(found)) == ("RUNNING", "failed", ["settled"])
        assert [look.observed for look in found.observations] == ["RUNNING"]
        assert "an agent observed RUNNING" in found.causes[0].message
        assert found.resolution.startswith("returned to RUNNING, from STOPPING")
        assert {step.kind for step in found.steps} == {"ask", "retry"}
        await n.c.begin(MACHINE, "stop", "machine")  # a user goes on with it: the night is quiet again
        assert await n.stuck() == []


@pytest.mark.long
@pytest.mark.req("X-12")
async def test_what_lasts_longer_than_nearly_all_did_is_late_long_before_its_deadline(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(VM)
        for _ in range(ENOUGH - 1):
            await n.c.make(VM, "suspend")
            await n.c.make(VM, "resume")
        await n.c.store.journal.number()
        await DurationLearner(n.c.store, KINDS)()
        await n.c.begin(VM, "suspend")
        await n.aged(VM, 60)
        assert await n.stuck() == []  # one too few to know
        shown = await n.view.resource(VM)
        assert shown is not None
        assert shown.operation is not None
        lasts = shown.operation.elapsed
        assert lasts is not None
        assert (lasts.samples, lasts.late, lasts.overdue) == (ENOUGH - 1, False, False)
        await n.c.report(VM)
        await n.c.make(VM, "resume")
        await n.c.make(VM, "suspend")
        await n.c.make(VM, "resume")
        await n.c.store.journal.number()
        await DurationLearner(n.c.store, KINDS)()
        await n.c.begin(VM, "suspend")
        assert await n.stuck() == []
        await n.aged(VM, 60)
        found = await n.one()
        assert (found.path, found.state, codes(found)) == (VM, "Suspending", ["late"])
        assert found.elapsed is not None
        assert found.elapsed.p99 is not None
        assert found.elapsed.p99 < 60 < (found.elapsed.limit or 0)
        assert found.resolution == ""


@pytest.mark.req("X-12")
async def test_what_was_learned_never_ends_a_wait(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(VM)
        for _ in range(ENOUGH + 1):
            await n.c.make(VM, "suspend")
            await n.c.make(VM, "resume")
        await n.c.store.journal.number()
        await DurationLearner(n.c.store, KINDS)()
        await n.c.begin(VM, "suspend")
        row = await n.c.store.resources.read(VM)
        assert row is not None
        declared = KINDS["vm"].state("Suspending").timeout
        assert declared is not None
        assert row.timers is not None
        assert row.timers["deadline"] == pytest.approx(n.now() + declared, abs=5)
        (lasts,) = (await n.view.usual.of([row])).values()
        assert lasts.p99 is not None
        assert lasts.p99 < 5


async def test_hidden_work_is_judged_from_when_it_began(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.make(MACHINE, "deploy", "machine")
        await n.aged(MACHINE, 5000)
        await n.c.begin("/nodes/other", "create", "node", actor=Actor.ADMIN)
        id = await n.c.begin(MACHINE, "migrate", "machine", actor=Actor.ADMIN)
        shown = await n.view.resource(MACHINE)
        assert shown is not None
        assert shown.hidden is not None
        assert shown.hidden.id == operation_id(MACHINE, id)
        assert shown.hidden.elapsed is not None
        assert shown.hidden.elapsed.since.timestamp() == pytest.approx(n.now(), abs=30)
        assert shown.hidden.elapsed.limit == KINDS["machine"].pace.unseen_work
        assert await n.stuck() == []


@pytest.mark.req("S2-10")
async def test_a_timer_that_nobody_fires_is_told(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.begin(VM, "create")
        async with database(migrated) as connection:
            await connection.execute(
                "UPDATE resources SET due = now() - interval '1 minute', "
                "timers = jsonb_set(timers, '{resend}', to_jsonb(extract(epoch FROM now()) - 60))"
            )
        found = await n.one()
        assert codes(found) == ["unattended"]
        assert "does a controller run?" in found.causes[0].message


async def test_pages_go_through_all_of_it_once(migrated: str) -> None:
    async with night(migrated) as n:
        moving = [f"/ns/m/g/{i}" for i in range(5)]
        healed = [f"/acme/space/m{i}" for i in range(4)]
        for path in healed:
            await n.c.make(path, "deploy", "machine")
            await n.c.begin(path, "stop", "machine")
        for path in healed:
            await n.take(path)
        await n.later(220)  # unobserved
        for path in moving:
            await n.c.begin(path, "create")
            await n.take(path)
        await n.later(40)
        since = datetime.now(UTC) - HOUR
        for limit in (1, 2, 3, 4, 5, 9, 100):
            paths: list[str] = []
            after: str | None = None
            while True:
                page = await stuck(n.view, "/", since, after, limit)
                assert len(page.items) <= limit
                paths += [item.path for item in page.items]
                if page.next is None:
                    break
                assert isinstance(page.next, str)
                after = page.next
            assert sorted(paths[:5]) == moving, limit
            assert paths[5:] == healed[::-1], limit
        assert [item.path for item in await n.stuck("/ns/m/g/3")] == ["/ns/m/g/3"]
        assert len(await n.stuck("/acme")) == 4
        assert await n.stuck("/ac") == []


@pytest.mark.long
@pytest.mark.req("S2-10")
async def test_what_is_at_rest_costs_nothing(migrated: str) -> None:
    """Among 20,000 at rest and 20,000 under way, the plans of both lists read no table from end to end."""
    async with night(migrated) as n:
        async with database(migrated) as connection:
            await connection.execute(BULK)
            await connection.execute("ANALYZE resources")
            texts = await _plans(connection, n)
        for text in texts:
            assert "Seq Scan on resources" not in text, text
            assert "Seq Scan on journal_" not in text or "rows=0 " in text, text


async def _plans(connection: asyncpg.Connection[asyncpg.Record], n: Night) -> list[str]:
    now, none = datetime.now(UTC), datetime.fromtimestamp(0, UTC)
    stuck_, healed = statement("list_stuck"), statement("list_recovered")
    asked = [["vm"], ["Creating"], [600.0], 20.0, 50.0, 10.0, 30.0]
    plans = [
        await connection.fetch(f"EXPLAIN ANALYZE {stuck_}", 100, "/", none, 0, *asked),
        await connection.fetch(f"EXPLAIN ANALYZE {healed}", 100, "/", now - HOUR, now, 0),
    ]
    return ["\n".join(row[0] for row in plan) for plan in plans]


def test_spans_are_told_as_one_says_them() -> None:
    told = {0.04: "0.0s", 9.0: "9.0s", 12.4: "12s", 119: "119s", 125: "2m5s", 600: "10m", 5400: "90m", 9000: "2h30m"}
    assert {seconds: span(seconds) for seconds in told} == told


@pytest.mark.req("X-12")
async def test_what_waits_for_room_is_not_late(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.store.slots.limit_lane("sim.a", 1)
        await n.c.begin("/ns/m/g/1", "create")
        await n.c.begin("/ns/m/g/2", "create")
        await n.c.store.slots.grant(["sim.a"], n.now(), split=False)
        async with database(migrated) as connection:
            await connection.execute(
                "INSERT INTO durations (kind, action, state, lane, counts, samples, typical, p99) "
                "VALUES ('vm', 'create', 'Creating', '', '{}', 100, 1, 2)"
            )
        for path in ("/ns/m/g/1", "/ns/m/g/2"):
            await n.aged(path, 60)
        assert [(item.path, codes(item)) for item in await n.stuck()] == [("/ns/m/g/1", ["late"])]
        rows = await n.c.store.resources.read_many(["/ns/m/g/1", "/ns/m/g/2"])
        lasts = await n.view.usual.of(rows.values())
        assert {path: each.late for (path, _), each in lasts.items()} == {"/ns/m/g/1": True, "/ns/m/g/2": False}


@pytest.mark.req("X-12")
async def test_a_lane_with_enough_of_its_own_is_judged_by_itself(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.begin("/ns/m/g/1", "create")
        await n.c.begin("/ns/m/g/2", "create", lane="sim.b")
        await n.c.begin("/ns/m/g/3", "create", lane="sim.c")
        await n.c.begin("/ns/m/g/4", "create", lane="sim.d")
        async with database(migrated) as connection:
            for lane, moves, p99 in (("", 200, 10), ("sim.b", 50, 100), ("sim.c", 49, 100), ("sim.d", 50, 3)):
                await connection.execute(
                    "INSERT INTO durations (kind, action, state, lane, counts, samples, typical, p99) "
                    "VALUES ('vm', 'create', 'Creating', $1, '{}', $2, 1, $3)",
                    *(lane, moves, p99),
                )
        for i, seconds in ((1, 60), (2, 60), (3, 60), (4, 5)):
            await n.aged(f"/ns/m/g/{i}", seconds)
        found = await n.stuck()
        assert {item.path for item in found} == {"/ns/m/g/1", "/ns/m/g/3", "/ns/m/g/4"}
        rows = await n.c.store.resources.read_many([f"/ns/m/g/{i}" for i in (1, 2, 3)])
        known = {path: (lasts.lane, lasts.p99) for (path, _), lasts in (await n.view.usual.of(rows.values())).items()}
        assert known == {"/ns/m/g/1": ("", 10), "/ns/m/g/2": ("sim.b", 100), "/ns/m/g/3": ("", 10)}


INFRASTRUCTURE = {
    "defaults": {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"},
    "subgroups": [{"name": "front"}, {"name": "back", "region": "z"}],
}


async def test_stuck_lists_what_waits_for_an_absent_agent_until_it_comes(migrated: str) -> None:
    async with night(migrated) as n:
        await n.c.admission.admit(*requested("mci", "/shop/web", Request("create"), "ann", INFRASTRUCTURE))
        await n.c.begin("/shop/vms/g/1", "create", "vm", lane="sim.z")
        await n.c.begin("/shop/vms/g/2", "create", "vm", lane="sim.a")
        assert await n.stuck() == []  # an agent may be starting
        for path in ("/shop/web", "/shop/vms/g/1", "/shop/vms/g/2"):
            await n.aged(path, 15)
        web, vm = sorted(await n.stuck(), key=lambda found: found.path, reverse=True)
        for found in (web, vm):
            assert [(why.code, why.message) for why in found.causes] == [
                ("no-agent", "no agent has ever served the lane sim.z")
            ]
            assert found.steps[0].kind == "agent"
        assert (web.path, vm.path) == ("/shop/web", "/shop/vms/g/1")
        await n.c.store.agents.record_presence([PresentAgent("late", 1, ["sim.z"], "1", False)], "edge.")
        assert await n.stuck() == []
        async with database(n.dsn) as connection:
            await connection.execute("UPDATE agents SET last_seen = now() - interval '1 hour' WHERE name = 'late'")
        assert [found.causes[0].message for found in await n.stuck()] == ["no agent serves the lane sim.z now"] * 2
