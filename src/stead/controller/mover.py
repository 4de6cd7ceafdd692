"""Brings events to resources: read, decide, write, and once more where something else was first.

Every way into the store goes through here, so there is one place where a decision becomes a change. A decision is
made on what was read; the store writes it only if that still holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stead.controller.notes import note_of
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Code, Decision, Reason, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Due, Event
from stead.store import Change, Committed, Conflict, Row, Store
from stead.store.change import Begin, Custody

TRIES = 10
"""How often a change that came too late is decided anew. Each time somebody else has got on."""


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
    custody: Custody | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of it: the resource as it was, what was decided, and the resource as it is now."""

    row: Row
    decision: Decision
    now: Row


Answer = Moved | Refusal | Conflict | None
"""None: there is no such resource."""


class Mover:
    """Decides and writes, for any number of resources at once."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle], clock: Callable[[], float]) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock

    async def move(self, told: Sequence[Told], *, new: Mapping[str, Row] | None = None) -> list[Answer]:
        """Bring events to resources, one event to each at a time. `new` has rows for those that do not exist yet."""
        answers: list[Answer] = [None] * len(told)
        todo = list(range(len(told)))
        in_the_way: set[int] = set()
        for _ in range(TRIES):
            late = await self._round(told, todo, new or {}, answers, in_the_way)
            if not late:
                break
            todo = late
        return answers

    async def _round(
        self,
        told: Sequence[Told],
        todo: list[int],
        new: Mapping[str, Row],
        answers: list[Answer],
        in_the_way: set[int],
    ) -> list[int]:
        """One round: whatever is still to be done afterwards came too late, or shares its resource with another.

        Where a claim is found only now, that is decided upon once more: `decide` knows best how to say no.
        """
        rows = await self.store.read_many([told[i].path for i in todo])
        changes: list[tuple[int, Change]] = []
        later: list[int] = []
        busy: set[str] = set()
        for i in todo:
            event = told[i]
            if event.path in busy:
                later.append(i)
                continue
            row = rows.get(event.path) or new.get(event.path)
            if row is None:
                answers[i] = None
                continue
            lifecycle = self.kinds[row.kind]
            answer = self._decide(lifecycle, row, event.event)
            if isinstance(answer, Refusal):
                answers[i] = answer
            elif unchanged(row, answer, event):
                answers[i] = Moved(row, answer, row)
            else:
                busy.add(event.path)
                changes.append((i, self._change(row, answer, lifecycle, event)))
        if changes:
            results = await self.store.commit([change for _, change in changes])
            for (i, change), result in zip(changes, results, strict=True):
                if isinstance(result, Committed):
                    answers[i] = Moved(change.row, change.decision, change.result(result.id, result.order))
                else:
                    answers[i] = result
                    if result.kind == "version" or (result.kind == "claim" and i not in in_the_way):
                        in_the_way |= {i} if result.kind == "claim" else set()
                        later.append(i)
        return later

    def _decide(self, lifecycle: Lifecycle, row: Row, event: Event) -> Decision | Refusal:
        """What `decide` says; and a timer that another has armed anew meanwhile is not due."""
        if isinstance(event, Due) and (row.timers or {}).get(event.timer, math.inf) > self.clock():
            return Refusal((Reason(Code.NOT_DUE, f"the timer {event.timer} runs anew"),), row.snapshot.state)
        return decide(lifecycle, row.snapshot, event)

    def _change(self, row: Row, answer: Decision, lifecycle: Lifecycle, told: Told) -> Change:
        return Change(
            row=row,
            decision=answer,
            lifecycle=lifecycle,
            now=self.clock(),
            principal=told.principal,
            begin=told.begin,
            facts=told.facts,
            spec=told.spec,
            custody=told.custody,
            detail=told.detail,
            note=note_of(row.snapshot, told.event),
        )


def unchanged(row: Row, answer: Decision, told: Told) -> bool:
    """Whether a decision leaves nothing to be written."""
    known = row.facts or {}
    return answer.after == row.snapshot and all(
        known.get(name) == value for name, value in (told.facts or {}).items()
    )
