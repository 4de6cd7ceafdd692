"""What a run over bad links is to be like: at full size, short for every push, and one for each planted bug."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.edge.faults import KINDS


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run."""

    seconds: float = 600.0
    seed: int = 1
    sites: int = 200
    instances: int = 2000
    """Clusters and apps that somebody has."""
    places: int = 12
    """Links, and agents: each serves as many sites as come to it."""
    rate: float = 20.0
    """Requests a second."""
    every: float = 4.0
    """Seconds between two faults, on average."""
    quiet: float = 3.0
    """Seconds before the first fault."""
    kinds: Sequence[str] = tuple(KINDS)
    pace: float = 0.3
    """How long the protocol waits, as a part of what it waits by default."""
    took: float = 0.2
    """Seconds that a site takes for anything, and up to as many more."""
    patience: float = 120.0
    """Seconds after the last fault by which all agree."""
    planted: str = ""


SHORT = Plan(seconds=15, seed=7, sites=9, instances=60, places=3, rate=15, every=1.0, quiet=1, patience=60, pace=0.15)

_SMALL = Plan(seconds=20, sites=4, instances=24, places=2, rate=15, every=2.0, quiet=2, patience=45, pace=0.15)

PLANTED = {
    "fence-ignored": replace(_SMALL, kinds=["bus-repeats"], rate=30, took=0.5),
    "order-repeated": replace(_SMALL, kinds=["bus-repeats"], rate=30, instances=8),
    "absence-assumed": replace(_SMALL, kinds=["cloud-drops"], rate=30, every=0.7, seconds=40, instances=48),
    "end-mark-ignored": replace(_SMALL, kinds=["agent-killed", "link-cut"]),
    "undo-dropped": replace(_SMALL, kinds=["cloud-spoils"]),
    "token-forgotten": replace(_SMALL, kinds=["cloud-loses"]),
}
"""For each bug, faults that matter to it."""
