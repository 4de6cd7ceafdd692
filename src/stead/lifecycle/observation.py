"""The two actions of every kind whose objects an agent can observe; a group asks them of its members.

`refresh` observes the object now: what has drifted is recorded, as by the regular observation, and the operation ends
when that is done. `accept-observed` goes further, on the word of a user who says why: the observed state becomes the
recorded one also where no observation leads out by itself, such as in Failed. Neither changes anything at a provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stead.lifecycle.rows import (
    ABSENT,
    BROKEN,
    LEAVE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    Observation,
    StateClass,
    Transition,
    Trigger,
)

if TYPE_CHECKING:
    from stead.lifecycle.definition import Lifecycle

REFRESH = "refresh"
ACCEPT = "accept-observed"
OBSERVING = (REFRESH, ACCEPT)

_DESCRIPTIONS = {
    REFRESH: "Observe the object now, and record what has drifted.",
    ACCEPT: "Make the observed state the recorded one; needs a reason.",
}
_OF_MEMBERS = {
    REFRESH: "Observe every member now, and record what has drifted.",
    ACCEPT: "Make the observed state of every member its recorded one; needs a reason.",
}


def observing_actions(lifecycle: Lifecycle) -> tuple[Action, ...]:
    """The actions, in a kind that has objects to observe or a state that follows its members; else none."""
    if is_observable(lifecycle):
        found = (_own(lifecycle, REFRESH), _own(lifecycle, ACCEPT))
    elif lifecycle.members and lifecycle.aggregation in (Aggregation.DOMINANT, Aggregation.WORST):
        found = (_of_members(lifecycle, REFRESH), _of_members(lifecycle, ACCEPT))
    else:
        return ()
    return tuple(action for action in found if action.source)


def unobservable(kind: str) -> str:
    """Why a kind has neither of them."""
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{article} {kind} has nothing that an agent could observe: its state is what is on record"


def _own(lifecycle: Lifecycle, name: str) -> Action:
    """Refresh where there is an object to observe; accept only where an observation does not lead out by itself."""
    source = tuple(
        state.name
        for state in lifecycle.states
        if state.cls in (StateClass.STABLE, StateClass.FINAL)
        and state.observed_as != ABSENT
        and (name == REFRESH or not state.observed_as)
    )
    return _action(name, _DESCRIPTIONS[name], source, Observation())


def _of_members(lifecycle: Lifecycle, name: str) -> Action:
    dominant = lifecycle.aggregation is Aggregation.DOMINANT
    resting = (StateClass.STABLE, StateClass.FINAL) if dominant else (StateClass.STABLE,)
    found = (state for state in lifecycle.aggregation_order if lifecycle.has_state(state))
    source = tuple(state for state in found if lifecycle.state(state).cls in resting)
    return _action(name, _OF_MEMBERS[name], source, Observation(name, skips_claimed=dominant))


def _action(name: str, description: str, source: tuple[str, ...], work: Observation) -> Action:
    return Action(name, description, source, (), ORIGIN, work=work, rollback=LEAVE, needs_reason=name == ACCEPT)


def is_observable(lifecycle: Lifecycle) -> bool:
    """Whether an agent can tell states of the kind apart, and what it sees may be recorded by itself."""
    seen = {state.observed_as for state in lifecycle.states if state.cls is not StateClass.ABSENT}
    return lifecycle.observable and bool(seen - {"", ABSENT})


def accepted(lifecycle: Lifecycle, source: str, seen: str) -> str:
    """The state that stands for an observation, where a user accepts it; empty where no state does."""
    if seen == BROKEN:
        return (
            lifecycle.on_broken
            if lifecycle.on_broken in lifecycle.drift_states and lifecycle.on_broken != source
            else ""
        )
    if seen == ABSENT and lifecycle.on_absent and lifecycle.state(lifecycle.on_absent).observed_as == ABSENT:
        return lifecycle.on_absent
    if seen == ABSENT:
        return ""  # a record leaves by an action that removes it
    rests = [state.name for state in lifecycle.states if state.cls is StateClass.STABLE and state.observed_as == seen]
    return next(iter(rests), "")


def accepted_moves(lifecycle: Lifecycle, action: Action, sights: tuple[str, ...]) -> Iterator[Transition]:
    """Where accepting leads beyond what any observation does. A group follows its members, as ever."""
    for source in action.source:
        for seen in sights if action.name == ACCEPT else ():
            target = accepted(lifecycle, source, seen)
            if target and not lifecycle.drifted(source, seen):
                yield Transition(source, Trigger.ACCEPTED, seen, Actor.AGENT, target)
