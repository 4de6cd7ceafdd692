"""Processes that are told to end do so, soon and without complaint, wherever they run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from stead.dev.children import free_port, wait_until
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.telemetry.house import house

SOON = 60.0


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.mark.long
def test_a_server_its_controller_and_an_agent(migrated: str, nats_server: Nats) -> None:
    with house(migrated, nats_server) as one:
        wait_until(lambda: answers(one.metrics), "the agent")
        wait_until(lambda: 'part="controller"' in httpx.get(f"{one.url}/metrics").text, "the controller")
        for server in (one.agent, one.server):
            process = server.process
            assert process is not None
            process.send_signal(signal.SIGTERM)
            assert process.wait(SOON) in (0, -signal.SIGTERM)  # uvicorn ends in order, and then by the signal
            assert "Traceback" not in server.log.read_text()
            assert "Fatal" not in server.log.read_text()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="namespaces need root")
def test_an_agent_that_is_the_first_process_of_a_container(
    nats_server: Nats, cell: str, world: SimWorld, tmp_path: Path
) -> None:
    port = free_port()
    words = ["--nats", nats_server.url, "--cell", cell, "--lane", f"{world.provider}.{world.region}", "--name", "a"]
    words += ["--set", f"url={world.cloud.url}", "--metrics-port", str(port)]
    log = (tmp_path / "log").open("wb")
    alone = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", "stead", "agent", "run", *words]
    with log, subprocess.Popen(alone, stdout=log, stderr=log) as outside:
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/metrics"), "the agent")
            inside = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
            began = time.monotonic()
            os.kill(int(inside[0]), signal.SIGTERM)
            assert outside.wait(SOON) == 0
            assert time.monotonic() - began < SOON
        finally:
            outside.kill()
