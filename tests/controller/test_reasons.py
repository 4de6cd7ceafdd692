"""An operation of any kind that did not do what was asked says why, also where no reason was reported."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from stead.application.health import Health
from stead.catalog import KINDS
from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.decision import Outcome
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children, Report, Request, TimerDue
from stead.lifecycle.rows import Actor, StateClass, Trigger
from stead.store import Row, Store
from tests.action_requests import requested
from tests.api.cell import EVENTS, RESERVATIONS
from tests.controller.test_lanes import BOOKED
from tests.controller.test_queues import ME
from tests.engine import engine_without_bus
from tests.tiers import first_fast

LANE = "sim.a"


@dataclass
class House:
    """An engine without a bus, whose agent does nothing but fail."""

    store: Store
    now: float = 0.0

    def __post_init__(self) -> None:
        one = engine_without_bus(self.store, clock=lambda: time.time() + self.now, follows_commits=False)
        self.executor, self.admission = one.controller.executor, one.controller.admission
        self.custody, self.view = one.controller.custody, one.application.reader

    async def put(self, path: str, kind: str, state: str, spec: dict[str, Any]) -> None:
        insert = "INSERT INTO resources (path, kind, state, lane, spec, token) VALUES ($1, $2, $3, $4, $5, $6)"
        event = "INSERT INTO lease_events (lease, kind, at, status) VALUES ($1, $2, now() + '1 day', $3)"
        async with self.store.pool.acquire() as connection, connection.transaction():
            await connection.execute(insert, path, kind, state, LANE, spec, uuid4())
            if kind == "lease" and (part := RESERVATIONS.get(state)) is not None:  # a lease has all its parts
                await connection.execute(insert, f"{path}/r0", "reservation", part, LANE, {}, uuid4())
                for name, status in zip(("start_lease", "end_lease"), EVENTS[part], strict=True):
                    await connection.execute(event, path, name, status)

    async def row(self, path: str) -> Row | None:
        return await self.store.resources.read(path)

    async def over(self, path: str, operation: str, word: Trigger) -> bool:
        """An operation fails, or nothing is heard of it, until it has ended."""
        for _ in range(30):
            row, record = await self.row(path), await self.store.operations.read(UUID(operation))
            assert record is not None
            if record["outcome"]:
                return True
            if row is None:
                return False
            told: list[TransitionInput] = []
            if word is Trigger.FAILED:
                if row.snapshot.work is not None:
                    taken = await self.custody.take(ME, {path: row.snapshot.fence})
                    told.append(TransitionInput(path, Report(word, taken[path])))
                told.append(TransitionInput(path, Report(word, row.snapshot.fence, actor=Actor.CONTROLLER)))
                told.append(TransitionInput(path, Children((), failed=1)))
            self.now += 100_000
            told += [TransitionInput(path, TimerDue(timer), principal="clock") for timer in row.timers or {}]
            for each in told:
                await self.executor.apply([each])
        return False


@pytest.fixture
async def house(migrated: str) -> AsyncIterator[House]:
    async with Store.open(migrated, connections=3) as store:
        yield House(store)


def tried(lifecycle: Lifecycle) -> Iterator[tuple[str, str, Actor]]:
    """Every action of a kind that can be asked for, with a state at rest in which it starts."""
    for action in lifecycle.actions:
        rests = [name for name in action.source if lifecycle.state(name).cls is not StateClass.TRANSITIONAL]
        if action.actors and not action.signals and not action.scoped and rests:
            yield action.name, rests[0], Actor(action.actors[0])


def surroundings(lifecycle: Lifecycle, base: str) -> tuple[str, list[tuple[str, str, str]], dict[str, Any]]:
    """A path, what has to be around it, and the spec that names that."""
    path, spec, around = base, dict[str, Any](), []
    for place, need in enumerate(reversed(lifecycle.preconditions)):
        at = f"{base}/by{place}" if need.field else f"{path}/in{place}"
        spec |= {need.field: at} if need.field else {}
        path = path if need.field else at
        around.append((at, need.kind, need.states[0]))
    return f"{path}/x", around, spec


@pytest.mark.parametrize("word", first_fast([Trigger.FAILED, Trigger.TIMED_OUT]))
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - BOOKED))
async def test_operation_of_every_kind_that_ended_otherwise_says_why(house: House, kind: str, word: Trigger) -> None:
    lifecycle, ended = KINDS[kind], set[str]()
    for number, (action, state, actor) in enumerate(tried(lifecycle)):
        path, around, spec = surroundings(lifecycle, f"/n{number}")
        for at, of, rests in around:
            await house.put(at, of, rests, {})
        if lifecycle.state(state).cls is not StateClass.ABSENT:
            await house.put(path, kind, state, spec)
        answer = await house.admission.admit(
            *requested(kind, path, Request(action, actor, reason="x"), "ann", spec, LANE)
        )
        if not isinstance(answer, Accepted) or not answer.operation:
            continue
        if not await house.over(path, answer.operation, word):
            continue
        operation = await house.view.operation(UUID(answer.operation))
        assert operation is not None
        if operation.outcome == Outcome.SUCCEEDED:
            continue
        ended.add(action)
        assert operation.message, (kind, action, operation.outcome)
        shown = await house.view.resource(path)
        if shown is not None and house.view.healths.of(kind, shown.state) is not Health.EMPTY:
            assert shown.failure == operation.message, (kind, action)
    if word is Trigger.FAILED:
        assert ended or all(not action.on_failure for action in lifecycle.actions), kind


@pytest.mark.parametrize("outcome", Outcome)
async def test_every_outcome_but_done_has_a_plain_reason(house: House, outcome: Outcome) -> None:
    said = await house.store.pool.fetchval("SELECT reason_of_outcome($1)", outcome)
    assert bool(said) == (outcome is not Outcome.SUCCEEDED)
    assert said != outcome


async def test_reason_of_a_group_tells_members_that_failed_from_those_of_which_nothing_is_known(house: House) -> None:
    insert = "INSERT INTO operation_members (operation, path, outcome, says) VALUES ($1, $2, $3, $4)"
    for outcomes, reason in (
        (["failed", "failed", "skipped"], "2 of 5 members failed; /g/0: lost"),
        (
            ["unknown", "unknown", "failed"],
            "3 of 5 members did not do it (2 unknown, 1 failed); /g/0: lost",
        ),
    ):
        operation = uuid4()
        for n, outcome in enumerate(outcomes):
            await house.store.pool.execute(insert, operation, f"/g/{n}", outcome, "" if n else "lost")
        count = len(outcomes) - outcomes.count("skipped")
        said = await house.store.pool.fetchval("SELECT reason_of_operation($1, 'failed', 5, $2)", operation, count)
        assert said == reason


async def test_operation_that_is_preempted_names_what_took_over(house: House) -> None:
    outranks = [(k.kind, a) for k in KINDS.values() for a in k.actions if a.preempts and k.kind not in BOOKED]
    assert outranks
    found = 0
    for kind, action in outranks:
        lifecycle = KINDS[kind]
        for first, state, actor in tried(lifecycle):
            path, around, spec = surroundings(lifecycle, f"/{kind}-{first}")
            if first == action.name or lifecycle.state(state).cls is StateClass.ABSENT:
                continue
            for at, of, rests in around:
                await house.put(at, of, rests, {})
            await house.put(path, kind, state, spec)
            begun = await house.admission.admit(*requested(kind, path, Request(first, actor), "ann", spec, LANE))
            request = Request(action.name, Actor(action.actors[0]))
            over = await house.admission.admit(*requested(kind, path, request, "bob", {}, LANE))
            if isinstance(begun, Accepted) and isinstance(over, Accepted):
                record = await house.store.operations.read(UUID(begun.operation))
                if record is not None and record["outcome"] == Outcome.PREEMPTED:
                    assert record["says"] == f"{action.name} by bob took over", (kind, first)
                    found += 1
    assert found
