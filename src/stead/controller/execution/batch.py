"""The changes of one commit: which go together, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.claims import ancestors
from stead.lifecycle.snapshot import Fence
from stead.store import Change, ResourceSummary, Row
from stead.store.commit import CommitResult, claimed
from stead.store.decision_template import DecisionTemplate
from stead.telemetry import metrics

MAX_FACTS_CHARS = 262_144
"""Characters of the facts of a resource; where there are more, none are added."""


class BatchConflicts:
    """What is being changed in one round: no two that would stand in each other's way are in the same."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.claimed: set[str] = set()
        self.also: set[str] = set()
        """Those of them that are not the path of the resource itself, which may come more than once."""
        self.above: set[str] = set()
        self.keys: set[tuple[str, str]] = set()

    def free(self, path: str) -> bool:
        """Whether no other input has changed it in this round."""
        return path not in self.paths

    def meets(self, given: TransitionInput, template: DecisionTemplate, row: Row | None) -> bool:
        """Whether it has to wait for another; otherwise it is counted in."""
        claims = template.takes_claim
        places = claimed(given.path, row.around if row is not None else None) if claims else []
        above = {path for place in places for path in ancestors(place)}
        keys = _keys(given, row)
        if not self.keys.isdisjoint(keys):
            return True
        if not self.above.isdisjoint(places) or not self.claimed.isdisjoint(above.union(places[1:])):
            return True
        if not self.also.isdisjoint(places):
            return True
        self.paths.add(given.path)
        self.keys |= keys
        self.claimed.update(places)
        self.also.update(places[1:])
        self.above.update(above)
        return False


def _keys(given: TransitionInput, row: Row | None) -> set[tuple[str, str]]:
    """What only one in a round may have: an idempotency key, a turn in a queue, and room where there is a quota."""
    begin = given.begin
    if row is not None and row.around is not None and "makes" in row.around:
        return _keys(given, None) | {("quota", ancestors(given.path)[1])}
    if begin is None:
        return set()
    keys = {("queue", begin.queue)} if begin.queue else set()
    return keys | {(given.principal, begin.key)} if begin.key else keys


def is_unchanged(summary: ResourceSummary, template: DecisionTemplate, given: TransitionInput) -> bool:
    """Whether a decision leaves nothing to be written."""
    if not template.unchanged:
        return False
    known = summary.decode_facts() if given.facts else {}
    return all(known.get(name) == value for name, value in (given.facts or {}).items())


def change_of(
    summary: ResourceSummary,
    template: DecisionTemplate,
    given: TransitionInput,
    row: Row | None,
    used: Mapping[str, Any] | None,
) -> Change:
    """What is written for an input and the decision on it."""
    new = None
    if not summary.id and row is not None:
        spec = dict(given.spec or row.spec)
        new = {"fence": row.snapshot.fence.counter, "lane": row.lane, "token": str(row.token), "spec": spec}
        new |= {"instead": row.instead} if row.instead is not None else {}
    says = template.decision.message
    return Change(
        summary=summary,
        template=template,
        principal=given.principal,
        begin=given.begin if template.starts_operation else None,
        facts=given.facts if len(summary.facts) <= MAX_FACTS_CHARS else None,
        spec=given.spec,
        detail=given.detail or ({"error": says} if says else None),
        new=new,
        custody=given.custody,
        around=row.around if row is not None else None,
        origin=given.origin,
        uses=used,
    )


@dataclass(slots=True)
class Batch:
    """The changes of one round, in the order of their inputs."""

    changes: list[Change] = field(default_factory=list)

    def add_consequences(self, written: CommitResult) -> None:
        """Complete the result of the commit with what its hooks need to know, and count what has ended."""
        for place, change in enumerate(self.changes):
            if place not in written.conflicts:
                for ended in change.template.decision.ended:
                    metrics.ENDED.labels(ended.outcome).inc()
        written.recount.extend(self._recounts())
        written.steps.extend(self._steps())
        written.gone.extend(change.summary.path for change in self.changes if change.template.body["is_gone"])

    def _recounts(self) -> list[str]:
        """Groups whose members are to be counted, and that request nothing of them."""
        counted = [change for change in self.changes if change.template.decision.recount]
        return [change.summary.path for change in counted if change.template.body.get("expand_members") is None]

    def _steps(self) -> list[tuple[str, Fence]]:
        """Resources for which a controller has a step to do, with the fence under which it is done."""
        steps = [change for change in self.changes if change.template.decision.step]
        return [
            (c.summary.path, Fence(c.summary.fence.incarnation, c.summary.fence.counter + c.template.fence_delta))
            for c in steps
        ]
