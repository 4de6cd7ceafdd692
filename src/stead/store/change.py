"""A decision as it is written: the difference it makes to one resource, in the form the commit function takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from stead.lifecycle.decision import ClaimChange, Decision
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import StateClass, Trigger
from stead.lifecycle.snapshot import Holder, Operation, Snapshot
from stead.lifecycle.timers import pending
from stead.store.condition import encode
from stead.store.row import Row

MOST_DOUBLINGS = 6
"""How often the time until an order is sent anew is doubled."""


@dataclass(frozen=True, slots=True)
class Begin:
    """An operation to be begun."""

    id: UUID
    action: str
    principal: str
    reason: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Custody:
    """Who takes an order: an agent, in the epoch it is in."""

    agent: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Note:
    """What was said, for the journal to tell where it moves nothing."""

    trigger: str
    word: str
    actor: str
    cancels: str = ""
    """The operation that it cancels: that is told in any case."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written about one resource."""

    row: Row
    decision: Decision
    lifecycle: Lifecycle
    now: float
    """Seconds since the epoch, from which timers run."""
    principal: str = ""
    begin: Begin | None = None
    facts: Mapping[str, Any] | None = None
    """What the provider said, to be laid over what is known."""
    spec: Mapping[str, Any] | None = None
    """What the action brings."""
    custody: Custody | None = None
    """Who takes the order."""
    detail: Mapping[str, Any] | None = None
    """What the journal is to say beside the moves."""
    note: Note | None = None

    def written(self) -> dict[str, Any]:
        """The change as the commit function takes it."""
        before, after = self.row.snapshot, self.decision.after
        timers = self._timers(after)
        written: dict[str, Any] = {
            "id": self.row.id or None,
            "version": self.row.version,
            "path": self.row.path,
            "kind": self.row.kind,
            "lane": self.row.lane,
            "token": str(self.row.token),
            "state": after.state,
            "condition": encode(after),
            "fence": after.fence.counter,
            "operation": _id(after.operation),
            "hidden": _id(after.hidden),
            "was": _id(before.operation),
            "timers": timers,
            "due": min(timers.values(), default=None),
            "look": self._look(after),
            "principal": self.principal,
            "moves": self._lines(),
        }
        if self.decision.moves:
            written["moved"] = True
        if not self.row.exists:
            written["spec"] = dict(self.spec or self.row.spec)
        elif self._leaves(after):
            written["leaves"] = True
        written |= self._specs(before, after) | self._orders(before, after) | self._claims(before)
        if self.facts:
            written["facts"] = dict(self.facts)
            written["seen"] = True
        if self.begin is not None and self._begins:
            written["begin"] = self._begun(self.begin)
        if self.decision.ended:
            written["ended"] = [{"id": e.id, "outcome": e.outcome} for e in self.decision.ended if e.id]
        return written

    def result(self, id: int, order: int) -> Row:
        """The resource as it is once this is written."""
        after = self.decision.after
        specs = self._specs(self.row.snapshot, after)
        closed = after.work is None
        return replace(
            self.row,
            id=id,
            version=self.row.version + 1,
            snapshot=after,
            spec=specs.get("spec", self.row.spec),
            next_spec=specs.get("next_spec", self.row.next_spec),
            facts={**(self.row.facts or {}), **(self.facts or {})},
            order_id=order or (0 if closed else self.row.order_id),
        )

    def _leaves(self, after: Snapshot) -> bool:
        """Whether the record goes: there is no such object any more, and nothing is going on about it."""
        return self.lifecycle.state(after.state).cls is StateClass.ABSENT and after.operation is None

    def _timers(self, after: Snapshot) -> dict[str, float]:
        """What runs afterwards: newly armed timers from now, the others as they were."""
        armed = {t.name: self.now + t.after for t in self.decision.timers}
        if "resend" in armed:  # nobody is there to take it: what was sent lies on its lane, and need not pile up
            armed["resend"] += self.lifecycle.pace.resend * (2 ** min(self._sends(), MOST_DOUBLINGS) - 1)
        kept = self.row.timers or {}
        running = pending(self.lifecycle, after)
        return {name: armed.get(name, kept.get(name, self.now + r.after)) for name, r in running.items()}

    def _sends(self) -> int:
        return self.row.sends + 1 if self.decision.orders and self.decision.orders[-1].again else 0

    def _look(self, after: Snapshot) -> float | None:
        """When it is to be looked at, though nothing goes on: where a look could show that it has changed."""
        if after.operation is not None or after.hidden is not None or after.state not in self.lifecycle.drifts:
            return None
        return self.now + self.lifecycle.pace.look

    def _lines(self) -> list[dict[str, Any]]:
        """What the journal tells: every move, and, in a line whose state stays, whatever else has to be known."""
        lines: list[dict[str, Any]] = [
            {"trigger": m.trigger, "on": m.on, "actor": m.actor, "source": m.source, "target": m.target}
            for m in self.decision.moves
        ]
        change = self._told()
        note = self.note
        if note is not None and note.cancels:
            lines.insert(0, self._line(note.trigger, note.word, note.actor, note.cancels))
        elif note is not None and not lines and (change or self._begins or self.decision.ended):
            lines.append(self._stays(note))
        if lines and (change or self.detail):
            lines[-1]["change"] = {**(self.detail or {}), **change}
        return lines

    def _stays(self, note: Note) -> dict[str, Any]:
        if self.begin is not None and self._begins:
            return self._line(Trigger.REQUEST, self.begin.action, note.actor, str(self.begin.id))
        before = self.row.snapshot
        op = _id(before.hidden or before.operation)
        return self._line(note.trigger, note.word, note.actor, op)

    def _line(self, trigger: str, word: str, actor: str, operation: str | None) -> dict[str, Any]:
        """A line that is no move."""
        state = self.row.snapshot.state
        line = {"trigger": trigger, "on": word, "actor": actor, "source": state, "target": state}
        return line if operation is None else {**line, "operation": operation}

    def _told(self) -> dict[str, Any]:
        """What became different of spec and facts."""
        known = self.row.facts or {}
        fresh = {name: value for name, value in (self.facts or {}).items() if known.get(name, _NOTHING) != value}
        specs = self._specs(self.row.snapshot, self.decision.after)
        if not self.row.exists:
            specs["spec"] = dict(self.spec or self.row.spec)
        return {**specs, **({"facts": fresh} if fresh else {})}

    @property
    def _begins(self) -> bool:
        """Whether the operation is begun by this: it runs afterwards, or has ended with it."""
        after = self.decision.after
        known = (_id(after.operation), _id(after.hidden), *(e.id for e in self.decision.ended))
        return self.begin is not None and str(self.begin.id) in known

    def _specs(self, before: Snapshot, after: Snapshot) -> dict[str, Any]:
        if after.revision != after.previous and before.revision == before.previous:
            return {"next_spec": dict(self.spec or {})}
        if before.revision != before.previous and after.revision == after.previous:
            done = after.previous != before.previous
            return {"next_spec": None} | ({"spec": dict(self.row.next_spec or {})} if done else {})
        return {}

    def _orders(self, before: Snapshot, after: Snapshot) -> dict[str, Any]:
        op = after.hidden or after.operation
        if self.decision.orders:
            attempt = op.attempt if op is not None else 1
            return {"order": {"verb": self.decision.orders[-1].verb, "attempt": attempt, "sends": self._sends()}}
        if before.work is not None and after.work is None:
            return {"closes": True}
        if after.work is not None and after.work.taken and not (before.work and before.work.taken):
            return {"taken": {"agent": self.custody.agent, "epoch": self.custody.epoch} if self.custody else {}}
        return {}

    def _claims(self, before: Snapshot) -> dict[str, Any]:
        if ClaimChange.TAKE in self.decision.claims:
            return {"take": [{"path": self.row.path, "mode": "x"}]}
        if ClaimChange.HAND_OVER in self.decision.claims:
            holder = before.hidden or before.operation
            return {"hands": holder.id if holder else None}
        return {}

    def _begun(self, begin: Begin) -> dict[str, Any]:
        begun = {
            "id": str(begin.id),
            "action": begin.action,
            "principal": begin.principal,
            "reason": begin.reason,
            "request": dict(begin.request),
        }
        return begun | ({"key": begin.key, "fingerprint": begin.fingerprint} if begin.key else {})


_NOTHING = object()


def _id(op: Operation | None) -> str | None:
    return op.id if op is not None else None


@dataclass(frozen=True, slots=True)
class Committed:
    """A change was written."""

    id: int
    order: int = 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change was not written, because something else was first."""

    kind: str
    """`version`: read again and decide again. `claim`: see the holder. `key`: the same request was made before."""
    holder: Holder | None = None
    operation: str = ""
    same: bool = True
    """With `key`: it was the same request."""
