"""A running cell, examined: each thing that may be wrong is found, and what is well is not taken for wrong."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from stead.cli import support_bundle
from stead.cli.support_bundle import clean
from stead.controller.health import doctor
from stead.controller.health.doctor import Grade
from stead.dev.children import children, signal_process, wait_until
from stead.dev.engines import Nats, Postgres
from stead.store.migrate import newest
from tests.telemetry.house import House, house

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nats() -> Iterator[Nats]:
    """A bus of one's own, to be broken."""
    with Nats() as server:
        yield server


@pytest.fixture
def dsn(postgres: Postgres, template: str) -> Iterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    yield postgres.create_database(name, template)
    postgres.drop_database(name)


def stead(one: House, *words: str, **told: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stead", *words, "--server", one.url]
    env = {**os.environ, **told}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)


def grades(one: House) -> dict[str, str]:
    found = httpx.get(f"{one.url}/v1/cells/-/doctor", timeout=60).json()["findings"]
    return {finding["check"]: finding["grade"] for finding in found}


def settled(one: House) -> None:
    """All has begun."""
    wait_until(lambda: _begun(one), "all to begin")


def _begun(one: House) -> bool:
    found = grades(one)
    return {found.get(what) for what in ("bus", "reconcilers", "agents")} == {"ok"}


@pytest.mark.long
async def test_it_tells_the_truth_of_a_cell_that_is_broken_and_mended(dsn: str, nats: Nats) -> None:
    with house(dsn, nats) as one:
        settled(one)
        well = grades(one)
        assert {well[what] for what in ("schema", "bus", "reconcilers", "numberer", "lanes", "agents")} == {"ok"}
        assert well["identities"] == "warn"
        nats.kill()
        wait_until(lambda: grades(one)["bus"] == "bad", "the bus to be missed")
        nats.start()
        wait_until(lambda: grades(one)["bus"] == "ok", "the bus to be back")
        (controller,) = children(one.server.pid)
        os.kill(controller, signal.SIGSTOP)
        try:
            assert grades(one)["controller"] == "bad"
        finally:
            signal_process(controller, signal.SIGCONT)
        connection = await asyncpg.connect(dsn)
        await connection.execute("UPDATE alembic_version SET version_num = '0000'")
        await connection.execute("UPDATE agents SET last_seen = now() - interval '1 hour' WHERE name = 'a1'")
        await connection.execute("INSERT INTO agents (name, last_seen) VALUES ('gone', now() - interval '1 hour')")
        await connection.close()
        said = stead(one, "doctor")
        assert said.returncode == 2
        assert re.search(rf"^bad +schema +revision 0000, and this server expects {newest()}$", said.stdout, re.M)
        assert re.search(r"^warn +agents .*gone$", said.stdout, re.M)
        assert "-> run servers of one version" in said.stdout


def test_who_is_not_reached_is_told() -> None:
    command = [sys.executable, "-m", "stead", "doctor", "--server", "http://127.0.0.1:9"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "http://127.0.0.1:9 does not answer" in ended.stderr


WELL: dict[str, Any] = {
    **{"version": "15.1 (Debian)", "revision": newest(), "now": 0.0, "size": 10, "standby": False, "fsync": "on"},
    **{"synchronous_commit": "on", "standbys": 1, "synchronous": 1, "longest": 0.1, "connections": 5},
    **{"most_connections": 100, "frozen_age": 5, "bloated": [], "ahead": 7, "today": True, "in_default": False},
}


@pytest.mark.parametrize(
    ("changed", "what", "grade"),
    [
        ({}, "", Grade.OK),
        ({"revision": "0000"}, "schema", Grade.BAD),
        ({"fsync": "off"}, "durability", Grade.BAD),
        ({"synchronous_commit": "off"}, "durability", Grade.BAD),
        ({"synchronous": 0}, "durability", Grade.WARN),
        ({"longest": 61.0}, "transactions", Grade.WARN),
        ({"longest": 601.0}, "transactions", Grade.BAD),
        ({"connections": 95}, "connections", Grade.BAD),
        ({"frozen_age": 1_500_000_000}, "freezing", Grade.BAD),
        ({"bloated": [["orders", 50_000, 10]]}, "bloat", Grade.WARN),
        ({"ahead": 0}, "partitions", Grade.BAD),
        ({"ahead": 2}, "partitions", Grade.WARN),
    ],
)
def test_what_may_be_wrong_with_a_database(changed: dict[str, Any], what: str, grade: Grade) -> None:
    found = list(doctor.database(WELL | changed))
    wrong = {finding.check: finding.grade for finding in found if finding.grade is not Grade.OK}
    assert wrong == ({what: grade} if what else {})
    assert all(finding.remedy for finding in found if finding.grade is not Grade.OK)


def test_clocks_that_differ() -> None:
    assert doctor.clocks(100.0, 99.0, 101.0).grade is Grade.OK
    assert doctor.clocks(103.0, 99.0, 101.0).grade is Grade.WARN
    assert doctor.clocks(90.0, 99.0, 101.0).grade is Grade.BAD
    offsets = {"a1": 3600.0, "a2": 0.1}
    ahead = [{"name": name, "there": True, "clock_offset": off} for name, off in offsets.items()]
    finding = doctor.skew(ahead)
    assert (finding.grade, finding.message) == (Grade.WARN, "a1's is 3600.0 s ahead of the database's")
    assert doctor.skew([{**ahead[0], "there": False}]).grade is Grade.OK
    assert doctor.controller_clock(-3600.0).message == "the controller's is 3600.0 s behind the database's"
    assert (doctor.controller_clock(-3600.0).grade, doctor.controller_clock(0.5).grade) == (Grade.BAD, Grade.OK)


def test_healers_that_fail_or_hang() -> None:
    def text(success: float, began: float) -> str:
        return (
            f'# TYPE stead_reconciler_runs_total counter\nstead_reconciler_runs_total{{reconciler="clock"}} 5.0\n'
            f"# TYPE stead_reconciler_success_timestamp_seconds gauge\n"
            f'stead_reconciler_success_timestamp_seconds{{reconciler="clock"}} {success}\n'
            f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {began}\n"
        )

    now = time.time()
    assert [f.grade for f in doctor.reconcilers(text(now - 1, now - 900), now)] == [Grade.OK]
    assert [f.grade for f in doctor.reconcilers(text(now - 500, now - 900), now)] == [Grade.BAD]


def test_identities_that_end() -> None:
    now = datetime.now(UTC)

    def agent(left: timedelta) -> dict[str, Any]:
        return {"name": "a", "expires_at": now + left, "revoked_at": None}

    assert doctor.expiring([agent(timedelta(days=9))], now).grade is Grade.OK
    assert doctor.expiring([agent(timedelta(days=1))], now).grade is Grade.WARN
    assert doctor.expiring([agent(timedelta(days=-1))], now).grade is Grade.BAD


def test_lanes_that_nobody_serves_and_work_that_waits() -> None:
    gauges = {"operations": [3, 5.0], "untaken": [2, 90.0], "unnumbered": 30.0, "late": 40.0, "last_position": 9}
    assert {f.check: f.grade for f in doctor.work(gauges, ["/a"])} == {
        **{"work": Grade.OK, "orders": Grade.WARN, "stuck": Grade.WARN},
    }
    assert doctor.unserved(["aws.x"]).grade is Grade.BAD
    assert doctor.numberer(gauges).grade is Grade.BAD
    assert doctor.timers(gauges).grade is Grade.BAD


PASSWORDS = {
    "postgresql://stead:hunter2secret@db/stead": "hunter2secret",
    "Authorization: Bearer abc.def-ghi": "abc.def-ghi",
    "jwt eyJhbGciOiJub25l.eyJzdWIiOiJ4In0.c2ln": "eyJhbGciOiJub25l",
    "seed SUAKYRHVIOREXV7EUZTBHUHL7NUMHPMAS7QMDU3GTIUWEI5LDNOXD43IZY": "SUAKYRHVIOREXV7",
    "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI\n-----END EC PRIVATE KEY-----": "MHcCAQEEI",
    "token stead_abcdefghij_0123456789012345678901234567890123456789012": "0123456789012",
    '{"password": "in-json"}': "in-json",
    "db_password=plain&x=1": "plain",
}


@pytest.mark.parametrize("text", PASSWORDS)
def test_what_looks_like_a_secret_is_taken_out(text: str) -> None:
    assert PASSWORDS[text] not in clean(text)
    assert "***" in clean(text)


@pytest.mark.long
def test_a_bundle_has_what_helps_and_no_secret(dsn: str, nats_server: Nats, tmp_path: Path) -> None:
    log, to = tmp_path / "server.log", tmp_path / "bundle.tar.gz"
    log.write_text("it began\nconnecting to nats://u:busword77@bus:4222\n")
    with house(dsn, nats_server) as one:
        spec = {"provider": "aws", "region": "us-east-1", "env": {"DB_PASSWORD": "specword77"}, "note": "visible"}
        answer = httpx.post(
            f"{one.url}/v1/resources/shop/one", json={"kind": "vm", "spec": spec, "expect_agent": True}
        )
        assert answer.status_code == 202, answer.text
        settled(one)
        token = "stead_abcdefghij_0123456789012345678901234567890123456789012"
        told = {"STEAD_TOKEN": token, "PGPASSWORD": "envword77", "STEAD_DATABASE": "postgresql://u:dsnword77@h/d"}
        made = stead(one, "support-bundle", "--to", str(to), "--log", str(log), **told)
        assert made.returncode == 0, made.stderr
        hidden = stead(one, "support-bundle", "--to", str(tmp_path / "redacted.tar.gz"), "--redact", **told)
        assert hidden.returncode == 0, hidden.stderr
    files = unpacked(to)
    assert set(files) == {
        *("doctor.json", "about.json", "metrics.txt", "overview.json", "stuck.json", "lanes.json", "agents.json"),
        *("journal.json", "logs/server.log"),
    }
    whole = "".join(files.values())
    for secret in ("busword77", "specword77", "envword77", "dsnword77", token, token[17:]):
        assert secret not in whole
    assert to.stat().st_mode & 0o077 == 0
    assert "it began" in files["logs/server.log"]
    assert "/shop/one" in files["journal.json"]
    assert "visible" in files["journal.json"]
    assert "stead_admissions_total" in files["metrics.txt"]
    redacted = "".join(unpacked(tmp_path / "redacted.tar.gz").values())
    assert "shop" not in redacted
    assert "visible" not in redacted


def unpacked(file: Path) -> dict[str, str]:
    with tarfile.open(file) as tar:
        found = {one.name: tar.extractfile(one) for one in tar.getmembers()}
        return {name.removeprefix("stead-support/"): data.read().decode() for name, data in found.items() if data}


def test_a_bundle_is_its_owners_alone_and_a_device_stays_everybodys(tmp_path: Path) -> None:
    there = tmp_path / "bundle.tar.gz"
    there.touch(mode=0o666)
    support_bundle._write(there, {"doctor.json": "{}"})
    assert there.stat().st_mode & 0o777 == 0o600
    kept, terminal = os.openpty()
    try:
        device = Path(os.ttyname(terminal))
        device.chmod(0o622)
        before = device.stat().st_mode
        support_bundle._write(device, {"doctor.json": "{}"})
        assert device.stat().st_mode == before
    finally:
        os.close(kept)
        os.close(terminal)
