"""A cell whose bus lets in whom it knows: server, agents and the bus as processes, used by command."""

from __future__ import annotations

import json
import os
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from stead.pki.identity import Identity
from tests.drivers.cloud import SimCloud
from tests.integration.test_processes import Stead
from tests.pki.safe import CELL, SafeNats

ONE, TWO = "aws.us-east-1", "gcp.asia-northeast3"

CUT_OFF = "the bus is disconnected"

MCI = """
defaults: {spec: small, image: debian-12}
subgroups:
  - {name: front, size: 4, provider: aws, region: us-east-1}
  - {name: back, size: 4, provider: gcp, region: asia-northeast3}
"""


@dataclass
class Cell:
    """What runs, and how it is spoken to."""

    address: str
    nats: SafeNats
    cloud: SimCloud
    server: Stead
    folder: Path
    stack: ExitStack

    def stead(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stead", *words]
        env = {**os.environ, "STEAD_SERVER": self.address}
        return subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, env=env)

    def said(self, *words: str) -> str:
        """What a command prints that does what it is told."""
        done = self.stead(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def invite(self, name: str, *lanes: str, lasting: str = "10m") -> str:
        """A token."""
        chosen = [word for lane in lanes for word in ("--lane", lane)]
        return self.said("agent", "invite", name, *chosen, "--lifetime", lasting).strip()

    def join(self, name: str, *lanes: str) -> Path:
        """The folder of an identity that was given out over HTTP."""
        folder = self.folder / name
        self.said("agent", "join", "--token", self.invite(name, *lanes), "--identity", str(folder))
        return folder

    def run(self, folder: Path) -> Stead:
        """An agent of that identity."""
        words = ("agent", "run", "--identity", str(folder), "--set", f"url={self.cloud.url}")
        return self.stack.enter_context(Stead(*words))

    def standing(self, name: str) -> str:
        """How an agent stands."""
        rows = [line.split() for line in self.said("agent", "list").splitlines()]
        return next((row[1] for row in rows if row[0] == name), "unknown")

    def there(self, name: str) -> None:
        """Wait until an agent is heard of."""

        def heard() -> bool:
            agents = httpx.get(f"{self.address}/v1/cells/-/agents").json()["items"]
            return any(agent["name"] == name and agent["connected"] for agent in agents)

        until(heard, f"{name} to be heard of")

    def revoked(self, name: str) -> datetime:
        """Since when an agent is."""
        agents = httpx.get(f"{self.address}/v1/cells/-/agents").json()["items"]
        return datetime.fromisoformat(next(agent["revoked_at"] for agent in agents if agent["name"] == name))

    def create(self, path: str, file: str = MCI) -> subprocess.CompletedProcess[str]:
        (self.folder / "mci.yaml").write_text(file)
        return self.stead("mci", "create", path, "-f", str(self.folder / "mci.yaml"), "--timeout", "60s")


def until(holds: Callable[[], bool], what: str, within: float = 60) -> float:
    """Seconds until it was so."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < within, f"waited for {what}"
        time.sleep(0.1)
    return time.monotonic() - began


@pytest.fixture
def lifetime() -> str:
    return "30d"


@pytest.fixture
def cell(migrated: str, tmp_path: Path, lifetime: str) -> Iterator[Cell]:
    with SafeNats() as nats, SimCloud() as cloud, ExitStack() as stack:
        identity = ("--identity", str(nats.founded.controller), "--agent-lifetime", lifetime)
        server = stack.enter_context(Stead("server", "--open", "--database", migrated, *identity, port_option=True))
        yield Cell(f"http://127.0.0.1:{server.port}", nats, cloud, server, tmp_path, stack)


@pytest.mark.long
@pytest.mark.slow
def test_an_infrastructure_over_a_safe_bus_and_an_agent_revoked_at_work(cell: Cell) -> None:
    one, two, third = cell.join("a1", ONE), cell.join("a2", TWO), cell.join("a3", ONE)
    for folder in (one, two):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert (stat.S_IMODE(folder.stat().st_mode), modes) == (0o700, {0o600})
    revoked, others, stays = cell.run(one), cell.run(two), cell.run(third)
    for name in ("a1", "a2", "a3"):
        cell.there(name)
    assert cell.standing("a1") == "connected"
    made = cell.create("shop/web")
    assert made.returncode == 0, made.stderr
    assert cell.said("mci", "status", "shop/web") == "shop/web  Running:8 (R:8/8)\n"

    assert "a1 was revoked" in cell.said("agent", "revoke", "a1")
    until(lambda: CUT_OFF in revoked.log.read_text(), "the agent to be cut off")
    (line,) = [line for line in revoked.log.read_text().splitlines() if CUT_OFF in line]
    cut_off = datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S,%f").astimezone()
    assert timedelta(0) < cut_off - cell.revoked("a1") < timedelta(seconds=10)
    assert cell.standing("a1") == "revoked"
    assert cell.stead("agent", "revoke", "a1").returncode == 5  # there is none to revoke any more
    # The others of the lane go on.
    made = cell.create("shop/next")
    assert made.returncode == 0, made.stderr
    # It cannot come back as a new process, nor renew, nor after the bus has lost its disk.
    again = cell.run(one)
    until(lambda: b"the bus is not connected: " in again.log.read_bytes(), "the agent to be refused")
    assert b"the bus is connected" not in again.log.read_bytes()
    assert others.running
    assert stays.running
    assert revoked.log.read_bytes().count(b"the bus is connected") == 1


@pytest.mark.long
@pytest.mark.slow
def test_who_was_revoked_stays_so_when_the_bus_forgets(cell: Cell) -> None:
    folder = cell.join("a1", ONE)
    cell.said("agent", "revoke", "a1")
    cell.nats.stop()
    accounts = cell.nats.founded.nats / "accounts"
    kept = sum(cell_file.stat().st_size for cell_file in accounts.rglob("*.jwt"))
    for path in [*accounts.rglob("*.jwt")]:
        path.unlink()
    assert kept
    cell.nats.start()
    until(lambda: b"was told again" in cell.server.log.read_bytes(), "the bus to be told again")
    again = cell.run(folder)
    until(lambda: b"the bus is not connected: " in again.log.read_bytes(), "the agent to be refused")
    assert b"the bus is connected" not in again.log.read_bytes()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("lifetime", ["16s"])
def test_an_identity_is_renewed_while_the_agent_works(cell: Cell) -> None:
    folder = cell.join("a1", ONE, TWO)
    agent = cell.run(folder)
    first = Identity(folder).window()
    cell.there("a1")
    keys = [(folder / name).read_bytes() for name in ("key.pem", "identity.json")]
    turns = 0
    second = first[1] + (first[1] - first[0])  # the end of a second lifetime

    def renewed() -> bool:
        nonlocal turns
        turns += 1
        made = cell.create(f"shop/web{turns}")
        assert made.returncode == 0, made.stderr
        return Identity(folder).window()[0] > second  # what it began with is long over

    until(renewed, "what it connects with to be renewed", 90)
    assert turns > 1
    assert agent.running
    assert keys == [(folder / name).read_bytes() for name in ("key.pem", "identity.json")]
    assert agent.log.read_bytes().count(b"holds until") >= 3


@pytest.mark.long
@pytest.mark.slow
def test_a_token_holds_once_for_one_name_and_for_its_time(cell: Cell, tmp_path: Path) -> None:
    token = cell.invite("a1", ONE)

    def join(token: str, folder: str, *more: str) -> subprocess.CompletedProcess[str]:
        return cell.stead("agent", "join", "--token", token, "--identity", str(tmp_path / folder), *more)

    other = join(token, "b", "--name", "a2")
    assert (other.returncode, "not-invited" in other.stderr) == (4, True)
    assert not (tmp_path / "b").exists()
    assert join(token, "a", "--name", "a1").stdout == f"a1 has joined {CELL}, for {ONE}\n"
    twice = join(token, "c")
    assert (twice.returncode, "not-invited" in twice.stderr) == (4, True)
    assert join("stead-join-made-up", "d").returncode == 4
    over = cell.invite("a3", ONE, lasting="1s")
    time.sleep(1.5)  # sleep: the invitation expires
    assert join(over, "e").returncode == 4
    there = join(cell.invite("a4", ONE), "a")
    assert (there.returncode, "has an identity in it already" in there.stderr) == (2, True)
    taken = cell.stead("agent", "invite", "a1", "--lane", TWO)
    assert (taken.returncode, "has-identity" in taken.stderr) == (3, True)
    # Revoked, its name is free for another, and nothing of the old one holds.
    late = cell.invite("a5", ONE)
    cell.said("agent", "revoke", "a1")
    assert join(cell.invite("a1", TWO), "new").stdout == f"a1 has joined {CELL}, for {TWO}\n"
    assert join(late, "five").returncode == 0
    listed = {one["name"]: one for one in json.loads(cell.said("agent", "list", "-o", "json"))}
    assert listed["a1"]["lanes"] == [TWO]
    # An agent serves what it was invited for.
    foreign = cell.stead("agent", "run", "--identity", str(tmp_path / "new"), "--lane", ONE)
    assert (foreign.returncode, f"a1 may not serve {ONE}" in foreign.stderr) == (2, True)


class Tls(Stead):
    """A server that is spoken to over TLS alone."""

    def __init__(self, authority: Path, *words: str) -> None:
        super().__init__(*words, port_option=True)
        self.authority = authority

    def ready(self) -> bool:
        try:
            context = ssl.create_default_context(cafile=str(self.authority))
            return httpx.get(f"https://127.0.0.1:{self.port}/readyz", timeout=1, verify=context).status_code == 200
        except httpx.HTTPError:
            return False


@pytest.mark.long
@pytest.mark.slow
def test_who_joins_knows_whom_it_shows_its_token_to(cell: Cell, migrated: str) -> None:
    pki = cell.nats.founded.folder
    certificate, key = cell.said("pki", "server-cert", str(pki), "--host", "127.0.0.1").split()
    identity = ("--identity", str(cell.nats.founded.controller))
    words = ("server", "--open", "--database", migrated, *identity, "--tls-cert", certificate, "--tls-key", key)
    token = cell.invite("a1", ONE)
    with Tls(pki / "ca.pem", *words) as server:
        address = f"https://127.0.0.1:{server.port}"
        join = ("agent", "join", "--server", address, "--token", token, "--identity", str(cell.folder / "a1"))
        unknown = cell.stead(*join)
        assert unknown.returncode == 1
        assert "certificate" in unknown.stderr.lower()
        assert cell.said("--ca", str(pki / "ca.pem"), *join) == f"a1 has joined {CELL}, for {ONE}\n"
