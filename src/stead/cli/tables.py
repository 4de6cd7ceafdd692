"""A lifecycle as tables of words: the same on a terminal and on a page of the docs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.files.times import duration
from stead.lifecycle.rows import Action, State, Transition, Trigger

type Rows = list[tuple[str, ...]]

STATES = ("STATE", "CLASS", "TIMEOUT", "DESCRIPTION")
ACTIONS = ("ACTION", "SOURCE", "VIA", "TARGET", "ON FAILURE", "ROLLBACK", "BY", "FLAGS")
TRANSITIONS = ("FROM", "TRIGGER", "BY", "TO")

_FLAGS = {
    "forceable": "forceable",
    "hidden": "hidden",
    "beside": "beside others",
    "outranks": "outranks",
    "checked": "checked first",
    "respec": "new spec",
    "amends": "laid over the old one",
    "empty_only": "only when empty",
    "queues": "queues",
    "leaves_out": "leaves out what is claimed",
    "needs_reason": "needs a reason",
}


def states(lifecycle: Lifecycle) -> Rows:
    """A row for each state."""
    return [(s.name, s.cls, _deadline(s), s.says) for s in lifecycle.states]


def actions(lifecycle: Lifecycle) -> Rows:
    """A row for each action."""
    return [
        (
            a.name,
            _many(a.starts),
            _many(a.through),
            a.ends,
            a.fails,
            _undo(a),
            _many(a.by),
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
    """The word that makes a move: `request suspend`, `seen Running`."""
    forced = " (forced)" if move.forced else ""
    return f"{move.trigger} {move.on}".strip() + forced


def _deadline(state: State) -> str:
    if state.expires:
        return f"{duration(state.expires.after)}, then {state.expires.action}"
    return duration(state.deadline) if state.deadline else ""


def _undo(action: Action) -> str:
    if not action.undo or action.undo == "leave":
        return action.undo
    return f"{action.undo}, then {action.undone}"


def _flags(action: Action) -> Iterator[str]:
    yield from (says for name, says in _FLAGS.items() if getattr(action, name))
    if not action.joins:
        yield "does not join"
    if action.attempts != type(action).__dataclass_fields__["attempts"].default:
        yield f"{action.attempts} attempt{'s' if action.attempts > 1 else ''}"
    if action.steers:
        yield f"steers {action.steers}"
    if action.members:
        yield f"members {action.members}"
    if action.spares:
        yield f"spares {_many(action.spares)}"
    if action.idle:
        yield f"idle in {_many(action.idle)}"


def _many(names: Sequence[str]) -> str:
    return ", ".join(names)
