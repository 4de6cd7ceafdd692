"""The explorer: every built-in kind holds within the bounds, and planted faults are caught.

A fault is planted in a lifecycle, which is then judged by the one that was meant, or in the code that decides.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from stead.catalog import KINDS, explored
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import ClaimChange, Decision, Order, Outcome, Rejection, Timer
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Connected, Event, FullState, Report, Take, TimerDue
from stead.lifecycle.explore import Bounds, Result, explore
from stead.lifecycle.explore.machine import Decide
from stead.lifecycle.rows import Actor, Transition, Trigger
from stead.lifecycle.snapshot import Fence, Phase, Snapshot, Work
from tools.explored import ROOT, digest

FEWER = Bounds(crashes=0, repeats=0)
"""Enough where a fault shows only when everything has been visited; and what every run of the tests explores itself
of large kinds. The full bounds take minutes, and `make explore`: its record has to be of this very code."""

SMALL = 1_000
"""Worlds that are explored in full all the same."""

MANY = 10_000
"""Steps that are left to the full tier."""


@pytest.mark.req("X-06")
def test_every_kind_was_explored_in_full_as_it_is_now() -> None:
    assert digest() == explored.DIGEST, "what decides has changed: run `make explore`"
    assert explored.EXPLORED.keys() == KINDS.keys()


LONG = [pytest.mark.long]


def large(kind: str) -> bool:
    return explored.EXPLORED[kind].worlds > SMALL


def takes_long(kind: str) -> bool:
    return large(kind) or explored.EXPLORED[kind].steps > MANY


@pytest.mark.slow
@pytest.mark.req("X-06")
@pytest.mark.parametrize("kind", [pytest.param(k, marks=LONG if takes_long(k) else []) for k in KINDS])
def test_every_kind_holds(kind: str) -> None:
    full = explored.EXPLORED[kind]
    result = explore(KINDS[kind], FEWER if large(kind) else Bounds())
    assert result.violation is None, result.violation.story()
    assert result.complete
    assert len(KINDS[kind].states) / 2 <= result.visited <= full.worlds
    assert large(kind) or (result.visited, result.steps) == full


def test_another_lifecycle_is_not_covered_by_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT, tmp_path / "stead")
    monkeypatch.setattr("tools.explored.ROOT", tmp_path / "stead")
    monkeypatch.setattr("tools.explored.RECORD", tmp_path / "stead" / "catalog" / "explored.py")
    assert digest() == explored.DIGEST
    table = tmp_path / "stead" / "catalog" / "edge.py"
    table.write_text(table.read_text() + "\n")
    assert digest() != explored.DIGEST


def test_the_bounds_are_those_promised() -> None:
    bounds = Bounds()
    assert bounds.in_flight >= 3
    assert (bounds.requests + bounds.deletes, bounds.deletes) == (2, 1)
    assert (bounds.crashes, bounds.repeats, bounds.late) == (2, 1, 1)


@pytest.mark.long
def test_more_room_in_the_channel_finds_nothing_new_for_a_vm() -> None:
    wider = explore(KINDS["vm"], replace(FEWER, in_flight=4))
    assert wider.violation is None
    assert wider.visited >= explore(KINDS["vm"], FEWER).visited


def test_a_search_that_is_cut_short_says_so() -> None:
    result = explore(KINDS["vm"], most=100)
    assert not result.complete
    assert result.violation is None


# Faults in the code


def deaf_to_fences(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    """Does not compare fences."""
    if isinstance(event, Take | Report | FullState):
        event = replace(event, fence=snapshot.fence)
    return decide(lifecycle, snapshot, event)


def trusts_every_full_state(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    """Compares fences, but not those of a full state."""
    if isinstance(event, FullState):
        event = replace(event, fence=snapshot.fence)
    return decide(lifecycle, snapshot, event)


def welcomes_old_ids(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    """Lets in whoever says hello, with whatever notify-id."""
    if isinstance(event, Connected):
        event = replace(event, notify=max(event.notify, snapshot.notify + 1))
    return decide(lifecycle, snapshot, event)


def then(mend: Callable[[Snapshot, Event, Decision], Decision]) -> Decide:
    """A decide that spoils its decisions."""

    def spoiled(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
        answer = decide(lifecycle, snapshot, event)
        return answer if isinstance(answer, Rejection) else mend(snapshot, event, answer)

    return spoiled


def _claims(old: ClaimChange, new: ClaimChange) -> Decide:
    return then(lambda _, __, d: replace(d, claims=tuple(new if c is old else c for c in d.claims)))


def _keeps_the_spec(before: Snapshot, _: Event, answer: Decision) -> Decision:
    undone = any(ended.outcome is Outcome.ROLLED_BACK for ended in answer.ended)
    return replace(answer, after=replace(answer.after, revision=before.revision)) if undone else answer


def _forgets_to_fence(_: Snapshot, event: Event, answer: Decision) -> Decision:
    """Past the deadline it gives the work out again at once, whoever is still at it."""
    op = answer.after.operation
    deadline = isinstance(event, TimerDue) and event.timer == "deadline"
    if not deadline or op is None or op.phase is not Phase.FENCING:
        return answer
    action = KINDS["vm"].action(op.action)
    assert action is not None
    again = replace(answer.after, operation=replace(op, phase=Phase.ACTING), work=Work(action.verbs[0]))
    timers = (*answer.timers, Timer("resend", 10), Timer("deadline", 60))
    return replace(answer, after=again, orders=(Order(action.verbs[0]),), timers=timers)


def _terminates_instead(_: Snapshot, __: Event, answer: Decision) -> Decision:
    """Orders the wrong thing."""
    return replace(answer, orders=tuple(replace(o, verb="terminate") for o in answer.orders))


def _sends_nothing(_: Snapshot, __: Event, answer: Decision) -> Decision:
    return replace(answer, orders=())


def _forgets_ends(_: Snapshot, __: Event, answer: Decision) -> Decision:
    return replace(answer, ended=())


def _calls_all_done(_: Snapshot, __: Event, answer: Decision) -> Decision:
    return replace(answer, ended=tuple(replace(e, outcome=Outcome.SUCCEEDED) for e in answer.ended))


def _arms_nothing(_: Snapshot, __: Event, answer: Decision) -> Decision:
    return replace(answer, timers=())


def _lowers_fences(before: Snapshot, _: Event, answer: Decision) -> Decision:
    lower = replace(answer.after, fence=Fence(before.fence.incarnation, before.fence.counter - 2))
    return replace(answer, after=lower) if answer.ended else answer


def _asks_members_to_terminate(_: Snapshot, __: Event, answer: Decision) -> Decision:
    return replace(answer, members="terminate" if answer.members else "")


def hears_failed_as_done(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    if isinstance(event, Report) and event.kind is Trigger.FAILED:
        event = replace(event, kind=Trigger.SUCCEEDED)
    return decide(lifecycle, snapshot, event)


def one_miss_is_enough(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    return decide(replace(lifecycle, absence_threshold=1), snapshot, event)


def _silent_to(kind: str, action: str, state: str) -> Lifecycle:
    """A lifecycle in which silence is taken for something."""
    lifecycle = KINDS[kind]
    actions = tuple(replace(a, on_timeout=state) if a.name == action else a for a in lifecycle.actions)
    return replace(lifecycle, actions=actions)


# Faults in the lifecycle


def struck(kind: str, *rows: Transition) -> Lifecycle:
    """A lifecycle without some rows that it should have."""
    lifecycle = KINDS[kind]
    assert all(row in lifecycle.table for row in rows)
    return replace(lifecycle, excluded=(*lifecycle.excluded, *rows))


def added(kind: str, *rows: Transition) -> Lifecycle:
    """A lifecycle with rows too many."""
    lifecycle = KINDS[kind]
    assert not any(row in lifecycle.table for row in rows)
    return replace(lifecycle, transitions=(*lifecycle.transitions, *rows))


def asked_by(kind: str, action: str, actor: Actor) -> Lifecycle:
    """A lifecycle in which an action is another actor's."""
    lifecycle = KINDS[kind]
    actions = tuple(replace(a, actors=(actor,)) if a.name == action else a for a in lifecycle.actions)
    return replace(lifecycle, actions=actions)


def without_deadline(kind: str, state: str) -> Lifecycle:
    lifecycle = KINDS[kind]
    states = tuple(replace(s, timeout=None) if s.name == state else s for s in lifecycle.states)
    return replace(lifecycle, states=states)


class Fault(NamedTuple):
    """Something planted, and what the explorer has to say about it."""

    family: str
    name: str
    kind: str
    says: str
    lifecycle: Lifecycle | None = None
    decide: Decide = decide
    bounds: Bounds = Bounds()
    own_law: bool = False
    """Its moves are as its own table says: what is wrong is the table."""


A, C, U = Actor.AGENT, Actor.CONTROLLER, Actor.USER
FAULTS = [
    Fault("multicloud", "fences are not compared", "vm", "though it is old", decide=deaf_to_fences),
    Fault(
        "multicloud",
        "done is not heard",
        "vm",
        "succeeded came in time and was refused",
        struck("vm", Transition("Suspending", Trigger.SUCCEEDED, "suspend", A, "Suspended")),
    ),
    Fault(
        "multicloud",
        "a user may take a single vm out of its group",
        "vm",
        "user led it from Failed to Terminating, which no row allows",
        asked_by("vm", "refine", U),
    ),
    Fault(
        "multicloud",
        "nobody is fenced off before work is given out again",
        "vm",
        "two agents work on it at once",
        decide=then(_forgets_to_fence),
    ),
    Fault("multicloud", "another order than asked for", "vm", "gave the order", decide=then(_terminates_instead)),
    Fault("multicloud", "no order is ever sent", "vm", "never done", decide=then(_sends_nothing), bounds=FEWER),
    Fault("multicloud", "nobody says how it ended", "vm", "nobody said how", decide=then(_forgets_ends)),
    Fault("multicloud", "everything is called done", "vm", "said to be done", decide=then(_calls_all_done)),
    Fault("multicloud", "timers are not armed", "vm", "was not armed", decide=then(_arms_nothing)),
    Fault("multicloud", "fences go down", "vm", "the fence was lowered", decide=then(_lowers_fences)),
    Fault("multicloud", "failed is heard as done", "vm", "said to be done", decide=hears_failed_as_done),
    Fault("multicloud", "one miss is enough", "vm", "counted as gone after 1", decide=one_miss_is_enough),
    Fault(
        "multicloud",
        "members are asked for something else",
        "mci",
        "the children were asked for terminate",
        decide=then(_asks_members_to_terminate),
    ),
    Fault(
        "datacenter",
        "absence is assumed from silence",
        "machine",
        "it is VIRTUAL, and at the provider it is RUNNING",
        _silent_to("machine", "deploy", "(origin)"),
        own_law=True,
    ),
    Fault(
        "multicloud",
        "a rollback leads nowhere",
        "mci",
        "refused",
        struck("mci", Transition("Creating", Trigger.ROLLED_BACK, "create", C, "Absent")),
    ),
    Fault(
        "edge",
        "the row for a missed message is missing",
        "clusterinst",
        "succeeded came in time and was refused",
        struck("clusterinst", Transition("CreateRequested", Trigger.SUCCEEDED, "create", A, "Ready")),
    ),
    Fault("edge", "an undone update keeps its spec", "clusterinst", "its spec stayed", decide=then(_keeps_the_spec)),
    Fault("edge", "a known notify-id is let in again", "cloudlet", "though it is old", decide=welcomes_old_ids),
    Fault(
        "edge",
        "a full state is trusted under any fence",
        "appinst",
        "a full state with absent was heard though it is old",
        decide=trusts_every_full_state,
    ),
    Fault(
        "edge",
        "the user may end an upgrade",
        "cloudlet",
        "user led it from UpdateError to Ready, which no row allows",
        asked_by("cloudlet", "resolve", U),
    ),
    Fault(
        "datacenter",
        "the waiting request takes a claim of its own",
        "machine",
        "two operations claim it at once",
        decide=_claims(ClaimChange.HAND_OVER, ClaimChange.TAKE),
    ),
    Fault(
        "datacenter",
        "a failure is not heard",
        "disk",
        "failed came in time and was refused",
        struck("disk", Transition("DESTROYING", Trigger.FAILED, "destroy", A, "ERROR")),
    ),
    Fault(
        "datacenter",
        "drift is never found",
        "image",
        "can never come to rest",
        replace(KINDS["image"], drift_states=()),
        bounds=FEWER,
        own_law=True,
    ),
    Fault(
        "reservation",
        "the claim is dropped when delete takes over",
        "lease",
        "an operation acts without its claim",
        decide=_claims(ClaimChange.HAND_OVER, ClaimChange.RELEASE),
    ),
    Fault(
        "reservation",
        "a failed start is not heard",
        "lease",
        "and that was refused",
        struck("lease", Transition("STARTING", Trigger.CHILDREN, "start", C, "ERROR")),
    ),
    Fault("reservation", "fences are not compared", "reservation", "though it is old", decide=deaf_to_fences),
    Fault(
        "reservation",
        "the clock may rearm what is done",
        "event",
        "clock led it from DONE to UNDONE, which no row allows",
        asked_by("event", "rearm", Actor.CLOCK),
    ),
    Fault(
        "system",
        "a failed system comes back by itself",
        "system",
        "controller led it from failed to stable, which no row allows",
        added("system", Transition("failed", Trigger.CHILDREN, "service", C, "stable")),
    ),
    Fault(
        "system",
        "a moving state without a deadline",
        "system",
        "no timer, order or message will ever move it on",
        without_deadline("system", "updating"),
    ),
    Fault(
        "system",
        "claims are never given back",
        "service",
        "a claim outlives its operation",
        decide=then(lambda _, __, d: replace(d, claims=tuple(c for c in d.claims if c is not ClaimChange.RELEASE))),
    ),
]


FOUND_LATE = {"drift is never found", "a rollback leads nowhere"}
"""Faults that show only after tens of thousands of worlds."""


def look(fault: Fault) -> Result:
    lifecycle = fault.lifecycle or KINDS[fault.kind]
    law = lifecycle if fault.own_law else KINDS[fault.kind]
    return explore(lifecycle, fault.bounds, law=law, decide=fault.decide, most=400_000)


@pytest.mark.req("X-06")
@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=LONG if fault.name in FOUND_LATE else []) for fault in FAULTS],
    ids=lambda f: f"{f.family}: {f.name}",
)
def test_a_planted_fault_is_caught_and_told_as_a_story(fault: Fault) -> None:
    result = look(fault)
    assert result.violation is not None
    assert fault.says in result.violation.says
    assert result.violation.says in result.violation.story()
    assert not result.complete


def test_every_family_has_at_least_three_planted_faults() -> None:
    for family in ("multicloud", "edge", "datacenter", "reservation", "system"):
        assert sum(fault.family == family for fault in FAULTS) >= 3


def test_a_story_is_the_shortest_and_can_be_read() -> None:
    missed = next(f for f in FAULTS if f.name == "the row for a missed message is missing")
    violation = look(missed).violation
    assert violation is not None
    assert violation.story() == (
        "  1. it is NotPresent, and at the provider it is absent\n"
        "  2. the user asks for create [NotPresent -> CreateRequested]\n"
        "  3. an agent takes the order create\n"
        "  4. the agent does create; there is Ready\n"
        "  5. the agent says succeeded\n"
        "     -> the report succeeded came in time and was refused: "
        "CreateRequested has no row to Ready on succeeded create by agent"
    )
