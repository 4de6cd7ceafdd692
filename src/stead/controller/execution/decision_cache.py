"""Decisions on inputs. Resources of one class that get the same event get the same decision: it is made once."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

from stead.controller.execution.journal_notes import note_of
from stead.controller.execution.transition import TransitionInput
from stead.controller.kinds.kinds import Kinds
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import asks_as, makes
from stead.lifecycle.decision import Code, Decision, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Connected, Event, FullState, Report, Request, Take, TimerDue
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import FIRST, Fence, Snapshot
from stead.store import ResourceSummary
from stead.store.decision_template import DecisionTemplate, OperationStart, compile_decision
from stead.store.summary import snapshot_of

MAX_DECISIONS = 2_000
"""Decisions that are kept."""

WRONG_FENCE = Fence(-1, -1)
"""Stands for every fence that is not the resource's."""


class DecisionCache:
    """Decides, and keeps the decisions that many resources share."""

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self._kept: dict[tuple[object, ...], DecisionTemplate | Rejection] = {}
        self._edition = kinds.edition

    def decide(
        self, summary: ResourceSummary, snapshot: Snapshot | None, given: TransitionInput, now: float
    ) -> DecisionTemplate | Rejection:
        """The decision on an input; a timer that was set anew meanwhile is not due."""
        event = given.event
        if isinstance(event, TimerDue) and summary.decode_timers().get(event.timer, math.inf) > now:
            return Rejection((Reason(Code.NOT_DUE, f"the timer {event.timer} runs anew"),), summary.state)
        if (snapshot is not None and not given.is_within) or given.begin is not None:
            return self._decide(summary, snapshot or snapshot_of(summary.decision_key), event, given.begin)
        shared = _shared_event(event, summary)
        if given.blocked is not None:
            return self._decide(
                summary, replace(snapshot_of(summary.decision_key), blocked=given.blocked), shared, None
            )
        return self._shared(summary, shared)

    def _shared(self, summary: ResourceSummary, event: Event) -> DecisionTemplate | Rejection:
        if self._edition != self.kinds.edition:
            self._edition = self.kinds.edition
            self._kept.clear()
        key = (*summary.decision_key, summary.id != 0, event)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MAX_DECISIONS:
                self._kept.clear()
            kept = self._kept[key] = self._decide(summary, snapshot_of(summary.decision_key), event, None)
        return kept

    def _decide(
        self, summary: ResourceSummary, snapshot: Snapshot, event: Event, begin: OperationStart | None
    ) -> DecisionTemplate | Rejection:
        lifecycle = self.kinds[summary.kind]
        answer = decide(lifecycle, snapshot, event)
        if isinstance(answer, Rejection):
            return answer
        if isinstance(event, Request) and event.within and begin is None:  # its group's operation holds the claim
            answer = replace(answer, claims=())
        new = event.operation if isinstance(event, Request | TimerDue | Connected) else ""
        asks = self._member_request(lifecycle, answer, event, begin)
        return compile_decision(
            lifecycle, snapshot, answer, note_of(snapshot, event), begin, new, summary.id != 0, asks
        )

    def _member_request(
        self, lifecycle: Lifecycle, answer: Decision, event: Event, begin: OperationStart | None
    ) -> dict[str, Any] | None:
        """What a group's operation requests of the members, where their lifecycle has it."""
        member = self.kinds.get(lifecycle.members)
        op = answer.after.operation
        if answer.beside:
            return {"deploys": True, "member": lifecycle.members}
        if isinstance(event, Cancel) and answer.cancels:
            return {"cancels": True, "member": lifecycle.members}
        if not answer.members or member is None or member.action(answer.members) is None or op is None:
            return None
        actor, force = (event.actor, event.force) if isinstance(event, Request) else (Actor.CONTROLLER, op.forced)
        acting = asks_as(member, answer.members, actor)
        asks = {"action": answer.members, "member": member.kind, "actor": acting, "force": force}
        if makes(member, answer.members):
            asks["makes"] = True
        of = begin.request.get("failed_of", "") if begin is not None else ""
        least = begin.request.get("plan", {}).get("from") if begin is not None else None
        return asks | ({"of": of} if of else {}) | ({"from": least} if least is not None else {})


def _shared_event(event: Event, summary: ResourceSummary) -> Event:
    """The event as it is to every resource of the class: under the right fence, or under a wrong one."""
    if isinstance(event, Take):
        return _TAKES[event.fence == summary.fence]
    if isinstance(event, Report):
        fence = FIRST if event.fence == summary.fence else WRONG_FENCE
        revision = summary.revision_of(event.revision)
        return _report(event.kind, fence, event.seen, revision, event.actor, event.notify, event.events)
    if isinstance(event, FullState):
        fence = FIRST if event.fence == summary.fence else WRONG_FENCE
        return replace(event, fence=fence, revision=summary.revision_of(event.revision))
    return event


_TAKES = {True: Take(FIRST), False: Take(WRONG_FENCE)}
_report = lru_cache(1000)(Report)
