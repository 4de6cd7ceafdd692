"""`stead dev` as a person has it: one command, three more to try, a kill in between, and nothing left in the end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dev.trial import STEAD, trial
from tools.tryout import environment, install


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Who PostgreSQL runs as has to get there; into the folders of a run of tests, only its owner does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.long
@pytest.mark.slow
def test_installed_wheel_with_packaged_postgres_runs_what_it_prints_and_leaves_nothing(open_folder: Path) -> None:
    """As `make tryout ARGS=--packaged`, with the dependencies of the lock and without a network."""
    install(open_folder, linked=True)
    env = environment(open_folder, packaged=True)
    with trial(open_folder, env=env) as one:
        one.runs()
        program = Path(f"/proc/{one.pid('postgres')}/exe").resolve()
        assert program.is_relative_to(open_folder / "env"), "the packaged server, not one of this machine"
        commands = re.findall(r"^  stead (mci tree|explain) (.*)", one.said(), re.M)
        assert "stead mci example | stead mci create shop/web -f -" in one.said()
        made = one.stead("mci create shop/web -f - -o name", one.stead("mci example").stdout)
        assert made.returncode == 0, made.stderr
        said = {verb: one.stead(f"{verb} {rest}") for verb, rest in commands}
        assert said["mci tree"].stdout.startswith("shop/web  Running:6 (R:6/6)\n")
        assert "would be rejected" in said["explain"].stdout
        booked = re.search(r"^  stead (lease create lab/monday .*)", one.said(), re.M)
        assert booked is not None
        assert one.stead(booked[1]).returncode == 0
        one.until(lambda: "ACTIVE" in one.stead("lease list lab").stdout, "the lease to begin")
        hosts = json.loads(one.stead("host list -o json").stdout)
        assert {host["name"]: host["lane"] for host in hosts} == dict.fromkeys(("h1", "h2", "h3", "h4"), "rack.lab")
        assert {*hosts[0]["properties"]} == {"cpus", "memory", "arch"}
        grants = json.loads(one.stead("lane grants --namespace not-there-yet -o json").stdout)
        lanes = json.loads(one.stead("lane list -o json").stdout)
        assert {(grant["namespace"], grant["lane"]) for grant in grants} == {("*", lane["lane"]) for lane in lanes}
        before = one.pid("server")
        os.kill(before, signal.SIGKILL)
        one.until(lambda: one.pid("server") != before, "the server to be back")
        suspended = one.stead("mci suspend shop/web")
        assert suspended.returncode == 0, suspended.stderr
        assert one.stead("mci status shop/web").stdout.startswith("shop/web  Suspended:6")
        one.end()
        assert "nothing is left" in one.said()
    assert [*Path(env["TMPDIR"]).iterdir()] == []


@pytest.mark.long
@pytest.mark.slow
def test_what_is_kept_is_there_the_next_time(open_folder: Path) -> None:
    with trial(open_folder, "--keep") as one:
        one.runs()
        assert one.stead("vm create shop/web/front/1 --provider aws --region us-east-1").returncode == 0
        assert one.stead("host fail h1 --reason power").returncode == 0
        assert one.stead("host remove h2").returncode == 0
        assert one.stead("lane deny gcp.europe-west4 bank").returncode == 0
        one.end()
    with trial(open_folder, "--keep") as two:
        two.runs()
        shown = json.loads(two.stead("vm show shop/web/front/1 -o json").stdout)
        assert shown["state"] == "Running"
        hosts = json.loads(two.stead("host list -o json").stdout)
        assert {host["name"]: host["works"] for host in hosts} == {"h1": False, "h2": True, "h3": True, "h4": True}
        assert two.stead("vm suspend shop/web/front/1").returncode == 0
        assert "bank gcp.europe-west4 no" in " ".join(two.stead("lane grants --namespace bank").stdout.split())
        two.end()


def test_a_port_that_is_taken_is_told_before_anything_is_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = str(holder.getsockname()[1])
        begun = run("dev", "--port", port)
        told = run("doctor", "--port", port)
    assert begun.returncode == 1
    assert f"somebody listens on {port}" in begun.stderr
    assert told.returncode == 1
    assert re.search(rf"^WRONG +ports +somebody listens on {port}", told.stdout, re.M)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*STEAD, *words], capture_output=True, text=True, timeout=60, check=False)


def test_what_is_missing_is_told_with_what_would_help(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    hidden = (
        "import os, sys, stead.dev.engines as e; e.postgres_folders = lambda: (); e.path_folders = lambda: [];"
        "sys.executable = '/nowhere/python'; from stead.cli.main import app; app(['doctor'])"
    )
    told = subprocess.run(
        [sys.executable, "-c", hidden], capture_output=True, text=True, timeout=60, check=False, env=env
    )
    assert told.returncode == 1
    assert re.search(r"^WRONG +PostgreSQL +none was found: pip install", told.stdout, re.M), told.stdout + told.stderr
    assert re.search(r"^WRONG +NATS +nats-server was not found: pip install", told.stdout, re.M)
