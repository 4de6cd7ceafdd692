"""The store against a dictionary: random events, decided by the same function, must leave the same behind.

Many resources are driven at once, so that every example holds dozens of sequences.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stead import catalog
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import as_class
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Event, FullState, Report, Request, Take, TimerDue
from stead.lifecycle.rows import Actor, StateClass, Transition, Trigger
from stead.lifecycle.snapshot import Fence, Phase, Snapshot
from stead.lifecycle.table import observations
from stead.lifecycle.timers import pending
from stead.store import Row, Store
from stead.store.decision_template import OperationStart
from tests.tiers import examples

KINDS = {name: replace(kind, preconditions=()) for name, kind in catalog.KINDS.items()}
"""Each by itself, with nothing above it."""

DRIVEN = ("vm", "clusterinst", "machine", "service")
AT_ONCE = 40


@dataclass
class Oracle:
    """What a dictionary knows of one resource."""

    lifecycle: Lifecycle
    snapshot: Snapshot
    moves: list[Transition] = field(default_factory=list)
    cancels: int = 0


def words(oracle: Oracle) -> list[Event]:
    """All that could be said to a resource now, in time or too late."""
    lc, snap = oracle.lifecycle, oracle.snapshot
    old = Fence(snap.fence.incarnation, snap.fence.counter - 1)
    said: list[Event] = [Request(a.name, a.actors[0], revision=1) for a in lc.actions if a.actors]
    said += [
        Request(a.name, a.actors[0], force=True, reason="because", revision=1) for a in lc.actions if a.forceable
    ]
    running = [op.id for op in (snap.operation, snap.hidden) if op is not None]
    said += [Cancel(id, actor) for id in (*running, "another") for actor in (Actor.USER, Actor.ADMIN)]
    said += [TimerDue(timer) for timer in (*pending(lc, snap), "deadline")]
    for fence in (snap.fence, snap.fence, old):
        said += [Take(fence), *(Report(kind, fence) for kind in (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED))]
        said += [Report(Trigger.OBSERVED, fence, seen=what) for what in observations(lc)]
    said += [FullState(snap.fence, what) for what in observations(lc)]
    return said


def bare(snapshot: Snapshot) -> Snapshot:
    """A snapshot without what only the database knows: when an operation began."""
    op = replace(snapshot.operation, by="", since="") if snapshot.operation else None
    hidden = replace(snapshot.hidden, by="", since="") if snapshot.hidden else None
    return replace(snapshot, operation=op, hidden=hidden, blocked=None)


def counted_anew(snapshot: Snapshot) -> Snapshot:
    """The database keeps specs, not how many there were: one that is to come has the next number."""
    return replace(snapshot, revision=int(snapshot.revision != snapshot.previous), previous=0)


def told(path: str, event: Event) -> TransitionInput:
    operation = uuid4()
    if isinstance(event, TimerDue):
        return TransitionInput(
            path, replace(event, operation=str(operation)), begin=OperationStart(operation, "destroy", "clock")
        )
    if not isinstance(event, Request):
        return TransitionInput(path, event)
    event = replace(event, operation=str(operation), by="ann")
    return TransitionInput(
        path, event, principal="ann", begin=OperationStart(operation, event.action, "ann"), spec={"size": 2}
    )


def agree(oracle: Oracle, event: Event) -> Decision | Rejection:
    """What the dictionary makes of an event."""
    answer = decide(oracle.lifecycle, oracle.snapshot, event)
    if isinstance(answer, Decision):
        oracle.snapshot = counted_anew(answer.after)
        oracle.moves += answer.transitions
        oracle.cancels += isinstance(event, Cancel) and not answer.joined
    return answer


async def drive(dsn: str, steps: Sequence[Sequence[int]]) -> None:
    async with Store.open(dsn, connections=2) as store:
        far_ahead = itertools.count(1e9, 1e9)  # whatever runs is due by the next step
        executor = TransitionExecutor(store, KINDS, lambda: next(far_ahead))
        run = uuid4().hex
        oracles = {
            f"/{run}/{KINDS[kind].kind}-{i:02}": Oracle(KINDS[kind], Snapshot(KINDS[kind].initial.name, Fence(1, 0)))
            for i, kind in enumerate(DRIVEN[i % len(DRIVEN)] for i in range(AT_ONCE))
        }
        for step in steps:
            await one_step(store, executor, oracles, step)
        await compare(store, oracles, f"/{run}")


async def one_step(
    store: Store, executor: TransitionExecutor, oracles: dict[str, Oracle], step: Sequence[int]
) -> None:
    events = []
    for (path, oracle), choice in zip(oracles.items(), step, strict=False):
        said = words(oracle)
        events.append(told(path, said[choice % len(said)]))
    new = {
        path: Row(path, o.lifecycle.kind, replace(o.snapshot, fence=Fence(1, 0)), "sim.a", uuid4(), {"size": 1})
        for path, o in oracles.items()
        if o.lifecycle.state(o.snapshot.state).cls is StateClass.ABSENT or not o.moves
    }
    for path, row in new.items():
        gone = o.snapshot if (o := oracles[path]).snapshot.operation is None else None
        if gone is not None and o.lifecycle.state(gone.state).cls is StateClass.ABSENT:
            o.snapshot = row.snapshot  # its record left, and with it its fence
    answers = await executor.apply([replace(event, new=new.get(event.path)) for event in events])
    for event, answer in zip(events, answers, strict=True):
        wanted = agree(oracles[event.path], event.event)
        if isinstance(wanted, Rejection):
            assert answer == wanted or (isinstance(answer, Rejection) and answer.code == wanted.code), event
        else:
            assert isinstance(answer, Applied), (event, answer)
            assert as_class(answer.decision.after) == as_class(wanted.after)
            assert answer.fence == wanted.after.fence


async def compare(store: Store, oracles: dict[str, Oracle], below: str) -> None:
    rows = await store.resources.read_many(list(oracles))
    claims = {c["operation"]: c["path"] for c in await store.claims.list_below(below, 1000)}
    while (await store.journal.number())[1]:
        pass
    lines = await store.journal.read(0, path=below, limit=100_000)
    for path, oracle in oracles.items():
        snap = oracle.snapshot
        walked = [(m.source, m.trigger, m.on, m.actor, m.target) for m in oracle.moves]
        told = [(x["source"], x["trigger"], x["detail"], x["actor"], x["target"]) for x in lines if x["path"] == path]
        assert [line for line in told if line[0] != line[-1]] == walked
        assert sum(line[1] == "cancel" for line in told) == oracle.cancels
        row = rows.get(path)
        if row is None:
            assert snap.operation is None
            continue
        assert bare(row.snapshot) == bare(snap)
        held = snap.hidden or snap.operation
        fenced = held is not None and held.phase is Phase.FENCING  # whoever had the order may still be at work
        assert bool(row.order_id) == (snap.work is not None) or fenced
        assert set(row.timers or {}) == set(pending(oracle.lifecycle, snap))
        holder = snap.hidden or snap.operation
        assert (path in claims.values()) == (holder is not None)
        if holder is not None:
            assert claims[UUID(holder.id)] == path


@pytest.mark.long
@pytest.mark.slow
@given(steps=st.lists(st.lists(st.integers(0, 997), min_size=AT_ONCE, max_size=AT_ONCE), min_size=12, max_size=12))
@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_random_events_leave_the_same_in_the_database_and_in_a_dictionary(
    migrated: str, steps: list[list[int]]
) -> None:
    """60 examples of 40 resources: 2,400 sequences of 12 events."""
    asyncio.run(drive(migrated, steps))


def test_the_events_tried_reach_every_phase() -> None:
    """A check on the test itself: what is said to a vm is enough to make it move."""
    oracle = Oracle(KINDS["vm"], Snapshot("Running"))
    assert any(isinstance(e, Request) and e.force for e in words(oracle))
    assert isinstance(agree(oracle, Request("suspend", Actor.USER)), Decision)
    assert any(isinstance(e, Take) and e.fence == oracle.snapshot.fence for e in words(oracle))
