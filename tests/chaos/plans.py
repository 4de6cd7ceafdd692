"""What a run is to be like: at full size, short for every push, and for each planted bug one that brings it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.chaos.faults import ALONE, KINDS, OF_NODES


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run."""

    seconds: float = 900.0
    seed: int = 1
    vms: int = 300
    rate: float = 20.0
    """Requests a second."""
    every: float = 5.0
    """Seconds between two faults, on average."""
    quiet: float = 5.0
    """Seconds before the first fault."""
    kinds: Sequence[str] = tuple(KINDS)
    pace: float = 0.3
    """How long the protocol waits, as a part of what it waits by default."""
    took: float = 0.7
    """Seconds that the cloud takes for anything, and up to as many more."""
    fleet: int = 1000
    """VMs of the group that is asked for things as a whole."""
    people: int = 4
    """Who have infrastructures, some of it at a strict EC2."""
    tenants: int = 2
    """Who have machines in a datacenter."""
    limited: bool = True
    """Whether providers bear so little at once that many have to wait."""
    planted: str = ""
    caught: str = ""
    """What finds a planted bug: lost, violations or liveness; any of them, where nothing is said."""
    settle: float = 60.0
    """Seconds after the last fault was taken back by which all is settled, without a fleet."""
    replicated: bool = False
    """Whether database and bus have three nodes each."""
    restored: bool = False
    """Whether a backup is taken meanwhile, and restored in the end."""

    @property
    def calm(self) -> bool:
        """Only controllers and the database are disturbed, and never for as long as anybody waits."""
        return set(self.kinds) <= {"controller-killed", "database-restarted"} and self.pace >= 1


REPLICATED = Plan(
    seconds=600,
    replicated=True,
    kinds=(*(kind for kind in KINDS if kind not in ALONE), *OF_NODES),
    every=6,
    vms=200,
    rate=15,
    fleet=300,
)
"""On three nodes each, which share the machine with everybody else."""

BRIEF = Plan(
    seconds=8,
    seed=7,
    vms=24,
    rate=12,
    every=1.0,
    quiet=1,
    kinds=("controller-killed", "agent-killed", "bus-killed", "database-restarted"),
    fleet=40,
    people=1,
    tenants=0,
)
"""For every push: each part of a cell is killed while some dozens of operations are in progress."""

RESTORED = Plan(
    restored=True,
    seconds=40,
    seed=7,
    vms=60,
    rate=15,
    every=3,
    quiet=1,
    kinds=(
        "agent-killed",
        "agent-stopped",
        "controller-killed",
        "controller-stopped",
        "bus-killed",
        "bus-repeats",
        "cloud-drops",
        "cloud-slow",
    ),
)
"""With a backup, and a restore: the faults leave the database as it is, since the restore is what happens to that."""

SHORT = Plan(seconds=100, seed=7, vms=100, rate=25, every=1.8, fleet=150, people=2)

PLANTED = {
    "ack-before-commit": Plan(
        seconds=40, vms=50, rate=30, every=5, kinds=["database-restarted"], pace=1.0, fleet=0, people=0, tenants=0
    ),
    "fence-ignored": Plan(
        seconds=30, vms=24, rate=30, every=5, kinds=["bus-repeats"], took=1, fleet=0, people=0, tenants=0
    ),
    "custody-not-checked": Plan(
        seconds=30,
        vms=50,
        rate=30,
        every=5,
        kinds=["bus-repeats", "agent-stopped"],
        took=1.5,
        fleet=0,
        people=0,
        tenants=0,
    ),
    "relay-without-healer": Plan(
        seconds=20, vms=60, rate=20, every=4, kinds=["bus-lost", "bus-killed"], fleet=0, people=0, tenants=0
    ),
    "dedup-without-fence": Plan(
        seconds=30, vms=60, rate=20, every=3, kinds=["agent-killed", "agent-stopped"], fleet=0, people=0, tenants=0
    ),
    "slot-freed-at-ack": Plan(seconds=20, vms=30, rate=5, kinds=[], fleet=200, people=0, tenants=0),
    "last-by-count": Plan(seconds=30, vms=6, rate=1, kinds=[], took=0, fleet=60, people=0, tenants=0, limited=False),
    "slots-not-granted": Plan(
        seconds=25, vms=20, rate=3, kinds=[], fleet=150, people=0, tenants=0, settle=30, caught="liveness"
    ),
    "region-never-freed": Plan(
        seconds=25, vms=60, rate=10, kinds=[], fleet=0, people=0, tenants=0, settle=30, caught="liveness"
    ),
    "timers-not-fired": Plan(
        seconds=30,
        vms=40,
        rate=10,
        every=3,
        kinds=["agent-killed"],
        fleet=0,
        people=0,
        tenants=0,
        settle=30,
        caught="liveness",
    ),
    "large-order-kept": Plan(
        seconds=30,
        vms=10,
        rate=2,
        every=2,
        kinds=["spec-oversized"],
        fleet=0,
        people=0,
        tenants=0,
        settle=30,
        caught="liveness",
    ),
    "commit-not-flushed": Plan(
        seconds=30,
        vms=300,
        rate=40,
        every=3,
        kinds=["database-restarted"],
        fleet=0,
        people=0,
        tenants=0,
        settle=30,
        caught="lost",
    ),
}
"""For each bug, faults that matter to it."""
