"""A resource as it was read, with the snapshot that decisions are made on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from stead.lifecycle.snapshot import Holder, Snapshot
from stead.store.summary import ResourceSummary, snapshot_of, summary_of, with_operation_ids


@dataclass(frozen=True, slots=True)
class Row:
    """One resource. `id` and `version` are 0 where there is none yet."""

    path: str
    kind: str
    snapshot: Snapshot
    lane: str
    token: UUID
    spec: Mapping[str, Any]
    id: int = 0
    version: int = 0
    facts: Mapping[str, Any] | None = None
    next_spec: Mapping[str, Any] | None = None
    order_id: int = 0
    timers: Mapping[str, float] | None = None
    observed_at: datetime | None = None
    changed_at: datetime | None = None
    created_at: datetime | None = None
    told: ResourceSummary | None = None
    instead: Mapping[str, int] | None = None
    """Of one that is new: `id` and `version` of what was at its path before and is gone for good."""
    around: Mapping[str, Any] | None = None
    """What has to be so around it when something is written that it was asked."""

    @property
    def summary(self) -> ResourceSummary:
        """The same in brief."""
        snap = self.snapshot
        return self.told or ResourceSummary(
            self.path, self.kind, snap.state, "{}", 0, 0, snap.fence, None, None, False
        )

    @property
    def exists(self) -> bool:
        """Whether there is a record of it."""
        return self.id != 0


def row_of(record: asyncpg.Record) -> Row:
    """A row from a record of `read_resources`."""
    summary = summary_of(record)
    alike = with_operation_ids(
        snapshot_of(summary.decision_key), str(summary.operation), str(summary.hidden), *_begun(record, "op")
    )
    if alike.hidden is not None:
        by, since = _begun(record, "hidden")
        alike = replace(alike, hidden=replace(alike.hidden, by=by, since=since))
    return Row(
        path=summary.path,
        kind=summary.kind,
        snapshot=replace(alike, fence=summary.fence, blocked=holder_of(record["blocked"], summary.path)),
        lane=record["lane"],
        token=record["token"],
        spec=record["spec"],
        id=summary.id,
        version=summary.version,
        facts=summary.decode_facts(),
        next_spec=None if summary.next_spec is None else json.loads(summary.next_spec),
        order_id=record["order_id"] or 0,
        timers=summary.decode_timers(),
        observed_at=record["observed_at"],
        changed_at=record["changed_at"],
        created_at=record["created_at"],
        told=summary,
    )


def holder_of(written: Mapping[str, Any] | None, of: str) -> Holder | None:
    """Who has a claim in the way of a path, as the database says it."""
    if written is None:
        return None
    return Holder(
        operation=str(written["operation"]),
        action=written["action"] or "",
        path=written["path"],
        by=written["by"] or "",
        since=_text(written["since"]),
        below=written["path"].startswith(f"{of}/") or bool(written.get("beside")),
    )


def _begun(record: asyncpg.Record, which: str) -> tuple[str, str]:
    """Who asked for an operation of a resource, and when it began, where the statement tells it."""
    return record.get(f"{which}_by") or "", _text(record.get(f"{which}_since"))


def _text(when: datetime | str | None) -> str:
    return when.isoformat() if isinstance(when, datetime) else when or ""
