"""A process whose clock is an hour off changes no outcome: time is the database's, or is counted from an event."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from botocore.exceptions import ClientError

from stead.bus.connection import clock_of
from stead.client import SyncClient
from stead.dev.children import wait_until
from stead.dev.engines import Nats
from stead.drivers.base import RetryableError
from stead.drivers.ec2.errors import meaning
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until
from tests.skew.wrong_clock import build
from tests.telemetry.house import LANE, Stead

HOUR = 3600
MEMBERS = 20
SLOW = 4.0
"""Seconds that each change takes at the provider: longer than a timer that is an hour late or early."""


@pytest.mark.parametrize("hours", [-1, 1])
async def test_timers_and_sessions_are_set_by_the_clock_of_the_database(
    hours: int, migrated: str, nats_server: Nats, cell: str, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + hours * HOUR)
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        await world.fault(kind="slow", seconds=3)
        await ask(one, world, "create")

        async def taken() -> bool:
            row = await one.store.resources.read(PATH)
            return row is not None and bool(row.snapshot.work and row.snapshot.work.taken)

        await until(taken)
        connection = await asyncpg.connect(migrated)
        due = await connection.fetchval("SELECT extract(epoch FROM due - now())::float8 FROM resources")
        await connection.close()
        assert 0 < due <= 60
        await settled(one, "Running")
        assert abs(one.store.clock.offset - hours * HOUR) < 60


@pytest.fixture(scope="module")
def wrong_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with which a process has the time that CLOCK_OFFSET says."""
    if shutil.which("gcc") is None:
        assert not os.environ.get("CI"), "gcc is missing: .ci/run installs it"
        pytest.skip("gcc is not installed: without it no process can be given a wrong clock")
    return build(tmp_path_factory.mktemp("clock"))


@contextmanager
def cell_of(dsn: str, nats: Nats, cloud: SimCloud, off: str, env: dict[str, str]) -> Iterator[dict[str, Stead]]:
    """Two servers, each with a controller, and an agent; one of them has a wrong clock."""
    bus = ("--nats", nats.url, "--cell", f"k{os.urandom(4).hex()}")
    server = ("server", "--open", "--database", dsn, *bus)
    worker = ("agent", "run", *bus, "--lane", LANE, "--name", "a1", "--set", f"url={cloud.url}")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Stead(*words, told=env if name == off else {}, web=name != "agent"))
            for name, words in (("first", server), ("second", server), ("agent", worker))
        }


def outcomes(url: str, action: str, names: list[str]) -> set[tuple[str, str]]:
    """How an action ends on some machines, which are asked for all at once, and why."""
    place = {"provider": "aws", "region": "us-east-1", "spec": "small", "image": "debian-12"}
    body: dict[str, Any] = {"kind": "vm", "spec": place} if action == "create" else {"action": action}
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as web:
        for name in names:
            answer = web.post(f"/v1/resources/shop/m/g/{name}", json=body)
            assert answer.status_code == 202, answer.text

        def ended() -> list[dict[str, Any]]:
            found = web.get("/v1/operations", params={"below": "/shop", "limit": 1000}).json()["items"]
            return [each for each in found if each["action"] == action and each["outcome"]]

        wait_until(lambda: len(ended()) == len(names), f"{action} to end")
        return {(each["outcome"], each["reason"] or "") for each in ended()}


def wrong_clocks(server: Stead) -> set[str]:
    """Whose clocks are wrong, as doctor finds by way of a server."""
    found = httpx.get(f"http://127.0.0.1:{server.port}/v1/cells/-/doctor", timeout=60, trust_env=False).json()[
        "findings"
    ]
    return {finding["check"] for finding in found if "clock" in finding["check"] and finding["grade"] != "ok"}


@pytest.mark.long
@pytest.mark.parametrize("hours", [-1, 1])
@pytest.mark.parametrize("off", ["first", "second", "agent"])
def test_process_whose_clock_is_an_hour_off_changes_no_outcome(
    off: str, hours: int, wrong_clock: Path, migrated: str, nats_server: Nats
) -> None:
    env = {"LD_PRELOAD": str(wrong_clock), "CLOCK_OFFSET": str(hours * HOUR)}
    names = [str(n) for n in range(MEMBERS)]
    with SimCloud() as cloud, cell_of(migrated, nats_server, cloud, off, env) as parts:
        url = f"http://127.0.0.1:{parts['first'].port}"
        with SyncClient(url) as client:
            wait_until(lambda: any(a.connected for lane in client.lanes() for a in lane.agents), "the agent")
        slow = [{"kind": "slow", "provider": "aws", "region": "us-east-1", "seconds": SLOW}]
        httpx.post(f"{cloud.url}/v1/_faults", json={"faults": slow}, trust_env=False).raise_for_status()
        for action in ("create", "suspend", "resume", "terminate"):
            assert outcomes(url, action, names) == {("succeeded", "")}
        asked = parts["second" if off == "second" else "first"]
        wanted = {"agents' clocks"} if off == "agent" else {"clocks", "controller's clock"}
        wait_until(lambda: wrong_clocks(asked) == wanted, "doctor to name the process")


@pytest.mark.parametrize(("hours", "says"), [(1, " s behind"), (-1, " s ahead of"), (0, "")])
def test_error_of_a_provider_that_rejects_a_signature_names_the_clock(hours: int, says: str) -> None:
    there = formatdate(time.time() + hours * HOUR, usegmt=True)
    about = {"HTTPStatusCode": 400, "HTTPHeaders": {"date": there}, "RequestId": "r-1"}
    said = {"Code": "RequestExpired", "Message": "Request has expired."}
    error = meaning(ClientError({"Error": said, "ResponseMetadata": about}, "RunInstances"))
    assert isinstance(error, RetryableError)
    assert ("the clock of this agent's machine" in error.message) is bool(says)
    if says:
        seconds = re.search(rf"(\d+){says}", error.message)
        assert seconds is not None
        assert int(seconds[1]) in range(HOUR - 1, HOUR + 2), "the provider's time has whole seconds"


def test_error_about_the_time_of_a_certificate_names_the_clock() -> None:
    assert "by the clock of this machine" in clock_of("certificate verify failed: certificate is not yet valid")
    assert "by the clock of this machine" in clock_of("certificate verify failed: certificate has expired")
    assert clock_of("certificate verify failed: self-signed certificate") == ""
