"""To refresh and to accept what is observed: in every kind that an agent can observe, and in groups of such."""

from __future__ import annotations

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import Group, GroupDecision, decide
from stead.lifecycle.decision import Code, Decision, Order, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import dump, load
from stead.lifecycle.events import Children, Report, Request, Take, TimerDue
from stead.lifecycle.observation import ACCEPT, OBSERVING, REFRESH, is_observable
from stead.lifecycle.rows import ABSENT, BROKEN, StateClass, Trigger
from stead.lifecycle.snapshot import Snapshot

OBSERVABLE = [kind for kind, lifecycle in KINDS.items() if is_observable(lifecycle)]
GROUPS = ["mci", "subgroup", "system"]
NEITHER = ["account", "lease", "reservation", "event", "cloudlet", "node"]
WHY = "the provider was repaired"


def yes(answer: Decision | Rejection) -> Decision:
    assert isinstance(answer, Decision), answer
    return answer


def observed(lc: Lifecycle, state: str, action: str, seen: str) -> Decision:
    """What an operation of the action comes to where an agent observes this, as often as it is asked to."""
    snap = yes(decide(lc, Snapshot(state), Request(action, reason=WHY, operation="op"))).after
    for _ in range(lc.absence_threshold):
        snap = yes(decide(lc, snap, Take(snap.fence))).after
        answer = yes(decide(lc, snap, Report(Trigger.OBSERVED, snap.fence, seen=seen)))
        if answer.ended:
            return answer
        assert seen == ABSENT
        snap = yes(decide(lc, answer.after, TimerDue("again"))).after
    raise AssertionError(f"{action} in {state} does not end")


def at_rest(lc: Lifecycle, action: str) -> tuple[str, ...]:
    known = lc.action(action)
    assert known is not None
    return known.source


def test_every_kind_has_both_actions_or_neither() -> None:
    assert sorted([*OBSERVABLE, *GROUPS, *NEITHER]) == sorted(KINDS)
    for kind, lifecycle in KINDS.items():
        has = [name for name in OBSERVING if lifecycle.action(name) is not None]
        assert has == ([] if kind in NEITHER else list(OBSERVING)), kind


@pytest.mark.parametrize("kind", OBSERVABLE)
def test_refresh_starts_in_every_state_in_which_there_is_an_object(kind: str) -> None:
    lc = KINDS[kind]
    rests = {s.name for s in lc.states if s.cls in (StateClass.STABLE, StateClass.FINAL) and s.observed_as != ABSENT}
    assert set(at_rest(lc, REFRESH)) == rests
    assert set(at_rest(lc, ACCEPT)) == {name for name in rests if not lc.state(name).observed_as}
    for state in rests:
        begun = yes(decide(lc, Snapshot(state), Request(REFRESH, operation="op")))
        assert (begun.transitions, begun.orders) == ((), (Order("probe"),))


@pytest.mark.req("S0-13")
@pytest.mark.parametrize("kind", OBSERVABLE)
def test_refresh_ends_when_the_object_was_observed_and_records_drift(kind: str) -> None:
    lc = KINDS[kind]
    sights = {s.observed_as for s in lc.states if s.observed_as} | {BROKEN}
    for state in at_rest(lc, REFRESH):
        for seen in sights:
            answer = observed(lc, state, REFRESH, seen)
            assert [ended.outcome for ended in answer.ended] == [Outcome.SUCCEEDED]
            assert answer.after.state == (lc.drifted(state, seen) or state)


@pytest.mark.req("S0-02")
@pytest.mark.parametrize("kind", OBSERVABLE)
def test_accepting_leads_to_every_state_that_can_be_observed(kind: str) -> None:
    lc = KINDS[kind]
    sights = {s.observed_as for s in lc.states if s.cls is StateClass.STABLE and s.observed_as not in ("", ABSENT)}
    for state in at_rest(lc, ACCEPT):
        for seen in sights:
            answer = observed(lc, state, ACCEPT, seen)
            assert [ended.outcome for ended in answer.ended] == [Outcome.SUCCEEDED]
            assert lc.state(answer.after.state).observed_as == seen


def test_accepting_what_no_state_stands_for_fails_and_moves_nothing() -> None:
    for seen in (ABSENT, BROKEN):
        answer = observed(KINDS["machine"], "ERROR", ACCEPT, seen)
        assert ([e.outcome for e in answer.ended], answer.after.state) == ([Outcome.FAILED], "ERROR")
    assert observed(KINDS["vm"], "Failed", ACCEPT, ABSENT).after.state == "Terminated"


@pytest.mark.parametrize("kind", [*OBSERVABLE, *GROUPS])
def test_accepting_needs_a_reason(kind: str) -> None:
    lc = KINDS[kind]
    answer = decide(lc, Snapshot(at_rest(lc, ACCEPT)[0]), Request(ACCEPT))
    assert isinstance(answer, Rejection)
    assert (answer.code, answer.reasons[0].message) == (Code.NEEDS_REASON, "accept-observed needs a reason")


def test_spec_that_is_in_force_is_recorded_with_the_state() -> None:
    lc = KINDS["appinst"]
    for revision in (0, 1):
        failed = Snapshot("UpdateError", revision=1, previous=0, kept=("update", "Ready"))
        snap = yes(decide(lc, failed, Request(ACCEPT, reason=WHY, operation="op"))).after
        snap = yes(decide(lc, snap, Take(snap.fence))).after
        after = yes(decide(lc, snap, Report(Trigger.OBSERVED, snap.fence, seen="Ready", revision=revision))).after
        assert (after.state, after.revision, after.previous, after.kept) == ("Ready", revision, revision, None)
    snap = yes(decide(lc, failed, Request(ACCEPT, reason=WHY, operation="op"))).after
    snap = yes(decide(lc, snap, Take(snap.fence))).after
    unsure = yes(decide(lc, snap, Report(Trigger.OBSERVED, snap.fence, seen="Ready"))).after
    assert (unsure.state, unsure.kept) == ("UpdateError", ("update", "Ready"))


@pytest.mark.parametrize("kind", NEITHER)
@pytest.mark.parametrize("action", OBSERVING)
def test_kind_with_nothing_to_observe_says_so(kind: str, action: str) -> None:
    lc = KINDS[kind]
    answer = decide(lc, Snapshot(lc.states[1].name), Request(action, reason=WHY))
    assert isinstance(answer, Rejection)
    article = "an" if kind[0] in "ae" else "a"
    assert answer.reasons[0].message == (
        f"{article} {kind} has nothing that an agent could observe: its state is what is on record"
    )


@pytest.mark.parametrize("kind", ["mci", "subgroup"])
def test_group_observes_its_members_and_becomes_what_they_are(kind: str) -> None:
    classes = {Snapshot("Failed"): 2, Snapshot("Running"): 1, Snapshot("Terminated"): 1}
    for action, acting in ((REFRESH, {"Failed", "Running"}), (ACCEPT, {"Failed"})):
        group = Group(Snapshot("Failed"), KINDS["vm"], classes)
        answer = decide(KINDS[kind], group, Request(action, reason=WHY, operation="op"))
        assert isinstance(answer, GroupDecision)
        assert {cls.state for cls in answer.acting} == acting
        done = yes(decide(KINDS[kind], answer.parent.after, Children((("Running", 3), ("Terminated", 1)))))
        assert (done.after.state, done.after.operation) == ("Running", None)
        assert [ended.outcome for ended in done.ended] == [Outcome.SUCCEEDED]


def test_group_of_what_cannot_be_observed_says_so() -> None:
    group = Group(Snapshot("Running"), KINDS["account"], {Snapshot("CONFIRMED"): 1})
    answer = decide(KINDS["mci"], group, Request(REFRESH))
    assert isinstance(answer, Rejection)
    assert answer.reasons[0].message.startswith("an account has nothing that an agent could observe")


@pytest.mark.parametrize("kind", list(KINDS))
def test_written_lifecycle_leaves_them_out_and_its_reader_derives_them(kind: str) -> None:
    text = dump(KINDS[kind])
    assert REFRESH not in text
    assert ACCEPT not in text
    assert load(text).action(REFRESH) == KINDS[kind].action(REFRESH)
