"""`stead install` on a machine that systemd runs: the cell comes up, comes back, is backed up, and goes away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.install.machine import STEAD, Machine, booted

DATABASE = "postgresql://stead@/stead?host=/run/stead-postgres"
AGENT = "local=--lane local.one --driver process --set root=/var/lib/stead/agents/local/services"
SERVICES = ("stead-postgres", "stead-nats", "stead-server", "stead-agent@local")


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with booted(tmp_path / "machine") as one:
        yield one


@pytest.mark.long
@pytest.mark.alone
def test_one_command_installs_a_cell(machine: Machine) -> None:
    done = machine.run(STEAD, "install", "--agent", AGENT)
    assert done.returncode == 0, done.stderr + done.stdout
    assert f"runuser -u stead -- {STEAD} token create root" in done.stderr
    made = machine.run("runuser", "-u", "stead", "--", STEAD, "token", "create", "root", "--role", "admin")
    assert made.returncode != 0  # not without the database or a token
    direct = ("--direct", "--database", DATABASE)
    machine.until(lambda: machine.run("systemctl", "is-active", "stead-postgres").returncode == 0)

    def token() -> str:
        words = (STEAD, "token", "create", "root", "--role", "admin", *direct)
        said = machine.run("runuser", "-u", "stead", "--", *words).stdout.split()
        return next((word for word in said if word.startswith("stead_")), "")

    found = ""

    def known() -> bool:
        nonlocal found
        found = found or token()
        return bool(found)

    machine.until(known)

    def served() -> bool:
        said = machine.run(STEAD, "lane", "list", STEAD_TOKEN=found).stdout
        return "local.one" in said and said.split()[-1] == "local"

    machine.until(served)
    broken = machine.run(STEAD, "install", "--agent", "local=--lane local.one --driver none")
    assert broken.returncode == 1
    assert "stead-agent@local.service did not stay up" in broken.stderr
    assert machine.run(STEAD, "install", "--agent", AGENT).returncode == 0
    machine.until(served)

    for service in SERVICES:  # whatever dies comes back
        assert machine.run("systemctl", "kill", "--signal=KILL", service).returncode == 0
    machine.until(lambda: all(machine.run("systemctl", "is-active", one).returncode == 0 for one in SERVICES))
    machine.until(served)
    assert machine.run("systemctl", "restart", "stead.target").returncode == 0
    machine.until(served)

    assert machine.run("systemctl", "start", "stead-backup").returncode == 0
    (file,) = machine.run("ls", "/var/lib/stead/backups").stdout.split()
    verified = machine.run(STEAD, "backup", "verify", f"/var/lib/stead/backups/{file}")
    assert verified.returncode == 0, verified.stderr

    assert machine.run(STEAD, "install", "--remove", "--data").returncode == 0
    assert "stead" not in machine.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "stead*").stdout
    assert machine.run("ls", "/var/lib/stead").returncode != 0
    assert machine.run("ls", "/etc/stead").returncode != 0
