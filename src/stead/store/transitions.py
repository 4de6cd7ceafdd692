"""Transitions: decided changes, committed with their claims, operations, orders and journal lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import asyncpg

from stead.store.commit import LANE, Change, CommitResult, Conflict, Expansion, conflict_of
from stead.store.statements import StorePart

MAX_ORDER_MEMBERS = 100
"""Members in one order: as many as one call to a provider usually takes."""
EXPANSION_STALE = "ST001"
"""What the commit function says where all was to be written or nothing, and something had changed."""
LEASE_INCONSISTENT = "ST003"
"""What the database says where a lease, its reservations and its events would not go together."""
LIFECYCLE_CHANGED = "ST004"
"""What it says where a registered lifecycle is another by now, and lacks what was decided."""
DEADLOCK = "40P01"
LANE_DENIED = "ST005"
"""What it says where a row would get a lane that its namespace may not use."""
CONFLICTS = {
    EXPANSION_STALE: "version",
    DEADLOCK: "version",
    LEASE_INCONSISTENT: "together",
    LIFECYCLE_CHANGED: "lifecycle",
    LANE_DENIED: LANE,
}
"""What became of a change, by what the database says."""
KEY_CONSTRAINT = "idempotency_keys_pkey"
"""The constraint that fails where another request has used the idempotency key meanwhile: a retry finds it."""


class Transitions(StorePart):
    """Commits of decided changes."""

    async def commit(
        self,
        changes: Sequence[Change],
        at: float,
        expansion: Expansion | None = None,
    ) -> CommitResult:
        """Write changes in one transaction; each is written whole or answered with a conflict.

        With an expansion, all of them are written or none.
        """
        numbers: dict[tuple[object, ...], int] = {}
        templates: list[dict[str, Any]] = []
        which: list[int] = []
        for change in changes:
            begins = change.begin.id if change.begin else None
            key = (id(change.template), change.principal, begins, change.custody, change.origin)
            number = numbers.get(key)
            if number is None:
                templates.append(change.encode_shared(at))
                number = numbers[key] = len(templates)
            which.append(number)
        try:
            answer = await self._sql.value(
                "commit",
                templates,
                which,
                [change.summary.id or None for change in changes],
                [change.summary.version for change in changes],
                _own(changes),
                at,
                None if expansion is None else expansion.written(),
                MAX_ORDER_MEMBERS,
            )
        except asyncpg.PostgresError as error:
            known = error.constraint_name == KEY_CONSTRAINT
            if (
                (known or error.sqlstate in (LEASE_INCONSISTENT, LANE_DENIED))
                and len(changes) > 1
                and expansion is None
            ):
                return await self._one_by_one(changes, at)
            kind = "version" if known else CONFLICTS.get(error.sqlstate or "")
            if kind is None:
                raise
            refused = _not_written(len(changes), kind, error)
            return CommitResult(refused, [], [], late=expansion is not None)
        answer = {"orders": [], "recount": [], **answer}
        conflicts = {c["n"] - 1: conflict_of(changes[c["n"] - 1].summary.path, c) for c in answer["conflicts"]}
        del answer["conflicts"]
        return CommitResult(conflicts, **answer)

    async def _one_by_one(self, changes: Sequence[Change], at: float) -> CommitResult:
        """One of them does not go together with what there is: that one alone is not written."""
        all_ = CommitResult({}, [], [])
        conflicts: dict[int, Conflict] = {}
        for number, change in enumerate(changes):
            written = await self.commit([change], at)
            if written.conflicts:
                conflicts[number] = written.conflicts[0]
            for name in ("orders", "recount", "expanding", "waiting", "queues"):
                getattr(all_, name).extend(getattr(written, name))
        return replace(all_, conflicts=conflicts)


def _not_written(count: int, kind: str, error: asyncpg.PostgresError) -> dict[int, Conflict]:
    """What became of changes of which none was written: those on lanes that are not allowed are told apart."""
    refused = json.loads(error.detail) if error.sqlstate == LANE_DENIED and error.detail else {}
    found = dict.fromkeys(range(count), Conflict(kind, says=error.args[0], refused=refused))
    if error.sqlstate == EXPANSION_STALE and error.detail:
        lanes = [told for told in json.loads(error.detail) if told["conflict"] == LANE]
        found |= {told["n"] - 1: conflict_of("", told) for told in lanes}
    return found


def _own(changes: Sequence[Change]) -> list[dict[str, Any] | None] | None:
    """What each has of its own, if any has something."""
    extras = [change.encode_own() for change in changes]
    return extras if any(extra is not None for extra in extras) else None
