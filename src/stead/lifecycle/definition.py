"""What a lifecycle is: states, actions and moves, as plain values.

A kind of resource is described by three short tables. *States* have a class and a sentence. *Actions* say where they
may start, what they pass through, where they end, what happens when they fail and how that is undone. *Moves* are
the edges: who may lead a resource from which state to which, on what word. Most moves follow from the actions (see
`table`), so a kind lists only the rows that no action implies.

Nothing here runs anything. The same values are drawn, linted, explored, exported to YAML and decided upon.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stead.lifecycle.observation import observing_actions
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import Action, Aggregation, AncestorCondition, State, StateClass, Transition, Trigger
from stead.lifecycle.table import drift, expand


@dataclass(frozen=True)
class Lifecycle:
    """The declared state machine of a kind."""

    kind: str
    description: str
    states: tuple[State, ...]
    """The first is where an object begins."""
    actions: tuple[Action, ...]
    transitions: tuple[Transition, ...] = ()
    """Rows that no action implies."""
    excluded: tuple[Transition, ...] = ()
    """Rows that an action would imply and this kind does not have."""
    parent: str = ""
    """The kind above it in the tree."""
    preconditions: tuple[AncestorCondition, ...] = ()
    """What its ancestors must be in for a change to be accepted."""
    members: str = ""
    """The kind of its members, for a group."""
    aggregation: Aggregation = Aggregation.NONE
    aggregation_order: tuple[str, ...] = ()
    """What the fold goes by: ties of `dominant`, badness of `worst`."""
    drift_states: tuple[str, ...] = ()
    """Settled states that an observation may lead to and from, with nobody having asked."""
    on_absent: str = ""
    """Where an object goes that is seen absent without anybody having asked."""
    on_broken: str = ""
    """Where an object goes that is seen broken without anybody having asked."""
    absence_threshold: int = 3
    """How many looks in a row must miss an object before it counts as gone."""
    queue_field: str = ""
    """The field of its spec or facts that has the path of another object, in whose queue its actions wait their turn.
    """
    occupants: str = ""
    """The kind of what is on it without lying below it: each names it in the field of its spec that is called as this
    kind is."""
    observable: bool = True
    """What an agent sees of an object may be recorded by itself; false where other records have to agree with it."""
    presence: bool = False
    """Its agent connects and disconnects, with notify-ids."""
    pace: Pace = DEFAULT
    """How long is waited for whom. A cell sets it for all its kinds."""

    def __post_init__(self) -> None:
        """Every kind that can be observed has the actions for it, whoever declared the others."""
        own = tuple(action for action in self.actions if not action.observes)
        object.__setattr__(self, "actions", own)
        names = {action.name for action in own}
        derived = tuple(action for action in observing_actions(self) if action.name not in names)
        object.__setattr__(self, "actions", (*own, *derived))

    @cached_property
    def table(self) -> tuple[Transition, ...]:
        """Every move there is: what the actions imply, plus `moves`, less `without`; sorted, each once."""
        return expand(self)

    @cached_property
    def _states(self) -> dict[str, State]:
        return {s.name: s for s in self.states}

    @cached_property
    def _actions(self) -> dict[str, Action]:
        return {a.name: a for a in self.actions}

    @cached_property
    def _rows(self) -> dict[tuple[str, Trigger, str], tuple[Transition, ...]]:
        rows: dict[tuple[str, Trigger, str], tuple[Transition, ...]] = {}
        for move in self.table:
            key = (move.source, move.trigger, move.on)
            rows[key] = (*rows.get(key, ()), move)
        return rows

    @cached_property
    def _drift(self) -> dict[tuple[str, str], Transition]:
        return {(m.source, m.on): m for m in drift(self) if m not in self.excluded}

    @property
    def initial(self) -> State:
        """Where an object begins."""
        return self.states[0]

    def state(self, name: str) -> State:
        """The state of that name; `KeyError` where there is none."""
        return self._states[name]

    def has_state(self, name: str) -> bool:
        """Whether there is a state of that name."""
        return name in self._states

    def frees(self, state: str) -> bool:
        """Whether an object in that state is gone for good: nothing leaves the state, and its name is free."""
        return self.state(state).cls is StateClass.FINAL and not any(move.source == state for move in self.table)

    def action(self, name: str) -> Action | None:
        """The action of that name, if there is one."""
        return self._actions.get(name)

    def rows(self, source: str, trigger: Trigger, on: str) -> tuple[Transition, ...]:
        """The moves from a state on a word."""
        return self._rows.get((source, trigger, on), ())

    def drifted(self, source: str, seen: str) -> str:
        """Where a look that nobody asked for leads; empty where it leads nowhere."""
        move = self._drift.get((source, seen))
        return move.target if move else ""
