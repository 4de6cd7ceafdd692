"""Hidden work, such as the migration of a machine, and what shows it: left out for a caller who may not ask for it.

A tenant who looks at a machine sees neither that it migrates nor on which node it is, in no interface. An admin sees
both. Which fields say where something is follows from the lifecycle: those that a hidden action changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stead.access.authorization import Authorization
from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.lane_use import lanes_on
from stead.access.policies import PolicyResource, labels_of
from stead.application.explanation import ClaimHolder, Explanation
from stead.application.models import Claim, DriftReport, HistoricalResource, JournalLine, Operation, Resource
from stead.application.stuck import Stuck
from stead.lifecycle import snapshot
from stead.lifecycle.decide.draft import acts_as
from stead.lifecycle.decision import Code, Reason, Rejection
from stead.lifecycle.definition import Lifecycle

IN_USE = "the resource is in use by the system; retry, or let the request wait its turn"
SPECS = ("spec", "next_spec", "facts")
"""Of a line of the journal: what of a resource it changes."""

type Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Concealment:
    """What is left out for one caller."""

    authorization: Authorization
    caller: Caller

    def fields(self, thing: PolicyResource) -> frozenset[str]:
        """Fields of specs and facts that the caller does not see of something; none where they may ask for it."""
        lifecycle = self.authorization.kinds.get(thing.kind)
        hidden = _hidden(lifecycle) if lifecycle is not None else ()
        if lifecycle is None or not hidden or self._may(thing, hidden):
            return frozenset()
        return frozenset(
            need.field for need in lifecycle.preconditions if need.field and set(need.actions) & set(hidden)
        )

    def conceals(self, path: str, kind: str, action: str) -> bool:
        """Whether an action is hidden work that the caller does not see."""
        lifecycle = self.authorization.kinds.get(kind)
        return (
            lifecycle is not None
            and action in _hidden(lifecycle)
            and not self._may(PolicyResource(path, kind), (action,))
        )

    def _may(self, thing: PolicyResource, actions: Sequence[str]) -> bool:
        for name in actions:
            action = self.authorization.kinds[thing.kind].action(name)
            found = self.authorization.authorize(self.caller, name, thing)
            actor = found.actor if isinstance(found, Authorized) else None
            if actor is not None and action is not None and any(acts_as(actor, by) for by in action.actors):
                return True
        return False

    def resource(self, found: Resource) -> Resource:
        """A resource that rests, or does what its own operation says, and is on no node."""
        lanes = lanes_on(found.kind, found.lane, found.spec)
        fields = self.fields(PolicyResource(found.path, found.kind, labels_of(found.spec), lanes))
        if not fields:
            return found
        next_spec = None if found.hidden is not None else _without(found.next_spec, fields)
        running = found.operation
        if running is not None and running.phase == "waiting":
            running = replace(running, phase="acting")
        timers = {} if found.hidden is not None else found.timers
        spec, facts = _without(found.spec, fields) or {}, _without(found.facts, fields) or {}
        return replace(
            found, spec=spec, next_spec=next_spec, facts=facts, operation=running, hidden=None, timers=timers
        )

    def past(self, found: HistoricalResource) -> HistoricalResource:
        """The same of one that was."""
        fields = self.fields(PolicyResource(found.path, found.kind))
        if not fields:
            return found
        spec, next_spec = _without(found.spec, fields), _without(found.next_spec, fields)
        facts = _without(found.facts, fields) or {}
        return replace(found, spec=spec, next_spec=None if next_spec == spec else next_spec, facts=facts)

    def operation(self, found: Operation) -> Operation | None:
        """An operation, unless it is hidden work; one that waits for such is in progress."""
        if self.conceals(found.path, found.kind, found.action):
            return None
        fields = self.fields(PolicyResource(found.path, found.kind))
        if not fields:
            return found
        request = {**found.request}
        if isinstance(said := request.get("spec"), Mapping):
            request["spec"] = _without(said, fields)
        return replace(found, request=request, phase="acting" if found.phase == "waiting" else found.phase)

    def operations(self, found: Sequence[Operation]) -> tuple[Operation, ...]:
        """Operations, without hidden work."""
        return tuple(shown for one in found if (shown := self.operation(one)) is not None)

    def claims(self, found: Sequence[Claim]) -> tuple[Claim, ...]:
        """Claims, without those of hidden work."""
        return tuple(one for one in found if not self._conceals_somewhere(one.path, one.action))

    def stuck(self, found: Sequence[Stuck]) -> tuple[Stuck, ...]:
        """What does not come to its end, without hidden work."""
        return tuple(one for one in found if not self.conceals(one.path, one.kind, one.action))

    def truths(self, found: Sequence[DriftReport]) -> tuple[DriftReport, ...]:
        """What is recorded beside what is observed, without hidden work as what is next."""
        return tuple(replace(one, next_action="") if self._is_next(one) else one for one in found)

    def _is_next(self, found: DriftReport) -> bool:
        lifecycle = self.authorization.kinds.get(found.kind)
        actions = [a for a in lifecycle.actions if a.hidden] if lifecycle is not None else []
        return any(
            found.next_action in (action.name, *action.verbs) and self.conceals(found.path, found.kind, action.name)
            for action in actions
        )

    def lines(self, found: Sequence[JournalLine]) -> list[JournalLine]:
        """Lines of the journal, without hidden work; what a caller was refused, they may read."""
        shown = []
        for line in found:
            own = line.rejections and line.principal == self.caller.name
            if self.conceals(line.path, line.kind, line.detail) and not own:
                continue
            fields = self.fields(PolicyResource(line.path, line.kind))
            change = {k: _without(v, fields) if k in SPECS else v for k, v in line.change.items()} if fields else None
            shown.append(self._reasons(line if change is None else replace(line, change=change)))
        return shown

    def _reasons(self, line: JournalLine) -> JournalLine:
        """A line whose reasons do not name hidden work."""
        hidden = {name for kind in self.authorization.kinds.values() for name in _hidden(kind)}
        reasons = line.change.get("reasons") if line.rejections else None
        if not reasons or not any(word in str(reasons) for word in hidden) or not self._conceals_any(line.path):
            return line
        told = [{**r, "message": IN_USE} if r["code"] in (Code.HELD, Code.IN_PROGRESS) else r for r in reasons]
        return replace(line, change={**line.change, "reasons": told})

    def _conceals_any(self, path: str) -> bool:
        return any(self.conceals(path, k.kind, a) for k in self.authorization.kinds.values() for a in _hidden(k))

    def refusal[T: (Rejection, Explanation)](self, found: T) -> T:
        """A rejection, or an explanation of one, that does not name hidden work as its reason."""
        holders = tuple(holder for holder in found.holders if not self._holds(holder))
        if found.holder is None or not self._holds(found.holder):
            return replace(found, holders=holders)
        reasons = tuple(
            Reason(r.code, IN_USE) if r.code in (Code.HELD, Code.IN_PROGRESS) else r for r in found.reasons
        )
        return replace(found, reasons=reasons, holder=None, holders=holders)

    def explanation(self, found: Explanation) -> Explanation:
        """An explanation whose remedies do not name hidden work either."""
        told = self.refusal(found)
        if told.holder is found.holder:
            return told
        remedies = tuple(
            replace(remedy, description="wait, and ask again", operation="") if remedy.kind == "wait" else remedy
            for remedy in found.remedies
        )
        return replace(told, remedies=remedies)

    def _holds(self, holder: ClaimHolder | snapshot.Holder) -> bool:
        return self._conceals_somewhere(holder.path, holder.action)

    def _conceals_somewhere(self, path: str, action: str) -> bool:
        """Of what no kind is known."""
        return any(self.conceals(path, kind, action) for kind in self.authorization.kinds)


def _hidden(lifecycle: Lifecycle) -> tuple[str, ...]:
    return tuple(action.name for action in lifecycle.actions if action.hidden)


def _without(said: Fields | None, fields: frozenset[str]) -> dict[str, Any] | None:
    return None if said is None else {name: value for name, value in said.items() if name not in fields}
