"""Brings events to resources: read, decide, write, and once more where something else was first.

Every way into the store goes through here, so there is one place where a decision becomes a change. A decision is
made on what was read; the store writes it only if that still holds. Resources of one class that hear the same get the
same decision, so it is made once and remembered.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import batched
from typing import Any

from stead.access.lane_use import not_allowed, used_by
from stead.batcher import Batcher
from stead.controller.execution import preconditions
from stead.controller.execution.journal_notes import note_of
from stead.controller.execution.request_context import RequestContexts
from stead.controller.execution.rounds import BatchConflicts
from stead.controller.kinds.kinds import live
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import asks_as, makes
from stead.lifecycle.decision import Code, Decision, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Connected, Event, FullState, Report, Request, Take, TimerDue
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import FIRST, Fence, Holder, Snapshot
from stead.origin import Origin
from stead.store import Change, Conflict, ResourceSummary, Row, Store
from stead.store.commit import LANE, CommitResult, Custody, Expansion
from stead.store.decision_template import DecisionTemplate, OperationStart, compile_decision
from stead.store.summary import snapshot_of
from stead.telemetry import metrics

TRIES = 10
"""How often a change that came too late is decided anew. Each time somebody else has got on."""

REMEMBERED = 2_000
"""Decisions that are kept."""

BATCH = 100
"""Events that are brought together, of those that come one by one."""

MOST = 1000
"""Events in one commit. Larger ones are no cheaper for each, and hold what they write for longer."""

MOST_FACTS = 262_144
"""Characters of what is known of a resource; where there is more, nothing is added to it."""

OLD = Fence(-1, -1)
"""A fence that is not the resource's."""


@dataclass(frozen=True, slots=True)
class TransitionInput:
    """An event for a resource, with what is to be written beside the decision."""

    path: str
    event: Event
    principal: str = ""
    begin: OperationStart | None = None
    spec: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] | None = None
    custody: Custody | None = None
    """Who takes the order."""
    new: Row | None = None
    """What it begins as, where there is no record of it yet."""
    read: Row | None = None
    """The resource, where somebody has just read it."""
    origin: Origin | None = None
    """Where the request came from."""
    lanes: frozenset[str] | None = None
    """For which lanes alone whoever says it may speak; None: for all."""
    superseded: frozenset[str] = frozenset()
    """The lanes that a newer run of the agent serves in its place."""
    kind: str = ""
    """Of which kind alone the resource is meant: another may have taken its place meanwhile."""
    deploys: tuple[str, ...] = ()
    """The lanes on which a deploy makes or changes something."""
    blocked: Holder | None = None
    """Of a member that its group asks: whoever has a claim in the way, which the group's own leaves out."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of it: the resource as it was, and what was decided."""

    brief: ResourceSummary
    template: DecisionTemplate
    wrote: bool = True
    """False where all is as it was, and nothing had to be written."""

    @property
    def decision(self) -> Decision:
        """What was decided."""
        return self.template.decision

    @property
    def fence(self) -> Fence:
        """The resource's fence from now on."""
        return Fence(self.brief.fence.incarnation, self.brief.fence.counter + self.template.fence_delta)


Answer = Applied | Rejection | Conflict | None
"""None: there is no such resource, or none that whoever spoke may speak for."""

CommitHook = Callable[[CommitResult], Awaitable[None]]
"""What comes after a commit: orders are sent, groups are counted. It never raises; what it leaves is found later."""


class TransitionExecutor:
    """Decides and writes, for any number of resources at once."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle], clock: Callable[[], float]) -> None:
        self.store = store
        self.kinds = live(kinds, store)
        self.clock = clock
        self.request_contexts = RequestContexts(store)
        self._commit_hooks: list[CommitHook] = []
        self._known: dict[tuple[object, ...], DecisionTemplate | Rejection] = {}
        self._edition = self.kinds.edition
        self.apply_one = Batcher(self.apply, BATCH)
        """Bring an event to a resource, together with whoever else does at the same time."""

    def first(self, kind: str) -> Snapshot:
        """How a resource begins: with fences above those of whatever was there before under the same path."""
        return Snapshot(self.kinds[kind].initial.name, Fence(self.store.incarnation, int(self.clock() * 1000)))

    def on_commit(self, what: CommitHook) -> None:
        """Do it after every commit."""
        self._commit_hooks.append(what)

    async def run_commit_hooks(self, written: CommitResult) -> None:
        """Do what follows from a commit."""
        for hook in self._commit_hooks:
            await hook(written)

    async def apply(
        self, told: Sequence[TransitionInput], expansion: Callable[[Sequence[Answer]], Expansion] | None = None
    ) -> list[Answer]:
        """Bring events to resources, one event to each at a time; with an `expansion` all are written or none."""
        if expansion is None and len(told) > MOST:
            return [answer for part in batched(told, MOST) for answer in await self.apply(part)]
        answers: list[Answer] = [None] * len(told)
        todo = list(range(len(told)))
        in_the_way: set[int] = set()
        refused: dict[int, Rejection] = {}
        # Those that share a resource, a key or a claim go one after the other, each in a round of its own.
        rounds = TRIES + (len(told) if expansion is None else 0)
        for attempt in range(rounds):
            todo = await self._round(told, todo, answers, expansion, in_the_way, refused, first=attempt == 0)
            if not todo:
                break
        return answers

    async def _round(
        self,
        told: Sequence[TransitionInput],
        todo: list[int],
        answers: list[Answer],
        expansion: Callable[[Sequence[Answer]], Expansion] | None,
        in_the_way: set[int],
        refused: dict[int, Rejection],
        first: bool,
    ) -> list[int]:
        """One round: whatever is still to be done afterwards came too late, or meets another that is in this round.

        Where a claim is found only now, that is decided upon once more: `decide` knows best how to say no.
        """
        todo, later = _apart(told, todo)
        briefs, rows = await self._read([told[i] for i in todo], first)
        places: list[int] = []
        changes: list[Change] = []
        taken = BatchConflicts()
        for i in todo:
            said = told[i]
            brief = briefs.get(said.path)
            if brief is None or brief.kind not in self.kinds or _elsewhere(said, brief):
                answers[i] = None
                continue
            if i in refused:
                answers[i] = refused[i]
                continue
            answers[i] = Conflict("version")  # unless it comes to more
            if not taken.free(said.path):
                later.append(i)
                continue
            row = rows.get(said.path)
            answer = self._judge(brief, row.snapshot if row else None, said)
            if isinstance(answer, Rejection):
                answers[i] = answer
                continue
            wrote = not _unchanged(brief, answer, said)
            if wrote and taken.meets(said, answer, row):
                later.append(i)
                continue
            answers[i] = Applied(brief, answer, wrote)
            if wrote:
                places.append(i)
                said = self._amended(brief, said, row)
                used = used_by(self.kinds, brief, said.event, said.spec, row, said.deploys)
                changes.append(_change(brief, answer, said, row, used))
        if changes or expansion:
            widened = expansion(answers) if expansion is not None else None
            written = await self.store.transitions.commit(changes, self.clock(), widened)
            if any(conflict.kind == "lifecycle" for conflict in written.conflicts.values()):
                await self.kinds.fresh()
            for place, conflict in written.conflicts.items():
                i = places[place]
                answers[i] = conflict
                if conflict.kind == LANE:
                    answers[i] = refused[i] = not_allowed(conflict.refused, changes[place].brief.state)
                if conflict.kind == "together":
                    written.apart.append(told[i].path)
                if conflict.kind in ("version", "lifecycle") or (conflict.kind == "claim" and i not in in_the_way):
                    in_the_way |= {i} if conflict.kind == "claim" else set()
                    later.append(i)
            if written.late or (expansion is not None and written.conflicts):
                return list(range(len(told)))
            _count_ended(changes, written)
            written.recount.extend(_counted(changes))
            written.steps.extend(_steps(changes))
            written.gone.extend(change.brief.path for change in changes if change.template.body["is_gone"])
            await self.run_commit_hooks(written)
        return later

    async def _read(
        self, told: Sequence[TransitionInput], first: bool
    ) -> tuple[dict[str, ResourceSummary], dict[str, Row]]:
        """What is there: in full for whoever asks for something, in brief for all that goes by itself."""
        rows = {said.path: said.read for said in told if said.read is not None} if first else {}
        new = {said.path: said.new for said in told if said.new is not None}
        full: list[str] = []
        brief: list[str] = []
        for said in told:
            if said.path not in rows:
                asks = isinstance(said.event, Request | Cancel) and not _within(said.event)
                (full if asks else brief).append(said.path)
        if full:
            rows |= await self.store.resources.read_many(full)
        briefs = await self.store.resources.read_summaries(brief) if brief else {}
        rows |= {path: row for path, row in new.items() if path not in rows and path not in briefs}
        briefs |= {path: row.brief for path, row in rows.items()}
        if not all(self.kinds.knows(one.kind, one.state) for one in briefs.values()):
            await self.kinds.fresh()  # registered a moment ago, by another process; or unregistered
            rows = {path: row for path, row in rows.items() if row.kind in self.kinds}
        await preconditions.succeed(self.store, self.kinds, rows, briefs, told)
        asked = [(s.path, s.event, s.spec or {}) for s in told if isinstance(s.event, Request) and not s.event.within]
        await preconditions.set_in(self.store, self.kinds, rows, asked)
        await preconditions.make_room(self.store, rows, [s for s in told if s.new is not None and _within(s.event)])
        amended = [s.path for s in told if s.path in briefs.keys() - rows and self._amends(briefs[s.path], s)]
        if amended:
            # The operation in whose course it is asked holds the claim.
            read = await self.store.resources.read_many(amended)
            rows |= {path: replace(row, snapshot=replace(row.snapshot, blocked=None)) for path, row in read.items()}
        return briefs, rows

    def _amends(self, brief: ResourceSummary, said: TransitionInput) -> bool:
        """Whether what it brings is laid over the spec that is there."""
        asked = said.event.action if isinstance(said.event, Request) else ""
        action = self.kinds[brief.kind].action(asked) if asked and brief.id and brief.kind in self.kinds else None
        return action is not None and action.amends_spec

    def _amended(self, brief: ResourceSummary, said: TransitionInput, row: Row | None) -> TransitionInput:
        """With what it brings laid over what is there, where that is how the action goes."""
        if row is None or not self._amends(brief, said):
            return said
        return replace(said, spec={**row.spec, **(said.spec or {})})

    def _judge(
        self, brief: ResourceSummary, snapshot: Snapshot | None, said: TransitionInput
    ) -> DecisionTemplate | Rejection:
        """What `decide` says; and a timer that another has armed anew meanwhile is not due."""
        event = said.event
        if isinstance(event, TimerDue) and brief.decode_timers().get(event.timer, math.inf) > self.clock():
            return Rejection((Reason(Code.NOT_DUE, f"the timer {event.timer} runs anew"),), brief.state)
        if (snapshot is not None and not _within(event)) or said.begin is not None:
            return self._decide(brief, snapshot or snapshot_of(brief.decision_key), event, said.begin)
        if self._edition != self.kinds.edition:
            self._edition = self.kinds.edition
            self._known.clear()
        alike = _alike(event, brief)
        key = (*brief.decision_key, brief.id != 0, alike)
        if said.blocked is not None:
            return self._decide(brief, replace(snapshot_of(brief.decision_key), blocked=said.blocked), alike, None)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[key] = self._decide(brief, snapshot_of(brief.decision_key), alike, None)
        return known

    def _decide(
        self, brief: ResourceSummary, snapshot: Snapshot, event: Event, begin: OperationStart | None
    ) -> DecisionTemplate | Rejection:
        lifecycle = self.kinds[brief.kind]
        answer = decide(lifecycle, snapshot, event)
        if isinstance(answer, Rejection):
            return answer
        if _within(event) and begin is None:  # its group's operation holds the claim
            answer = replace(answer, claims=())
        new = event.operation if isinstance(event, Request | TimerDue | Connected) else ""
        asks = self._asks(lifecycle, answer, event, begin)
        return compile_decision(
            lifecycle, snapshot, answer, note_of(snapshot, event), begin, new, brief.id != 0, asks
        )

    def _asks(
        self, lifecycle: Lifecycle, answer: Decision, event: Event, begin: OperationStart | None
    ) -> dict[str, Any] | None:
        """What is asked of the members, where they know it."""
        member = self.kinds.get(lifecycle.members)
        op = answer.after.operation
        if answer.beside:
            return {"deploys": True, "member": lifecycle.members}
        if isinstance(event, Cancel) and answer.cancels:
            return {"cancels": True, "member": lifecycle.members}
        if not answer.members or member is None or member.action(answer.members) is None or op is None:
            return None
        actor, force = (event.actor, event.force) if isinstance(event, Request) else (Actor.CONTROLLER, op.forced)
        asking = asks_as(member, answer.members, actor)
        asks = {"action": answer.members, "member": member.kind, "actor": asking, "force": force}
        if makes(member, answer.members):
            asks["makes"] = True
        of = begin.request.get("failed_of", "") if begin is not None else ""
        least = begin.request.get("plan", {}).get("from") if begin is not None else None
        return asks | ({"of": of} if of else {}) | ({"from": least} if least is not None else {})


def _apart(told: Sequence[TransitionInput], todo: Sequence[int]) -> tuple[list[int], list[int]]:
    """Those that can be decided on together, and those for later.

    What lies around a resource depends on what is asked of it, and is read once.
    """
    first: dict[str, tuple[str, Mapping[str, Any]]] = {}
    now: list[int] = []
    later: list[int] = []
    for i in todo:
        said = told[i]
        asked = (said.event.action, said.spec or {}) if isinstance(said.event, Request) else ("", {})
        (now if first.setdefault(said.path, asked) == asked else later).append(i)
    return now, later


def _count_ended(changes: Sequence[Change], written: CommitResult) -> None:
    """Tell the metrics what has ended with a commit, and how."""
    for place, change in enumerate(changes):
        if change.template.decision.ended and place not in written.conflicts:
            for ended in change.template.decision.ended:
                metrics.ENDED.labels(ended.outcome).inc()


def _counted(changes: Sequence[Change]) -> list[str]:
    """Groups that want to know what their members amount to, and ask nothing of them."""
    told = [change for change in changes if change.template.decision.recount]
    return [change.brief.path for change in told if change.template.body.get("expand_members") is None]


def _steps(changes: Sequence[Change]) -> list[tuple[str, Fence]]:
    """Resources for which a controller has something to do of its own, with the fence under which it is done."""
    told = [change for change in changes if change.template.decision.step]
    return [
        (c.brief.path, Fence(c.brief.fence.incarnation, c.brief.fence.counter + c.template.fence_delta)) for c in told
    ]


def _elsewhere(said: TransitionInput, brief: ResourceSummary) -> bool:
    """Whether whoever says it may not speak for the resource, or means another."""
    not_its_own = said.lanes is not None and brief.lane not in said.lanes
    return not_its_own or brief.lane in said.superseded or said.kind not in ("", brief.kind)


def _within(event: Event) -> bool:
    return isinstance(event, Request) and event.within


def _alike(event: Event, brief: ResourceSummary) -> Event:
    """The event as it is to every resource of the class: under the right fence, or under a wrong one."""
    if isinstance(event, Take):
        return _TAKES[event.fence == brief.fence]
    if isinstance(event, Report):
        fence = FIRST if event.fence == brief.fence else OLD
        revision = brief.revision_of(event.revision)
        return _report(event.kind, fence, event.seen, revision, event.actor, event.notify, event.events)
    if isinstance(event, FullState):
        fence = FIRST if event.fence == brief.fence else OLD
        return replace(event, fence=fence, revision=brief.revision_of(event.revision))
    return event


_TAKES = {True: Take(FIRST), False: Take(OLD)}
_report = lru_cache(1000)(Report)


def _unchanged(brief: ResourceSummary, answer: DecisionTemplate, said: TransitionInput) -> bool:
    """Whether a decision leaves nothing to be written."""
    if not answer.unchanged:
        return False
    known = brief.decode_facts() if said.facts else {}
    return all(known.get(name) == value for name, value in (said.facts or {}).items())


def _change(
    brief: ResourceSummary,
    template: DecisionTemplate,
    said: TransitionInput,
    row: Row | None,
    used: Mapping[str, Any] | None,
) -> Change:
    new = None
    if not brief.id and row is not None:
        spec = dict(said.spec or row.spec)
        new = {"fence": row.snapshot.fence.counter, "lane": row.lane, "token": str(row.token), "spec": spec}
        new |= {"instead": row.instead} if row.instead is not None else {}
    says = template.decision.message
    return Change(
        brief=brief,
        template=template,
        principal=said.principal,
        begin=said.begin if template.starts_operation else None,
        facts=said.facts if len(brief.facts) <= MOST_FACTS else None,
        spec=said.spec,
        detail=said.detail or ({"error": says} if says else None),
        new=new,
        custody=said.custody,
        around=row.around if row is not None else None,
        origin=said.origin,
        uses=used,
    )
