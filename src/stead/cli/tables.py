"""A lifecycle as tables of words: the same on a terminal and on a page of the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.files.times import duration
from stead.lifecycle.rows import Action, Orders, Rollback, State, Transition, Trigger

type Rows = list[tuple[str, ...]]

STATES = ("STATE", "CLASS", "TIMEOUT", "DESCRIPTION")
ACTIONS = ("ACTION", "SOURCE", "VIA", "TARGET", "ON FAILURE", "ROLLBACK", "BY", "FLAGS")
TRANSITIONS = ("FROM", "TRIGGER", "BY", "TO")

_FLAGS = {
    "forceable": "forceable",
    "hidden": "hidden",
    "scoped": "beside others",
    "preempts": "preempts",
    "checked": "checked first",
    "changes_spec": "new spec",
    "amends_spec": "amends the old one",
    "empty_only": "only when empty",
    "queues": "queues",
    "skips_claimed": "skips claimed members",
    "needs_reason": "needs a reason",
}


def states(lifecycle: Lifecycle) -> Rows:
    """A row for each state."""
    return [(s.name, s.cls, _deadline(s), s.description) for s in lifecycle.states]


def actions(lifecycle: Lifecycle) -> Rows:
    """A row for each action."""
    return [
        (
            a.name,
            _many(a.source),
            _many(a.via),
            a.target,
            a.on_failure,
            _undo(a),
            _many(a.actors),
            ", ".join(_flags(a)),
        )
        for a in lifecycle.actions
    ]


def transitions(lifecycle: Lifecycle) -> Rows:
    """A row for each transition of the derived table."""
    return [(m.source, _on(m), m.actor, m.target) for m in ordered(lifecycle)]


def ordered(lifecycle: Lifecycle) -> list[Transition]:
    """The derived table, states in the order of their declaration, what is asked for first."""
    place = {state.name: i for i, state in enumerate(lifecycle.states)}
    word = list(Trigger)
    return sorted(
        lifecycle.table,
        key=lambda m: (place[m.source], word.index(m.trigger), m.forced, m.on, m.actor, place[m.target]),
    )


def _on(move: Transition) -> str:
    """The word that makes a move: `request suspend`, `observed Running`."""
    forced = " (forced)" if move.forced else ""
    return f"{move.trigger} {move.on}".strip() + forced


def _deadline(state: State) -> str:
    if state.expiry:
        return f"{duration(state.expiry.after)}, then {state.expiry.action}"
    return duration(state.timeout) if state.timeout else ""


def _undo(action: Action) -> str:
    if not isinstance(action.rollback, Rollback):
        return action.rollback or ""
    return f"{action.rollback.verb}, then {action.rollback.target}"


def _flags(action: Action) -> Iterator[str]:
    yield from (says for name, says in _FLAGS.items() if getattr(action, name))
    if not action.joins:
        yield "does not join"
    if action.attempts != Orders().attempts:
        yield f"{action.attempts} attempt{'s' if action.attempts > 1 else ''}"
    if action.signals:
        yield f"signal to {action.signals}"
    if action.member_action:
        yield f"members {action.member_action}"
    if action.spares:
        yield f"spares {_many(action.spares)}"
    if action.idle:
        yield f"idle in {_many(action.idle)}"


def _many(names: Sequence[str]) -> str:
    return ", ".join(names)
