"""Lifecycles, as a server answers with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field


class LifecycleName(Struct, frozen=True, kw_only=True):
    """A lifecycle in brief."""

    kind: str
    family: str = ""
    says: str = ""
    parent: str = ""
    members: str = ""
    version: int | None = None
    """Of a kind that was registered; None where it is built in."""
    states: int = 0
    actions: int = 0
    moves: int = 0
    findings: int = 0


class LifecycleNames(Struct, frozen=True, kw_only=True):
    """All of them."""

    items: tuple[LifecycleName, ...]


class LifecycleState(Struct, frozen=True, kw_only=True):
    """A state."""

    name: str
    state_class: str
    says: str = ""
    bad: bool = False
    deadline: int | None = None
    awaits: str | None = None


class LifecycleAction(Struct, frozen=True, kw_only=True):
    """What somebody may ask for, and how it goes."""

    name: str
    says: str = ""
    starts: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    ends: str = ""
    fails: str = ""
    by: tuple[str, ...] = ()
    undo: str = ""
    forceable: bool = False
    respec: bool = False
    steers: str = ""
    observes: bool = False
    needs_reason: bool = False


class LifecycleMove(Struct, frozen=True, kw_only=True):
    """One edge."""

    source: str
    trigger: str
    on: str
    actor: str
    target: str
    forced: bool = False


class LifecycleFinding(Struct, frozen=True, kw_only=True):
    """A hole in a lifecycle, and how to mend it."""

    rule: str
    where: str
    says: str
    mend: str = ""


class ExploredSize(Struct, frozen=True, kw_only=True):
    """How much there was to see when it was explored in full."""

    worlds: int
    steps: int


class RegisteredLifecycle(Struct, frozen=True, kw_only=True):
    """How a kind came that is not built in."""

    version: int
    by: str
    at: datetime
    document: str
    """In YAML."""
    explored: Mapping[str, Any] = field(default_factory=dict)
    """Within which bounds it was explored, and how much there was to see."""


class WholeLifecycle(Struct, frozen=True, kw_only=True):
    """A lifecycle whole."""

    kind: str
    family: str = ""
    says: str = ""
    parent: str = ""
    members: str = ""
    states: tuple[LifecycleState, ...] = ()
    actions: tuple[LifecycleAction, ...] = ()
    moves: tuple[LifecycleMove, ...] = ()
    findings: tuple[LifecycleFinding, ...] = ()
    explored: ExploredSize | None = None
    registered: RegisteredLifecycle | None = None
    """None where it is built in."""
