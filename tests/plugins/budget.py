"""A pytest plugin that bounds what a single test of the fast tier may cost.

A test that uses more than five seconds of processor time, child processes included, or twenty seconds of wall time
fails the run, unless it stands in EXCEPTIONS with a reason. The setup of fixtures that several tests share is not
charged to the test that happens to come first; it is listed as an entry of its own, under the same limits.
The run ends with the most expensive entries, so that a slow suite shows where it is slow.

The limits are for a machine that counts to a million in 0.1 seconds and has two workers for each core. When
an entry exceeds a limit, the machine counts a few times; where it takes longer than that, because it is slow or has
other work, the limit is higher by as much.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.exceptions import EXCEPTIONS
from tests.plugins.processes import processor_seconds

MAX_PROCESSOR_SECONDS = 5.0
MAX_WALL_SECONDS = 20.0
COUNTED = 1_000_000
COUNTING_SECONDS = 0.1
"""What the machine that the limits are for takes to count so far, on a core of its own."""
COUNTS = 10
"""How often it counts; a shared machine changes its speed several times in a second."""
WORKERS_PER_CORE = 2
COSTS = Path(".build/costs.json")
"""What each test of the last run has cost, to find where time can be saved."""
SHOWN = 20
"""Entries at the end of a run."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a test, or the setup of a shared fixture, has used."""

    name: str
    wall: float
    processor: float
    wall_limit: float = MAX_WALL_SECONDS
    processor_limit: float = MAX_PROCESSOR_SECONDS

    @property
    def excess(self) -> str:
        """Which limit it exceeds; empty if none, or if it is excepted."""
        if any(self.name.startswith(prefix) for prefix in EXCEPTIONS):
            return ""
        if self.processor > self.processor_limit:
            return f"{self.processor:.1f} s of processor time; the limit is {self.processor_limit:.0f} s"
        if self.wall > self.wall_limit:
            return f"{self.wall:.1f} s of wall time; the limit is {self.wall_limit:.0f} s"
        return ""


class Budget:
    """Measures in the processes that run tests, and reports in the one that collects their results."""

    def __init__(self, config: pytest.Config, *, enforced: bool) -> None:
        self.config = config
        self.enforced = enforced
        self.costs: list[Cost] = []
        self._shared = (0.0, 0.0)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._shared = (0.0, 0.0)
        start = _now()
        try:
            return (yield)
        finally:
            self._add(item.nodeid, start, self._shared)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        outer, self._shared = self._shared, (0.0, 0.0)
        start = _now()
        try:
            return (yield)
        finally:
            self._add(f"{fixturedef.baseid}::fixture {fixturedef.argname}", start, self._shared)
            now = _now()
            self._shared = (outer[0] + now[0] - start[0], outer[1] + now[1] - start[1])

    def _add(self, name: str, start: tuple[float, float], shared: tuple[float, float]) -> None:
        now = _now()
        # The time of a process that ended, and that another process waited for, is no longer counted.
        processor = max(0.0, now[1] - start[1] - shared[1])
        wall = now[0] - start[0] - shared[0]
        slower = slowness() if wall > MAX_WALL_SECONDS or processor > MAX_PROCESSOR_SECONDS else (1.0, 1.0)
        limits = MAX_WALL_SECONDS * slower[0], MAX_PROCESSOR_SECONDS * slower[1]
        self.costs.append(Cost(name, wall, processor, *limits))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended: take over what it measured."""
        self.costs += [Cost(*values) for values in getattr(node, "workeroutput", {}).get("costs", [])]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["costs"] = [astuple(cost) for cost in self.costs]
            return
        file = self.config.rootpath / COSTS
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps([astuple(cost) for cost in self.costs]))
        if self.enforced and any(cost.excess for cost in self.costs) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if len(self.costs) > SHOWN:
            total = sum(cost.processor for cost in self.costs)
            terminalreporter.section(f"{SHOWN} slowest tests, of {total:.0f} s of processor time")
            for cost in sorted(self.costs, key=lambda cost: cost.wall, reverse=True)[:SHOWN]:
                terminalreporter.line(f"{cost.wall:7.2f} s wall {cost.processor:7.2f} s processor  {cost.name}")
        excesses = [cost for cost in self.costs if self.enforced and cost.excess]
        if excesses:
            terminalreporter.section("tests over their budget", red=True)
            for cost in excesses:
                terminalreporter.line(f"{cost.name}: {cost.excess}")


def slowness() -> tuple[float, float]:
    """How many times longer than it should the machine takes right now, in wall and in processor time; 1 or more."""
    wall, processor = time.monotonic(), time.process_time()
    for _ in range(COUNTS):
        number = 0
        while number < COUNTED:
            number += 1
    wall, processor = (time.monotonic() - wall) / COUNTS, (time.process_time() - processor) / COUNTS
    return max(1.0, wall / COUNTING_SECONDS / WORKERS_PER_CORE), max(1.0, processor / COUNTING_SECONDS)


def _now() -> tuple[float, float]:
    return time.monotonic(), processor_seconds(os.getpid())
