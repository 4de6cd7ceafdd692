"""What a request would do: the same `decide` as for the request itself, and nothing is written.

An explanation says whether an action would be accepted and, if not, what would help. A dry run says what the action
would do, members of a group included.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from stead.access.caller import Caller
from stead.application.explanation import (
    ClaimHolder,
    DryRun,
    Explanation,
    MemberClass,
    PlannedClaim,
    PlannedOrder,
    PlannedTimer,
    PlannedTransition,
    Remedy,
    holder_of,
)
from stead.application.names import operation_id
from stead.application.reader import Reader, aims_at
from stead.controller.admission.admission import may_be_new
from stead.controller.admission.queue_rules import lines_up, may_wait, queue_of
from stead.controller.admission.request import ActionRequest, NotFound
from stead.controller.execution import preconditions
from stead.controller.execution.placement import found_for
from stead.controller.groups.member_classes import Classes, by_class, member_classes
from stead.lifecycle.decide import Group, GroupDecision, decide
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.decide.group import as_class
from stead.lifecycle.decide.request import UNDO, begins, offered
from stead.lifecycle.decision import Code, Decision, Order, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Request
from stead.lifecycle.rows import ORIGIN, PROBE, Action, Actor, StateClass, Trigger
from stead.lifecycle.snapshot import Snapshot
from stead.lifecycle.table import observations
from stead.store import Row
from stead.store.commit import claimed


def placed(refusal: Rejection, path: str) -> Rejection:
    """A refusal whose holder has a path: where `decide` names none, it is the resource's own operation."""
    holder = refusal.holder
    return refusal if holder is None or holder.path else replace(refusal, holder=replace(holder, path=path))


def with_path(reasons: Sequence[Reason], path: str) -> tuple[Reason, ...]:
    """Reasons of another resource than the one in the request, each with the path of that resource."""
    return tuple(replace(reason, message=f"{path}: {reason.message}") for reason in reasons)


async def find(reader: Reader, request: ActionRequest) -> Row | NotFound:
    """The resource that is asked about, or the one that would be made."""
    row = await reader.store.resources.read(request.path)
    if row is not None and not await succeeds(reader, request, row):
        if request.kind not in ("", row.kind):
            return NotFound(f"there is no {request.kind} {request.path}; there is a {row.kind}")
        return row
    lifecycle = reader.kinds.get(request.kind)
    if lifecycle is None:
        return NotFound(f"there is no kind {request.kind}" if request.kind else f"there is nothing at {request.path}")
    action = lifecycle.action(request.action)
    if action is not None and (
        lifecycle.initial.name not in action.source or not may_be_new(lifecycle, request.action)
    ):
        return NotFound(f"there is no {request.kind} {request.path}")
    snapshot = Snapshot(lifecycle.initial.name, blocked=next(iter(await reader.holders(request.path)), None))
    return Row(request.path, request.kind, snapshot, request.lane, uuid4(), request.spec)


async def succeeds(reader: Reader, request: ActionRequest, row: Row) -> bool:
    """Whether what is asked for would be made in the place of what is gone for good."""
    made = preconditions.makes(reader.kinds, request.kind, request.action)
    return made and await preconditions.is_free(reader.store, reader.kinds, row.summary)


async def _set_in(reader: Reader, row: Row, event: Request, request: ActionRequest) -> Row:
    """The same with what lies around it, as far as that matters for what is asked."""
    rows = {row.path: row}
    found = await found_for(
        reader.store, reader.kinds[row.kind], row, event.action, request.spec, request.lane, request.path
    )
    await preconditions.set_in(reader.store, reader.kinds, rows, [(row.path, event, {**request.spec, **found})])
    return rows[row.path]


async def explain(reader: Reader, request: ActionRequest, caller: Caller) -> Explanation | NotFound:
    """Whether an action would be let in."""
    row = await find(reader, request)
    if isinstance(row, NotFound):
        return row
    event = request.event(caller)
    row = await _set_in(reader, row, event, request)
    lifecycle, snap = reader.kinds[row.kind], row.snapshot
    standing = await standing_of(reader, row)
    answer = await _decided(reader, standing, event, request)
    refusal = answer if isinstance(answer, Rejection) else None
    decision = None if isinstance(answer, Rejection) else answer[0]
    return Explanation(
        path=row.path,
        kind=row.kind,
        action=request.action,
        state=snap.state,
        allowed=refusal is None,
        would_join=decision is not None and decision.joined,
        no_change=decision is not None and _idle(decision),
        would_queue=decision is not None and decision.queued,
        reasons=refusal.reasons if refusal else (),
        holder=holder_of(refusal.holder) if refusal is not None and refusal.holder is not None else None,
        holders=await _holders(reader, (row.around or {}).get("place", row.path), refusal) if refusal else (),
        allowed_actions=(),
        retry_after=refusal.retry_after if refusal else None,
        remedies=(_remedies(standing, event, refusal) or _nothing(lifecycle, snap, event)) if refusal else (),
    )


async def begins_now(reader: Reader, standing: DryRunContext, request: ActionRequest, caller: Caller) -> bool:
    """Whether a request for an action would be accepted and begin something."""
    event = offered(request.action, Actor(caller.actor))
    row = await _set_in(reader, standing.row, event, request)
    group = standing.group and replace(standing.group, snapshot=row.snapshot)
    answer = _said(replace(standing, row=row, group=group), event)
    return begins(answer if isinstance(answer, Rejection) else answer[0])


def not_permitted(found: Explanation, refusal: Rejection) -> Explanation:
    """An explanation for somebody who may not ask, whatever else speaks for it or against it."""
    remedy = Remedy("permission", "have somebody give you a role or a policy, or ask somebody who may")
    return rejected(found, (*refusal.reasons, *found.reasons), (remedy, *found.remedies))


def lane_refused(found: Explanation, refusal: Rejection) -> Explanation:
    """An explanation for a request that names a lane which is not for its namespace, or which no agent has served."""
    if refusal.code is Code.LANE_NOT_SERVED:
        remedy = Remedy("lane", "name a lane that an agent serves, run an agent for it, or say that one comes later")
    else:
        remedy = Remedy("lane", "have an admin allow the lane to the namespace, or name one that it may use")
    return rejected(found, (*found.reasons, *refusal.reasons), (*found.remedies, remedy))


def as_of_disk(disk: Explanation, machine: Explanation) -> Explanation:
    """An explanation of a disk's action that its machine carries out: whether the machine accepts it, and why not."""
    reasons, actions = with_path(machine.reasons, machine.path), disk.allowed_actions
    found = replace(machine, path=disk.path, kind=disk.kind, action=disk.action, state=disk.state)
    return replace(found, allowed_actions=actions, reasons=reasons)


def rejected(found: Explanation, reasons: tuple[Reason, ...], remedies: tuple[Remedy, ...]) -> Explanation:
    """The same, rejected for these reasons."""
    return replace(
        found, allowed=False, would_join=False, no_change=False, would_queue=False, reasons=reasons, remedies=remedies
    )


async def _holders(reader: Reader, path: str, refusal: Rejection) -> tuple[ClaimHolder, ...]:
    """Everybody who is in the way: whoever has claims, or the resource's own operation."""
    if refusal.holder is None:
        return ()
    found = await reader.holders(path) if refusal.code is Code.HELD else []
    return tuple(map(holder_of, found or [refusal.holder]))


async def dry_run(reader: Reader, request: ActionRequest, caller: Caller) -> DryRun | Rejection | NotFound:
    """What an action would do."""
    row = await find(reader, request)
    if isinstance(row, NotFound):
        return row
    event = request.event(caller)
    row = await _set_in(reader, row, event, request)
    standing = await standing_of(reader, row)
    answer = await _decided(reader, standing, event, request)
    if isinstance(answer, Rejection):
        return answer
    decision, group = answer
    lifecycle = reader.kinds[row.kind]
    orders = Counter({(order.verb, row.lane): 1 for order in decision.orders})
    if group is not None:
        for (cls, where), count in standing.classes.items():
            orders.update({(order.verb, where): count for order in _orders(group, cls)})
    action = lifecycle.action(request.action)
    goes = action is not None and not (decision.joined or decision.queued or _idle(decision))
    places = claimed(row.path, row.around)
    return DryRun(
        path=row.path,
        kind=row.kind,
        action=request.action,
        state=row.snapshot.state,
        would_join=decision.joined,
        no_change=_idle(decision),
        would_queue=decision.queued,
        transitions=tuple(
            PlannedTransition(m.source, m.target, m.trigger, m.on, m.actor) for m in decision.transitions
        ),
        claims=tuple(PlannedClaim(place, "exclusive", change) for change in decision.claims for place in places),
        orders=tuple(PlannedOrder(verb, where, n) for (verb, where), n in sorted(orders.items())),
        timers=tuple(PlannedTimer(t.name, t.after) for t in decision.timers),
        provider_calls=_calls(reader, lifecycle, decision, action)
        if goes
        else tuple(order.verb for order in decision.orders),
        states=_way(lifecycle, row.snapshot, request.action) if goes else (row.snapshot.state,),
        failure_state=action.on_failure if goes and action else "",
        members=tuple(_parts(group)) if group is not None else (),
    )


@dataclass(frozen=True)
class DryRunContext:
    """All that a decision looks at: read once, however many actions are asked about."""

    row: Row
    lifecycle: Lifecycle
    group: Group | None
    """With the members, where it has any kind of them."""
    classes: Classes


async def standing_of(reader: Reader, row: Row) -> DryRunContext:
    """A resource with its members, by class."""
    lifecycle = reader.kinds[row.kind]
    member = reader.kinds.get(lifecycle.members)
    if member is None:
        return DryRunContext(row, lifecycle, None, Counter())
    classes = await _classes(reader, lifecycle, row.path)
    return DryRunContext(row, lifecycle, Group(row.snapshot, member, by_class(classes)), classes)


type Said = tuple[Decision, GroupDecision | None]


def _said(standing: DryRunContext, event: Request) -> Said | Rejection:
    """What `decide` says, of a group by the classes of its members."""
    if standing.group is None:
        answer = decide(standing.lifecycle, standing.row.snapshot, event)
        return answer if isinstance(answer, Rejection) else (answer, None)
    grouped = decide(standing.lifecycle, standing.group, event)
    return grouped if isinstance(grouped, Rejection) else (grouped.parent, grouped)


async def _decided(
    reader: Reader, standing: DryRunContext, event: Request, request: ActionRequest
) -> Said | Rejection:
    """What `decide` says, and whether others wait before it."""
    row = standing.row
    answer = _said(standing, event)
    if isinstance(answer, Rejection):
        return placed(answer, row.path)
    turn = await _turn(reader, row, event, request, answer[0])
    return answer if turn is None else turn if isinstance(turn, Rejection) else (turn, None)


async def _turn(
    reader: Reader, row: Row, event: Request, request: ActionRequest, decision: Decision
) -> Decision | Rejection | None:
    """That it would wait its turn, or that its queue takes nothing more; None where it would not wait."""
    lifecycle = reader.kinds[row.kind]
    if not may_wait(lifecycle, event) or decision.joined or _idle(decision):
        return None
    path = queue_of(lifecycle, row.path, request.spec, row)
    queue = await reader.queue(path)
    behind = lines_up(lifecycle, event) and (
        (queue is not None and queue.waiting > 0) or await reader.store.queues.is_busy(path, row.path)
    )
    if not (decision.queued or behind):
        return None
    if queue is not None and queue.stopping:
        return Rejection((Reason(Code.STOPPING, f"the queue of {path} takes nothing more"),), row.snapshot.state)
    return Decision(after=row.snapshot, queued=True)


async def _classes(reader: Reader, group: Lifecycle, below: str) -> Classes:
    classes: Classes = Counter()
    for (snapshot, lane), count in (await member_classes(reader.store, group, below)).items():
        known = as_class(snapshot)
        classes[replace(known, blocked=snapshot.blocked) if snapshot.blocked else known, lane] += count
    return classes


def _orders(group: GroupDecision, cls: Snapshot) -> tuple[Order, ...]:
    return group.acting[cls].orders if cls in group.acting else ()


def _parts(group: GroupDecision) -> Iterator[MemberClass]:
    for cls, decision in group.acting.items():
        target = decision.after.state if decision.transitions else ""
        yield MemberClass(cls.state, group.counts[cls], "joins" if decision.joined else "acts", target)
    for cls in group.reached:
        yield MemberClass(cls.state, group.counts[cls], "nothing")
    for cls, refusal in group.skipped.items():
        yield MemberClass(cls.state, group.counts[cls], "skipped", reasons=refusal.reasons)


def _calls(reader: Reader, lifecycle: Lifecycle, decision: Decision, action: Action | None) -> tuple[str, ...]:
    """What providers would be asked for: by a group's members, or with looks before it and after it."""
    member = reader.kinds.get(lifecycle.members)
    asks = member.action(decision.members) if member is not None else None
    if asks is not None:
        return asks.verbs
    op = decision.after.hidden or decision.after.operation
    orders = tuple(order.verb for order in decision.orders)
    if action is None or action.signals or action.observes or op is None:
        return orders
    first = (PROBE,) if orders[:1] == (PROBE,) else ()
    last = (PROBE,) if op.forced and observations(lifecycle) else ()
    return (*first, *action.verbs, *last)


def _idle(decision: Decision) -> bool:
    return bool(decision.ended) and not decision.transitions and decision.after.operation is None


def _way(lifecycle: Lifecycle, snap: Snapshot, action: str) -> tuple[str, ...]:
    known = lifecycle.action(action)
    through = known.via if known is not None else ()
    end = aims_at(lifecycle, action, snap.state)
    return (snap.state, *through) + ((end,) if through or end != snap.state else ())


# What would help


def _remedies(standing: DryRunContext, event: Request, refusal: Rejection) -> tuple[Remedy, ...]:
    """What would let it in; force only where that would."""
    forced = _said(standing, replace(event, force=True, reason="offered"))
    force = () if event.force or isinstance(forced, Rejection) else (Remedy("force", "force it, with a reason"),)
    return (*_by_reason(standing.lifecycle, standing.row, event, refusal), *force)


def _by_reason(lc: Lifecycle, row: Row, event: Request, refusal: Rejection) -> Iterator[Remedy]:
    """What would help, for each reason that speaks against it."""
    snap = row.snapshot
    for code in dict.fromkeys(reason.code for reason in refusal.reasons):
        match code:
            case Code.UNKNOWN_ACTION:
                known = ", ".join(action.name for action in lc.actions)
                yield Remedy("ask", f"{lc.kind} knows {known}", tuple(action.name for action in lc.actions))
            case Code.NOT_THE_ACTOR:
                action = lc.action(event.action)
                who = " or ".join(action.actors if action is not None else ()) or "nobody by request"
                yield Remedy("actor", f"{event.action} is for {who}")
            case Code.NOT_FORCEABLE:
                yield Remedy("force", "ask for it without force")
            case Code.NEEDS_REASON:
                yield Remedy("reason", "say why it is to be forced" if event.force else "say why, with a reason")
            case Code.NOT_EMPTY:
                yield Remedy("empty", f"remove the {snap.children} below it first")
            case Code.QUOTA:
                yield Remedy("quota", "destroy something there, or have an admin raise the quota")
            case Code.PARENT:
                above = dict(snap.above)
                for need in lc.preconditions:
                    concerns = not need.actions or event.action in need.actions
                    if concerns and above.get(need.kind, need.states[0]) not in need.states:
                        yield Remedy("parent", f"bring its {need.kind} to {' or '.join(need.states)}")
            case Code.IN_PROGRESS | Code.HELD:
                yield from _after_holder(lc, snap, event, refusal)
            case Code.WRONG_STATE:
                yield from _from_here(lc, row, event, snap.state)
            case Code.STOPPING:
                yield Remedy("wait", "wait until its queue is empty: after that there is a new one")
            case Code.NO_MEMBER:
                yield Remedy("wait", "some member has to be in a state in which it can follow")


def _nothing(lc: Lifecycle, snap: Snapshot, event: Request) -> tuple[Remedy, ...]:
    """That there is no way is worth saying, too."""
    action = lc.action(event.action)
    starts = " or ".join(action.source) if action is not None else "no state"
    says = f"{event.action} starts in {starts}, and no request of {event.actor} leads there from {snap.state}"
    return (Remedy("nothing", says),)


def _after_holder(lc: Lifecycle, snap: Snapshot, event: Request, refusal: Rejection) -> Iterator[Remedy]:
    holder = refusal.holder
    if holder is not None:
        says = f"wait until {holder.action} on {holder.path} has ended"
        yield Remedy("wait", says, operation=holder_of(holder).operation)
    op = snap.operation
    if op is not None:
        yield from _asking(lc, aims_at(lc, op.action, op.origin), event)


def _from_here(lc: Lifecycle, row: Row, event: Request, state: str) -> Iterator[Remedy]:
    snap = row.snapshot
    if lc.state(state).cls is StateClass.TRANSITIONAL and snap.operation is not None:
        op = snap.operation
        yield Remedy("wait", f"wait until {op.action} has ended", operation=operation_id(row.path, op.id))
        state = aims_at(lc, op.action, op.origin)
    yield from _asking(lc, state, event)


def _asking(lc: Lifecycle, state: str, event: Request) -> Iterator[Remedy]:
    """The shortest way by requests to a state in which the action can start; none where it starts right there."""
    ways: deque[tuple[str, tuple[str, ...]]] = deque([(state, ())])
    known = {state}
    while ways:
        here, path = ways.popleft()
        able = [a for a in lc.actions if here in a.source and any(acts_as(event.actor, by) for by in a.actors)]
        if path and any(a.name == event.action for a in able):
            yield Remedy("ask", f"first {', then '.join(path)}: {event.action} starts in {here}", path)
            return
        if not path and any(a.name == event.action for a in able):
            return
        steps = [(a.name, here if a.target == ORIGIN else a.target) for a in able if not a.signals]
        for name, there in [*steps, *_undoing(lc, here, event)]:
            if there not in known:
                known.add(there)
                ways.append((there, (*path, name)))


def _undoing(lc: Lifecycle, here: str, event: Request) -> Iterator[tuple[str, str]]:
    """The way out of an error that is kept for a person: undo, where that leads to a state that is known before."""
    if lc.action(UNDO) is None and acts_as(event.actor, Actor.USER):
        for failed in lc.actions:
            if failed.on_failure == here:
                yield from ((UNDO, row.target) for row in lc.rows(here, Trigger.ROLLED_BACK, failed.name))
