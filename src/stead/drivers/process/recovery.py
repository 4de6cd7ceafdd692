"""Starting again what the machine has ended: after a restart of it, control groups, networks and keepers are gone.

What is wanted stands in the folders, so nobody has to be asked. What failed, or ended by itself, stays as it is, and
so does a job: whether it may run twice only its owner knows.
"""

from __future__ import annotations

import time

from stead.drivers.base import DriverError
from stead.drivers.process.clusters import Clusters
from stead.drivers.process.folders import JOBS, SERVICES, App
from stead.drivers.process.leading import Leader
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import Runner


class Recovery:
    """Brings a machine back to what is wanted on it."""

    def __init__(self, machine: Machine, runner: Runner, clusters: Clusters) -> None:
        self._machine = machine
        self._runner = runner
        self._clusters = clusters
        self._leader = Leader(machine, runner)

    def places(self, until: float) -> list[App]:
        """Make what clusters need, and name the places whose program the machine has ended."""
        self._clusters.furnish_all(until)
        return [place for place in self._machine.root.apps() if self._is_lost(place)]

    def start(self, place: App, until: float) -> str:
        """Start the program of a place again; its path, or nothing where there is nothing to start any more."""
        there = place.wanted()
        if there is None:
            return ""
        root = self._machine.root
        service = place.above.parent.name == SERVICES
        hold = root.alone("service", there.path, until) if service else root.hold("app", there.path, until)
        with hold:
            there = place.wanted()
            if there is None or not self._is_lost(place):
                return ""
            self._machine.limit(self._machine.group_of(place), self._runner.read(there.spec))
            self._leader.begin(place, there, max(until, time.monotonic() + self._machine.patience))
        return there.path

    def _is_lost(self, place: App) -> bool:
        try:
            there = place.wanted()
            wanted = there is not None and not there.absent and place.above.parent.name != JOBS
            return wanted and there is not None and self._runner.lost(place, there)
        except DriverError:
            return False
