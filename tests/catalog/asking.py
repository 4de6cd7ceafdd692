"""What `decide` answers to a request, put into one word, and what a typed table says it should be."""

from __future__ import annotations

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor, StateClass, Trigger
from stead.lifecycle.snapshot import Operation, Snapshot, Work
from tests.catalog.tables import Row

NO, JOIN, IDLE, QUEUED, STAYS = "no", "join", "idle", "queued", "stays"
"""Refused; joins what is running; nothing to do; waits its turn; begins while the state stays as it is."""

WHO_ASKS = (Actor.USER, Actor.ADMIN, Actor.CONTROLLER, Actor.AGENT, Actor.SUCCESSOR, Actor.CLOCK)


def word(answer: Decision | Rejection) -> str:
    """The state that a request leads to, or one of the words above."""
    if isinstance(answer, Rejection):
        assert answer.reasons
        return NO
    if answer.joined or answer.queued:
        assert not answer.transitions
        return JOIN if answer.joined else QUEUED
    if answer.transitions:
        return answer.transitions[0].target
    return IDLE if answer.ended else STAYS


def ask(kind: str, state: str, action: str, actor: Actor = Actor.USER, *, force: bool = False) -> str:
    """What a request does to a resource that nothing is happening to."""
    known = KINDS[kind].action(action)
    reason = "said to be needed" if force or (known is not None and known.needs_reason) else ""
    return word(decide(KINDS[kind], Snapshot(state), Request(action, actor=actor, force=force, reason=reason)))


def under_way(state: str, action: str, origin: str, *, taken: bool = True) -> Snapshot:
    """A resource on which an agent carries an action out."""
    return Snapshot(state, operation=Operation(action=action, origin=origin), work=Work(action, taken=taken))


def ask_meanwhile(
    kind: str, state: str, running: str, origin: str, action: str, actor: Actor = Actor.USER, *, force: bool = False
) -> str:
    """What a request does to a resource that is on its way."""
    reason = "said to be needed" if force else ""
    request = Request(action, actor=actor, force=force, reason=reason)
    return word(decide(KINDS[kind], under_way(state, running, origin), request))


def may_ask_as(actor: Actor, wanted: Actor) -> bool:
    """An admin may do whatever a user may; nobody else may do what is another's."""
    return actor is wanted or (actor is Actor.ADMIN and wanted is Actor.USER)


def resting(kind: str) -> list[str]:
    """The states in which nothing is under way."""
    return [state.name for state in KINDS[kind].states if state.cls is not StateClass.TRANSITIONAL]


def misjudged(kind: str, typed: set[Row], still: set[tuple[str, str, Actor]] | None = None) -> list[str]:
    """Every request in a resting state that is answered otherwise than typed: by anyone, for anything, unforced.

    `still` has the requests that are accepted and move nothing.
    """
    found = []
    for state in resting(kind):
        for action in KINDS[kind].actions:
            for actor in () if action.observes else WHO_ASKS:  # those have tests of their own
                wanted = {
                    row.target
                    for row in typed
                    if (row.source, row.trigger, row.on) == (state, Trigger.REQUEST, action.name)
                    and not row.forced
                    and may_ask_as(actor, row.actor)
                }
                if any(s == state and a == action.name and may_ask_as(actor, x) for s, a, x in still or ()):
                    wanted.add(STAYS)
                got = ask(kind, state, action.name, actor)
                if {got} != (wanted or {NO}):
                    found.append(f"{state}, {action.name} by {actor}: typed {wanted or NO}, decided {got}")
    return found


def ways(typed: set[Row]) -> set[tuple[str, str, str]]:
    """Every (moving state, action, state in which the action began) that the typed rows lead through."""
    found = {(row.target, row.on, row.source) for row in typed if row.trigger is Trigger.REQUEST}
    steps = [row for row in typed if row.trigger in (Trigger.STARTED, Trigger.NEXT, Trigger.CHILDREN)]
    while (
        more := {
            (row.target, action, origin)
            for row in steps
            for state, action, origin in found
            if (row.source, row.on) == (state, action)
        }
        - found
    ):
        found |= more
    return found
