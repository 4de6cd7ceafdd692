"""An action on a group: decided once per class of members, however many there are.

A decision depends on the class a member is in, never on the member. So the answer is a handful of decisions, one
per class, and the number of members in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from stead.lifecycle.decide.draft import refuse
from stead.lifecycle.decide.request import on_request, wrong_state
from stead.lifecycle.decision import Code, Decision, EndedOperation, Outcome, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.observation import unobservable
from stead.lifecycle.rows import ORIGIN, Actor, Aggregation, StateClass
from stead.lifecycle.snapshot import Fence, Holder, Snapshot


@dataclass(frozen=True)
class Group:
    """A resource and its members, counted by class."""

    snapshot: Snapshot
    member: Lifecycle
    classes: Mapping[Snapshot, int]
    """The members that are to be asked: all there are, or those that were chosen, or those to be made."""


@dataclass(frozen=True)
class GroupDecision:
    """What happens to the group itself, and by class to its members."""

    parent: Decision
    acting: Mapping[Snapshot, Decision]
    """Classes whose members act, or join what they are doing already."""
    reached: Mapping[Snapshot, Decision]
    """Classes whose members are where the action leads already."""
    skipped: Mapping[Snapshot, Rejection]
    """Classes whose members cannot follow, each with its reason."""
    counts: Mapping[Snapshot, int]

    def count(self, classes: Mapping[Snapshot, object]) -> int:
        """How many members are in these classes."""
        return sum(self.counts[c] for c in classes)


def as_class(snap: Snapshot) -> Snapshot:
    """The class a member is in: its snapshot less what tells it from its likes."""
    op = replace(snap.operation, id="", by="", since="") if snap.operation else None
    hidden = replace(snap.hidden, id="", by="", since="") if snap.hidden else None
    blocked = Holder("", "", "", below=snap.blocked.below) if snap.blocked else None
    return replace(snap, fence=Fence(), operation=op, hidden=hidden, blocked=blocked)


def on_group(lc: Lifecycle, group: Group, req: Request) -> GroupDecision | Rejection:
    """What a request does to a group."""
    parent = on_request(lc, group.snapshot, req)
    if isinstance(parent, Rejection):
        return parent
    if not parent.members or parent.joined or parent.queued:
        return GroupDecision(parent, {}, {}, {}, group.classes)
    asks = lc.action(req.action)
    if group.member.action(parent.members) is None and asks is not None and asks.observes:
        return refuse(group.snapshot, Code.UNKNOWN_ACTION, unobservable(group.member.kind))
    if group.member.action(parent.members) is None:  # the controller's own errand, not something members do
        return GroupDecision(parent, {}, {}, {}, group.classes)
    actor = asks_as(group.member, parent.members, req.actor)
    # A member that is busy is left out: nobody waits for it.
    ask = replace(req, action=parent.members, actor=actor, within=True, on_conflict=OnConflict.REJECT)
    acting: dict[Snapshot, Decision] = {}
    reached: dict[Snapshot, Decision] = {}
    skipped: dict[Snapshot, Rejection] = {}
    for cls in group.classes:
        answer = on_request(group.member, cls, ask)
        if isinstance(answer, Rejection):
            skipped[cls] = answer
        elif answer.ended and not answer.transitions:
            reached[cls] = answer
        else:
            acting[cls] = answer
    if lc.aggregation is Aggregation.EVENTS and not group.classes and asks is not None and _stays(lc, asks.target):
        return _nobody(group, {})  # a lease without reservations is in error until it is updated or deleted
    if lc.aggregation is Aggregation.DOMINANT and not acting:
        instead = _without_acting(lc, group, req, parent.members, reached, skipped)
        if isinstance(instead, Rejection):
            return instead
        parent = instead or parent
    return GroupDecision(parent, acting, reached, skipped, group.classes)


class Participation(StrEnum):
    """What an answer makes of a member for the operation that asked it."""

    ACTS = "acts"
    """The operation is in progress on the member."""
    JOINS = "joins"
    """Another operation, which does the same, is in progress on the member."""
    NONE = "none"
    """Nothing is to be waited for: the member is where the action leads, or was skipped."""


def participation(answer: Decision | Rejection, operation: str) -> Participation:
    """Whether an operation waits for a member that it asked, and for which operation on it.

    The operation ends when every member that acts or joins has settled, and fails if one of them did not do it.
    """
    if isinstance(answer, Rejection):
        return Participation.NONE
    if answer.joined:
        return Participation.JOINS
    begun = (answer.after.operation, answer.after.hidden)
    acts = any(op is not None and op.id == operation for op in begun)
    return Participation.ACTS if acts else Participation.NONE


def asks_as(member: Lifecycle, action: str, actor: Actor) -> Actor:
    """Members are asked in the caller's name, unless the action is one that only the controller may ask for."""
    known = member.action(action)
    return Actor.CONTROLLER if known is not None and Actor.CONTROLLER in known.actors else actor


def makes(member: Lifecycle, action: str) -> bool:
    """Whether an action is asked of members that are not there yet."""
    known = member.action(action)
    absent = member.initial.cls is StateClass.ABSENT
    return known is not None and absent and member.initial.name in known.source


def _without_acting(
    lc: Lifecycle,
    group: Group,
    req: Request,
    asks: str,
    reached: Mapping[Snapshot, Decision],
    skipped: Mapping[Snapshot, Rejection],
) -> Decision | Rejection | None:
    """What becomes of an action for which no member acts; None where the group goes its way all the same.

    There is nothing to do where every member is where the action leads, and where an action that takes members out
    finds none to take out. An empty group can be removed, and filled.
    """
    action, snap = lc.action(req.action), group.snapshot
    assert action is not None
    nothing = Decision(after=snap, ended=(EndedOperation(action.name, Outcome.SUCCEEDED, req.operation),))
    if reached:
        return None if skipped else nothing
    if action.target == ORIGIN:
        return (
            nothing
            if all(answer.code is Code.WRONG_STATE for answer in skipped.values())
            else _nobody(group, skipped)
        )
    if group.classes:
        return _nobody(group, skipped)
    if makes(group.member, asks):
        return None
    if _stays(lc, action.target):
        return _nobody(group, skipped)
    if snap.state == action.target:
        return nothing
    if action.forceable and not req.force and lc.state(snap.state).cls is StateClass.FINAL:
        return wrong_state(lc, snap, req, could_be_forced=True)
    return None


def _stays(lc: Lifecycle, ends: str) -> bool:
    """Whether a group is still of use when it has come to the state in which an action ends."""
    return ends != ORIGIN and lc.state(ends).cls not in (StateClass.ABSENT, StateClass.FINAL)


def _nobody(group: Group, skipped: Mapping[Snapshot, Rejection]) -> Rejection:
    if not group.classes:
        return Rejection((Reason(Code.NO_MEMBER, f"there is no {group.member.kind} in it"),), group.snapshot.state)
    reasons = tuple(
        Reason(Code.NO_MEMBER, f"{group.classes[cls]} in {cls.state}: {refusal.reasons[0].message}")
        for cls, refusal in skipped.items()
    )
    return Rejection(reasons, group.snapshot.state)
