"""The door: a request is refused with its reasons, or accepted for good.

Two statements on the way of a single-object action: read, then commit; a third where the caller gives a key. When
the last has returned, nothing can be lost any more, and nothing was sent yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

import msgspec

from stead.controller.mover import Moved, Mover, Told
from stead.lifecycle.decide import Group, decide
from stead.lifecycle.decision import Code, Outcome, Reason, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Request
from stead.lifecycle.rows import Actor, StateClass
from stead.lifecycle.snapshot import Fence, OnFailure, OnPartial, Snapshot
from stead.store import Conflict, Row
from stead.store.brief import snapshot_of
from stead.store.template import Begin

RETRYABLE = (Outcome.FAILED, Outcome.UNKNOWN, Outcome.UNDONE, Outcome.CANCELLED)
"""How an operation must have ended for it to be tried once more."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller asks for."""

    kind: str
    path: str
    request: Request
    principal: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    lane: str = ""
    key: str = ""
    """The caller's idempotency key."""
    retries: str = ""
    """The operation that is tried once more, if it is that."""

    def fingerprint(self) -> str:
        """Two wishes under one key are the same if this is."""
        parts = [self.kind, self.path, self.request.action, self.request.force, dict(self.spec), self.retries]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


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


@dataclass(frozen=True, slots=True)
class NotFound:
    """There is no such resource, or no such kind."""

    what: str


class Admission:
    """Lets requests in."""

    def __init__(self, mover: Mover) -> None:
        self.mover = mover

    async def ask(self, wish: Wish) -> Accepted | Refusal | NotFound:
        """Answer a request."""
        lifecycle = self.mover.kinds.get(wish.kind)
        if lifecycle is None:
            return NotFound(f"there is no kind {wish.kind}")
        known = await self._known(wish)
        if known is not None:
            return known
        nobody = await self._nobody(lifecycle, wish)
        if nobody is not None:
            await self._tell(wish, nobody)
            return nobody
        begin = self._begin(wish)
        told = self._told(wish, begin)
        (answer,) = await self.mover.move([told], new={wish.path: self._new(lifecycle, wish)})
        if isinstance(answer, Moved):
            return await self._accepted(wish, begin, answer)
        if isinstance(answer, Conflict) and answer.kind == "key":
            return self._repeated(answer)
        known = await self._known(wish)  # it may have been let in a moment ago, under the same key
        if known is not None:
            return known
        refusal = answer if isinstance(answer, Refusal) else self._refused(answer)
        if refusal.state == lifecycle.initial.name and lifecycle.initial.cls is StateClass.ABSENT:
            action = lifecycle.action(wish.request.action)
            if action is not None and refusal.state not in action.starts:
                return NotFound(f"there is no {wish.kind} {wish.path}")
        await self._tell(wish, refusal)
        return await self._named(wish.path, refusal)

    async def _named(self, path: str, refusal: Refusal) -> Refusal:
        """A refusal for a claim, with everybody who has one in the way."""
        if refusal.code is not Code.HELD or refusal.holder is None:
            return refusal
        return replace(refusal, holders=tuple(await self.mover.store.holders(path)) or (refusal.holder,))

    async def cancel(self, operation: UUID, principal: str, actor: Actor) -> Accepted | Refusal | NotFound:
        """End an operation before it is done; asked for twice, the second joins the first."""
        record = await self.mover.store.operation(operation)
        if record is None or record["kind"] not in self.mover.kinds:
            return NotFound(f"there is no operation {operation}")
        told = Told(record["path"], Cancel(str(operation), actor), principal=principal)
        (answer,) = await self.mover.move([told])
        if isinstance(answer, Moved):
            return Accepted(str(operation), joined=answer.decision.joined)
        refusal = answer if isinstance(answer, Refusal) else self._refused(answer)
        if answer is None or refusal.code is Code.ENDED:
            refusal = _ended(await self.mover.store.operation(operation) or record, refusal)
        await self._note(record, principal, "cancel", actor, refusal)
        return refusal

    async def retry(
        self, operation: UUID, principal: str, actor: Actor, key: str = ""
    ) -> Accepted | Refusal | NotFound:
        """Ask once more for what an operation that ended otherwise was to do."""
        record = await self.mover.store.operation(operation)
        if record is None:
            return NotFound(f"there is no operation {operation}")
        if record["outcome"] not in RETRYABLE:
            row = await self.mover.store.read(record["path"])
            refusal = _nothing_to_retry(record, row.snapshot.state if row is not None else "")
            await self._note(record, principal, "retry", actor, refusal)
            return refusal
        said = record["request"]
        request = Request(
            action=record["action"],
            actor=actor,
            force=said.get("force", False),
            reason=record["reason"],
            hold=said.get("hold", False),
            on_failure=OnFailure(said.get("on_failure", OnFailure.UNDO)),
            on_partial=OnPartial(said.get("on_partial", OnPartial.CONTINUE)),
        )
        spec, lane = said.get("spec", {}), said.get("lane", "")
        return await self.ask(
            Wish(record["kind"], record["path"], request, principal, spec, lane, key, str(operation))
        )

    async def _known(self, wish: Wish) -> Accepted | Refusal | None:
        """The answer that was given before to the same key."""
        if not wish.key:
            return None
        conflict = await self.mover.store.key(wish.principal, wish.key, wish.fingerprint())
        return None if conflict is None else self._repeated(conflict)

    async def _nobody(self, lifecycle: Lifecycle, wish: Wish) -> Refusal | None:
        """Of a group: a refusal, where no member could follow. It is asked once per class of members."""
        action, member = lifecycle.action(wish.request.action), self.mover.kinds.get(lifecycle.members)
        if action is None or not action.members or member is None:
            return None
        row = await self.mover.store.read(wish.path)
        if row is None:
            return None
        counted = await self.mover.store.classes(member.kind, wish.path)
        classes = {snapshot_of(brief.likeness): count for brief, count in counted.items()}
        answer = decide(lifecycle, Group(row.snapshot, member, classes), wish.request)
        return answer if isinstance(answer, Refusal) and answer.code is Code.NO_MEMBER else None

    def _told(self, wish: Wish, begin: Begin) -> Told:
        return Told(
            wish.path,
            replace(wish.request, operation=str(begin.id), by=wish.principal, revision=1),
            principal=wish.principal,
            begin=begin,
            spec=wish.spec,
            detail={"force": True, "reason": wish.request.reason} if wish.request.force else None,
        )

    def _begin(self, wish: Wish) -> Begin:
        return Begin(
            uuid4(),
            wish.request.action,
            wish.principal,
            wish.request.reason,
            recorded(wish),
            wish.key,
            wish.fingerprint() if wish.key else "",
        )

    def _new(self, lifecycle: Lifecycle, wish: Wish) -> Row:
        """Its fences begin above those of whatever was there before under the same path."""
        fence = Fence(self.mover.store.incarnation, int(self.mover.clock() * 1000))
        snapshot = Snapshot(lifecycle.initial.name, fence)
        return Row(wish.path, wish.kind, snapshot, wish.lane, uuid4(), wish.spec)

    async def _accepted(self, wish: Wish, begin: Begin, moved: Moved) -> Accepted | Refusal:
        decision = moved.decision
        if decision.joined:
            return await self._kept(wish, Accepted(str(moved.brief.operation or ""), joined=True))
        op = decision.after.operation or decision.after.hidden
        if decision.moves and any(ended.id == str(begin.id) for ended in decision.ended):
            return Accepted(str(begin.id))  # begun and ended at once
        if op is not None and op.id != str(begin.id):
            return await self._kept(wish, Accepted(op.id))  # a word to what was under way
        return Accepted(op.id if op is not None else "", idle=op is None)

    async def _kept(self, wish: Wish, accepted: Accepted) -> Accepted | Refusal:
        """Its key is used up by an operation that it did not begin: again, after that has ended, it begins none."""
        if not (wish.key and accepted.operation):
            return accepted
        id = UUID(accepted.operation)
        kept = await self.mover.store.keep_key(wish.principal, wish.key, wish.fingerprint(), id)
        return (None if kept else await self._known(wish)) or accepted

    def _repeated(self, conflict: Conflict) -> Accepted | Refusal:
        if conflict.same:
            return Accepted(conflict.operation, repeated=True)
        says = "the idempotency key was used for another request"
        return Refusal((Reason(Code.KEY_REUSED, says),), "")

    def _refused(self, answer: Conflict | None) -> Refusal:
        holder = answer.holder if answer is not None else None
        says = (
            f"{holder.action} by {holder.by} holds {holder.path}"
            if holder
            else "it changes too fast to be decided on"
        )
        return Refusal((Reason(Code.HELD, says),), "", holder=holder, retry_after=1)

    async def _tell(self, wish: Wish, refusal: Refusal) -> None:
        about = {"path": wish.path, "kind": wish.kind}
        await self._note(about, wish.principal, wish.request.action, wish.request.actor, refusal)

    async def _note(
        self, about: Mapping[str, Any], principal: str, word: str, actor: Actor, refusal: Refusal
    ) -> None:
        reasons = {"reasons": [{"code": r.code, "says": r.says} for r in refusal.reasons]}
        await self.mover.store.refuse(about["path"], about["kind"], principal, word, actor, refusal.state, reasons)


def recorded(wish: Wish) -> dict[str, Any]:
    """What an operation's record keeps of the request, so that the same can be asked for again."""
    request, plain = wish.request, Request(wish.request.action)
    said = {name: getattr(request, name) for name in ("force", "hold", "on_failure", "on_partial")}
    said = {name: value for name, value in said.items() if value != getattr(plain, name)}
    rest = {"spec": dict(wish.spec), "lane": wish.lane, "retries": wish.retries}
    return said | {name: value for name, value in rest.items() if value}


def _ended(record: Mapping[str, Any], refusal: Refusal) -> Refusal:
    how = f"ended {record['outcome']}" if record["outcome"] else "is not under way any more"
    says = f"{record['action']} of {record['path']} {how}: there is nothing to cancel"
    return replace(refusal, reasons=(Reason(Code.ENDED, says),), retry_after=None)


def _nothing_to_retry(record: Mapping[str, Any], state: str) -> Refusal:
    why = {
        "": "is still under way: wait for its end, or cancel it",
        Outcome.DONE: "is done: there is nothing to retry",
        Outcome.DISPLACED: "was displaced by an operation that outranks it",
    }
    says = f"{record['action']} of {record['path']} {why[record['outcome']]}"
    return Refusal((Reason(Code.NOT_RETRYABLE, says),), state)
