"""A group asks members on which the same action is in progress already: in every kind, it waits for them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from stead.catalog import KINDS
from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.decide.group import asks_as, makes
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import load
from stead.lifecycle.events import Report, Request, TimerDue
from stead.lifecycle.rows import PROBE, Actor, Trigger
from stead.store import Row, Store
from tests import background
from tests.action_requests import requested
from tests.controller.test_kinds import put
from tests.controller.test_queues import ME, Controller
from tests.leases.lab import terms

TRUCK = """
kind: truck
description: A truck.
parent: fleet
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Parked, class: stable, description: It is parked.}
  - {name: Driving, class: transitional, description: It is on its way., timeout: 1h}
  - {name: Away, class: stable, description: It is away.}
actions:
  - {name: create, description: Have one., source: Absent, target: Parked, work: none}
  - name: leave
    description: Drive away.
    source: Parked
    via: Driving
    target: Away
    on_failure: Parked
    rollback: leave
  - name: check
    description: Look at it.
    source: Parked
    target: (origin)
    on_failure: Parked
    hidden: true
    rollback: leave
transitions:
  - {source: Parked, trigger: observed Away, actor: agent, target: Away}
  - {source: Away, trigger: observed Parked, actor: agent, target: Parked}
"""
FLEET = """
kind: fleet
description: Trucks that drive together.
members: truck
states:
  - {name: Home, class: stable, description: The trucks are at home., observed_as: ''}
  - {name: Leaving, class: transitional, description: The trucks are leaving., timeout: 1h, awaits: children}
  - {name: Out, class: stable, description: The trucks are away., observed_as: ''}
actions:
  - name: leave
    description: Drive away.
    source: Home
    via: Leaving
    target: Out
    on_failure: Home
    rollback: leave
    work: {member_action: leave}
  - name: check
    description: Look.
    source: Home
    target: (origin)
    on_failure: Home
    rollback: leave
    work: {member_action: check}
"""
OWN = {lifecycle.kind: lifecycle for lifecycle in map(load, (TRUCK, FLEET))}
ALL = {**KINDS, **OWN}
SIZE = 3


class Case(NamedTuple):
    """An action of a group, and what it asks of members."""

    group: Lifecycle
    action: str
    asks: str

    @property
    def member(self) -> Lifecycle:
        return ALL[self.group.members]


def cases() -> Iterator[Case]:
    """Every action of every kind that asks members for what may be in progress on them already."""
    for group in ALL.values():
        member = ALL.get(group.members)
        for action in group.actions if member is not None else ():
            for asks in sorted({action.member_action, *(group.state(state).member_action for state in action.via)}):
                asked = member.action(asks) if member is not None else None
                if member is not None and asked is not None and asked.joins and not asked.hidden:
                    assert not makes(member, asks)
                    yield Case(group, action.name, asks)


GROUPS = sorted({case.group.kind for case in cases()})
every_group = pytest.mark.parametrize("group", GROUPS)


def test_cases_cover_every_group_kind() -> None:
    groups = {lifecycle.kind for lifecycle in ALL.values() if lifecycle.members}
    assert set(GROUPS) == groups >= {"mci", "subgroup", "lease", "system", "clusterinst", "fleet"}


class Ground(Controller):
    """One controller, a group, and agents that are played by hand."""

    def __init__(self, store: Store, case: Case, ns: str) -> None:
        super().__init__(store, KINDS)
        self.case = case
        self.above = f"/{ns}/p"
        self.path = f"{self.above}/g" if case.group.parent else f"/{ns}/g"
        self.lane = f"sim.{ns}"
        self.members: list[str] = []
        self.there: dict[str, str] = {}
        """What the agents have, by path."""
        self.begins(("lease", "CREATING"))

    async def set_up(self) -> None:
        """The group in a state in which the action starts, with members in one in which they follow."""
        if self.case.group.kind == "lease":
            await self._book()
            return
        asked = self.case.member.action(self.case.asks)
        action = self.case.group.action(self.case.action)
        assert asked is not None
        assert action is not None
        self.members = [f"{self.path}/{i}" for i in range(1, SIZE + 1)]
        group, member = self.case.group, self.case.member
        rows = [(self.above, need.kind, need.states[0]) for need in group.preconditions]
        rows += [(self.path, group.kind, action.source[0])]
        rows += [(path, member.kind, asked.source[0]) for path in self.members]
        if self.case.action == "refine":  # one stays, so that there is a group
            rows += [(f"{self.path}/{SIZE + 1}", member.kind, "Running")]
        text = """INSERT INTO resources (path, kind, state, fence, lane, token)
                  VALUES ($1, $2, $3, 1, $4, gen_random_uuid())"""
        async with self.store.pool.acquire() as connection:
            await connection.executemany(text, [(*row, self.lane) for row in rows])
        self.there = {path: member.state(asked.source[0]).observed_as for path in self.members}

    async def _book(self) -> None:
        """A lease is what it is together with its reservations and events, so it is booked, and handed over."""
        for i in range(SIZE):
            await self.store.hosts.put(f"{self.lane}{i}", self.lane, {"of": self.lane}, None)
        wants = [{"name": f"r{i}", "count": 1, "properties": {"of": self.lane}} for i in range(SIZE)]
        spec = terms(0, 1000, reservations=wants)
        await self.want("create", spec)
        self.members = [f"{self.path}/r{i}" for i in range(SIZE)]
        self.there = dict.fromkeys(self.members, "absent")
        if self.case.action != "start":
            await self.want("start", actor=Actor.CLOCK)
            for path in self.members:
                await self.settle(path)

    async def want(self, action: str, spec: Mapping[str, Any] | None = None, actor: Actor | None = None) -> str:
        """Ask the group; the operation."""
        known = self.case.group.action(action)
        assert known is not None
        request = Request(action, actor or known.actors[-1], reason="a test" if known.needs_reason else "")
        plan = {"from": 1} if action == "scale-in" else {}
        answer = await self.admission.admit(
            *requested(self.case.group.kind, self.path, request, "ann", spec or {}, self.lane, plan=plan)
        )
        assert isinstance(answer, Accepted), answer
        await self.rest()
        return answer.operation

    async def rest(self) -> None:
        await background.done(self.steps.background, self.groups.background, self.queues.background)

    async def begin_on(self, path: str) -> str:
        """The action in progress on a member, in the course of another operation: it holds no claim of its own."""
        operation = str(uuid4())
        request = Request(
            self.case.asks,
            asks_as(self.case.member, self.case.asks, Actor.USER),
            reason="a test",
            within=True,
            operation=operation,
        )
        (answer,) = await self.executor.apply([TransitionInput(path, request, "ann")])
        assert isinstance(answer, Applied), answer
        return operation

    async def settle(self, path: str, *, fails: bool = False) -> None:
        """What an agent is told about one is done, or fails as often as it is tried."""
        for _ in range(40):
            row = await self.store.resources.read(path)
            if row is None or (row.snapshot.operation is None and row.snapshot.hidden is None):
                return
            await self._serve(row, fails=fails)
        raise AssertionError(f"{path} does not come to rest")

    async def _serve(self, row: Row, *, fails: bool) -> None:
        work, op = row.snapshot.work, row.snapshot.operation or row.snapshot.hidden
        if work is None:  # it waits for a moment
            late = time.time() + 7200
            self.executor.clock = lambda: late
            for timer in {*(row.timers or {})} & {"again", "fenced"}:
                await self.executor.apply([TransitionInput(row.path, TimerDue(timer), principal="clock")])
            self.executor.clock = time.time
        elif work.verb == PROBE:
            fences = await self.custody.take(ME, {row.path: row.snapshot.fence})
            seen = Report(Trigger.OBSERVED, fences[row.path], seen=self.there.get(row.path, ""))
            await self.executor.apply([TransitionInput(row.path, seen, principal="agent")])
        else:
            lifecycle = ALL[row.kind]
            action = lifecycle.action(op.action) if op is not None else None
            if action is not None and not fails and lifecycle.has_state(action.target):
                self.there[row.path] = lifecycle.state(action.target).observed_as
            await self.report(row.path, Trigger.FAILED if fails else Trigger.SUCCEEDED)
        await self.rest()

    async def others(self) -> None:
        for path in self.members[1:]:
            await self.settle(path)

    async def waits(self, operation: str) -> bool:
        """Whether the group's operation is in progress, and is to ask no agent yet."""
        row = await self.store.resources.read(self.path)
        record = await self.operation(operation)
        return not record["outcome"] and row is not None and row.snapshot.work is None

    async def outcome(self, operation: str) -> str:
        """How it has ended, when an agent has done what is left to be done for the group itself."""
        await self.settle(self.path)
        return str((await self.operation(operation))["outcome"])

    async def left(self) -> int:
        rows: Sequence[Any] = await self.store.pool.fetch("SELECT FROM operation_waits")
        return len(rows)


@asynccontextmanager
async def ground(dsn: str, group: str) -> AsyncIterator[Store]:
    async with Store.open(dsn, connections=4) as store:
        if group in OWN:
            await put(store, TRUCK)
            await put(store, FLEET)
        yield store


async def made(store: Store, case: Case, ns: str) -> Ground:
    one = Ground(store, case, ns)
    await one.executor.kinds.fresh()
    await one.set_up()
    return one


@every_group
@pytest.mark.req("S0-11")
async def test_group_waits_for_member_that_joined(migrated: str, group: str) -> None:
    """And fails where that one fails."""
    async with ground(migrated, group) as store:
        for number, case in enumerate(case for case in cases() if case.group.kind == group):
            action = case.group.action(case.action)
            for fails, outcome in ((False, "succeeded"), (True, "failed")):
                if fails and action is not None and action.observes:
                    continue  # its order is a probe, which sees something or is repeated
                one = await made(store, case, f"{outcome}{number}")
                await one.begin_on(one.members[0])
                operation = await one.want(case.action)
                assert (await one.operation(operation))["total"] == SIZE, case
                await one.others()
                assert await one.waits(operation), case
                assert (await one.operation(operation))["remaining"] == 1, case
                await one.settle(one.members[0], fails=fails)
                assert await one.outcome(operation) == outcome, case
                told = await one.store.operations.read_members(UUID(operation), "", 10)
                bad = [
                    member["path"]
                    for member in told
                    if member["outcome"] not in ("succeeded", "skipped", "unchanged")
                ]
                assert bad == ([one.members[0]] if fails else []), case
        assert await one.left() == 0
