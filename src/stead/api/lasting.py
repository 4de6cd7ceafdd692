"""For how long something has been under way, beside how long it usually takes: what of it goes over the wire."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Lasting(BaseModel):
    """For how long an operation has been where it is, beside how long that may and usually does last.

    What was learned is shown and decides nothing: only the declared deadline ends a wait."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)

    since: datetime
    """When it came into the state that it is in; where the visible state stays, when it began."""
    declared: int | None
    """Seconds that it may last before the object is looked at."""
    deadline: datetime | None
    """When that is, or when a look that is under way is given up; null while nothing runs."""
    usual: float | None
    """Seconds within which half of those were over that went well; null where there was none yet."""
    p99: float | None
    """Seconds within which 99 of 100 were."""
    moves: int
    """From how many that is known. Old ones count less; a thousand are enough."""
    lane: str
    """Where these were: on the resource's lane, or, where this is empty, on all."""
    late: bool
    """It lasts longer than 99 of 100 did, where at least 20 are known."""
    overdue: bool
    """It lasts longer than it may."""
