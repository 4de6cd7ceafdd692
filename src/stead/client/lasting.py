"""For how long something has been under way, beside how long it usually takes, as a server answers with it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Lasting(Struct, frozen=True, kw_only=True):
    """For how long an operation has been where it is. What was learned is shown, and decides nothing."""

    since: datetime
    declared: int | None = None
    """Seconds that it may last before the object is looked at."""
    deadline: datetime | None = None
    usual: float | None = None
    """Seconds within which half of those were over that went well."""
    p99: float | None = None
    """Seconds within which 99 of 100 were."""
    moves: int = 0
    """From how many that is known."""
    lane: str = ""
    """Where these were; empty for everywhere."""
    late: bool = False
    """It lasts longer than 99 of 100 did."""
    overdue: bool = False
    """It lasts longer than it may."""
