"""Lifecycles as they are shown: their rows, how well each state is, and what lint says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from stead.catalog import FAMILIES
from stead.catalog.explored import EXPLORED, Size
from stead.controller.kinds import Registered
from stead.controller.view.health import bad_states
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint import Finding, lint
from stead.lifecycle.rows import Action, Move, State, StateClass

YOURS = "yours"
"""The family of kinds that are not built in."""
FAMILY_OF: Mapping[str, str] = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class ShownState:
    """A state."""

    name: str
    state_class: str
    says: str
    bad: bool
    """Failure leads there, or nobody knows what it is."""
    deadline: int | None
    awaits: str | None


@dataclass(frozen=True, slots=True)
class ShownLifecycle:
    """A lifecycle whole."""

    kind: str
    family: str
    says: str
    parent: str
    members: str
    states: tuple[ShownState, ...]
    actions: Sequence[Action]
    moves: Sequence[Move]
    findings: tuple[Finding, ...]
    explored: Size | None
    """How much of it was seen when it was explored in full."""
    registered: Registered | None = None
    """Of a kind that is not built in."""


def shown_lifecycle(lifecycle: Lifecycle, registered: Registered | None = None) -> ShownLifecycle:
    """A lifecycle, with how it came where it is not built in."""
    shown = _shown(lifecycle)
    if registered is None:
        return shown
    size = Size(registered.explored["worlds"], registered.explored["steps"])
    return replace(shown, family=YOURS, explored=size, registered=registered)


@lru_cache(maxsize=100)
def _shown(lifecycle: Lifecycle) -> ShownLifecycle:
    """A lifecycle, looked through once."""
    bad = bad_states(lifecycle)
    return ShownLifecycle(
        kind=lifecycle.kind,
        family=FAMILY_OF.get(lifecycle.kind, ""),
        says=lifecycle.says,
        parent=lifecycle.parent,
        members=lifecycle.members,
        states=tuple(_state(state, bad) for state in lifecycle.states),
        actions=lifecycle.actions,
        moves=lifecycle.table,
        findings=tuple(lint(lifecycle)),
        explored=EXPLORED.get(lifecycle.kind),
    )


def _state(state: State, bad: frozenset[str]) -> ShownState:
    awaits = state.awaits if state.cls is StateClass.MOVING else None
    return ShownState(state.name, state.cls, state.says, state.name in bad, state.deadline, awaits)
