"""A resource in brief: its identity, and the class that decisions are made for.

Resources whose summaries have the same `decision_key` get the same decision, so one decision is made for all of them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import msgspec

from stead.lifecycle.snapshot import FIRST, Fence, Snapshot
from stead.store.snapshot_codec import PLAIN_FIELDS, decode_operation, decode_work

_decode = msgspec.json.Decoder().decode

OPERATION, HIDDEN = "operation", "hidden"
"""Placeholders of the ids of operations in the snapshot of a class."""


class ResourceSummary(NamedTuple):
    """One resource. `id` and `version` are 0 where there is no record of it yet."""

    path: str
    kind: str
    state: str
    condition: str
    """As JSON."""
    id: int
    version: int
    fence: Fence
    operation: UUID | None
    hidden: UUID | None
    respec: bool
    """A spec is on its way."""
    facts: str = "{}"
    """As JSON."""
    timers: str = "{}"
    """As JSON."""
    next_spec: str | None = None
    """As JSON."""
    lane: str = ""
    revision: int = 0
    """Of the spec that is in force."""
    next_revision: int = 0
    """Of the one that is on its way."""

    def decode_facts(self) -> dict[str, Any]:
        """What the provider said of it."""
        facts: dict[str, Any] = _decode(self.facts)
        return facts

    def decode_timers(self) -> dict[str, float]:
        """When which timer is due."""
        timers: dict[str, float] = _decode(self.timers)
        return timers

    @property
    def decision_key(self) -> tuple[str, str, str, bool]:
        """What it has in common with others of its class."""
        return (self.kind, self.state, self.condition, self.respec)

    def revision_of(self, told: int | None) -> int | None:
        """The revision of a spec as decisions know it: 1 is the one on its way, 0 the one in force, 2 any other."""
        if not told:  # unknown, or no agent got an order
            return None
        if self.respec and told == self.next_revision:
            return 1
        return 0 if told == self.revision else 2


def summary_of(record: asyncpg.Record) -> ResourceSummary:
    """A summary from a record of the database."""
    return ResourceSummary(
        record["path"],
        record["kind"],
        record["state"],
        record["condition"],
        record["id"],
        record["version"],
        Fence(record["incarnation"], record["fence"]),
        record["operation"],
        record["hidden"],
        record["next_spec"] is not None,
        record["facts"],
        record["timers"],
        record["next_spec"],
        record["lane"],
        record["revision"],
        record["next_revision"],
    )


@lru_cache(maxsize=10_000)
def snapshot_of(decision_key: tuple[str, str, str, bool]) -> Snapshot:
    """The snapshot of a class, without fence, and with placeholders for ids."""
    _, state, written, respec = decision_key
    return decode_snapshot(state, json.loads(written), respec)


def decode_snapshot(state: str, condition: dict[str, Any], respec: bool) -> Snapshot:
    """A snapshot from what is written of it."""
    op = hidden = None
    if "op" in condition:
        op = decode_operation(condition["op"], OPERATION, "", "")
    if "hidden" in condition:
        hidden = decode_operation(condition["hidden"], HIDDEN, "", "")
    plain: dict[str, Any] = {name: condition[name] for name in PLAIN_FIELDS if name in condition}
    if "kept" in plain:
        plain["kept"] = tuple(plain["kept"])
    return Snapshot(
        state=state,
        fence=FIRST,
        operation=op,
        hidden=hidden,
        work=decode_work(condition),
        revision=1 if respec else 0,
        **plain,
    )


def with_operation_ids(snapshot: Snapshot, operation: str, hidden: str, by: str = "", since: str = "") -> Snapshot:
    """The same with the operations' own names."""
    op = replace(snapshot.operation, id=operation, by=by, since=since) if snapshot.operation else None
    hid = replace(snapshot.hidden, id=hidden) if snapshot.hidden else None
    return replace(snapshot, operation=op, hidden=hid)
