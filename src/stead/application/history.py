"""A resource as it was at some time, put together from the journal.

The journal has every move, and with it, or in a line of its own where nothing moved, what became different of spec
and facts. To go through the lines of a path up to a time is to have it as it was then, also when it is gone by now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.application.archived import not_after, not_before
from stead.application.models import HistoricalResource, JournalLine
from stead.application.reader import Reader
from stead.lifecycle.rows import StateClass


@dataclass
class ReplayedContent:
    """Spec and facts, as far as the lines have told."""

    spec: Mapping[str, Any] | None = None
    next_spec: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None

    def hear(self, line: JournalLine, absent: bool) -> None:
        """What a line says; the first of a new resource, which brings its spec, begins anew."""
        change = line.change
        if absent and "spec" in change:
            self.next_spec = self.facts = None
        self.spec = change.get("spec", self.spec)
        self.next_spec = change.get("next_spec", self.next_spec)
        self.facts = {**(self.facts or {}), **change.get("facts", {})}


async def past(reader: Reader, path: str, at: datetime) -> HistoricalResource | None:
    """The resource as it was; None where there was none. Raises `InArchive` where only the archive can say it."""
    await not_before(reader.store, at)
    lines = await reader.past(path, at)
    if not lines:
        await not_after(reader.store, 0)  # it may have been there all the time
        return None
    last = lines[-1]
    if _absent(reader, last.kind, last.target):
        return None
    state = reader.kinds.past_state(last.kind, last.target)
    content = ReplayedContent()
    for line in lines:
        content.hear(line, _absent(reader, line.kind, line.source))
    move = next((line for line in reversed(lines) if line.source != line.target), lines[0])
    return HistoricalResource(
        path=path,
        kind=last.kind,
        at=at,
        state=last.target,
        state_class=state.cls if state is not None else None,
        since=move.at,
        spec=content.spec,
        next_spec=content.next_spec,
        facts=content.facts or {},
        operation=move.operation,
        principal=move.principal or move.actor,
        position=last.position or 0,
    )


def _absent(reader: Reader, kind: str, state: str) -> bool:
    """Whether there is nothing; a kind whose things are there from the first has no state for that."""
    known = reader.kinds.past_state(kind, state)
    return not state or (known is not None and known.cls is StateClass.ABSENT)
