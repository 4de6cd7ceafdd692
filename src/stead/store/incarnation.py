"""What every connection learns of the server that it has reached, before anything else."""

from __future__ import annotations

from dataclasses import dataclass, field

from stead.store.clock import DatabaseClock


@dataclass
class Incarnation:
    """Of a cell: a server that took another's place raises it."""

    now: int = 1
    clock: DatabaseClock = field(default_factory=DatabaseClock)
    """By which everything is decided that time decides."""
