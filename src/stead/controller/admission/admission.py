"""Admission: a request is rejected with its reasons, or accepted for good.

Two statements, read and commit; a third for an idempotency key, and a further one to wait in a queue. Then nothing
can be lost, and nothing has been sent yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from stead.access.authorized import Authorized
from stead.access.lane_use import not_allowed, uses
from stead.controller.admission.queue_rules import find_queue, lines_up, may_wait
from stead.controller.admission.rejections import rejection_of
from stead.controller.admission.request import Accepted, ActionRequest, NotFound, request_of
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.journal_notes import why
from stead.controller.execution.placement import found_for, places
from stead.controller.execution.preconditions import is_free, place_of
from stead.controller.execution.preconditions import makes as makes_object
from stead.controller.execution.request_context import ORIGIN_FIELD
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.groups.deploys import KIND as SYSTEM
from stead.controller.groups.deploys import deployed
from stead.controller.groups.member_classes import by_class, member_classes
from stead.lifecycle.decide import Group, decide
from stead.lifecycle.decide.group import makes
from stead.lifecycle.decision import Code, Outcome, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict
from stead.lifecycle.rows import Actor, StateClass
from stead.origin import current_origin
from stead.store import Conflict, Row
from stead.store.commit import LANE
from stead.store.decision_template import OperationStart
from stead.telemetry import metrics, tracing
from stead.telemetry.context import TraceContext, add_context, current_context


class Admission:
    """Accepts or rejects requests."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor
        self.store = executor.store

    async def admit(self, request: ActionRequest, authorized: Authorized) -> Accepted | Rejection | NotFound:
        """Accept a request, or say why not."""
        authorized.check(request.action, force=request.force)
        with tracing.span("admit", path=request.path, action=request.action):
            answer = await self._admit(request, authorized)
        if isinstance(answer, Accepted):
            add_context(operation=answer.operation, path=request.path)
            metrics.ADMISSIONS.labels("accepted", "").inc()
        else:
            code = answer.code if isinstance(answer, Rejection) else Code.NOT_FOUND
            metrics.ADMISSIONS.labels("refused", code).inc()
        return answer

    async def _admit(self, request: ActionRequest, authorized: Authorized) -> Accepted | Rejection | NotFound:
        lifecycle = await self.executor.kinds.find(request.kind)
        if lifecycle is None:
            return NotFound(f"there is no kind {request.kind}")
        known = await self.answered(request, authorized.principal)
        if known is not None:
            return known
        settled = await self._by_members(lifecycle, request, authorized)
        if isinstance(settled, Rejection):
            await self._tell(request, authorized, settled)
        if settled is not None:
            return settled
        request = await self._placed(request)
        request = replace(request, place=place_of(lifecycle, request.action, request.path, request.spec))
        queue = ""
        event = request.event(authorized.caller)
        if may_wait(lifecycle, event):
            queue = await find_queue(self.store, lifecycle, request.path, request.spec)
        begin = self._begin(request, authorized, queue if lines_up(lifecycle, event) else "")
        answer = await self.executor.apply_one(self._told(request, authorized, begin))
        if isinstance(answer, Applied) and not answer.decision.queued:
            return await self._begun(request, authorized, begin, answer)
        if isinstance(answer, Conflict) and answer.kind == "key":
            return await self._repeated(request, answer)
        if isinstance(answer, Applied) or (queue and isinstance(answer, Conflict)):
            return await self._wait(request, authorized, begin, queue)
        known = await self.answered(
            request, authorized.principal
        )  # it may have been let in a moment ago, under the same key
        if known is not None:
            return known
        refusal = answer if isinstance(answer, Rejection) else rejection_of(answer)
        if answer is None or _missing(lifecycle, request, refusal):
            return NotFound(f"there is no {request.kind} {request.path}")
        await self._tell(request, authorized, refusal)
        return await self._named(request.place or request.path, refusal)

    async def _wait(
        self, request: ActionRequest, authorized: Authorized, begin: OperationStart, queue: str
    ) -> Accepted | Rejection:
        """Let it wait its turn, under the operation that it will be."""
        wait = {
            "operation": str(begin.id),
            "queue": queue,
            "path": request.path,
            "kind": request.kind,
            "action": begin.action,
            "principal": begin.principal,
            "actor": authorized.actor,
            "reason": begin.reason,
            "request": {**begin.request, "queued": True},
        }
        key = {"key": begin.key, "fingerprint": begin.fingerprint} if begin.key else {}
        used = await self.uses(request, authorized.actor)
        answer = await self.store.queues.enqueue(wait | key | ({"uses": used} if used else {}))
        if isinstance(answer, int):
            return _accepted(request, str(begin.id), position=answer)
        if answer.kind == "key":
            return await self._repeated(request, answer)
        if answer.kind == LANE:
            refusal = not_allowed(answer.refused)
            await self._tell(request, authorized, refusal)
            return refusal
        refusal = Rejection((Reason(Code.STOPPING, f"the queue of {queue} takes nothing more"),), "", retry_after=15)
        await self._tell(request, authorized, refusal)
        return refusal

    async def turn(self, head: Mapping[str, Any]) -> bool:
        """Try one that has waited, under the operation that was promised; False where it has to wait on.

        The transaction that begins it takes it out of the queue, so it begins once, and not at all where it was
        cancelled meanwhile. What cannot begin, though nothing is in its way, ends refused.
        """
        request = replace(request_of(head), on_conflict=OnConflict.QUEUE)  # whatever the lifecycle says by now
        authorized = Authorized.of_record(head["principal"], Actor(head["actor"]), request.action)
        answer = await self._turn(request, authorized, head)
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

    async def _turn(
        self, request: ActionRequest, authorized: Authorized, head: Mapping[str, Any]
    ) -> Answer | Accepted:
        lifecycle = await self.executor.kinds.find(request.kind)
        if lifecycle is None:
            return Rejection((Reason(Code.NOT_FOUND, f"there is no kind {request.kind}"),), "")
        request = await self._placed(request)
        begin = replace(
            self._begin(request, authorized, head["queue"]),
            id=head["operation"],
            request=head["request"],
            waited=True,
        )
        answer = await self._by_members(lifecycle, request, authorized) or await self.executor.apply_one(
            self._told(request, authorized, begin)
        )
        if answer is None or (isinstance(answer, Rejection) and _missing(lifecycle, request, answer)):
            return Rejection((Reason(Code.NOT_FOUND, f"there is no {request.kind} {request.path}"),), "")
        return answer

    async def _leave(self, head: Mapping[str, Any], outcome: Outcome, refusal: Rejection | None = None) -> bool:
        """It ends without having begun; that it is out of the queue is true also if somebody else was faster."""
        reasons = [{"code": r.code, "message": r.message} for r in refusal.reasons] if refusal is not None else []
        await self.store.queues.leave(head["operation"], outcome, reasons, head["principal"], head["actor"])
        return True

    async def _named(self, path: str, refusal: Rejection) -> Rejection:
        """A refusal for a claim, with everybody who has one in the way."""
        if refusal.code is not Code.HELD or refusal.holder is None:
            return refusal
        return replace(refusal, holders=tuple(await self.store.claims.find_holders(path)) or (refusal.holder,))

    async def answered(self, request: ActionRequest, principal: str) -> Accepted | Rejection | None:
        """The answer that was given before to the same key."""
        if not request.key:
            return None
        conflict = await self.store.operations.find_key(principal, request.key, request.fingerprint())
        return None if conflict is None else await self._repeated(request, conflict)

    async def _by_members(
        self, lifecycle: Lifecycle, request: ActionRequest, authorized: Authorized
    ) -> Rejection | Accepted | None:
        """Of a group: what its members say to it, where none would act; decided once per class of members."""
        action, member = lifecycle.action(request.action), self.executor.kinds.get(lifecycle.members)
        known = member.action(action.member_action) if action is not None and member is not None else None
        if action is None or member is None or makes(member, action.member_action) or not (known or action.observes):
            return None
        row = await self.store.resources.read(request.path)
        if row is None or row.kind != lifecycle.kind:
            return None
        classes = by_class(await member_classes(self.store, lifecycle, request.path, request.failed_of))
        answer = decide(lifecycle, Group(row.snapshot, member, classes), request.event(authorized.caller))
        if not isinstance(answer, Rejection):
            return (
                _accepted(request, "", no_change=True)
                if answer.parent.ended and not answer.parent.transitions
                else None
            )
        if answer.code is not Code.NO_MEMBER:
            return answer if answer.code in (Code.WRONG_STATE, Code.UNKNOWN_ACTION) else None
        holders = (
            tuple((await self.store.claims.find_held_below(request.path)).values()) if action.skips_claimed else ()
        )
        if holders and may_wait(lifecycle, request.event(authorized.caller)):
            return None
        return replace(answer, holder=holders[0], holders=holders) if holders else answer

    async def _placed(self, request: ActionRequest) -> ActionRequest:
        """With what its spec lacks and somebody has to choose."""
        lifecycle, action = self.executor.kinds[request.kind], request.action
        if request.kind == SYSTEM and action == "deploy" and request.deploys is None:
            return await self._deploys(request)
        if not places(request.kind, action):
            return request
        row = request.row or (await self.store.resources.read(request.path) if action == "migrate" else None)
        found = await found_for(self.store, lifecycle, row, action, request.spec, request.lane, request.path)
        return replace(request, placement=found) if found else request

    async def _deploys(self, request: ActionRequest) -> ActionRequest:
        """With the lanes that a deploy uses."""
        system = request.row or await self.store.resources.read(request.path)
        place = request.place or place_of(self.executor.kinds[SYSTEM], "deploy", request.path, request.spec)
        found = await deployed(self.store, system, place, request.spec.get("definition", {}))
        return replace(request, deploys=tuple(sorted(found)))

    async def uses(self, request: ActionRequest, actor: Actor) -> dict[str, Any] | None:
        """The lanes that a request would use, or will when its turn has come, as the store takes them."""
        request = await self._placed(request)
        row = request.row or await self.store.resources.read(request.path)
        if row is not None and makes_object(self.executor.kinds, request.kind, request.action):
            row = None if await is_free(self.store, self.executor.kinds, row.summary) else row
        found = uses(
            self.executor.kinds,
            request.kind,
            request.action,
            request.path,
            lane=row.lane if row is not None else request.lane,
            state=row.snapshot.state if row is not None else None,
            spec=request.spec,
            old=row.spec if row is not None else None,
            actor=actor,
            deploys=request.deploys or (),
        )
        return found.written(request.path) if found else None

    def _told(self, request: ActionRequest, authorized: Authorized, begin: OperationStart) -> TransitionInput:
        event = request.event(authorized.caller)
        return TransitionInput(
            request.path,
            replace(event, operation=str(begin.id)),
            principal=authorized.principal,
            begin=begin,
            spec={**request.spec, **request.placement},
            detail=why(self.executor.kinds[request.kind], event),
            new=self._new(request) if may_be_new(self.executor.kinds[request.kind], request.action) else None,
            read=request.row,
            facts=request.facts,
            origin=current_origin.get(),
            kind=request.kind,
            deploys=request.deploys or (),
        )

    def _begin(self, request: ActionRequest, authorized: Authorized, queue: str) -> OperationStart:
        id = uuid4()
        trail = TraceContext(current_context().get("request_id", ""), tracing.current())
        self.executor.request_contexts.note(str(id), trail)
        return OperationStart(
            id,
            request.action,
            authorized.principal,
            request.reason,
            request.recorded() | ({ORIGIN_FIELD: kept} if (kept := trail.record()) else {}),
            request.key,
            request.fingerprint() if request.key else "",
            queue,
        )

    def _new(self, request: ActionRequest) -> Row:
        snapshot = self.executor.first(request.kind)
        return Row(
            request.path,
            request.kind,
            snapshot,
            request.lane,
            request.token or uuid4(),
            {**request.spec, **request.placement},
        )

    async def _begun(
        self, request: ActionRequest, authorized: Authorized, begin: OperationStart, moved: Applied
    ) -> Accepted | Rejection:
        decision = moved.decision
        if decision.joined:
            return await self._kept(
                request, authorized, _accepted(request, str(moved.summary.operation or ""), joined=True)
            )
        op = decision.after.operation or decision.after.hidden
        if decision.beside:
            return _accepted(request, str(begin.id))
        if decision.transitions and any(ended.id == str(begin.id) for ended in decision.ended):
            return _accepted(request, str(begin.id))  # begun and ended at once
        if op is not None and op.id != str(begin.id):
            return await self._kept(request, authorized, _accepted(request, op.id))  # a word to what was under way
        return _accepted(request, op.id if op is not None else "", no_change=op is None)

    async def _kept(self, request: ActionRequest, authorized: Authorized, accepted: Accepted) -> Accepted | Rejection:
        """Its key is used up by an operation that it did not begin: again, after that has ended, it begins none."""
        if not (request.key and accepted.operation):
            return accepted
        id = UUID(accepted.operation)
        kept = await self.store.operations.record_key(authorized.principal, request.key, request.fingerprint(), id)
        return (None if kept else await self.answered(request, authorized.principal)) or accepted

    async def _repeated(self, request: ActionRequest, conflict: Conflict) -> Accepted | Rejection:
        if conflict.same:
            record = await self.store.operations.read(UUID(conflict.operation))
            position = record["position"] if record else None
            return _accepted(request, conflict.operation, repeated=True, position=position)
        says = "the idempotency key was used for another request"
        return Rejection((Reason(Code.KEY_REUSED, says),), "")

    async def reject(self, request: ActionRequest, authorized: Authorized, refusal: Rejection) -> None:
        """Count and journal a rejection that was found before the store was asked."""
        metrics.ADMISSIONS.labels("refused", refusal.code).inc()
        await self._tell(request, authorized, refusal)

    async def _tell(self, request: ActionRequest, authorized: Authorized, refusal: Rejection) -> None:
        about = {"path": request.path, "kind": request.kind}
        await self.note(about, authorized.principal, request.action, authorized.actor, refusal)

    async def note(
        self, about: Mapping[str, Any], principal: str, word: str, actor: Actor, refusal: Rejection
    ) -> None:
        """Put a refusal into the journal."""
        reasons = {"reasons": [{"code": r.code, "message": r.message} for r in refusal.reasons]}
        await self.store.journal.append_rejection(
            about["path"], about["kind"], principal, word, actor, refusal.state, reasons
        )


def _accepted(request: ActionRequest, operation: str, **how: Any) -> Accepted:
    return Accepted(operation, request.action, request.kind, request.path, **how)


def may_be_new(lifecycle: Lifecycle, action: str) -> bool:
    """Whether an action may be asked of what there is no record of: a site begins Offline, and is made first."""
    return not lifecycle.presence or action == "create"


def _missing(lifecycle: Lifecycle, request: ActionRequest, refusal: Rejection) -> bool:
    """Whether it is refused because there is nothing there."""
    action, initial = lifecycle.action(request.action), lifecycle.initial
    if refusal.state != initial.name or initial.cls is not StateClass.ABSENT:
        return False
    return action is not None and refusal.state not in action.source
