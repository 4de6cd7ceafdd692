"""Brings events to resources: read, decide, write, and once more where something else was first.

Every way into the store goes through here, so there is one place where a decision becomes a change. A decision is
made on what was read; the store writes it only if that still holds. Resources of one class that hear the same get the
same decision, so it is made once and remembered.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stead.controller.notes import note_of
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import asks_as
from stead.lifecycle.decision import Code, Decision, Reason, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Connected, Due, Event, FullState, Report, Request, Take
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import FIRST, Fence, Snapshot
from stead.store import Brief, Change, Conflict, Row, Store
from stead.store.brief import snapshot_of
from stead.store.change import Custody, Expansion, Written
from stead.store.template import Begin, Template, compiled

TRIES = 10
"""How often a change that came too late is decided anew. Each time somebody else has got on."""

REMEMBERED = 20_000
"""Decisions that are kept."""

OLD = Fence(-1, -1)
"""A fence that is not the resource's."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event for a resource, with what is to be written beside the decision."""

    path: str
    event: Event
    principal: str = ""
    begin: Begin | None = None
    spec: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of it: the resource as it was, and what was decided."""

    brief: Brief
    template: Template
    wrote: bool = True
    """False where all is as it was, and nothing had to be written."""

    @property
    def decision(self) -> Decision:
        """What was decided."""
        return self.template.decision

    @property
    def fence(self) -> Fence:
        """The resource's fence from now on."""
        return Fence(self.brief.fence.incarnation, self.brief.fence.counter + self.template.raises)


Answer = Moved | Refusal | Conflict | None
"""None: there is no such resource."""

Follow = Callable[[Written], Awaitable[None]]
"""What comes after a commit: orders are sent, groups are counted. It never raises; what it leaves is found later."""


class Mover:
    """Decides and writes, for any number of resources at once."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle], clock: Callable[[], float]) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self._follow: list[Follow] = []
        self._known: dict[tuple[object, ...], Template | Refusal] = {}

    def follow(self, what: Follow) -> None:
        """Do it after every commit."""
        self._follow.append(what)

    async def move(
        self,
        told: Sequence[Told],
        *,
        new: Mapping[str, Row] | None = None,
        custody: Custody | None = None,
        expansion: Callable[[Sequence[Answer]], Expansion] | None = None,
    ) -> list[Answer]:
        """Bring events to resources, one event to each at a time.

        `new` has rows for those that do not exist yet; `custody` says who takes orders; with an `expansion` all of it
        is written or nothing.
        """
        answers: list[Answer] = [None] * len(told)
        todo = list(range(len(told)))
        in_the_way: set[int] = set()
        for _ in range(TRIES):
            todo = await self._round(told, todo, new or {}, answers, custody, expansion, in_the_way)
            if not todo:
                break
        return answers

    async def _round(
        self,
        told: Sequence[Told],
        todo: list[int],
        new: Mapping[str, Row],
        answers: list[Answer],
        custody: Custody | None,
        expansion: Callable[[Sequence[Answer]], Expansion] | None,
        in_the_way: set[int],
    ) -> list[int]:
        """One round: whatever is still to be done afterwards came too late, or shares its resource with another.

        Where a claim is found only now, that is decided upon once more: `decide` knows best how to say no.
        """
        briefs, rows = await self._read([told[i] for i in todo], new)
        places: list[int] = []
        changes: list[Change] = []
        later: list[int] = []
        busy: set[str] = set()
        for i in todo:
            said = told[i]
            brief = briefs.get(said.path)
            if said.path in busy:
                later.append(i)
            elif brief is None:
                answers[i] = None
            else:
                row = rows.get(said.path)
                answer = self._judge(brief, row.snapshot if row else None, said)
                if isinstance(answer, Refusal):
                    answers[i] = answer
                    continue
                answers[i] = Moved(brief, answer, wrote=not _unchanged(brief, answer, said))
                if not _unchanged(brief, answer, said):
                    busy.add(said.path)
                    places.append(i)
                    changes.append(_change(brief, answer, said, row))
        if changes or expansion:
            widened = expansion(answers) if expansion is not None else None
            written = await self.store.commit(changes, self.clock(), custody, widened)
            for place, conflict in written.conflicts.items():
                i = places[place]
                answers[i] = conflict
                if conflict.kind == "version" or (conflict.kind == "claim" and i not in in_the_way):
                    in_the_way |= {i} if conflict.kind == "claim" else set()
                    later.append(i)
            if expansion is not None and written.conflicts:
                return list(range(len(told)))
            written.recount.extend(_counted(changes))
            for follow in self._follow:
                await follow(written)
        return later

    async def _read(self, told: Sequence[Told], new: Mapping[str, Row]) -> tuple[dict[str, Brief], dict[str, Row]]:
        """What is there: in full for whoever asks for something, in brief for all that goes by itself."""
        asked = [said.path for said in told if isinstance(said.event, Request | Cancel) and not _within(said.event)]
        rows = await self.store.read_many(asked) if asked else {}
        rows = {path: rows.get(path) or new[path] for path in asked if path in rows or path in new}
        briefs = {path: row.brief for path, row in rows.items()}
        others = [said.path for said in told if said.path not in briefs]
        if len(others) > len(asked) - len(rows):
            briefs |= await self.store.briefs(others)
        rows |= {path: new[path] for path in others if path not in briefs and path in new}
        return briefs | {path: row.brief for path, row in rows.items()}, rows

    def _judge(self, brief: Brief, snapshot: Snapshot | None, said: Told) -> Template | Refusal:
        """What `decide` says; and a timer that another has armed anew meanwhile is not due."""
        event = said.event
        if isinstance(event, Due) and brief.armed().get(event.timer, math.inf) > self.clock():
            return Refusal((Reason(Code.NOT_DUE, f"the timer {event.timer} runs anew"),), brief.state)
        if snapshot is not None or said.begin is not None:
            return self._decide(brief, snapshot or snapshot_of(brief.likeness), event, said.begin)
        alike = _alike(event, brief)
        key = (*brief.likeness, alike)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[key] = self._decide(brief, snapshot_of(brief.likeness), alike, None)
        return known

    def _decide(self, brief: Brief, snapshot: Snapshot, event: Event, begin: Begin | None) -> Template | Refusal:
        lifecycle = self.kinds[brief.kind]
        answer = decide(lifecycle, snapshot, event)
        if isinstance(answer, Refusal):
            return answer
        if _within(event):  # its group's operation holds the claim
            answer = replace(answer, claims=())
        new = event.operation if isinstance(event, Request | Due | Connected) else ""
        asks = self._asks(lifecycle, answer, event)
        return compiled(lifecycle, snapshot, answer, note_of(snapshot, event), begin, new, brief.id != 0, asks)

    def _asks(self, lifecycle: Lifecycle, answer: Decision, event: Event) -> dict[str, Any] | None:
        """What is asked of the members, where they know it."""
        member = self.kinds.get(lifecycle.members)
        op = answer.after.operation
        if not answer.members or member is None or member.action(answer.members) is None or op is None:
            return None
        actor = event.actor if isinstance(event, Request) else Actor.CONTROLLER
        asking = asks_as(member, answer.members, actor)
        return {"action": answer.members, "member": member.kind, "actor": asking, "force": op.forced}


def _counted(changes: Sequence[Change]) -> list[str]:
    """Groups that want to know what their members amount to, and ask nothing of them."""
    told = [change for change in changes if change.template.decision.recount]
    return [change.brief.path for change in told if change.template.body.get("expands") is None]


def _within(event: Event) -> bool:
    return isinstance(event, Request) and event.within


def _alike(event: Event, brief: Brief) -> Event:
    """The event as it is to every resource of the class: under the right fence, or under a wrong one."""
    if isinstance(event, Take):
        return _TAKES[event.fence == brief.fence]
    if isinstance(event, Report | FullState):
        return replace(event, fence=FIRST if event.fence == brief.fence else OLD)
    return event


_TAKES = {True: Take(FIRST), False: Take(OLD)}


def _unchanged(brief: Brief, answer: Template, said: Told) -> bool:
    """Whether a decision leaves nothing to be written."""
    if not answer.idle:
        return False
    known = brief.known() if said.facts else {}
    return all(known.get(name) == value for name, value in (said.facts or {}).items())


def _change(brief: Brief, template: Template, said: Told, row: Row | None) -> Change:
    new = None
    if not brief.id and row is not None:
        spec = dict(said.spec or row.spec)
        new = {"fence": row.snapshot.fence.counter, "lane": row.lane, "token": str(row.token), "spec": spec}
    return Change(
        brief=brief,
        template=template,
        principal=said.principal,
        begin=said.begin if template.begins else None,
        facts=said.facts,
        spec=said.spec,
        detail=said.detail,
        new=new,
    )
