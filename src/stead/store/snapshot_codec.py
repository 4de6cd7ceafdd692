"""How a snapshot lies in the database: a state, and a condition with all else that a decision depends on.

Only what differs from the default is written, so that a settled resource has an empty condition and resources of one
class have equal ones, which the database can group and compare.
"""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from typing import Any

from stead.lifecycle.snapshot import OnFailure, OnPartial, Operation, Phase, Snapshot, Work

PLAIN_FIELDS = ("misses", "kept", "children", "connected", "notify", "successor")
"""Fields of a snapshot that are written as they are."""

ID_FIELDS = ("id", "by", "since")
"""Fields of an operation that are its own row's."""

_DEFAULTS = {f.name: f.default for f in (*fields(Snapshot), *fields(Operation))}
_ENUMS: dict[str, type[StrEnum]] = {"phase": Phase, "then": Phase, "on_failure": OnFailure, "on_partial": OnPartial}


def encode_condition(snapshot: Snapshot) -> dict[str, Any]:
    """The condition of a snapshot."""
    condition: dict[str, Any] = {name: getattr(snapshot, name) for name in PLAIN_FIELDS}
    condition = {name: value for name, value in condition.items() if value != _DEFAULTS[name]}
    if snapshot.operation is not None:
        condition["op"] = _operation(snapshot.operation)
    if snapshot.hidden is not None:
        condition["hidden"] = _operation(snapshot.hidden)
    if snapshot.work is not None:
        condition["work"] = {"verb": snapshot.work.verb, "taken": snapshot.work.taken}
    return condition


def decode_operation(written: dict[str, Any], id: str, by: str, since: str) -> Operation:
    """An operation from what is written of it."""
    values: dict[str, Any] = {k: _ENUMS[k](value) if k in _ENUMS else value for k, value in written.items()}
    return Operation(**values, id=id, by=by, since=since)


def decode_work(condition: dict[str, Any]) -> Work | None:
    """The order that stands, if one does."""
    work = condition.get("work")
    return None if work is None else Work(work["verb"], work["taken"])


def _operation(op: Operation) -> dict[str, Any]:
    values = {f.name: getattr(op, f.name) for f in fields(Operation) if f.name not in ID_FIELDS}
    return {name: value for name, value in values.items() if name in ("action", "origin") or value != _DEFAULTS[name]}
