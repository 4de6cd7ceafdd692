"""How well a state is: one word for it, the same for all kinds, and an order of what to look at first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ON_FAILURE, ORIGIN, Aggregation, StateClass

UNDEFINED = "Undefined"
"""What a state is called of which nobody knows what it is."""


class Health(StrEnum):
    """The worst first."""

    TROUBLE = "trouble"
    """Nobody wants it to be there."""
    MOVING = "moving"
    """It is on its way."""
    WELL = "well"
    """It rests."""
    ENDED = "ended"
    """It has come to its end."""
    EMPTY = "empty"
    """There is nothing."""


_CLASSES = {
    StateClass.STABLE: Health.WELL,
    StateClass.TRANSITIONAL: Health.MOVING,
    StateClass.FINAL: Health.ENDED,
    StateClass.ABSENT: Health.EMPTY,
}
_ORDER = list(Health)


def rank(health: Health) -> int:
    """Its place; the worst is 0."""
    return _ORDER.index(health)


def bad_states(lifecycle: Lifecycle) -> frozenset[str]:
    """The states at rest that failure, silence or a broken object lead to."""
    named = {lifecycle.on_broken, UNDEFINED}
    named |= {name for action in lifecycle.actions for name in (action.on_failure, action.on_timeout)}
    # Where failure on the way leads to the same end as success, there is nothing bad about it.
    named |= {
        state.on_failure
        for action in lifecycle.actions
        for state in map(lifecycle.state, action.via)
        if state.on_failure != action.target
    }
    if lifecycle.aggregation is Aggregation.WORST:
        named |= set(lifecycle.aggregation_order[:1])
    resting = {s.name for s in lifecycle.states if s.cls in (StateClass.STABLE, StateClass.FINAL)}
    return frozenset(named & resting - {ORIGIN, ON_FAILURE, ""})


class HealthTable:
    """The health of every state of every kind, looked up."""

    def __init__(self, kinds: Mapping[str, Lifecycle]) -> None:
        self._known = {
            (kind, state.name): Health.TROUBLE if state.name in bad_states(lc) else _CLASSES[state.cls]
            for kind, lc in kinds.items()
            for state in lc.states
        }
        self.ranks = {f"{kind} {state}": rank(health) for (kind, state), health in self._known.items()}
        """By kind and state, with a space between."""

    def of(self, kind: str, state: str) -> Health:
        """Of a state; where nobody knows it, there is nothing."""
        return self._known.get((kind, state), Health.EMPTY)

    def worst(self, states: Iterable[tuple[str, str, int]]) -> tuple[Health, str]:
        """The worst of kinds and states, with the state; of those alike the one that most are in."""
        found = [(rank(self.of(kind, state)), -members, state) for kind, state, members in states]
        if not found:
            return Health.EMPTY, ""
        at, _, state = min(found)
        return _ORDER[at], state
