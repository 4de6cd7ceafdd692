"""A resource as it was at some time, put together from the journal.

The journal has every move, with what it changed. A resource that has not changed since then is shown as it is; for
any other, its moves are gone through up to that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from stead.controller.view.reading import WINDOW, View, moves_of
from stead.controller.view.things import Line, Past
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import StateClass
from stead.store import Row


async def past(view: View, path: str, at: datetime) -> Past | None:
    """The resource as it was; None where there was none."""
    row = await view.store.read(path)
    if row is not None and _same_since(row, at):
        now = view.shown(row)
        op = now.operation.id if now.operation else None
        by = now.operation.by if now.operation else ""
        since = now.changed_at
        return Past(path, now.kind, at, now.state, now.state_class, since, now.spec, now.facts, op, by, 0)
    moves, through = await _until(view, path, at)
    if not moves:
        return None
    last = moves[-1]
    lifecycle = view.kinds[last.kind]
    if lifecycle.state(last.target).cls is StateClass.ABSENT:
        return None
    spec, facts = _changes(moves, lifecycle)
    return Past(
        path=path,
        kind=last.kind,
        at=at,
        state=last.target,
        state_class=lifecycle.state(last.target).cls,
        since=last.at,
        spec=spec if spec is not None else _lasting(lifecycle, row, moves),
        facts=facts,
        operation=last.operation,
        principal=last.principal,
        through=through,
    )


def _same_since(row: Row, at: datetime) -> bool:
    return all(when is None or when <= at for when in (row.created_at, row.changed_at, row.seen_at))


async def _until(view: View, path: str, at: datetime) -> tuple[list[Line], int]:
    """The moves of a path up to a time, and the last position that was looked at."""
    moves: list[Line] = []
    position = 0
    while lines := await view.journal(position, path, WINDOW):
        found = moves_of(lines, path)
        until = [line for line in found if line.at <= at]
        moves += until
        if len(until) < len(found):
            return moves, until[-1].position if until else position
        position = lines[-1].position
    return moves, position


def _changes(moves: list[Line], lifecycle: Lifecycle) -> tuple[Mapping[str, Any] | None, Mapping[str, Any]]:
    """Spec and facts, as the moves changed them since the resource came to be."""
    spec: Mapping[str, Any] | None = None
    facts: dict[str, Any] = {}
    for move in moves:
        if lifecycle.state(move.source).cls is StateClass.ABSENT:
            spec, facts = None, {}
        spec = move.change.get("spec", spec)
        facts |= move.change.get("facts", {})
    return spec, facts


def _lasting(lifecycle: Lifecycle, row: Row | None, moves: list[Line]) -> Mapping[str, Any] | None:
    """The spec of a resource that is still the same one, and of a kind whose spec never changes."""
    born = next((m.at for m in reversed(moves) if lifecycle.state(m.source).cls is StateClass.ABSENT), None)
    if row is None or born is None or row.created_at is None or row.created_at > born:
        return None
    return None if any(action.respec for action in lifecycle.actions) else row.spec
