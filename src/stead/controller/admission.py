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
from stead.controller.relay import Relay
from stead.lifecycle.decision import Code, Reason, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Request
from stead.lifecycle.rows import StateClass
from stead.lifecycle.snapshot import Fence, Snapshot
from stead.store import Conflict, Row
from stead.store.change import Begin


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

    def fingerprint(self) -> str:
        """Two wishes under one key are the same if this is."""
        parts = [self.kind, self.path, self.request.action, self.request.force, dict(self.spec)]
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

    def __init__(self, mover: Mover, relay: Relay, incarnation: int = 1) -> None:
        self.mover = mover
        self.relay = relay
        self.incarnation = incarnation

    async def ask(self, wish: Wish) -> Accepted | Refusal | NotFound:
        """Answer a request."""
        lifecycle = self.mover.kinds.get(wish.kind)
        if lifecycle is None:
            return NotFound(f"there is no kind {wish.kind}")
        known = await self._known(wish)
        if known is not None:
            return known
        told = self._told(wish)
        (answer,) = await self.mover.move([told], new={wish.path: self._new(lifecycle, wish)})
        if isinstance(answer, Moved):
            return await self._accepted(lifecycle, wish, answer)
        if isinstance(answer, Conflict) and answer.kind == "key":
            return self._repeated(answer)
        known = await self._known(wish)  # it may have been let in a moment ago, under the same key
        if known is not None:
            return known
        refusal = self._refused(lifecycle, wish, answer)
        if refusal.state == lifecycle.initial.name and lifecycle.initial.cls is StateClass.ABSENT:
            action = lifecycle.action(wish.request.action)
            if action is not None and refusal.state not in action.starts:
                return NotFound(f"there is no {wish.kind} {wish.path}")
        await self._tell(wish, refusal)
        return refusal

    async def _known(self, wish: Wish) -> Accepted | Refusal | None:
        """The answer that was given before to the same key."""
        if not wish.key:
            return None
        conflict = await self.mover.store.key(wish.principal, wish.key, wish.fingerprint())
        return None if conflict is None else self._repeated(conflict)

    def _told(self, wish: Wish) -> Told:
        operation = uuid4()
        return Told(
            wish.path,
            replace(wish.request, operation=str(operation), by=wish.principal, revision=1),
            principal=wish.principal,
            begin=self._begin(operation, wish),
            spec=wish.spec,
        )

    def _begin(self, operation: UUID, wish: Wish) -> Begin:
        return Begin(
            operation,
            wish.request.action,
            wish.principal,
            wish.request.reason,
            {"force": wish.request.force} if wish.request.force else {},
            wish.key,
            wish.fingerprint() if wish.key else "",
        )

    def _new(self, lifecycle: Lifecycle, wish: Wish) -> Row:
        snapshot = Snapshot(lifecycle.initial.name, Fence(self.incarnation, 0))
        return Row(wish.path, wish.kind, snapshot, wish.lane, uuid4(), wish.spec)

    async def _accepted(self, lifecycle: Lifecycle, wish: Wish, moved: Moved) -> Accepted:
        decision, before = moved.decision, moved.row.snapshot
        if decision.joined:
            return Accepted(before.operation.id if before.operation else "", joined=True)
        op = decision.after.operation or decision.after.hidden
        await self.relay.send([moved])
        return Accepted(op.id if op is not None else "", idle=op is None)

    def _repeated(self, conflict: Conflict) -> Accepted | Refusal:
        if conflict.same:
            return Accepted(conflict.operation, repeated=True)
        says = "the idempotency key was used for another request"
        return Refusal((Reason(Code.KEY_REUSED, says),), "")

    def _refused(self, lifecycle: Lifecycle, wish: Wish, answer: Refusal | Conflict | None) -> Refusal:
        if isinstance(answer, Refusal):
            return answer
        holder = answer.holder if answer is not None else None
        says = (
            f"{holder.action} by {holder.by} holds {holder.path}"
            if holder
            else "it changes too fast to be decided on"
        )
        return Refusal((Reason(Code.HELD, says),), "", holder=holder, retry_after=1)

    async def _tell(self, wish: Wish, refusal: Refusal) -> None:
        reasons = {"reasons": [{"code": r.code, "says": r.says} for r in refusal.reasons]}
        request = wish.request
        await self.mover.store.refuse(
            wish.path, wish.kind, wish.principal, request.action, request.actor, refusal.state, reasons
        )
