"""Rules about transitional states: their timeout, and the actors and triggers that leave them.

A transitional state awaits a party. It has a way out on success, on failure and on timeout, and no other actor
leaves it meanwhile. Where a parent's state follows from its children, the children have the timeouts and the ways
out: a state that awaits children needs no timer, and one that an aggregation gives the parent, without an operation
of its own, needs only the next count.
"""

from __future__ import annotations

from collections.abc import Iterator

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.lint.finding import Finding, Rule
from stead.lifecycle.lint.ways import hopeless, reachable
from stead.lifecycle.rows import (
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
from stead.lifecycle.table import way

_DONE = (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.NEXT)
_ENDS_BADLY = (Trigger.FAILED, Trigger.DISCONNECTED, Trigger.TIMED_OUT)


def _moving(lc: Lifecycle) -> Iterator[State]:
    return (s for s in lc.states if s.cls is StateClass.TRANSITIONAL)


def _derived(lc: Lifecycle, state: State) -> bool:
    """Whether the children's states alone lead in and out of it."""
    return lc.aggregation is Aggregation.WORST and state.name in lc.aggregation_order


def _on_the_way(lc: Lifecycle) -> Iterator[Action]:
    """The actions that are operations with states of their own."""
    return (a for a in lc.actions if a.via and not a.signals and not a.scoped)


def _about(word: Transition) -> str:
    return f"{word.trigger} {word.on}".strip()


def through_resting(lc: Lifecycle) -> Iterator[Finding]:
    """The states on the way of an action are transitional."""
    for action in lc.actions:
        for name in action.via:
            if lc.state(name).cls is not StateClass.TRANSITIONAL:
                yield Finding(
                    Rule.VIA_NOT_TRANSITIONAL,
                    f"action {action.name}",
                    f"passes through {name}, which is {lc.state(name).cls}: it hides the change in progress",
                    "give the state the class transitional, or take it out of `via`",
                )


def no_deadline(lc: Lifecycle) -> Iterator[Finding]:
    """A transitional state has a timeout."""
    for state in _moving(lc):
        if not state.timeout and not _derived(lc, state):
            yield Finding(
                Rule.NO_TIMEOUT,
                f"state {state.name}",
                "is transitional and has no timeout, so an operation may hang in it forever",
                "give it a timeout, such as 15m",
            )


def exits(lc: Lifecycle) -> Iterator[Finding]:
    """Each moving state has a way out on success, on failure and on timeout, on the way of every action."""
    sound = reachable(lc) - hopeless(lc)
    ways = [(a, name, follows) for a in _on_the_way(lc) for name, follows, _ in way(lc, a)]
    for state in _moving(lc):
        if state.name not in sound or _derived(lc, state):
            continue
        mine = [(action, follows) for action, name, follows in ways if name == state.name]
        for action, follows in mine:
            yield from _exits_of_action(lc, state, action, follows)
        if not mine:
            yield from _exits_by_rows(lc, state)


def _exits_of_action(lc: Lifecycle, state: State, action: Action, follows: str) -> Iterator[Finding]:
    rows = [m for m in lc.table if m.source == state.name and m.on == action.name]
    triggers = {m.trigger for m in rows}
    counted = {m.target for m in rows if m.trigger is Trigger.CHILDREN}
    succeeds = bool(triggers.intersection(_DONE) or counted & _stands_for(action, follows))
    fails = Trigger.FAILED in triggers or bool(counted & _stands_for(action, state.on_failure or action.on_failure))
    silent = Trigger.TIMED_OUT in triggers or state.awaits is AwaitedParty.CHILDREN
    yield from _missing(state, f"on the way of {action.name} ", succeeds, fails, silent)


def _exits_by_rows(lc: Lifecycle, state: State) -> Iterator[Finding]:
    """For a state on no action's way, which only rows of the kind's own lead to."""
    triggers = {m.trigger for m in lc.table if m.source == state.name != m.target}
    succeeds = bool(triggers.difference(_ENDS_BADLY, (Trigger.REQUEST,)))
    fails = bool(triggers.intersection((Trigger.FAILED, Trigger.DISCONNECTED, Trigger.CHILDREN)))
    silent = Trigger.TIMED_OUT in triggers or state.awaits is AwaitedParty.CHILDREN
    yield from _missing(state, "", succeeds, fails, silent)


def _stands_for(action: Action, target: str) -> set[str]:
    return set(action.source) if target == ORIGIN else {target}


def _missing(state: State, on_the_way: str, succeeds: bool, fails: bool, silent: bool) -> Iterator[Finding]:
    where = f"state {state.name}"
    whom = state.awaits
    if not succeeds:
        says = f"{on_the_way}nothing leaves it when {whom} has done the work"
        yield Finding(
            Rule.NO_SUCCESS_EXIT, where, says, "name the state that success leads to, in `target` or in a transition"
        )
    if not fails:
        says = f"{on_the_way}nothing leaves it when {whom} fails"
        yield Finding(
            Rule.NO_FAILURE_EXIT,
            where,
            says,
            "name the state that failure leads to, in `on_failure` or in a transition",
        )
    if not silent:
        says = f"{on_the_way}nothing leaves it when {whom} does not report in time"
        yield Finding(
            Rule.NO_TIMEOUT_EXIT,
            where,
            says,
            "name the state that a timeout leads to, in `on_timeout` or in a transition",
        )


def silent_moving(lc: Lifecycle) -> Iterator[Finding]:
    """A timeout leads to a state that awaits no party, for the party that did not report may not report again."""
    found = {(m.on, m.target): None for m in lc.table if m.trigger is Trigger.TIMED_OUT}
    for on, target in found:
        if lc.state(target).cls is StateClass.TRANSITIONAL:
            yield Finding(
                Rule.TIMEOUT_NOT_RESTING,
                f"action {on}",
                f"a timeout leads to {target}, which is transitional and awaits a report again",
                "let `on_timeout` name a stable state, one in which an action observes first",
            )


def two_actors(lc: Lifecycle) -> Iterator[Finding]:
    """One actor leaves each transitional state."""
    for state in _moving(lc):
        words: dict[str, str] = {}
        for move in lc.table:
            if move.source == state.name != move.target and not _excepted(lc, state, move):
                # An admin may do whatever a user may, so the two are one.
                words.setdefault(Actor.USER if move.actor is Actor.ADMIN else move.actor, _about(move))
        if len(words) > 1:
            who = " and ".join(f"{actor} (on `{word}`)" for actor, word in words.items())
            yield Finding(
                Rule.TWO_ACTORS,
                f"state {state.name}",
                f"may be left by {who}, and they may contradict each other",
                "remove the transitions of all but one, let the action preempt, or declare them contended",
            )


def _excepted(lc: Lifecycle, state: State, move: Transition) -> bool:
    """Moves that are known to cross another's: by the clock, declared, outranking, or a word to whoever waits."""
    if move.actor is Actor.CLOCK or move.contended:
        return True
    action = lc.action(move.on) if move.trigger is Trigger.REQUEST else None
    if action is None:
        return False
    return action.preempts or bool(action.signals and state.awaits is AwaitedParty.CONTROLLER)


def no_undo(lc: Lifecycle) -> Iterator[Finding]:
    """Where an agent may stop half-way, the action says what becomes of the failed attempt."""
    for action in lc.actions:
        if not action.on_failure or action.rollback or action.signals or action.scoped or not action.verbs:
            continue
        awaited = {lc.state(name).awaits for name in action.via}
        if AwaitedParty.AGENT in awaited or not (action.via or action.member_action):
            yield Finding(
                Rule.NO_ROLLBACK,
                f"action {action.name}",
                "can fail half-way, and says nothing about the failed attempt",
                "name the verb that rolls it back in `rollback`, or write `rollback: leave` to keep it on purpose",
            )
