"""Rules about paths: the states that the transitions connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint.finding import Finding, Rule
from stead.lifecycle.lint.names import at
from stead.lifecycle.rows import StateClass, Transition, Trigger
from stead.lifecycle.table import expand


def implied_nowhere(lc: Lifecycle) -> Iterator[Finding]:
    """What the actions imply leads from states to states.

    `(origin)` has no meaning for a move that no operation makes: where the request itself is the whole action, and
    where an undo begins.
    """
    for move in lc.table:
        for name in (move.source, move.target):
            if not lc.has_state(name):
                yield Finding(
                    Rule.UNKNOWN_STATE,
                    f"action {move.on}",
                    f"implies a transition on `{move.trigger}` that begins or ends at {name or 'nothing'}",
                    "name the state: `on_failure` of an action with a rollback, `target` of one without work",
                )


def vain_strike(lc: Lifecycle) -> Iterator[Finding]:
    """What `without` strikes would be there otherwise."""
    implied = set(expand(replace(lc, excluded=())))
    for move in lc.excluded:
        if move not in implied:
            yield Finding(
                Rule.USELESS_EXCLUSION,
                at(move),
                f"`excluded` lists it, but no action implies it on `{move.trigger} {move.on}` by {move.actor}",
                "write the row as the table has it, or leave it out",
            )


def vain_expiry(lc: Lifecycle) -> Iterator[Finding]:
    """What expires can be asked for by the clock, there."""
    for state in lc.states:
        action = lc.action(state.expiry.action) if state.expiry else None
        if action is None:
            continue
        refused = ""
        if state.cls is StateClass.TRANSITIONAL:
            refused = "a transitional state has a timeout and never expires"
        elif state.name not in action.source:
            refused = f"{action.name} does not start here"
        if refused:
            yield Finding(
                Rule.USELESS_EXPIRY,
                f"state {state.name}",
                f"expires in vain: {refused}",
                f"let {action.name} start here, or let nothing expire",
            )


def unreachable(lc: Lifecycle) -> Iterator[Finding]:
    """A way leads to every state."""
    reached = reachable(lc)
    for state in lc.states:
        if state.name not in reached:
            yield Finding(
                Rule.UNREACHABLE,
                f"state {state.name}",
                f"no way leads here from {lc.initial.name}",
                "let an action or a transition lead here, or remove the state",
            )


def reachable(lc: Lifecycle) -> frozenset[str]:
    """The states that an object can come to be in.

    An action that fails leads back to where it began, and a forced one may begin almost anywhere. That alone reaches
    nothing: one must have been there before. So actions begin only in what was reached already, until nothing is new.
    """
    reached = frozenset({lc.initial.name})
    while True:
        moves = expand(_begun_in(lc, reached))
        found = _closure(reached, ((m.source, m.target) for m in moves))
        if found == reached:
            return reached
        reached = found


def _begun_in(lc: Lifecycle, names: frozenset[str]) -> Lifecycle:
    """The lifecycle as it is while no action can begin outside these states."""
    others = tuple(s.name for s in lc.states if s.name not in names)
    actions = (
        # An idle state is one that not even force starts from.
        replace(a, source=tuple(n for n in a.source if n in names), idle=(*a.idle, *others))
        for a in lc.actions
    )
    return replace(lc, actions=tuple(actions))


def dead_ends(lc: Lifecycle) -> Iterator[Finding]:
    """Something leaves every settled state, and every moving one comes to rest."""
    stuck = hopeless(lc)
    left = {m.source for m in lc.table if m.target != m.source and m.trigger is not Trigger.ACCEPTED}
    reached = reachable(lc)
    for state in lc.states:
        if state.name not in reached:
            continue
        if state.name in stuck:
            yield Finding(
                Rule.DEAD_END,
                f"state {state.name}",
                "no path leads from here to a state that is stable, final or absent",
                "let its action succeed, and fail, in a stable state",
            )
        elif state.cls is StateClass.STABLE and state.name not in left:
            yield Finding(
                Rule.DEAD_END,
                f"state {state.name}",
                "nothing leaves it, though it is not final",
                "let an action start here, or give it the class final",
            )


def hopeless(lc: Lifecycle) -> frozenset[str]:
    """The moving states from which nothing comes to rest."""
    resting = frozenset(s.name for s in lc.states if s.cls is not StateClass.TRANSITIONAL)
    return frozenset(s.name for s in lc.states) - _closure(resting, ((m.target, m.source) for m in lc.table))


def _closure(names: frozenset[str], edges: Iterable[tuple[str, str]]) -> frozenset[str]:
    """All that can be reached from the names."""
    leads: dict[str, set[str]] = {}
    for here, there in edges:
        leads.setdefault(here, set()).add(there)
    found, new = set(names), set(names)
    while new:
        new = {there for here in new for there in leads.get(here, ())} - found
        found |= new
    return frozenset(found)


def final_left(lc: Lifecycle) -> Iterator[Finding]:
    """A final state is left only because of a request; that of a group also because its members have left it."""
    for state in lc.states:
        if state.cls is not StateClass.FINAL:
            continue
        if state.expiry:
            yield _left(state.name, f"it expires, and the clock asks for {state.expiry.action}")
        for move in lc.table:
            if move.source == state.name != move.target and not _asked_for(lc, move):
                word = f"{move.trigger} {move.on}".strip()
                yield _left(state.name, f"on `{word}`, {move.actor} leads it to {move.target}")


def _left(name: str, how: str) -> Finding:
    return Finding(
        Rule.FINAL_LEFT,
        f"state {name}",
        f"is final, and yet something leaves it by itself: {how}",
        "give it the class stable, or leave the transition to a request",
    )


def _asked_for(lc: Lifecycle, move: Transition) -> bool:
    """Whether an operation that somebody asked for makes the move.

    Where an action has no moving state, its work goes on in the state it started in, and so do its reports.
    """
    if move.trigger in (Trigger.REQUEST, Trigger.ACCEPTED):
        return True
    if move.trigger is Trigger.CHILDREN and move.on == lc.members:
        return True  # it says what the members of a group are in, and they left it
    working = [
        a.name
        for a in lc.actions
        if not (a.via or a.signals or a.scoped) and (move.source in a.source or a.forceable)
    ]
    if move.trigger is Trigger.OBSERVED:
        return bool(working) and move.source not in lc.drift_states
    return move.on in working
