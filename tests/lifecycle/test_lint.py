"""Each rule finds the fault it is for, finds nothing else, and leaves sound lifecycles alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stead.catalog import KINDS
from stead.lifecycle import document
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint import Finding, Rule, lint
from stead.lifecycle.rows import (
    LEAVE,
    MINUTE,
    ON_FAILURE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    AwaitedParty,
    ConflictPolicy,
    Expiry,
    Rollback,
    ScopedOperation,
    Signal,
    State,
    StateClass,
    Transition,
    Trigger,
    absent,
    final,
    stable,
    transitional,
)

pytestmark = pytest.mark.req("X-05")

DATA = Path(__file__).parents[1] / "data"

DOOR = Lifecycle(
    kind="door",
    description="A door that somebody hangs, opens, shuts and burns.",
    states=(
        absent("Planned", "There is no door."),
        transitional("Hanging", "It is being hung.", 15 * MINUTE),
        stable("Open", "It is open."),
        transitional("Closing", "It is being shut.", 5 * MINUTE),
        stable("Shut", "It is shut."),
        stable("Stuck", "It does not move.", observed_as=""),
        transitional("Burning", "It burns.", 5 * MINUTE),
        final("Ashes", "It was burned."),
    ),
    actions=(
        Action("hang", "Hang it.", ("Planned",), ("Hanging",), "Open", on_failure="Stuck", rollback=LEAVE),
        Action("close", "Shut it.", ("Open",), ("Closing",), "Shut", on_failure="Stuck", rollback=LEAVE),
        Action("open", "Open it, unseen.", ("Shut",), (), "Open", on_failure="Stuck", rollback=LEAVE),
        Action(
            "burn", "Burn it.", ("Open", "Shut", "Stuck"), ("Burning",), "Ashes", on_failure="Stuck", rollback=LEAVE
        ),
    ),
    drift_states=("Open", "Shut"),
    on_absent="Ashes",
)


def _state(lc: Lifecycle, name: str, **changes: object) -> Lifecycle:
    return replace(lc, states=tuple(replace(s, **changes) if s.name == name else s for s in lc.states))  # type: ignore[arg-type]


def _action(lc: Lifecycle, name: str, **changes: object) -> Lifecycle:
    return replace(lc, actions=tuple(replace(a, **changes) if a.name == name else a for a in lc.actions))  # type: ignore[arg-type]


def _with(lc: Lifecycle, *rows: State | Action | Transition) -> Lifecycle:
    return replace(
        lc,
        states=(*lc.states, *(r for r in rows if isinstance(r, State))),
        actions=(*lc.actions, *(r for r in rows if isinstance(r, Action))),
        transitions=(*lc.transitions, *(r for r in rows if isinstance(r, Transition))),
    )


def _found(lc: Lifecycle) -> list[tuple[str, str]]:
    return [(f.rule.value, f.where) for f in lint(lc)]


AJAR = stable("Ajar", "It is neither open nor shut.", observed_as="")
SWINGING = transitional("Swinging", "It swings.", 60)
TO_SWINGING = Transition("Open", Trigger.OBSERVED, "wind", Actor.AGENT, "Swinging")
FROM_SWINGING = Transition("Swinging", Trigger.OBSERVED, "calm", Actor.AGENT, "Open")
SWINGING_FAILS = Transition("Swinging", Trigger.FAILED, "close", Actor.AGENT, "Stuck")
SWINGING_SILENT = Transition("Swinging", Trigger.TIMED_OUT, "close", Actor.CLOCK, "Stuck")

PLANTED: list[tuple[str, str, Lifecycle]] = [
    ("no-states", "states", replace(DOOR, states=(), actions=(), drift_states=(), on_absent="")),
    ("unknown-state", "action close", _action(DOOR, "close", source=("Opened",))),
    ("unknown-state", "action close", _action(DOOR, "close", via=("Closed",))),
    ("unknown-state", "action close", _action(DOOR, "close", target="Closed")),
    ("unknown-state", "action close", _action(DOOR, "close", target="")),
    ("unknown-state", "action close", _action(DOOR, "close", on_failure="Closed")),
    ("unknown-state", "action close", _action(DOOR, "close", on_failure=ON_FAILURE)),
    ("unknown-state", "action close", _action(DOOR, "close", rollback=Rollback("open", "Closed"))),
    ("unknown-state", "action close", _action(DOOR, "close", on_timeout="Closed")),
    ("unknown-state", "action close", _action(DOOR, "close", idle=("Closed",))),
    ("unknown-state", "state Closing", _state(DOOR, "Closing", on_failure="Closed")),
    (
        "unknown-state",
        "transition Open -> Ajar",
        _with(DOOR, Transition("Open", Trigger.OBSERVED, "x", Actor.AGENT, "Ajar")),
    ),
    (
        "unknown-state",
        "transition Ajar -> Open",
        _with(DOOR, Transition("Ajar", Trigger.OBSERVED, "x", Actor.AGENT, "Open")),
    ),
    (
        "unknown-state",
        "transition Ajar -> Open",
        replace(DOOR, excluded=(Transition("Ajar", Trigger.OBSERVED, "x", Actor.AGENT, "Open"),)),
    ),
    ("unknown-state", "drift_states", replace(DOOR, drift_states=("Open", "Ajar"))),
    ("unknown-state", "aggregation_order", replace(DOOR, aggregation_order=("Open", "Ajar"))),
    ("unknown-state", "on_absent", replace(DOOR, on_absent="Ajar")),
    ("unknown-state", "on_broken", replace(DOOR, on_broken="Ajar")),
    # An undo begins where the action failed; `(origin)` is no such place.
    ("unknown-state", "action close", _action(DOOR, "close", on_failure=ORIGIN, rollback=Rollback("open", "Stuck"))),
    # Without work the request itself is the move; there is no operation that could lead back.
    ("unknown-state", "action knock", _with(DOOR, Action("knock", "Knock.", ("Shut",), (), ORIGIN, work=None))),
    ("duplicate-name", "state Open", _with(DOOR, DOOR.state("Open"))),
    ("duplicate-name", "state OPENED", _with(DOOR, stable("Opened", "."), stable("OPENED", "."))),
    ("duplicate-name", "action close", _with(DOOR, *(a for a in DOOR.actions if a.name == "close"))),
    ("unknown-action", "state Shut", _state(DOOR, "Shut", expiry=Expiry(60, "unlock"))),
    (
        "unknown-action",
        "action hurry",
        _with(DOOR, Action("hurry", "Faster.", ("Closing",), (), "Shut", work=Signal("shut"))),
    ),
    (
        "unknown-action",
        "transition Open -> Shut",
        _with(DOOR, Transition("Open", Trigger.SUCCEEDED, "slam", Actor.AGENT, "Shut")),
    ),
    (
        "several-absent",
        "state Felled",
        _with(DOOR, absent("Felled", "No."), Transition("Ashes", Trigger.REQUEST, "burn", Actor.USER, "Felled")),
    ),
    ("ambiguous-observation", "state Shut", _state(DOOR, "Shut", observed_as="Open")),
    (
        "useless-exclusion",
        "transition Open -> Closing",
        replace(DOOR, excluded=(Transition("Open", Trigger.REQUEST, "close", Actor.ADMIN, "Closing"),)),
    ),
    (
        "useless-expiry",
        "state Shut",
        _state(DOOR, "Shut", expiry=Expiry(60, "close")),
    ),
    (
        "useless-expiry",
        "state Closing",
        _state(DOOR, "Closing", expiry=Expiry(60, "burn")),
    ),
    ("unreachable", "state Ajar", _with(DOOR, AJAR, Transition("Ajar", Trigger.OBSERVED, "x", Actor.AGENT, "Open"))),
    ("unreachable", "state Swinging", _with(DOOR, SWINGING)),
    ("unreachable", "state Swinging", _with(DOOR, SWINGING, FROM_SWINGING)),
    # Failure leads back to wherever force began, but nobody ever was there to begin.
    ("unreachable", "state Ajar", _with(_action(DOOR, "burn", on_failure=ORIGIN, forceable=True), AJAR)),
    (
        "unreachable",
        "state Ajar",
        _with(_action(DOOR, "burn", source=("Open", "Shut", "Stuck", "Ajar"), on_failure=ORIGIN), AJAR),
    ),
    ("dead-end", "state Ajar", _with(DOOR, AJAR, Transition("Open", Trigger.OBSERVED, "x", Actor.AGENT, "Ajar"))),
    ("dead-end", "state Swinging", _with(DOOR, SWINGING, TO_SWINGING)),
    (
        "via-not-transitional",
        "action burn",
        _with(
            _action(DOOR, "burn", via=("Ajar", "Burning")),
            stable("Ajar", "It is neither open nor shut.", observed_as=""),
        ),
    ),
    ("no-timeout", "state Closing", _state(DOOR, "Closing", timeout=None)),
    ("no-timeout", "state Closing", _state(DOOR, "Closing", timeout=0)),
    (
        "no-success-exit",
        "state Closing",
        replace(DOOR, excluded=(Transition("Closing", Trigger.SUCCEEDED, "close", Actor.AGENT, "Shut"),)),
    ),
    (
        "no-success-exit",
        "state Closing",
        _state(
            replace(DOOR, excluded=(Transition("Closing", Trigger.CHILDREN, "close", Actor.CONTROLLER, "Shut"),)),
            "Closing",
            awaits=AwaitedParty.CHILDREN,
        ),
    ),
    ("no-success-exit", "state Swinging", _with(DOOR, SWINGING, TO_SWINGING, SWINGING_FAILS, SWINGING_SILENT)),
    ("no-failure-exit", "state Closing", _action(DOOR, "close", on_failure="", on_timeout="Stuck")),
    (
        "no-failure-exit",
        "state Closing",
        _state(_action(DOOR, "close", on_failure=""), "Closing", awaits=AwaitedParty.CHILDREN),
    ),
    (
        "no-failure-exit",
        "state Closing",
        _state(_action(DOOR, "close", on_failure="", on_timeout="Stuck"), "Closing", awaits=AwaitedParty.CONTROLLER),
    ),
    ("no-failure-exit", "state Swinging", _with(DOOR, SWINGING, TO_SWINGING, FROM_SWINGING, SWINGING_SILENT)),
    ("no-timeout-exit", "state Closing", _action(DOOR, "close", on_timeout="")),
    ("no-timeout-exit", "state Swinging", _with(DOOR, SWINGING, TO_SWINGING, FROM_SWINGING, SWINGING_FAILS)),
    ("timeout-not-resting", "action close", _action(DOOR, "close", on_timeout="Burning")),
    (
        "two-actors",
        "state Closing",
        _with(DOOR, Transition("Closing", Trigger.REQUEST, "open", Actor.USER, "Open")),
    ),
    (
        "two-actors",
        "state Closing",
        _with(DOOR, Transition("Closing", Trigger.ROLLED_BACK, "close", Actor.CONTROLLER, "Open")),
    ),
    (
        "two-actors",
        "state Closing",
        _with(DOOR, Transition("Closing", Trigger.SUCCEEDED, "close", Actor.SUCCESSOR, "Shut")),
    ),
    # A steering word is for whoever waits; an agent that works does not hear it.
    (
        "two-actors",
        "state Closing",
        _with(DOOR, Action("hurry", "Faster.", ("Closing",), ("Burning",), "Ashes", work=Signal("close"))),
    ),
    ("final-left", "state Ashes", _with(DOOR, Transition("Ashes", Trigger.OBSERVED, "Open", Actor.AGENT, "Open"))),
    ("final-left", "state Ashes", _with(DOOR, Transition("Ashes", Trigger.TIMED_OUT, "burn", Actor.CLOCK, "Open"))),
    (
        "final-left",
        "state Stuck",
        _state(_action(DOOR, "close", rollback=Rollback("open", "Open")), "Stuck", cls=StateClass.FINAL),
    ),
    (
        "final-left",
        "state Stuck",
        _state(
            _action(DOOR, "burn", actors=(Actor.USER, Actor.CLOCK)),
            "Stuck",
            cls=StateClass.FINAL,
            expiry=Expiry(60, "burn"),
        ),
    ),
    ("no-rollback", "action close", _action(DOOR, "close", rollback=None)),
    ("no-rollback", "action open", _action(DOOR, "open", rollback=None)),
]


def test_the_door_is_sound() -> None:
    assert lint(DOOR) == ()


@pytest.mark.parametrize(("rule", "where", "faulty"), PLANTED, ids=[f"{r}-{w}" for r, w, _ in PLANTED])
def test_a_planted_fault_is_found_and_only_that(rule: str, where: str, faulty: Lifecycle) -> None:
    assert _found(faulty) == [(rule, where)]


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(Rule)


def test_a_finding_says_where_what_and_how_to_mend_it() -> None:
    (finding,) = lint(_state(DOOR, "Closing", timeout=None))
    assert finding == Finding(
        Rule.NO_TIMEOUT,
        "state Closing",
        "is transitional and has no timeout, so an operation may hang in it forever",
        "give it a timeout, such as 15m",
    )
    assert str(finding) == (
        "state Closing: is transitional and has no timeout, so an operation may hang in it forever; "
        "give it a timeout, such as 15m (no-timeout)"
    )


@pytest.mark.parametrize(("rule", "where", "faulty"), PLANTED, ids=[f"{r}-{w}" for r, w, _ in PLANTED])
def test_every_finding_tells_how_to_mend_it(rule: str, where: str, faulty: Lifecycle) -> None:
    assert all(f.message and f.remedy for f in lint(faulty))


HELD = _state(DOOR, "Closing", awaits=AwaitedParty.CONTROLLER)
DERIVED = replace(
    _state(_with(DOOR, SWINGING), "Swinging", timeout=None, awaits=AwaitedParty.CHILDREN),
    aggregation=Aggregation.WORST,
    aggregation_order=("Stuck", "Swinging", "Open"),
    members="hinge",
)

EXCEPTED: dict[str, Lifecycle] = {
    "the clock leaves a moving state": _with(
        DOOR, Transition("Closing", Trigger.REQUEST, "burn", Actor.CLOCK, "Burning")
    ),
    "an action that outranks leaves a moving state": _action(DOOR, "burn", conflict=ConflictPolicy.PREEMPT),
    "a declared contention": _with(
        DOOR, Transition("Closing", Trigger.SUCCEEDED, "close", Actor.SUCCESSOR, "Shut", contended=True)
    ),
    "a steering word while the controller waits": _with(
        HELD, Action("hurry", "Faster.", ("Closing",), ("Burning",), "Ashes", work=Signal("close"))
    ),
    "children have deadlines of their own": _state(
        _action(DOOR, "close", on_timeout=""), "Closing", awaits=AwaitedParty.CHILDREN
    ),
    "a state that the children alone lead to": DERIVED,
    "work in a state that is final": _with(
        DOOR, Action("sweep", "Sweep it up.", ("Ashes",), (), "Planned", on_failure="Stuck", rollback=LEAVE)
    ),
    "a request in a state that is final": _with(
        DOOR, Action("rebuild", "Hang it again.", ("Ashes",), (), "Planned", work=None)
    ),
    "an undo of work by children": _action(
        _state(DOOR, "Closing", awaits=AwaitedParty.CHILDREN), "close", rollback=None
    ),
    "an undo where there is no work": _action(DOOR, "open", work=None, rollback=None),
    "an undo of work on a path below": _with(
        DOOR,
        Action("paint", "Paint a part of it.", ("Open",), (), ORIGIN, on_failure="Stuck", work=ScopedOperation()),
    ),
    "an undo where there is no order": _action(HELD, "close", work=None, rollback=None),
    "an undo that stays where the failure led": _state(
        _action(DOOR, "close", rollback=Rollback("open", ON_FAILURE)), "Stuck", cls=StateClass.FINAL
    ),
    "an expiry into an action that starts there": _state(DOOR, "Shut", expiry=Expiry(60, "burn")),
    "two states that no look can tell apart": replace(
        _state(DOOR, "Shut", observed_as=""), drift_states=("Open", "Shut", "Stuck")
    ),
}


@pytest.mark.parametrize("lifecycle", EXCEPTED.values(), ids=list(EXCEPTED))
def test_what_is_excepted_is_not_found(lifecycle: Lifecycle) -> None:
    assert lint(lifecycle) == ()


def test_an_exception_ends_where_it_says() -> None:
    """Each without the word that excepts it."""
    assert _found(replace(DERIVED, aggregation=Aggregation.NONE)) == [
        ("unreachable", "state Swinging"),
        ("no-timeout", "state Swinging"),
    ]
    swept = EXCEPTED["work in a state that is final"]
    assert _found(replace(swept, drift_states=("Open", "Shut", "Ashes")))[0] == ("final-left", "state Ashes")


def test_wrong_names_are_told_alone_and_all_at_once() -> None:
    faulty = _action(
        _action(_state(DOOR, "Closing", timeout=None), "close", target="Closed"), "burn", on_failure="Smoke"
    )
    assert _found(faulty) == [("unknown-state", "action close"), ("unknown-state", "action burn")]


@pytest.mark.parametrize("field", ["target", "on_failure", "on_timeout"])
def test_a_wrong_name_is_told_with_its_field(field: str) -> None:
    (finding,) = lint(_action(DOOR, "close", **{field: "Closed"}))
    assert finding.message == f"`{field}` names Closed, which is no state of door"


def test_a_wrong_target_of_a_rollback_is_told_with_its_field() -> None:
    (finding,) = lint(_action(DOOR, "close", rollback=Rollback("open", "Closed")))
    assert finding.message == "`rollback.target` names Closed, which is no state of door"


def test_a_wrong_move_that_an_action_implies_is_told_alone() -> None:
    faulty = _action(
        _state(DOOR, "Closing", timeout=None), "close", on_failure=ORIGIN, rollback=Rollback("open", "Stuck")
    )
    assert _found(faulty) == [("unknown-state", "action close")]


def test_a_user_and_an_admin_are_one() -> None:
    asked = [Transition("Swinging", Trigger.REQUEST, "burn", who, "Burning") for who in (Actor.USER, Actor.ADMIN)]
    by_people = _with(DOOR, SWINGING, TO_SWINGING, *asked)
    assert "two-actors" not in [rule for rule, _ in _found(by_people)]
    assert ("two-actors", "state Swinging") in _found(_with(by_people, FROM_SWINGING))


def test_findings_do_not_hide_each_other() -> None:
    faulty = _action(_state(DOOR, "Closing", timeout=None), "burn", rollback=None)
    assert _found(faulty) == [("no-timeout", "state Closing"), ("no-rollback", "action burn")]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_the_catalog_is_sound(kind: str) -> None:
    assert lint(KINDS[kind]) == ()


MOVING = [(kind, s.name) for kind, lc in KINDS.items() for s in lc.states if s.cls is StateClass.TRANSITIONAL]


@pytest.mark.parametrize(("kind", "name"), MOVING)
def test_a_deadline_taken_from_the_catalog_is_missed(kind: str, name: str) -> None:
    lc = KINDS[kind]
    derived = lc.aggregation is Aggregation.WORST and name in lc.aggregation_order
    found = _found(_state(lc, name, timeout=None))
    assert found == ([] if derived else [("no-timeout", f"state {name}")])


@pytest.mark.parametrize(("kind", "name"), MOVING)
def test_a_stranger_at_a_moving_state_of_the_catalog_is_noticed(kind: str, name: str) -> None:
    lc = KINDS[kind]
    rows = [m for m in lc.table if m.source == name and m.target != name]
    regulars = {m.actor for m in rows if not m.contended and m.trigger is not Trigger.REQUEST} - {Actor.CLOCK}
    assert len(regulars) == 1
    stranger = Transition(name, Trigger.OBSERVED, "something", Actor.SUCCESSOR, lc.initial.name)
    assert ("two-actors", f"state {name}") in _found(_with(lc, stranger))
    assert ("two-actors", f"state {name}") not in _found(_with(lc, replace(stranger, contended=True)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_nothing_leads_to_is_noticed_in_every_kind(kind: str) -> None:
    lost = stable("Lost", "Nobody gets here.", observed_as="")
    out = Transition("Lost", Trigger.OBSERVED, "something", Actor.AGENT, KINDS[kind].initial.name)
    assert _found(_with(KINDS[kind], lost, out)) == [("unreachable", "state Lost")]


def test_four_faults_in_a_document_are_four_findings() -> None:
    lifecycle = document.load((DATA / "four-faults.yaml").read_text(), "four-faults.yaml")
    assert _found(lifecycle) == [
        ("unreachable", "state Recycled"),
        ("dead-end", "state Lost"),
        ("no-timeout", "state Installing"),
        ("no-rollback", "action clear"),
    ]
