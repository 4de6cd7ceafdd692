"""The two actions of every kind whose objects an agent can observe; a group asks them of its members.

`refresh` observes the object now: what has drifted is recorded, as by the regular observation, and the operation ends
when that is done. `accept-observed` goes further, on the word of a user who says why: the observed state becomes the
recorded one also where no observation leads out by itself, such as in Failed. Neither changes anything at a provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stead.lifecycle.rows import ABSENT, BACK, BROKEN, Action, Actor, Fold, StateClass, Transition, Trigger

if TYPE_CHECKING:
    from stead.lifecycle.definition import Lifecycle

REFRESH = "refresh"
ACCEPT = "accept-observed"
OBSERVING = (REFRESH, ACCEPT)

PROBE = "probe"
"""The verb of an order to observe an object."""

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
    elif lifecycle.members and lifecycle.fold in (Fold.DOMINANT, Fold.WORST):
        found = (_of_members(lifecycle, REFRESH), _of_members(lifecycle, ACCEPT))
    else:
        return ()
    return tuple(action for action in found if action.starts)


def unobservable(kind: str) -> str:
    """Why a kind has neither of them."""
    article = "an" if kind[0] in "aeiou" else "a"
    return f"{article} {kind} has nothing that an agent could observe: its state is what is on record"


def _own(lifecycle: Lifecycle, name: str) -> Action:
    """Refresh where there is an object to observe; accept only where an observation does not lead out by itself."""
    starts = tuple(
        state.name
        for state in lifecycle.states
        if state.cls in (StateClass.STABLE, StateClass.FINAL)
        and state.seen != ABSENT
        and (name == REFRESH or not state.seen)
    )
    return _action(name, _DESCRIPTIONS[name], starts, orders=(PROBE,))


def _of_members(lifecycle: Lifecycle, name: str) -> Action:
    dominant = lifecycle.fold is Fold.DOMINANT
    resting = (StateClass.STABLE, StateClass.FINAL) if dominant else (StateClass.STABLE,)
    found = (state for state in lifecycle.order if lifecycle.has_state(state))
    starts = tuple(state for state in found if lifecycle.state(state).cls in resting)
    return _action(name, _OF_MEMBERS[name], starts, members=name, leaves_out=dominant)


def _action(name: str, says: str, starts: tuple[str, ...], **more: Any) -> Action:
    reason = name == ACCEPT
    orders = more.pop("orders", ())
    return Action(
        name, says, starts, (), BACK, orders=orders, undo="leave", observes=True, needs_reason=reason, **more
    )


def is_observable(lifecycle: Lifecycle) -> bool:
    """Whether an agent can tell states of the kind apart, and what it sees may be recorded by itself."""
    seen = {state.seen for state in lifecycle.states if state.cls is not StateClass.ABSENT}
    return lifecycle.observed_alone and bool(seen - {"", ABSENT})


def accepted(lifecycle: Lifecycle, source: str, seen: str) -> str:
    """The state that stands for an observation, where a user accepts it; empty where no state does."""
    if seen == BROKEN:
        return lifecycle.broken if lifecycle.broken in lifecycle.drifts and lifecycle.broken != source else ""
    if seen == ABSENT and lifecycle.gone and lifecycle.state(lifecycle.gone).seen == ABSENT:
        return lifecycle.gone
    if seen == ABSENT:
        return ""  # a record leaves by an action that removes it
    rests = [state.name for state in lifecycle.states if state.cls is StateClass.STABLE and state.seen == seen]
    return next(iter(rests), "")


def accepted_moves(lifecycle: Lifecycle, action: Action, sights: tuple[str, ...]) -> Iterator[Transition]:
    """Where accepting leads beyond what any observation does. A group follows its members, as ever."""
    for source in action.starts:
        for seen in sights if action.name == ACCEPT else ():
            target = accepted(lifecycle, source, seen)
            if target and not lifecycle.drifted(source, seen):
                yield Transition(source, Trigger.ACCEPTED, seen, Actor.AGENT, target)
