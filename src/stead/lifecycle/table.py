"""What the rows of a lifecycle mean: the whole table of moves, derived.

An action `starts -> through -> ends, or fails` implies the same moves in every kind:

* its actors *request* it from each start, the clock from a state that expires into it; a forceable one, forced,
  from wherever there is something to act on; an outranking one from everything that is not yet on its own way;
* a moving state that awaits an *agent* is left by what the agent says: `started` leads to the next state of the same
  order; `done`, from any of them (a message in between may be lost), to what follows; `failed` to where failure
  leads; `seen` to what was seen;
* one that awaits *children* or the *controller* is left by the controller;
* the *clock* leaves it when even a probe stays unanswered; children have deadlines of their own, so a state that
  awaits them needs no word from the clock: they are counted anew;
* a failed action is *undone* by the controller.

A kind adds rows of its own, and may strike one that it does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stead.lifecycle.observation import accepted_moves
from stead.lifecycle.rows import (
    ABSENT,
    BROKEN,
    ON_FAILURE,
    ORIGIN,
    Action,
    Actor,
    Aggregation,
    AwaitedParty,
    State,
    StateClass,
    Transition,
    Trigger,
)

if TYPE_CHECKING:
    from stead.lifecycle.definition import Lifecycle


def expand(lifecycle: Lifecycle) -> tuple[Transition, ...]:
    """Every move of a lifecycle, sorted, each once."""
    moves = {move for action in lifecycle.actions for move in _of_action(lifecycle, action)}
    moves |= set(drift(lifecycle)) | set(_of_fold(lifecycle)) | set(lifecycle.transitions)
    return tuple(sorted(moves - set(lifecycle.excluded)))


def resolve(action: Action, target: str, origins: tuple[str, ...], state: State | None = None) -> tuple[str, ...]:
    """The states a target may stand for: itself, or where the operation began, or where it fails."""
    if target == ON_FAILURE:
        target = (state.on_failure if state else "") or action.on_failure
    if target == ORIGIN:
        return origins
    return (target,) if target else ()


def way(lifecycle: Lifecycle, action: Action) -> Iterator[tuple[str, str, bool]]:
    """The moving states of an action: each with the state that follows its order or step, and whether it is last.

    Consecutive states that await an agent belong to one order (requested, then under way), so all of them are
    followed by the same state.
    """
    states = [lifecycle.state(name) for name in action.via]
    for i, state in enumerate(states):
        after = i + 1
        if state.awaits is AwaitedParty.AGENT:
            while after < len(states) and states[after].awaits is AwaitedParty.AGENT:
                after += 1
        last = after == len(states)
        yield state.name, action.target if last else states[after].name, last


def _of_action(lc: Lifecycle, action: Action) -> Iterator[Transition]:
    yield from _requests(lc, action)
    if action.observes:
        yield from accepted_moves(lc, action, observations(lc))
    if action.signals or action.scoped or action.observes:
        return
    origins = _origins(lc, action)
    if not action.via:
        for start in origins:
            if action.member_action:
                yield from _children(lc, action, lc.state(start), action.target, True, (start,))
            elif action.verbs:
                yield from _reports(lc, action, lc.state(start), action.target, (start,))
                yield from _clock(action, lc.state(start), (start,))
    for name, follows, last in way(lc, action):
        state = lc.state(name)
        if state.awaits is AwaitedParty.AGENT:
            yield from _reports(lc, action, state, follows, origins)
        elif state.awaits is AwaitedParty.CHILDREN:
            yield from _children(lc, action, state, follows, last, origins)
        else:
            yield from _steps(lc, action, state, follows, last, origins)
        if state.awaits is not AwaitedParty.CHILDREN:
            yield from _clock(action, state, origins)
    for here, there in zip(action.via, action.via[1:], strict=False):
        if lc.state(here).awaits is lc.state(there).awaits is AwaitedParty.AGENT:
            yield Transition(here, Trigger.STARTED, action.name, Actor.AGENT, there)
    if action.rollback_verb:
        for target in resolve(action, action.rollback_target, origins):
            if target != action.on_failure:
                yield Transition(action.on_failure, Trigger.ROLLED_BACK, action.name, Actor.CONTROLLER, target)


def _origins(lc: Lifecycle, action: Action) -> tuple[str, ...]:
    """The states in which an operation of the action can have begun, as far as `ORIGIN` may lead there."""
    forced = tuple(s.name for s in lc.states if _forceable_from(lc, action, s))
    return tuple(dict.fromkeys((*action.source, *forced)))


def _forceable_from(lc: Lifecycle, action: Action, state: State) -> bool:
    """Force skips the check of the state, where there is something to act on; out of a final state it only ends."""
    if not action.forceable or state.name in (*action.source, *action.idle) or state.observed_as == ABSENT:
        return False
    if state.cls is StateClass.FINAL:
        return lc.has_state(action.target) and lc.state(action.target).cls in (StateClass.FINAL, StateClass.ABSENT)
    return state.cls is StateClass.STABLE


def _requests(lc: Lifecycle, action: Action) -> Iterator[Transition]:
    first = entry(action)
    if not first:
        return
    for actor in action.actors:
        for start in action.source:
            yield Transition(start, Trigger.REQUEST, action.name, actor, first)
        for state in lc.states:
            if _forceable_from(lc, action, state):
                yield Transition(state.name, Trigger.REQUEST, action.name, actor, first, forced=True)
            if action.preempts and _outranked(action, state):
                yield Transition(state.name, Trigger.REQUEST, action.name, actor, first)
    for state in lc.states:
        if state.expiry is not None and state.expiry.action == action.name:
            yield Transition(state.name, Trigger.REQUEST, action.name, Actor.CLOCK, first)


def entry(action: Action) -> str:
    """The state that an accepted request leads to at once; empty where the request itself moves nothing."""
    if action.via:
        return action.via[0]
    works = action.verbs or action.member_action or action.signals or action.scoped
    return "" if works else action.target


def _outranked(action: Action, state: State) -> bool:
    return state.cls is StateClass.TRANSITIONAL and state.name not in (*action.via, *action.source)


def _reports(
    lc: Lifecycle, action: Action, state: State, follows: str, origins: tuple[str, ...]
) -> Iterator[Transition]:
    """What an agent's words do in a state that waits for it."""
    source = state.name
    for target in resolve(action, follows, origins):
        yield Transition(source, Trigger.SUCCEEDED, action.name, Actor.AGENT, target)
    for target in resolve(action, ON_FAILURE, origins, state):
        yield Transition(source, Trigger.FAILED, action.name, Actor.AGENT, target)
    if action.checked:
        for target in origins:
            yield Transition(source, Trigger.DECLINED, action.name, Actor.AGENT, target)
    for seen in observations(lc):
        for origin in origins:
            target = truth(lc, action, origin, follows, seen, state)
            if target:
                yield Transition(source, Trigger.OBSERVED, seen, Actor.AGENT, target)


def truth(lc: Lifecycle, action: Action, origin: str, follows: str, seen: str, state: State) -> str:
    """Where an observation leads a resource that was on its way: to what is true, or to failure."""
    follows = origin if follows == ORIGIN else follows
    # Where others go on, and nothing shows that they do, all that can be seen is the end.
    shows = (
        lc.state(follows).observed_as
        or lc.state(follows).cls is not StateClass.TRANSITIONAL
        or action.target == ORIGIN
    )
    if lc.state(follows if shows else action.target).observed_as == seen:
        return follows
    was_there = lc.state(origin).cls is not StateClass.ABSENT
    if was_there and lc.state(origin).observed_as == seen:
        return origin
    for name in lc.drift_states:
        if lc.state(name).observed_as == seen:
            return name
    if seen == ABSENT and was_there and lc.on_absent and lc.state(origin).observed_as != ABSENT:
        return lc.on_absent
    targets = resolve(action, ON_FAILURE, (origin,), state)
    return targets[0] if targets else ""


def _children(
    lc: Lifecycle, action: Action, state: State, follows: str, last: bool, origins: tuple[str, ...]
) -> Iterator[Transition]:
    """What the children amount to, in a state that waits for them."""
    targets = {*resolve(action, follows, origins), *resolve(action, ON_FAILURE, origins, state)}
    if last and action.member_action and lc.aggregation is Aggregation.DOMINANT:
        targets |= set(settled_of(lc))
    for target in targets - {state.name}:
        yield Transition(state.name, Trigger.CHILDREN, action.name, Actor.CONTROLLER, target)
    if action.checked:
        for target in origins:
            yield Transition(state.name, Trigger.DECLINED, action.name, Actor.CONTROLLER, target)


def _steps(
    lc: Lifecycle, action: Action, state: State, follows: str, last: bool, origins: tuple[str, ...]
) -> Iterator[Transition]:
    """The controller's own step."""
    implied = settled_of(lc) if last and lc.aggregation is Aggregation.EVENTS and action.changes_spec else ()
    for target in implied or resolve(action, follows, origins):
        yield Transition(state.name, Trigger.NEXT, action.name, Actor.CONTROLLER, target)
    if action.checked:
        for target in origins:
            yield Transition(state.name, Trigger.DECLINED, action.name, Actor.CONTROLLER, target)
    for target in resolve(action, ON_FAILURE, origins, state):
        yield Transition(state.name, Trigger.FAILED, action.name, Actor.CONTROLLER, target)


def _clock(action: Action, state: State, origins: tuple[str, ...]) -> Iterator[Transition]:
    for target in resolve(action, state.on_failure or action.on_timeout, origins):
        if target != state.name:
            yield Transition(state.name, Trigger.TIMED_OUT, action.name, Actor.CLOCK, target)


def observations(lc: Lifecycle) -> tuple[str, ...]:
    """All that an agent can say it saw; nothing, for a kind that is not at any provider."""
    seen = tuple(dict.fromkeys(s.observed_as for s in lc.states if s.observed_as and s.cls is not StateClass.ABSENT))
    return (*dict.fromkeys((*seen, ABSENT, BROKEN)),) if seen else ()


def drift(lc: Lifecycle) -> Iterator[Transition]:
    """Things change at the provider though nobody asked."""
    yield from (move for move in lc.transitions if move.trigger is Trigger.OBSERVED)
    for name in lc.drift_states:
        state = lc.state(name)
        for seen in observations(lc):
            if seen == state.observed_as:
                continue
            there = [t for t in lc.drift_states if lc.state(t).observed_as == seen]
            unasked = {ABSENT: lc.on_absent, BROKEN: lc.on_broken}.get(seen, "")
            for target in [unasked] if unasked else there:
                if target != name:
                    yield Transition(name, Trigger.OBSERVED, seen, Actor.AGENT, target)


def _of_fold(lc: Lifecycle) -> Iterator[Transition]:
    """A parent whose state follows its children, with no operation of its own; also out of a final one, which says no
    more than that most of them are in it."""
    if lc.aggregation is Aggregation.DOMINANT:
        free = settled_of(lc)
    elif lc.aggregation is Aggregation.WORST:
        free = lc.aggregation_order
    else:
        return
    for source in free:
        for target in free:
            if source != target:
                yield Transition(source, Trigger.CHILDREN, lc.members, Actor.CONTROLLER, target)


def settled_of(lc: Lifecycle) -> tuple[str, ...]:
    """The states of the fold's order in which a parent can rest."""
    return tuple(
        s for s in lc.aggregation_order if lc.has_state(s) and lc.state(s).cls is not StateClass.TRANSITIONAL
    )
