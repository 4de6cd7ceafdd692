"""What is stuck, as a server answers with it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from stead.client.lasting import Lasting


class StuckLook(Struct, frozen=True, kw_only=True):
    """Somebody looked at the object."""

    at: datetime
    seen: str


class StuckWhy(Struct, frozen=True, kw_only=True):
    """Why something is listed."""

    code: str
    """`no-agent`, `late`, `overdue`, `probing`, `fencing`, `unattended`, `blocked`, `unknown` or `settled`."""
    says: str


class StuckStep(Struct, frozen=True, kw_only=True):
    """What one may do about it."""

    what: str
    """`wait`, `agent`, `cancel`, `retry` or `ask`."""
    says: str
    operation: str = ""
    actions: tuple[str, ...] = ()


class Stuck(Struct, frozen=True, kw_only=True):
    """Something that does not come to its end as it should, or has come to one without a report."""

    path: str
    kind: str
    state: str
    operation: str
    action: str
    since: datetime
    """Since when it is where it is; of what was settled, when that was."""
    lane: str = ""
    by: str = ""
    phase: str | None = None
    """What the operation does; None where it is over."""
    outcome: str | None = None
    """How it ended for this resource; None while it is under way."""
    lasts: Lasting | None = None
    why: tuple[StuckWhy, ...] = ()
    probed: tuple[StuckLook, ...] = ()
    """What was seen, as the journal has it."""
    misses: int = 0
    """Looks in a row that did not find it."""
    decided: str = ""
    """What was made of it; empty while that is open."""
    steps: tuple[StuckStep, ...] = ()


class StuckPage(Struct, frozen=True, kw_only=True):
    """A page of them. It may be empty and still have a next one."""

    items: tuple[Stuck, ...]
    next: str | None = None
