"""Admission: a request is rejected with its reasons, or accepted for good.

Two statements, read and commit; a third for an idempotency key, and a further one to wait in a queue. Then nothing
can be lost, and nothing has been sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

from stead.access.lane_use import not_allowed, uses
from stead.controller.admission.queue_rules import find_queue, lines_up, may_wait
from stead.controller.admission.rejections import ended, nothing_to_retry
from stead.controller.admission.request import AdmissionRequest, again, recorded
from stead.controller.execution.executor import Answer, Applied, TransitionExecutor, TransitionInput
from stead.controller.execution.journal_notes import why
from stead.controller.execution.placement import found_for, places
from stead.controller.execution.preconditions import is_free, place_of
from stead.controller.execution.preconditions import makes as makes_object
from stead.controller.execution.request_context import KEPT
from stead.controller.groups.deploys import KIND as SYSTEM
from stead.controller.groups.deploys import deployed
from stead.controller.groups.member_classes import by_class, member_classes
from stead.lifecycle.decide import Group, decide
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.decide.group import makes
from stead.lifecycle.decision import Code, Outcome, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, OnConflict
from stead.lifecycle.rows import Actor, StateClass
from stead.origin import HERE
from stead.store import Conflict, Row
from stead.store.commit import LANE, CommitResult
from stead.store.decision_template import OperationStart
from stead.telemetry import metrics, tracing
from stead.telemetry.context import TraceContext, known, note

RETRYABLE = (Outcome.FAILED, Outcome.UNKNOWN, Outcome.ROLLED_BACK, Outcome.CANCELLED, Outcome.REJECTED)
"""How an operation must have ended for it to be tried once more."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """It will be carried to a settled end, under this operation."""

    operation: str
    joined: bool = False
    """The operation was running already."""
    idle: bool = False
    """There was nothing to do, and no operation was begun."""
    repeated: bool = False
    """The same request was accepted before, under the same key."""
    position: int | None = None
    """It waits its turn in this place of its queue; 1 is the next."""


@dataclass(frozen=True, slots=True)
class NotFound:
    """There is no such resource, or no such kind."""

    what: str


class Admission:
    """Lets requests in."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor

    async def ask(self, wish: AdmissionRequest) -> Accepted | Rejection | NotFound:
        """Answer a request."""
        with tracing.span("admit", path=wish.path, action=wish.request.action):
            answer = await self._ask(wish)
        if isinstance(answer, Accepted):
            note(operation=answer.operation, path=wish.path)
            metrics.ADMISSIONS.labels("accepted", "").inc()
        else:
            code = answer.code if isinstance(answer, Rejection) else Code.NOT_FOUND
            metrics.ADMISSIONS.labels("refused", code).inc()
        return answer

    async def _ask(self, wish: AdmissionRequest) -> Accepted | Rejection | NotFound:
        lifecycle = await self.executor.kinds.find(wish.kind)
        if lifecycle is None:
            return NotFound(f"there is no kind {wish.kind}")
        known = await self.answered(wish)
        if known is not None:
            return known
        settled = await self._by_members(lifecycle, wish)
        if isinstance(settled, Rejection):
            await self._tell(wish, settled)
        if settled is not None:
            return settled
        wish = await self._placed(wish)
        wish = replace(wish, place=place_of(lifecycle, wish.request.action, wish.path, wish.spec))
        queue = ""
        if may_wait(lifecycle, wish.request):
            queue = await find_queue(self.executor.store, lifecycle, wish.path, wish.spec)
        begin = self._begin(wish, queue if lines_up(lifecycle, wish.request) else "")
        answer = await self.executor.apply_one(self._told(wish, begin))
        if isinstance(answer, Applied) and not answer.decision.queued:
            return await self._accepted(wish, begin, answer)
        if isinstance(answer, Conflict) and answer.kind == "key":
            return await self._repeated(answer)
        if isinstance(answer, Applied) or (queue and isinstance(answer, Conflict)):
            return await self._wait(wish, begin, queue)
        known = await self.answered(wish)  # it may have been let in a moment ago, under the same key
        if known is not None:
            return known
        refusal = answer if isinstance(answer, Rejection) else self._refused(answer)
        if answer is None or _missing(lifecycle, wish, refusal):
            return NotFound(f"there is no {wish.kind} {wish.path}")
        await self._tell(wish, refusal)
        return await self._named(wish.place or wish.path, refusal)

    async def _wait(self, wish: AdmissionRequest, begin: OperationStart, queue: str) -> Accepted | Rejection:
        """Let it wait its turn, under the operation that it will be."""
        wait = {
            "operation": str(begin.id),
            "queue": queue,
            "path": wish.path,
            "kind": wish.kind,
            "action": begin.action,
            "principal": begin.principal,
            "actor": wish.request.actor,
            "reason": begin.reason,
            "request": {**begin.request, "queued": True},
        }
        key = {"key": begin.key, "fingerprint": begin.fingerprint} if begin.key else {}
        used = await self.uses(wish)
        answer = await self.executor.store.queues.enqueue(wait | key | ({"uses": used} if used else {}))
        if isinstance(answer, int):
            return Accepted(str(begin.id), position=answer)
        if answer.kind == "key":
            return await self._repeated(answer)
        if answer.kind == LANE:
            refusal = not_allowed(answer.refused)
            await self._tell(wish, refusal)
            return refusal
        refusal = Rejection((Reason(Code.STOPPING, f"the queue of {queue} takes nothing more"),), "", retry_after=15)
        await self._tell(wish, refusal)
        return refusal

    async def turn(self, head: Mapping[str, Any]) -> bool:
        """Try one that has waited, under the operation that was promised; False where it has to wait on.

        The transaction that begins it takes it out of the queue, so it begins once, and not at all where it was
        cancelled meanwhile. What cannot begin, though nothing is in its way, ends refused.
        """
        wish = again(head, Actor(head["actor"]), head["principal"])
        waits = replace(wish.request, on_conflict=OnConflict.QUEUE)  # whatever the lifecycle says by now
        answer = await self._turn(replace(wish, request=waits), head)
        if isinstance(answer, Accepted):
            return await self._leave(head, Outcome.SUCCEEDED)
        if isinstance(answer, Applied):
            if answer.decision.queued or answer.decision.joined:
                return False
            # What was written has left the queue; otherwise there was nothing to do.
            return answer.wrote or await self._leave(head, Outcome.SUCCEEDED)
        if isinstance(answer, Rejection):
            return await self._leave(head, Outcome.REJECTED, answer)
        return answer is not None and answer.kind == "gone"

    async def _turn(self, wish: AdmissionRequest, head: Mapping[str, Any]) -> Answer | Accepted:
        lifecycle = await self.executor.kinds.find(wish.kind)
        if lifecycle is None:
            return Rejection((Reason(Code.NOT_FOUND, f"there is no kind {wish.kind}"),), "")
        wish = await self._placed(wish)
        begin = replace(self._begin(wish, head["queue"]), id=head["operation"], request=head["request"], waited=True)
        answer = await self._by_members(lifecycle, wish) or await self.executor.apply_one(self._told(wish, begin))
        if answer is None or (isinstance(answer, Rejection) and _missing(lifecycle, wish, answer)):
            return Rejection((Reason(Code.NOT_FOUND, f"there is no {wish.kind} {wish.path}"),), "")
        return answer

    async def _leave(self, head: Mapping[str, Any], outcome: Outcome, refusal: Rejection | None = None) -> bool:
        """It ends without having begun; that it is out of the queue is true also if somebody else was faster."""
        reasons = [{"code": r.code, "says": r.says} for r in refusal.reasons] if refusal is not None else []
        await self.executor.store.queues.leave(head["operation"], outcome, reasons, head["principal"], head["actor"])
        return True

    async def promote(self, operation: UUID, principal: str, actor: Actor) -> Accepted | Rejection | NotFound:
        """Put an operation that waits its turn first."""
        record = await self.executor.store.operations.read(operation)
        if record is None or await self.executor.kinds.find(record["kind"]) is None:
            return NotFound(f"there is no operation {operation}")
        refusal = self._not_theirs(record, "promote", actor)
        if refusal is None:
            if record["position"] is not None and await self.executor.store.queues.promote(
                operation, principal, actor
            ):
                return Accepted(str(operation), position=1)
            says = f"{record['action']} of {record['path']} does not wait its turn"
            refusal = Rejection((Reason(Code.NOT_QUEUED, says),), "")
        await self.note(record, principal, "promote", actor, refusal)
        return refusal

    def _not_theirs(self, record: Mapping[str, Any], word: str, actor: Actor) -> Rejection | None:
        """Of one that waits: whoever may ask for the action may also do this, and an admin may always."""
        action = self.executor.kinds[record["kind"]].action(record["action"])
        if action is None or actor is Actor.ADMIN or any(acts_as(actor, by) for by in action.by):
            return None
        says = f"to {word} {action.name} is for {' or '.join(action.by)}, not for {actor}"
        return Rejection((Reason(Code.NOT_THE_ACTOR, says),), "")

    async def _named(self, path: str, refusal: Rejection) -> Rejection:
        """A refusal for a claim, with everybody who has one in the way."""
        if refusal.code is not Code.HELD or refusal.holder is None:
            return refusal
        return replace(
            refusal, holders=tuple(await self.executor.store.claims.find_holders(path)) or (refusal.holder,)
        )

    async def cancel(self, operation: UUID, principal: str, actor: Actor) -> Accepted | Rejection | NotFound:
        """End an operation before it is done; asked for twice, the second joins the first."""
        record = await self.executor.store.operations.read(operation)
        if record is None or await self.executor.kinds.find(record["kind"]) is None:
            return NotFound(f"there is no operation {operation}")
        if record["position"] is not None:
            refused = self._not_theirs(record, "cancel", actor)
            if refused is not None:
                await self.note(record, principal, "cancel", actor, refused)
                return refused
            if await self.executor.store.queues.leave(operation, Outcome.CANCELLED, [], principal, actor):
                return Accepted(str(operation))
        if "place" in record["request"] and not record["outcome"]:
            return await self._cancel_beside(record, principal, actor)
        told = TransitionInput(record["path"], Cancel(str(operation), actor), principal=principal, origin=HERE.get())
        answer = await self.executor.apply_one(told)
        if isinstance(answer, Applied):
            return Accepted(str(operation), joined=answer.decision.joined)
        refusal = answer if isinstance(answer, Rejection) else self._refused(answer)
        if answer is None or refusal.code is Code.ENDED:
            refusal = ended(await self.executor.store.operations.read(operation) or record, refusal)
        await self.note(record, principal, "cancel", actor, refusal)
        return refusal

    async def _cancel_beside(self, record: Mapping[str, Any], principal: str, actor: Actor) -> Accepted | Rejection:
        """End one that runs beside others; what it has asked for is cancelled one by one."""
        refused = self._not_theirs(record, "cancel", actor)
        if refused is not None:
            await self.note(record, principal, "cancel", actor, refused)
            return refused
        first = await self.executor.store.systems.cancel_concurrent(record["id"], principal, actor)
        await self.executor.run_commit_hooks(CommitResult({}, [], [], [str(record["id"])]))
        return Accepted(str(record["id"]), joined=not first)

    async def retry(
        self, operation: UUID, principal: str, actor: Actor, key: str = "", *, force: bool = False, reason: str = ""
    ) -> Accepted | Rejection | NotFound:
        """Ask once more for what an operation that ended otherwise was to do: of a group, the members that failed."""
        record = await self.executor.store.operations.read(operation)
        if record is None:
            return NotFound(f"there is no operation {operation}")
        if record["outcome"] not in RETRYABLE or "plan" in record["request"]:
            row = await self.executor.store.resources.read(record["path"])
            refusal = nothing_to_retry(record, row.snapshot.state if row is not None else "")
            await self.note(record, principal, "retry", actor, refusal)
            return refusal
        said, some = record["request"], []
        if record["outcome"] != Outcome.CANCELLED and not self._makes(record):
            some = await self.executor.store.groups.list_failed_members(str(operation), "", 1)
        wish = again(record, actor, principal)
        request = replace(wish.request, force=force or said.get("force", False), reason=reason or record["reason"])
        failed_of = str(operation) if some else ""
        return await self.ask(replace(wish, request=request, key=key, retries=str(operation), failed_of=failed_of))

    def _makes(self, record: Mapping[str, Any]) -> bool:
        """Whether an operation makes members: tried again, it makes them all."""
        lifecycle = self.executor.kinds.get(record["kind"])
        action = lifecycle.action(record["action"]) if lifecycle is not None else None
        member = self.executor.kinds.get(lifecycle.members) if lifecycle is not None else None
        return action is not None and member is not None and makes(member, action.members)

    async def answered(self, wish: AdmissionRequest) -> Accepted | Rejection | None:
        """The answer that was given before to the same key."""
        if not wish.key:
            return None
        conflict = await self.executor.store.operations.find_key(wish.principal, wish.key, wish.fingerprint())
        return None if conflict is None else await self._repeated(conflict)

    async def _by_members(self, lifecycle: Lifecycle, wish: AdmissionRequest) -> Rejection | Accepted | None:
        """Of a group: what its members say to it, where none would act; decided once per class of members."""
        action, member = lifecycle.action(wish.request.action), self.executor.kinds.get(lifecycle.members)
        known = member.action(action.members) if action is not None and member is not None else None
        if action is None or member is None or makes(member, action.members) or not (known or action.observes):
            return None
        row = await self.executor.store.resources.read(wish.path)
        if row is None or row.kind != lifecycle.kind:
            return None
        classes = by_class(await member_classes(self.executor.store, lifecycle, wish.path, wish.failed_of))
        answer = decide(lifecycle, Group(row.snapshot, member, classes), wish.request)
        if not isinstance(answer, Rejection):
            return Accepted("", idle=True) if answer.parent.ended and not answer.parent.moves else None
        if answer.code is not Code.NO_MEMBER:
            return answer if answer.code in (Code.WRONG_STATE, Code.UNKNOWN_ACTION) else None
        holders = (
            tuple((await self.executor.store.claims.find_held_below(wish.path)).values()) if action.leaves_out else ()
        )
        if holders and may_wait(lifecycle, wish.request):
            return None
        return replace(answer, holder=holders[0], holders=holders) if holders else answer

    async def _placed(self, wish: AdmissionRequest) -> AdmissionRequest:
        """With what its spec lacks and somebody has to choose."""
        lifecycle, action = self.executor.kinds[wish.kind], wish.request.action
        if wish.kind == SYSTEM and action == "deploy" and wish.deploys is None:
            return await self._deploys(wish)
        if not places(wish.kind, action):
            return wish
        row = wish.read or (await self.executor.store.resources.read(wish.path) if action == "migrate" else None)
        found = await found_for(self.executor.store, lifecycle, row, action, wish.spec, wish.lane, wish.path)
        return replace(wish, found=found) if found else wish

    async def _deploys(self, wish: AdmissionRequest) -> AdmissionRequest:
        """With the lanes that a deploy uses."""
        system = wish.read or await self.executor.store.resources.read(wish.path)
        place = wish.place or place_of(self.executor.kinds[SYSTEM], "deploy", wish.path, wish.spec)
        found = await deployed(self.executor.store, system, place, wish.spec.get("definition", {}))
        return replace(wish, deploys=tuple(sorted(found)))

    async def uses(self, wish: AdmissionRequest) -> dict[str, Any] | None:
        """The lanes that a request would use, or will when its turn has come, as the store takes them."""
        wish = await self._placed(wish)
        row = wish.read or await self.executor.store.resources.read(wish.path)
        if row is not None and makes_object(self.executor.kinds, wish.kind, wish.request.action):
            row = None if await is_free(self.executor.store, self.executor.kinds, row.brief) else row
        found = uses(
            self.executor.kinds,
            wish.kind,
            wish.request.action,
            wish.path,
            lane=row.lane if row is not None else wish.lane,
            state=row.snapshot.state if row is not None else None,
            spec=wish.spec,
            old=row.spec if row is not None else None,
            actor=wish.request.actor,
            deploys=wish.deploys or (),
        )
        return found.written(wish.path) if found else None

    def _told(self, wish: AdmissionRequest, begin: OperationStart) -> TransitionInput:
        return TransitionInput(
            wish.path,
            replace(wish.request, operation=str(begin.id), by=wish.principal, revision=1),
            principal=wish.principal,
            begin=begin,
            spec={**wish.spec, **wish.found},
            detail=why(self.executor.kinds[wish.kind], wish.request),
            new=self._new(wish) if may_be_new(self.executor.kinds[wish.kind], wish.request.action) else None,
            read=wish.read,
            facts=wish.facts,
            origin=HERE.get(),
            kind=wish.kind,
            deploys=wish.deploys or (),
        )

    def _begin(self, wish: AdmissionRequest, queue: str) -> OperationStart:
        id = uuid4()
        trail = TraceContext(known().get("request_id", ""), tracing.current())
        self.executor.request_contexts.note(str(id), trail)
        return OperationStart(
            id,
            wish.request.action,
            wish.principal,
            wish.request.reason,
            recorded(wish) | ({KEPT: kept} if (kept := trail.record()) else {}),
            wish.key,
            wish.fingerprint() if wish.key else "",
            queue,
        )

    def _new(self, wish: AdmissionRequest) -> Row:
        snapshot = self.executor.first(wish.kind)
        return Row(wish.path, wish.kind, snapshot, wish.lane, wish.token or uuid4(), {**wish.spec, **wish.found})

    async def _accepted(self, wish: AdmissionRequest, begin: OperationStart, moved: Applied) -> Accepted | Rejection:
        decision = moved.decision
        if decision.joined:
            return await self._kept(wish, Accepted(str(moved.brief.operation or ""), joined=True))
        op = decision.after.operation or decision.after.hidden
        if decision.beside:
            return Accepted(str(begin.id))
        if decision.moves and any(ended.id == str(begin.id) for ended in decision.ended):
            return Accepted(str(begin.id))  # begun and ended at once
        if op is not None and op.id != str(begin.id):
            return await self._kept(wish, Accepted(op.id))  # a word to what was under way
        return Accepted(op.id if op is not None else "", idle=op is None)

    async def _kept(self, wish: AdmissionRequest, accepted: Accepted) -> Accepted | Rejection:
        """Its key is used up by an operation that it did not begin: again, after that has ended, it begins none."""
        if not (wish.key and accepted.operation):
            return accepted
        id = UUID(accepted.operation)
        kept = await self.executor.store.operations.record_key(wish.principal, wish.key, wish.fingerprint(), id)
        return (None if kept else await self.answered(wish)) or accepted

    async def _repeated(self, conflict: Conflict) -> Accepted | Rejection:
        if conflict.same:
            record = await self.executor.store.operations.read(UUID(conflict.operation))
            return Accepted(conflict.operation, repeated=True, position=record["position"] if record else None)
        says = "the idempotency key was used for another request"
        return Rejection((Reason(Code.KEY_REUSED, says),), "")

    def _refused(self, answer: Conflict | None) -> Rejection:
        holder = answer.holder if answer is not None else None
        if answer is not None and answer.kind == "changed":
            says = "what is there has changed since the plan was made: look at a new plan"
            return Rejection((Reason(Code.CHANGED, says),), "")
        if answer is not None and answer.kind == "together":
            return Rejection((Reason(Code.NOT_EXPECTED, answer.says),), "")
        says = (
            f"{holder.action} by {holder.by} holds {holder.path}"
            if holder
            else "it changes too fast to be decided on"
        )
        return Rejection((Reason(Code.HELD, says),), "", holder=holder, retry_after=1)

    async def reject(self, wish: AdmissionRequest, refusal: Rejection) -> None:
        """Count and journal a rejection that was found before the store was asked."""
        metrics.ADMISSIONS.labels("refused", refusal.code).inc()
        await self._tell(wish, refusal)

    async def _tell(self, wish: AdmissionRequest, refusal: Rejection) -> None:
        about = {"path": wish.path, "kind": wish.kind}
        await self.note(about, wish.principal, wish.request.action, wish.request.actor, refusal)

    async def note(
        self, about: Mapping[str, Any], principal: str, word: str, actor: Actor, refusal: Rejection
    ) -> None:
        """Put a refusal into the journal."""
        reasons = {"reasons": [{"code": r.code, "says": r.says} for r in refusal.reasons]}
        await self.executor.store.journal.append_rejection(
            about["path"], about["kind"], principal, word, actor, refusal.state, reasons
        )


def may_be_new(lifecycle: Lifecycle, action: str) -> bool:
    """Whether an action may be asked of what there is no record of: a site begins Offline, and is made first."""
    return not lifecycle.presence or action == "create"


def _missing(lifecycle: Lifecycle, wish: AdmissionRequest, refusal: Rejection) -> bool:
    """Whether it is refused because there is nothing there."""
    action, initial = lifecycle.action(wish.request.action), lifecycle.initial
    if refusal.state != initial.name or initial.cls is not StateClass.ABSENT:
        return False
    return action is not None and refusal.state not in action.starts
