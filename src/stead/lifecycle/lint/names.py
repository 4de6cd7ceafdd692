"""Rules about names: what can be said of a lifecycle before its table of moves is derived."""

from __future__ import annotations

from collections.abc import Iterator

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint.finding import Finding, Rule
from stead.lifecycle.rows import ON_FAILURE, ORIGIN, StateClass, Transition, Trigger

# The triggers whose word is about an action; the others name an observation, a kind, or a row.
_ABOUT_ACTIONS = frozenset(Trigger) - {
    Trigger.OBSERVED,
    Trigger.CHILDREN,
    Trigger.CONNECTED,
    Trigger.DISCONNECTED,
}


def no_states(lc: Lifecycle) -> Iterator[Finding]:
    """A lifecycle has a state to begin in."""
    if not lc.states:
        yield Finding(
            Rule.NO_STATES,
            "states",
            "there is none, so nothing says where an object begins",
            "begin with the state before anything was done",
        )


def nowhere(lc: Lifecycle) -> Iterator[Finding]:
    """Every state that is named exists."""
    for where, field, name, constants in _references(lc):
        if name not in constants and not lc.has_state(name):
            yield Finding(
                Rule.UNKNOWN_STATE,
                where,
                f"`{field}` names {name or 'nothing'}, which is no state of {lc.kind}",
                "name a state that there is, or add this one",
            )


def _references(lc: Lifecycle) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Each place where a state is named: where, in which field, which name, and what else may stand there."""
    for state in lc.states:
        yield f"state {state.name}", "on_failure", state.on_failure, (ORIGIN, "")
    for action in lc.actions:
        where = f"action {action.name}"
        for field in ("source", "via", "idle"):
            for name in getattr(action, field):
                yield where, field, name, ()
        yield where, "target", action.target, (ORIGIN,)
        yield where, "on_failure", action.on_failure, (ORIGIN, "")
        yield where, "rollback.target", action.rollback_target, (ORIGIN, ON_FAILURE, "")
        yield where, "on_timeout", action.on_timeout, (ORIGIN, ON_FAILURE, "")
    for move in (*lc.transitions, *lc.excluded):
        yield at(move), "source", move.source, ()
        yield at(move), "target", move.target, ()
    for field in ("aggregation_order", "drift_states"):
        for name in getattr(lc, field):
            yield field, field, name, ()
    yield "on_absent", "on_absent", lc.on_absent, ("",)
    yield "on_broken", "on_broken", lc.on_broken, ("",)


def at(move: Transition) -> str:
    """How a finding names a move."""
    return f"transition {move.source} -> {move.target}"


def name_twice(lc: Lifecycle) -> Iterator[Finding]:
    """A name means one thing, however it is spelled: people type names, and not every system minds capitals.

    A state and an action may share one: a door that is open was opened by `open`.
    """
    for what, names in (("state", [s.name for s in lc.states]), ("action", [a.name for a in lc.actions])):
        first: dict[str, int] = {}
        for place, name in enumerate(names):
            other = first.setdefault(name.casefold(), place)
            if other != place:
                says = f"there is a {what} {names[other]} before it"
                yield Finding(Rule.DUPLICATE_NAME, f"{what} {name}", says, "give one of them another name")


def unknown_action(lc: Lifecycle) -> Iterator[Finding]:
    """Every action that is named exists."""
    for where, field, name in _action_references(lc):
        if lc.action(name) is None:
            yield Finding(
                Rule.UNKNOWN_ACTION,
                where,
                f"`{field}` names {name or 'nothing'}, which is no action of {lc.kind}",
                "name an action that there is, or add this one",
            )


def _action_references(lc: Lifecycle) -> Iterator[tuple[str, str, str]]:
    for state in lc.states:
        if state.expiry:
            yield f"state {state.name}", "expiry.action", state.expiry.action
    for action in lc.actions:
        if action.signals:
            yield f"action {action.name}", "work.signal", action.signals
    for move in (*lc.transitions, *lc.excluded):
        if move.trigger in _ABOUT_ACTIONS:
            yield at(move), "trigger", move.on


def absent_twice(lc: Lifecycle) -> Iterator[Finding]:
    """There is one way of not being there."""
    first, *others = [s.name for s in lc.states if s.cls is StateClass.ABSENT] or [""]
    for name in others:
        yield Finding(
            Rule.SEVERAL_ABSENT,
            f"state {name}",
            f"says, as {first} does, that there is no such object",
            "let one state of the class absent stand for both, or make this one final",
        )


def ambiguous_seen(lc: Lifecycle) -> Iterator[Finding]:
    """What an agent sees without being asked tells one state."""
    first: dict[str, str] = {}
    for name in dict.fromkeys(lc.drift_states):
        seen = lc.state(name).observed_as if lc.has_state(name) else ""
        if seen and first.setdefault(seen, name) != name:
            yield Finding(
                Rule.AMBIGUOUS_OBSERVATION,
                f"state {name}",
                f"is seen as {seen}, and so is {first[seen]}; an observation cannot tell which one it drifted to",
                "give one another `observed_as`, or take it out of `drift_states`",
            )
