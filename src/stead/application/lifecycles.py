"""Lifecycles as they are shown: their rows, how well each state is, and what lint says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from stead.application.health import bad_states
from stead.application.models import StateClassName
from stead.catalog import FAMILIES
from stead.catalog.explored import EXPLORED
from stead.controller.kinds.kinds import RegisteredLifecycle
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint import lint
from stead.lifecycle.rows import Action, State, StateClass
from stead.schema import Model

YOURS = "yours"
"""The family of kinds that are not built in."""
FAMILY_OF: Mapping[str, str] = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}


@dataclass(frozen=True, slots=True)
class LifecycleState(Model):
    """A state."""

    name: str
    state_class: StateClassName
    description: str
    unhealthy: bool
    """A failure leads there, or the outcome is unknown."""
    timeout: int | None
    """Seconds that a moving state may last before the object is probed."""
    awaits: str | None
    """Whose word a moving state waits for."""


@dataclass(frozen=True, slots=True)
class LifecycleAction(Model):
    """An action that can be requested, and how it goes."""

    name: str
    description: str
    source: tuple[str, ...]
    via: tuple[str, ...]
    target: str
    """Where success leads; `(origin)` for where it began."""
    on_failure: str
    """Where failure leads; empty where it cannot fail."""
    actors: tuple[str, ...]
    """Actors who may ask."""
    rollback: str
    forceable: bool
    updates_spec: bool
    """It brings a new spec."""
    signals: str
    """Not an operation of its own: a word to the running operation of this action."""
    observes: bool
    """It observes the object, and changes nothing at the provider."""
    needs_reason: bool
    """A request has to say why."""


@dataclass(frozen=True, slots=True)
class LifecycleTransition(Model):
    """One edge."""

    source: str
    trigger: str
    detail: str
    actor: str
    target: str
    forced: bool


@dataclass(frozen=True, slots=True)
class LifecycleFinding(Model):
    """A hole in a lifecycle, and how to mend it."""

    rule: str
    location: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class ExploredSize(Model):
    """How much there was to see when it was explored in full; nothing of it was as it must not be."""

    worlds: int
    steps: int


@dataclass(frozen=True, slots=True)
class LifecycleName(Model):
    """A lifecycle in brief."""

    kind: str
    family: str
    description: str
    parent: str
    """The kind above it in the tree."""
    members: str
    """Of a group: the kind of its members."""
    version: int | None
    """Of a kind that was registered; null where it is built in."""
    states: int
    actions: int
    transitions: int
    findings: int


@dataclass(frozen=True, slots=True)
class LifecycleDetail(Model):
    """A lifecycle whole."""

    kind: str
    family: str
    description: str
    parent: str
    members: str
    states: tuple[LifecycleState, ...]
    """The first is where an object begins."""
    actions: tuple[LifecycleAction, ...]
    transitions: tuple[LifecycleTransition, ...]
    """Every one there is."""
    findings: tuple[LifecycleFinding, ...]
    explored: ExploredSize | None
    """How much there was to see when it was explored in full."""
    registered: RegisteredLifecycle | None = None
    """Null where it is built in."""


def shown_lifecycle(lifecycle: Lifecycle, registered: RegisteredLifecycle | None = None) -> LifecycleDetail:
    """A lifecycle, with how it came where it is not built in."""
    shown = _shown(lifecycle)
    if registered is None:
        return shown
    size = ExploredSize(registered.explored["worlds"], registered.explored["steps"])
    return replace(shown, family=YOURS, explored=size, registered=registered)


@lru_cache(maxsize=100)
def _shown(lifecycle: Lifecycle) -> LifecycleDetail:
    """A lifecycle, looked through once."""
    bad, size = bad_states(lifecycle), EXPLORED.get(lifecycle.kind)
    return LifecycleDetail.of(
        lifecycle,
        family=FAMILY_OF.get(lifecycle.kind, ""),
        states=tuple(_state(state, bad) for state in lifecycle.states),
        actions=tuple(map(_action, lifecycle.actions)),
        transitions=tuple(
            LifecycleTransition(m.source, m.trigger, m.on, m.actor, m.target, m.forced) for m in lifecycle.table
        ),
        findings=tuple(LifecycleFinding(f.rule, f.where, f.message, f.remedy) for f in lint(lifecycle)),
        explored=None if size is None else ExploredSize(*size),
        registered=None,
    )


def _state(state: State, bad: frozenset[str]) -> LifecycleState:
    awaits = state.awaits if state.cls is StateClass.TRANSITIONAL else None
    return LifecycleState(state.name, state.cls, state.description, state.name in bad, state.timeout, awaits)


def _action(action: Action) -> LifecycleAction:
    return LifecycleAction.of(action, rollback=action.rollback_verb, updates_spec=action.changes_spec)


def name_of(whole: LifecycleDetail) -> LifecycleName:
    """A lifecycle in brief."""
    return LifecycleName.of(
        whole,
        version=whole.registered.version if whole.registered is not None else None,
        states=len(whole.states),
        actions=len(whole.actions),
        transitions=len(whole.transitions),
        findings=len(whole.findings),
    )
