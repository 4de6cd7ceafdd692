"""A resource as it was read, with the snapshot that decisions are made on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stead.lifecycle.snapshot import Fence, Holder, Snapshot
from stead.store.condition import PLAIN, decode_operation, decode_work


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
    sends: int = 0
    """How often its order was sent anew."""
    timers: Mapping[str, float] | None = None
    seen_at: datetime | None = None
    changed_at: datetime | None = None
    created_at: datetime | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a record of it."""
        return self.id != 0


def row_of(record: Mapping[str, Any]) -> Row:
    """A row from a record of `read_resources`."""
    condition = record["condition"]
    since = record["op_since"].isoformat() if record["op_since"] else ""
    op = hidden = None
    if "op" in condition:
        op = decode_operation(condition["op"], str(record["operation"]), record["op_by"], since)
    if "hidden" in condition:
        hidden = decode_operation(condition["hidden"], str(record["hidden"]), "", "")
    plain: dict[str, Any] = {name: condition[name] for name in PLAIN if name in condition}
    if "kept" in plain:
        plain["kept"] = tuple(plain["kept"])
    snapshot = Snapshot(
        state=record["state"],
        fence=Fence(record["incarnation"], record["fence"]),
        operation=op,
        hidden=hidden,
        work=decode_work(condition),
        revision=1 if record["next_spec"] is not None else 0,
        blocked=holder_of(record["blocked"], record["path"]),
        **plain,
    )
    return Row(
        path=record["path"],
        kind=record["kind"],
        snapshot=snapshot,
        lane=record["lane"],
        token=record["token"],
        spec=record["spec"],
        id=record["id"],
        version=record["version"],
        facts=record["facts"],
        next_spec=record["next_spec"],
        order_id=record["order_id"] or 0,
        sends=record["sends"],
        timers=record["timers"],
        seen_at=record["seen_at"],
        changed_at=record["changed_at"],
        created_at=record["created_at"],
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
        below=written["path"].startswith(f"{of}/"),
    )


def _text(when: datetime | str | None) -> str:
    return when.isoformat() if isinstance(when, datetime) else when or ""
