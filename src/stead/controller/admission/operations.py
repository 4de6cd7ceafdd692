"""Commands about operations: cancel, promote and retry, each under the permission for the action of the operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.rejections import ended, nothing_to_retry, rejection_of
from stead.controller.admission.request import Accepted, NotFound, request_of
from stead.controller.execution.transition import Applied, TransitionInput
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.decide.group import makes
from stead.lifecycle.decision import Code, Outcome, Reason, Rejection
from stead.lifecycle.events import Cancel
from stead.lifecycle.rows import Actor
from stead.origin import current_origin
from stead.store.commit import CommitResult

RETRYABLE = (Outcome.FAILED, Outcome.UNKNOWN, Outcome.ROLLED_BACK, Outcome.CANCELLED, Outcome.REJECTED)
"""The outcomes after which an operation can be retried."""


class OperationCommands:
    """Commands about operations that were accepted before."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.executor = admission.executor
        self.store = admission.store

    async def promote(self, operation: UUID, authorized: Authorized) -> Accepted | Rejection | NotFound:
        """Put an operation that waits its turn first."""
        principal, actor = authorized.principal, authorized.actor
        record = await self.store.operations.read(operation)
        if record is None or await self.executor.kinds.find(record["kind"]) is None:
            return NotFound(f"there is no operation {operation}")
        authorized.check(record["action"])
        refusal = self._not_theirs(record, "promote", actor)
        if refusal is None:
            if record["position"] is not None and await self.store.queues.promote(operation, principal, actor):
                return _accepted_of(record, position=1)
            says = f"{record['action']} of {record['path']} does not wait its turn"
            refusal = Rejection((Reason(Code.NOT_QUEUED, says),), "")
        await self.admission.note(record, principal, "promote", actor, refusal)
        return refusal

    def _not_theirs(self, record: Mapping[str, Any], word: str, actor: Actor) -> Rejection | None:
        """Of one that waits: whoever may ask for the action may also do this, and an admin may always."""
        action = self.executor.kinds[record["kind"]].action(record["action"])
        if action is None or actor is Actor.ADMIN or any(acts_as(actor, by) for by in action.actors):
            return None
        says = f"to {word} {action.name} is for {' or '.join(action.actors)}, not for {actor}"
        return Rejection((Reason(Code.NOT_THE_ACTOR, says),), "")

    async def cancel(self, operation: UUID, authorized: Authorized) -> Accepted | Rejection | NotFound:
        """End an operation before it is done; requested twice, the second joins the first."""
        principal, actor = authorized.principal, authorized.actor
        record = await self.store.operations.read(operation)
        if record is None or await self.executor.kinds.find(record["kind"]) is None:
            return NotFound(f"there is no operation {operation}")
        authorized.check(record["action"])
        if record["position"] is not None:
            refused = self._not_theirs(record, "cancel", actor)
            if refused is not None:
                await self.admission.note(record, principal, "cancel", actor, refused)
                return refused
            if await self.store.queues.leave(operation, Outcome.CANCELLED, [], principal, actor):
                return _accepted_of(record)
        if "place" in record["request"] and not record["outcome"]:
            return await self._cancel_beside(record, principal, actor)
        told = TransitionInput(
            record["path"], Cancel(str(operation), actor), principal=principal, origin=current_origin.get()
        )
        answer = await self.executor.apply_one(told)
        if isinstance(answer, Applied):
            return _accepted_of(record, joined=answer.decision.joined)
        refusal = answer if isinstance(answer, Rejection) else rejection_of(answer)
        if answer is None or refusal.code is Code.ENDED:
            refusal = ended(await self.store.operations.read(operation) or record, refusal)
        await self.admission.note(record, principal, "cancel", actor, refusal)
        return refusal

    async def _cancel_beside(self, record: Mapping[str, Any], principal: str, actor: Actor) -> Accepted | Rejection:
        """End one that runs beside others; what it has asked for is cancelled one by one."""
        refused = self._not_theirs(record, "cancel", actor)
        if refused is not None:
            await self.admission.note(record, principal, "cancel", actor, refused)
            return refused
        first = await self.store.systems.cancel_concurrent(record["id"], principal, actor)
        await self.executor.run_commit_hooks(CommitResult({}, [], [], [str(record["id"])]))
        return _accepted_of(record, joined=not first)

    async def retry(
        self, operation: UUID, authorized: Authorized, key: str = "", *, force: bool = False, reason: str = ""
    ) -> Accepted | Rejection | NotFound:
        """Request once more what an operation that ended otherwise was to do: of a group, the members that failed."""
        record = await self.store.operations.read(operation)
        if record is None:
            return NotFound(f"there is no operation {operation}")
        authorized.check(record["action"])
        if record["outcome"] not in RETRYABLE or "plan" in record["request"]:
            row = await self.store.resources.read(record["path"])
            refusal = nothing_to_retry(record, row.snapshot.state if row is not None else "")
            await self.admission.note(record, authorized.principal, "retry", authorized.actor, refusal)
            return refusal
        some = []
        if record["outcome"] != Outcome.CANCELLED and not self._makes(record):
            some = await self.store.groups.list_failed_members(str(operation), "", 1)
        request = request_of(record)
        request = replace(
            request,
            force=force or request.force,
            reason=reason or request.reason,
            key=key,
            retries=str(operation),
            failed_of=str(operation) if some else "",
        )
        return await self.admission.admit(request, authorized)

    def _makes(self, record: Mapping[str, Any]) -> bool:
        """Whether an operation makes members: tried again, it makes them all."""
        lifecycle = self.executor.kinds.get(record["kind"])
        action = lifecycle.action(record["action"]) if lifecycle is not None else None
        member = self.executor.kinds.get(lifecycle.members) if lifecycle is not None else None
        return action is not None and member is not None and makes(member, action.member_action)


def _accepted_of(record: Mapping[str, Any], **how: Any) -> Accepted:
    return Accepted(str(record["id"]), record["action"], record["kind"], record["path"], **how)
