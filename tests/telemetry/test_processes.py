"""Metrics of real processes: what they count is what was done, and what is broken shows."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from stead.dev.children import children, wait_until
from stead.dev.engines import Nats, Postgres
from tests.telemetry.house import LANE, House, house
from tests.telemetry.test_metrics import value

pytestmark = pytest.mark.long

VM = {"kind": "vm", "spec": {"provider": "aws", "region": "us-east-1"}, "expect_agent": True}


@pytest.fixture(scope="module")
def running(postgres: Postgres, template: str, nats_server: Nats) -> Iterator[House]:
    name = f"test_{secrets.token_hex(6)}"
    with house(postgres.create_database(name, template), nats_server) as one:
        yield one
    postgres.drop_database(name)


def made(one: House, path: str) -> None:
    """Make a VM, and wait for it."""
    answer = httpx.post(f"{one.url}/v1/resources/{path}", json=VM)
    assert answer.status_code == 202, answer.text
    wait_until(lambda: _state(one, path) == "Running", "the VM to run")


def _state(one: House, path: str) -> str:
    return str(httpx.get(f"{one.url}/v1/resources/{path}").json().get("state"))


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.ConnectError:
        return False


def _metrics(one: House) -> str:
    return httpx.get(f"{one.url}/metrics").text


def test_a_change_is_counted_by_everybody_on_its_way(running: House) -> None:
    made(running, "shop/one")
    wait_until(lambda: value(_metrics(running), "stead_agents", state="connected") == 1, "the agent to be counted")
    text = _metrics(running)
    assert value(text, "stead_admissions_total", answer="accepted", part="server") >= 1
    assert value(text, "stead_orders_published_total") >= 1
    assert value(text, "stead_reports_total", result="applied", part="controller") >= 1
    assert value(text, "stead_resource_operations_ended_total", outcome="done", part="controller") >= 1
    assert value(text, "stead_reconciler_runs_total", reconciler="clock", part="controller") >= 1
    assert value(text, "stead_reconciler_success_timestamp_seconds", reconciler="numbering", part="controller") > 1e9
    assert (
        value(text, "stead_bus_connected", part="server")
        == value(text, "stead_bus_connected", part="controller")
        == 1
    )
    assert value(text, "stead_database_connections_max", part="controller") == 10
    assert value(text, "process_resident_memory_bytes", part="controller") > 1e6
    assert 'stead_database_up{part="controller"}' not in text, "it does not read the cell"
    of_agent = httpx.get(running.metrics).text
    assert "stead_database_up" not in of_agent
    assert value(of_agent, "stead_driver_calls_total", verb="create", outcome="answered") >= 1
    assert value(of_agent, "stead_driver_call_seconds_count", verb="create") >= 1
    assert value(of_agent, "stead_bus_connected") == 1
    assert value(of_agent, "stead_agent_orders_in_hand") == 0


def test_a_controller_that_is_gone_is_missing_and_comes_back(running: House) -> None:
    (controller,) = children(running.server.pid)
    os.kill(controller, signal.SIGKILL)
    wait_until(lambda: 'part="controller"' not in _metrics(running), "it to be missed")
    wait_until(lambda: 'part="controller"' in _metrics(running), "another to answer")


def test_a_port_that_is_taken_is_told(running: House) -> None:
    wait_until(lambda: _answers(running.metrics), "the agent to tell its metrics")
    port = running.metrics.rpartition(":")[2].partition("/")[0]
    words = ["agent", "run", "--lane", LANE, "--metrics-port", port, "--nats", "nats://127.0.0.1:1"]
    ended = subprocess.run(
        [sys.executable, "-m", "stead", *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert f"metrics cannot be exposed at 127.0.0.1:{port}: Address already in use" in ended.stderr
