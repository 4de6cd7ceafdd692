"""Cancelling an operation: an early deadline, whatever it is doing, and an outcome of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.draft import awaited
from stead.lifecycle.decision import ClaimChange, Code, Decision, EndedOperation, Order, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Children, Event, Report, Request, Take, TimerDue
from stead.lifecycle.explore import Bounds, explore
from stead.lifecycle.explore.machine import Decide
from stead.lifecycle.rows import (
    ABSENT,
    BROKEN,
    PROBE,
    Action,
    Actor,
    AwaitedParty,
    Trigger,
    final,
    stable,
    transitional,
)
from stead.lifecycle.snapshot import Fence, Holder, Operation, Phase, Snapshot
from stead.lifecycle.table import observations
from stead.lifecycle.timers import pending
from tests.lifecycle.test_decide import DONE, FAILED, TAKE, after, no, yes
from tests.lifecycle.test_explore import then
from tests.tiers import examples

VM, MCI, CLUSTER = KINDS["vm"], KINDS["mci"], KINDS["clusterinst"]
MACHINE, CLOUDSPACE, SERVICE = KINDS["machine"], KINDS["cloudspace"], KINDS["service"]

ID = "op-1"
C = Actor.CONTROLLER
CANCEL = Cancel(ID)


def seen(what: str, revision: int | None = None) -> Report:
    return Report(Trigger.OBSERVED, Fence(), seen=what, revision=revision)


def asked(lifecycle: Lifecycle, state: str, action: str, actor: Actor = Actor.USER) -> Snapshot:
    return after(lifecycle, Snapshot(state), Request(action, actor, revision=1, operation=ID))


def op(snapshot: Snapshot) -> Operation:
    assert snapshot.operation is not None
    return snapshot.operation


def outcome(lifecycle: Lifecycle, snapshot: Snapshot, *events: Event) -> tuple[str, Outcome]:
    """Where the last of some events leads, and how the operation ends with it."""
    snapshot = after(lifecycle, snapshot, *events[:-1])
    last = events[-1]
    now = replace(last, fence=snapshot.fence) if isinstance(last, Take | Report) else last
    decision = yes(lifecycle, snapshot, now)
    (ended,) = decision.ended
    assert ended.id == ID
    assert ClaimChange.RELEASE in decision.claims
    return decision.after.state, ended.outcome


class TestWhatAwaitsAnAgent:
    def test_an_order_that_nobody_took_is_withdrawn_and_the_object_looked_at(self) -> None:
        busy = asked(VM, "Running", "suspend")
        decision = yes(VM, busy, CANCEL)
        assert decision.orders == (Order(PROBE),)
        assert decision.after.fence > busy.fence
        assert (op(decision.after).phase, op(decision.after).cancelled) == (Phase.PROBING, True)
        assert (decision.transitions, decision.ended, decision.claims) == ((), (), ())
        assert no(VM, decision.after, Take(busy.fence)).code is Code.STALE

    def test_whoever_has_it_is_fenced_off_and_waited_out_before_the_look(self) -> None:
        busy = after(VM, asked(VM, "Running", "suspend"), TAKE)
        fencing = yes(VM, busy, CANCEL)
        assert (op(fencing.after).phase, fencing.orders, fencing.after.work) == (Phase.FENCING, (), None)
        assert set(pending(VM, fencing.after)) == {"fenced"}
        assert no(VM, fencing.after, replace(DONE, fence=busy.fence)).code is Code.STALE
        assert yes(VM, fencing.after, TimerDue("fenced")).orders == (Order(PROBE),)

    @pytest.mark.parametrize(
        ("found", "state", "how"),
        [
            ("Running", "Running", Outcome.CANCELLED),
            ("Suspended", "Suspended", Outcome.SUCCEEDED),
            (BROKEN, "Failed", Outcome.CANCELLED),
        ],
    )
    def test_it_settles_to_the_truth_and_what_is_done_is_done(self, found: str, state: str, how: Outcome) -> None:
        busy = after(VM, asked(VM, "Running", "suspend"), TAKE)
        assert outcome(VM, busy, CANCEL, TimerDue("fenced"), TAKE, seen(found)) == (state, how)

    def test_absence_is_looked_for_three_times_as_ever(self) -> None:
        looking = after(VM, asked(VM, "Absent", "create"), CANCEL, TAKE, seen(ABSENT))
        assert op(looking).phase is Phase.PROBING
        looking = after(VM, looking, TimerDue("again"), TAKE, seen(ABSENT), TimerDue("again"), TAKE)
        assert outcome(VM, looking, seen(ABSENT)) == ("Failed", Outcome.CANCELLED)

    def test_no_further_attempt_is_made(self) -> None:
        probing = after(VM, asked(VM, "Running", "suspend"), TAKE, TimerDue("custody"), TAKE)
        again = yes(VM, probing, replace(seen("Running"), fence=probing.fence))
        assert again.orders == (Order("suspend"),)  # without a cancel it is tried once more
        assert outcome(VM, probing, CANCEL, seen("Running")) == ("Running", Outcome.CANCELLED)

    def test_a_look_that_is_under_way_goes_on_and_is_the_last(self) -> None:
        probing = after(VM, asked(VM, "Running", "suspend"), TAKE, TimerDue("custody"))
        decision = yes(VM, probing, CANCEL)
        assert (decision.orders, decision.after.fence, decision.after.work) == ((), probing.fence, probing.work)
        assert (op(decision.after).overdue, op(decision.after).cancelled) == (True, True)

    def test_where_nobody_answers_silence_settles_it(self) -> None:
        looking = after(VM, asked(VM, "Running", "suspend"), CANCEL)
        assert "deadline" in pending(VM, looking)
        assert outcome(VM, looking, TimerDue("deadline")) == ("Undefined", Outcome.CANCELLED)
        machine = after(MACHINE, asked(MACHINE, "RUNNING", "stop"), CANCEL)
        assert outcome(MACHINE, machine, TimerDue("deadline")) == ("RUNNING", Outcome.CANCELLED)

    def test_what_cannot_be_told_apart_is_cancelled_all_the_same(self) -> None:
        """A reboot ends where it began: a look does not show whether it was done."""
        busy = after(VM, asked(VM, "Running", "reboot"), TAKE)
        assert outcome(VM, busy, CANCEL, TimerDue("fenced"), TAKE, seen("Running")) == ("Running", Outcome.CANCELLED)

    def test_a_failure_that_is_undone_says_so(self) -> None:
        busy = after(CLUSTER, asked(CLUSTER, "NotPresent", "create"), CANCEL, TAKE)
        for _ in range(CLUSTER.absence_threshold - 1):
            busy = after(CLUSTER, busy, seen(ABSENT), TimerDue("again"), TAKE)
        undoing = after(CLUSTER, busy, seen(ABSENT))
        assert (undoing.state, op(undoing).phase) == ("CreateError", Phase.ROLLING_BACK)
        assert outcome(CLUSTER, undoing, TAKE, DONE) == ("NotPresent", Outcome.ROLLED_BACK)
        assert outcome(CLUSTER, undoing, TAKE, FAILED) == ("CreateError", Outcome.FAILED)  # something is left over

    def test_a_new_spec_is_dropped(self) -> None:
        busy = after(SERVICE, asked(SERVICE, "stable", "update", Actor.CONTROLLER), TAKE)
        assert busy.revision == 1
        admin = replace(CANCEL, actor=Actor.ADMIN)
        settled_ = after(SERVICE, busy, admin, TimerDue("fenced"), TAKE, seen("stable", 0))
        assert (settled_.state, settled_.revision) == ("stable", 0)


class TestWho:
    def test_whoever_may_ask_may_cancel_and_an_admin_always(self) -> None:
        busy = asked(CLOUDSPACE, "DEPLOYED", "pause", Actor.ADMIN)
        refusal = no(CLOUDSPACE, busy, CANCEL)
        assert (refusal.code, refusal.reasons[0].message) == (
            Code.NOT_THE_ACTOR,
            "to cancel pause is for admin, not for user",
        )
        assert op(yes(CLOUDSPACE, busy, replace(CANCEL, actor=Actor.ADMIN)).after).cancelled
        refine = asked(VM, "Undefined", "refine", Actor.CONTROLLER)
        assert no(VM, refine, CANCEL).code is Code.NOT_THE_ACTOR
        assert op(yes(VM, refine, replace(CANCEL, actor=Actor.ADMIN)).after).cancelled

    @pytest.mark.parametrize("actor", [Actor.CONTROLLER, Actor.AGENT, Actor.CLOCK])
    def test_nobody_else_cancels(self, actor: Actor) -> None:
        assert no(VM, asked(VM, "Running", "suspend"), replace(CANCEL, actor=actor)).code is Code.NOT_THE_ACTOR

    def test_what_nobody_asked_for_nobody_cancels(self) -> None:
        connecting = Snapshot("InitOk", operation=Operation("connect", "Offline", id=ID), notify=1, connected=True)
        refusal = no(KINDS["cloudlet"], connecting, replace(CANCEL, actor=Actor.ADMIN))
        assert refusal.code is Code.NOT_CANCELLABLE


class TestWhatIsRefused:
    def test_what_has_ended(self) -> None:
        for snapshot in (Snapshot("Running"), asked(VM, "Running", "suspend")):
            refusal = no(VM, snapshot, Cancel("op-0"))
            assert refusal.code is Code.ENDED
            assert refusal.state == snapshot.state

    def test_what_is_being_undone(self) -> None:
        undoing = after(CLUSTER, asked(CLUSTER, "NotPresent", "create"), TAKE, FAILED)
        assert no(CLUSTER, undoing, CANCEL).code is Code.NOT_CANCELLABLE
        given_up = after(CLUSTER, undoing, TAKE, TimerDue("deadline"))
        assert (op(given_up).phase, op(given_up).then) == (Phase.FENCING, Phase.ROLLING_BACK)
        assert no(CLUSTER, given_up, CANCEL).code is Code.NOT_CANCELLABLE

    def test_what_awaits_others(self) -> None:
        refusal = no(KINDS["lease"], asked(KINDS["lease"], "ACTIVE", "terminate"), CANCEL)
        assert refusal.code is Code.NOT_CANCELLABLE
        assert "waits for others" in refusal.reasons[0].message

    def test_twice_joins(self) -> None:
        once = after(VM, asked(VM, "Running", "suspend"), CANCEL)
        assert yes(VM, once, CANCEL) == Decision(after=once, joined=True)
        undoing = after(CLUSTER, asked(CLUSTER, "NotPresent", "create"), CANCEL, TimerDue("deadline"))
        assert op(undoing).phase is Phase.ROLLING_BACK
        assert yes(CLUSTER, undoing, CANCEL).joined


class TestAGroup:
    def test_its_members_are_cancelled_and_it_settles_with_the_last(self) -> None:
        asked_for = asked(MCI, "Running", "suspend")
        decision = yes(MCI, asked_for, CANCEL)
        assert decision.cancels
        assert op(decision.after).cancelled
        half = Children((("Running", 3), ("Suspended", 2)), remaining=0, failed=3)
        settled = yes(MCI, decision.after, half)
        assert (settled.after.state, settled.ended[0].outcome) == ("Running", Outcome.CANCELLED)

    def test_what_all_have_done_is_done(self) -> None:
        cancelled = after(MCI, asked(MCI, "Running", "suspend"), CANCEL)
        assert yes(MCI, cancelled, Children((("Suspended", 5),))).ended[0].outcome is Outcome.SUCCEEDED


class TestWhatWaits:
    def test_what_is_held_is_undone_as_by_withdraw(self) -> None:
        preparing = after(MCI, Snapshot("Absent"), Request("create", hold=True, operation=ID))
        held = after(MCI, preparing, Report(Trigger.SUCCEEDED, preparing.fence, actor=Actor.CONTROLLER))
        assert (held.state, op(held).phase) == ("Prepared", Phase.HELD)
        cancelled, withdrawn = yes(MCI, held, CANCEL), yes(MCI, held, Request("withdraw"))
        assert replace(cancelled.after, operation=withdrawn.after.operation) == withdrawn.after
        assert (cancelled.members, cancelled.recount) == (withdrawn.members, withdrawn.recount)
        assert outcome(MCI, cancelled.after, Children(())) == ("Absent", Outcome.ROLLED_BACK)

    def test_hidden_work_is_cancelled_and_what_waits_for_it_goes_on(self) -> None:
        moving_away = after(MACHINE, Snapshot("RUNNING"), Request("migrate", Actor.ADMIN, operation=ID), TAKE)
        waiting = after(MACHINE, moving_away, Request("stop", operation="op-2"))
        assert (waiting.state, op(waiting).phase) == ("STOPPING", Phase.WAITING)
        admin = replace(CANCEL, actor=Actor.ADMIN)
        looking = after(MACHINE, waiting, admin, TimerDue("fenced"), TAKE)
        decision = yes(MACHINE, looking, replace(seen("RUNNING"), fence=looking.fence))
        assert decision.ended == (EndedOperation("migrate", Outcome.CANCELLED, ID),)
        assert decision.orders == (Order("stop"),)

    def test_what_waits_for_hidden_work_is_never_begun(self) -> None:
        hidden = after(MACHINE, Snapshot("RUNNING"), Request("migrate", Actor.ADMIN, operation="op-0"), TAKE)
        waiting = after(MACHINE, hidden, Request("stop", operation=ID))
        cancelled = yes(MACHINE, waiting, CANCEL)
        assert (cancelled.orders, cancelled.after.hidden) == ((), waiting.hidden)  # the hidden work goes on
        done = yes(MACHINE, cancelled.after, replace(DONE, fence=waiting.fence))
        assert done.ended == (EndedOperation("migrate", Outcome.SUCCEEDED, "op-0"),)
        assert done.orders == (Order(PROBE),)
        assert outcome(MACHINE, done.after, TAKE, seen("RUNNING")) == ("RUNNING", Outcome.CANCELLED)


@pytest.mark.parametrize("below", [False, True])
def test_what_outranks_others_and_waits_for_them_to_stop_is_not_begun_either(below: bool) -> None:
    reservation = KINDS["reservation"]
    if below:
        before = Snapshot("active", blocked=Holder("op-0", "start", "/lease/r/host", below=True))
    else:
        before = after(reservation, Snapshot("active"), Request("update", C, revision=1, operation="op-0"), TAKE)
    fencing = after(reservation, before, Request("release", C, operation=ID))
    assert (op(fencing).phase, op(fencing).then) == (Phase.FENCING, Phase.ACTING if below else Phase.PROBING)
    cancelled = yes(reservation, fencing, replace(CANCEL, actor=Actor.ADMIN))
    assert (cancelled.orders, cancelled.after.fence) == ((), fencing.fence)
    looking = after(reservation, cancelled.after, TimerDue("fenced"), TAKE)
    assert op(looking).phase is Phase.PROBING
    assert outcome(reservation, looking, seen("active")) == ("active", Outcome.CANCELLED)


SPLIT = Lifecycle(
    kind="split",
    description="Work in parts, each for somebody else.",
    states=(
        stable("Half", "."),
        transitional("First", ".", 60),
        replace(transitional("Step", ".", 60, AwaitedParty.STEP), observed_as="part"),
        replace(transitional("Others", ".", 60, AwaitedParty.CHILDREN), observed_as="part"),
        stable("Whole", "."),
        final("Failed", ".", observed_as=""),
    ),
    actions=(
        Action("by-step", ".", ("Half",), ("First", "Step"), "Whole", on_failure="Failed"),
        Action("by-others", ".", ("Half",), ("First", "Others"), "Whole", on_failure="Failed"),
    ),
)


@pytest.mark.parametrize("action", ["by-step", "by-others"])
def test_a_part_that_turns_out_done_is_no_reason_to_begin_the_next(action: str) -> None:
    looking = after(SPLIT, asked(SPLIT, "Half", action), CANCEL, TAKE)
    decision = yes(SPLIT, looking, replace(seen("part"), fence=looking.fence))
    assert (decision.step, decision.members, decision.orders) == (False, "", ())
    assert outcome(SPLIT, looking, seen("part")) == ("Failed", Outcome.CANCELLED)
    without = replace(op(looking), cancelled=False)
    assert after(SPLIT, replace(looking, operation=without), seen("part")).operation is not None


DRIVEN = ("vm", "clusterinst", "machine", "service", "disk", "reservation", "lease", "system")


def words(lc: Lifecycle, snap: Snapshot) -> list[Event]:
    """All that could be said now."""
    said: list[Event] = [Request(a.name, a.actors[0], revision=1, operation=a.name) for a in lc.actions if a.actors]
    said += [TimerDue(timer, operation="due") for timer in pending(lc, snap)]
    kinds = (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED)
    said += [Take(snap.fence), *(Report(kind, snap.fence) for kind in kinds)]
    said += [Report(kind, snap.fence, actor=Actor.CONTROLLER) for kind in kinds[1:]]
    return said + [Report(Trigger.OBSERVED, snap.fence, seen=what) for what in observations(lc)]


@given(kind=st.sampled_from(DRIVEN), choices=st.lists(st.integers(0, 997), min_size=1, max_size=12))
@settings(max_examples=examples(400))
def test_wherever_an_agent_is_awaited_it_is_an_early_deadline(kind: str, choices: list[int]) -> None:
    lc, snap = KINDS[kind], Snapshot(KINDS[kind].initial.name)
    for choice in choices:
        said = [e for e in words(lc, snap) if isinstance(decide(lc, snap, e), Decision)]
        if said:
            answer = decide(lc, snap, said[choice % len(said)])
            assert isinstance(answer, Decision)
            snap = answer.after
        compare(lc, snap)


def compare(lc: Lifecycle, snap: Snapshot) -> None:
    """A cancel against the deadline, in one snapshot."""
    op = snap.hidden or snap.operation
    action = lc.action(op.action) if op is not None else None
    if op is None or action is None:
        return
    cancelled = decide(lc, snap, Cancel(op.id, Actor.ADMIN))
    waits = awaited(lc, action, snap.state)
    if op.undoes or waits is AwaitedParty.CHILDREN:
        assert isinstance(cancelled, Rejection)
        return
    assert isinstance(cancelled, Decision)
    if op.phase is not Phase.ACTING:
        return
    if waits is AwaitedParty.STEP and not op.overdue:  # which is taken up once more before it is given up
        again = yes(lc, snap, TimerDue("deadline"))
        assert again.step
        assert again.after.state == snap.state
        return
    due = yes(lc, snap, TimerDue("deadline"))
    assert bare(cancelled.after) == bare(due.after)
    assert (cancelled.transitions, cancelled.orders, cancelled.claims) == (due.transitions, due.orders, due.claims)
    assert {t.name for t in cancelled.timers} == {t.name for t in due.timers}
    instead = {Outcome.FAILED: Outcome.CANCELLED, Outcome.UNKNOWN: Outcome.CANCELLED}
    assert cancelled.ended == tuple(replace(e, outcome=instead.get(e.outcome, e.outcome)) for e in due.ended)


def bare(snap: Snapshot) -> Snapshot:
    """Without the flag."""
    op = replace(snap.operation, cancelled=False) if snap.operation else None
    hidden = replace(snap.hidden, cancelled=False) if snap.hidden else None
    return replace(snap, operation=op, hidden=hidden)


# The explorer cancels whatever is under way at any moment: faults planted in that are caught


def forgets(_: Snapshot, event: Event, answer: Decision) -> Decision:
    return replace(answer, after=bare(answer.after)) if isinstance(event, Cancel) else answer


def calls_it_failed(_: Snapshot, __: Event, answer: Decision) -> Decision:
    instead = {Outcome.CANCELLED: Outcome.FAILED}
    return replace(answer, ended=tuple(replace(e, outcome=instead.get(e.outcome, e.outcome)) for e in answer.ended))


def calls_failures_cancelled(_: Snapshot, __: Event, answer: Decision) -> Decision:
    instead = {Outcome.FAILED: Outcome.CANCELLED}
    return replace(answer, ended=tuple(replace(e, outcome=instead.get(e.outcome, e.outcome)) for e in answer.ended))


def tries_again(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    """A look after a cancel is a look like any other."""
    op = snapshot.operation
    if op is not None and op.cancelled and op.phase is Phase.PROBING:
        snapshot = replace(snapshot, operation=replace(op, overdue=False))
    return decide(lifecycle, snapshot, event)


def waits_for_nobody(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection:
    """The look begins while somebody may still be at work."""
    if isinstance(event, Cancel) and snapshot.work is not None and snapshot.work.verb != PROBE:
        snapshot = replace(snapshot, work=replace(snapshot.work, taken=False))
    return decide(lifecycle, snapshot, event)


@pytest.mark.req("X-06")
@pytest.mark.parametrize(
    ("planted", "says"),
    [
        (then(forgets), "create was cancelled, and that was forgotten"),
        (then(calls_it_failed), "was cancelled, and ended failed"),
        (then(calls_failures_cancelled), "was not cancelled, and ended cancelled"),
        (tries_again, "was cancelled, and gave the order"),
        (waits_for_nobody, "two agents work on it at once"),
    ],
)
def test_a_planted_fault_is_caught(planted: Decide, says: str) -> None:
    bounds = Bounds(requests=1, deletes=1, crashes=0, repeats=0, late=0)
    result = explore(VM, bounds, decide=planted)
    assert result.violation is not None
    assert says in result.violation.says
