"""What a run of the fast tier says of tests that cost too much, and of what they leave behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stead.dev.children import signal_process
from tests.plugins.budget import Cost
from tests.plugins.exceptions import EXCEPTIONS

ROOT = Path(__file__).parents[2]
CONFTEST = """
import os
from tests.plugins import budget
from tests.plugins.budget import Budget
from tests.plugins.leftovers import Leftovers
budget.MAX_PROCESSOR_SECONDS = 0.2
budget.MAX_WALL_SECONDS = 0.6
budget.COUNTING_SECONDS = float(os.environ.get("COUNTING", "60"))  # as if the machine were fast, however busy it is
budget.EXCEPTIONS = {"test_it.py::test_excepted": "for a reason"}
def pytest_configure(config):
    config.pluginmanager.register(Budget(config, enforced=True))
    config.pluginmanager.register(Leftovers(config))
"""
PLUGINS = ("-p", "no:cacheprovider", "-p", "xdist")
BUSY = "import time\nwhile time.process_time() < {}: pass"


def run(folder: Path, tests: str, *options: str) -> tuple[int, str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(f"import subprocess, sys, time\nimport pytest\nBUSY = {BUSY!r}\n{tests}")
    command = [sys.executable, "-m", "pytest", "-q", *PLUGINS, *options, f"--rootdir={folder}", str(folder)]
    env = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }  # the others take longer to load than the tests to run
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=env)
    return done.returncode, done.stdout


def test_limits_are_higher_on_machine_that_is_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COUNTING", "0.0001")
    tests = f"def test_busy(): {busy(0.4)}\ndef test_waits(): time.sleep(0.7)\n"
    assert run(tmp_path, tests)[0] == 0


def busy(seconds: float) -> str:
    return f"subprocess.run([sys.executable, '-c', BUSY.format({seconds})], check=True)"


@pytest.mark.parametrize(
    "options", [pytest.param(("-n", "2"), id="workers"), pytest.param((), id="one process", marks=pytest.mark.long)]
)
def test_run_with_expensive_test_fails_and_names_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    tests = f"def test_cheap(): pass\ndef test_busy(): {busy(0.4)}\ndef test_excepted(): {busy(0.4)}\n"
    code, out = run(tmp_path, tests, *options)
    assert code == 1
    assert "test_it.py::test_busy: 0." in out
    assert "of processor time; the limit is 0 s" in out
    assert "test_cheap:" not in out
    assert "test_excepted:" not in out
    assert "3 passed" in out.splitlines()[-1]


def test_run_with_slow_test_fails_and_names_it(tmp_path: Path) -> None:
    code, out = run(tmp_path, "def test_waits(): time.sleep(0.7)\n")  # sleep: what is measured
    assert code == 1
    assert re.search(r"test_it.py::test_waits: \d+\.\d s of wall time", out)


def test_setup_of_shared_fixture_is_charged_to_fixture(tmp_path: Path) -> None:
    tests = (
        f"@pytest.fixture(scope='module')\ndef shared(): {busy(0.4)}\n"
        "def test_first(shared): pass\ndef test_second(shared): pass\n"
    )
    code, out = run(tmp_path, tests)
    assert code == 1
    assert "test_it.py::fixture shared: 0." in out
    assert "test_first:" not in out


@pytest.mark.parametrize(
    "options", [pytest.param(("-n", "1"), id="workers"), pytest.param((), id="one process", marks=pytest.mark.long)]
)
def test_run_that_leaves_process_behind_fails_and_names_it(tmp_path: Path, options: tuple[str, ...]) -> None:
    tests = "LEFT = []\ndef test_leaves(): LEFT.append(subprocess.Popen(['sleep', '600.25']))\n"
    code, out = run(tmp_path, tests, *options)
    assert code == 1
    (left,) = re.findall(r"process (\d+): sleep 600\.25", out)
    signal_process(int(left), signal.SIGKILL)


def test_clean_cheap_run_passes(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_cheap(): pass\n")[0] == 0


def test_exceptions_are_few_and_reasoned() -> None:
    assert len(EXCEPTIONS) <= 40
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())


def test_cost_within_limits_has_no_excess() -> None:
    assert Cost("a", 1.0, 1.0).excess == ""
    assert "processor" in Cost("a", 6.0, 6.0).excess
    assert "wall" in Cost("a", 21.0, 1.0).excess
