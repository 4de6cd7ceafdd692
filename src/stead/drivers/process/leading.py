"""Leading an app to what is wanted of it: somebody works on it, and is waited for a little, or ended."""

from __future__ import annotations

import time

from stead.drivers.base import TRANSITIONAL
from stead.drivers.process.folders import App, Wanted
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Runner, Sight
from stead.lifecycle.rows import BROKEN

OVERDUE = 2.0
"""Seconds beyond an app's grace, after which its keeper is ended by force, and the app with it."""

UNHEARD = "nobody has told its keeper what is wanted"
"""What is said of one on whom nobody is at work, and who would wait for ever."""


class Leader:
    """Leads apps on this machine, whoever they belong to."""

    def __init__(self, machine: Machine, runner: Runner) -> None:
        self._machine = machine
        self._runner = runner

    def begin(self, place: App, wanted: Wanted, until: float) -> Sight:
        """See to it that somebody works on what is wanted."""
        sight = self._runner.observe(place, wanted)
        while sight.alive and sight.state == BROKEN and time.monotonic() < until:
            # It was started too often in vain; whoever asks wants it to begin anew.
            self._runner.end(place)
            time.sleep(self._runner.pause)
            sight = self._runner.observe(place, wanted)
        if not sight.alive and sight.state != READY:
            self._runner.start(place, wanted, until - time.monotonic())
            return self._runner.observe(place, wanted)
        if sight.fresh:
            self._runner.heed(place)
        return sight

    def lead(self, place: App, wanted: Wanted, patience: float, until: float) -> Sight:
        """The same, and wait a little for what becomes of it."""
        sight = self.begin(place, wanted, until)
        while sight.state == TRANSITIONAL and time.monotonic() < patience:
            if sight.fresh:
                self._runner.heed(place)
            time.sleep(self._runner.pause)
            sight = self._runner.observe(place, wanted)
            if sight.state == BROKEN and not (sight.alive or sight.failed):
                # The keeper gave up what was wanted before, just as it was told of this.
                self._runner.start(place, wanted, until - time.monotonic())
                sight = self._runner.observe(place, wanted)
        return sight

    def ended(self, place: App, there: Wanted) -> bool:
        """Whether nothing runs any more of what is not wanted; whoever has had his time is ended by force."""
        if self._runner.alive(place):
            if self.overdue(place, there):
                self._runner.kill(place)
            return False
        self._machine.unlimit(self._machine.group_of(place))
        return True

    def overdue(self, place: App, there: Wanted) -> bool:
        """Whether what is not wanted any more has had its time to end."""
        grace = there.run.get("stop_grace", 0.0)
        return bool(time.time() > place.file.stat().st_mtime + grace + OVERDUE)
