"""Lifecycles, as a server answers with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleName:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleNames:
    """All of them."""

    items: tuple[LifecycleName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleState:
    """A state."""

    name: str
    state_class: str
    says: str = ""
    bad: bool = False
    deadline: int | None = None
    awaits: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleAction:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleMove:
    """One edge."""

    source: str
    trigger: str
    on: str
    actor: str
    target: str
    forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleFinding:
    """A hole in a lifecycle, and how to mend it."""

    rule: str
    where: str
    says: str
    mend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploredSize:
    """How much there was to see when it was explored in full."""

    worlds: int
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredLifecycle:
    """How a kind came that is not built in."""

    version: int
    by: str
    at: datetime
    document: str
    """In YAML."""
    explored: Mapping[str, Any] = field(default_factory=dict)
    """Within which bounds it was explored, and how much there was to see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeLifecycle:
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
