"""Columns that the lists of several kinds have."""

from __future__ import annotations

from collections.abc import Callable

from stead.cli.server_commands import clock
from stead.client import Resource

type Column = tuple[str, Callable[[Resource], str]]


def _busy(one: Resource) -> str:
    return f"{one.operation.action} to {one.operation.target}" if one.operation else ""


PATH: Column = ("PATH", lambda one: one.path)
STATE: Column = ("STATE", lambda one: one.state)
CLASS: Column = ("CLASS", lambda one: one.state_class)
OPERATION: Column = ("OPERATION", _busy)
LANE: Column = ("LANE", lambda one: one.lane)
PHASE: Column = ("PHASE", lambda one: one.operation.phase if one.operation else "")
BY: Column = ("BY", lambda one: one.operation.principal if one.operation else "")
CHANGED: Column = ("CHANGED", lambda one: clock(one.changed_at))
OBSERVED: Column = ("OBSERVED", lambda one: clock(one.observed_at))
CREATED: Column = ("CREATED", lambda one: clock(one.created_at))
FAILURE: Column = ("FAILURE", lambda one: one.failure)
"""Why those failed that are in a bad state."""
