"""A pytest plugin that fails a run which leaves something behind.

Checked when a worker has torn down all of its fixtures: processes that it started, and what fixtures noted
(databases that were not dropped, operations still in progress). Network namespaces belong to the machine, so the
process that collects the results checks them once, against what was there when the run began.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.budget import slowness
from tests.plugins.processes import command_line, descendants

GRACE_SECONDS = 5.0
"""For processes that were told to end and have not yet; on a machine that is busy, longer by as much."""

NAMESPACES = Path("/run/netns")


class Leftovers:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.found: list[str] = []
        self._namespaces = _namespaces()

    def note(self, what: str) -> None:
        """Record something that a test left; called by fixtures when they are torn down."""
        self.found.append(what)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.found += getattr(node, "workeroutput", {}).get("leftovers", [])

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["leftovers"] = [*self.found, *_processes()]
            return
        if not self.config.pluginmanager.hasplugin("dsession"):
            self.found += _processes()
        # Another run on the same machine makes namespaces of its own; CI has the machine for itself.
        if os.environ.get("CI"):
            self.found += [f"network namespace {name}" for name in sorted(_namespaces() - self._namespaces)]
        if self.found and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.found:
            terminalreporter.section("left behind", red=True)
            for what in self.found:
                terminalreporter.line(what)


def _processes() -> list[str]:
    began = time.monotonic()
    left = _left(began + GRACE_SECONDS)
    if left:
        left = _left(began + GRACE_SECONDS * slowness()[0])
    return [f"process {pid}: {command_line(pid)[:200]}" for pid in left]


def _left(deadline: float) -> list[int]:
    """Processes that should have ended: waits for them until a deadline."""
    while (left := [pid for pid in descendants(os.getpid()) if _counts(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _counts(pid: int) -> bool:
    """Whether a process should have ended; Python's own tracker of shared resources ends with the interpreter."""
    command = command_line(pid)
    return bool(command) and "multiprocessing.resource_tracker" not in command


def _namespaces() -> set[str]:
    return {entry.name for entry in NAMESPACES.iterdir()} if NAMESPACES.is_dir() else set()
