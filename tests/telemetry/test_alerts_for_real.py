"""Each alert fires when its fault is made on a running cell that Prometheus scrapes, and ends after it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stead.dev.children import wait_until
from tests.skew.wrong_clock import build
from tests.telemetry.alert_faults import FAULTS, World

pytestmark = [pytest.mark.long, pytest.mark.slow]

PATIENCE = 300.0
"""Seconds for an alert to fire, or to end: a skewed clock is told for two minutes after it was right again."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    absent = [name for name in ("prometheus", "gcc") if shutil.which(name) is None]
    if absent:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{', '.join(absent)} not installed")
    with World(build(tmp_path_factory.mktemp("clock"))) as one:
        yield one


def test_none_fires_on_a_cell_that_is_well(world: World) -> None:
    world.ask(3)
    wait_until(lambda: world.prometheus.looks() >= 5, "half a minute of answers")
    assert world.prometheus.alerts("firing") == set()


@pytest.mark.parametrize("alert", FAULTS)
def test_an_alert_fires_while_its_fault_lasts(world: World, alert: str) -> None:
    until(lambda: alert not in world.prometheus.alerts("firing"), f"{alert} of another fault to end")
    with contextmanager(FAULTS[alert])(world):
        until(lambda: alert in world.prometheus.alerts("firing"), f"{alert} to fire")
    until(lambda: alert not in world.prometheus.alerts("firing"), f"{alert} to end")


def until(true: Callable[[], bool], what: str) -> None:
    """Look twice a second: an alert takes its time, and Prometheus some of the processor for each answer."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.5)  # sleep: Prometheus evaluates once a second, and sends no signal
