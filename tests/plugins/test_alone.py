from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import pytest
from tests.plugins import alone
def pytest_configure(config):
    config.addinivalue_line("markers", "alone: as it says")
    if hasattr(config, "workerinput"):
        alone.DOOR, alone.INSIDE = config.rootpath / "conftest.py", config.rootpath / "test_it.py"
        config.pluginmanager.register(alone.Alone())
"""
TESTS = """
import time
from pathlib import Path
import pytest
NAMES = [f"{n:02d}" if n % 5 else pytest.param(f"{n:02d} alone", marks=MARKS) for n in range(30)]
@pytest.mark.parametrize("who", NAMES)
def test_it(who, request):
    with (request.config.rootpath / "lived").open("a") as lived:
        print(who, "begins", file=lived, flush=True)
        time.sleep(0.02)
        print(who, "ends", file=lived, flush=True)
"""


def lived(folder: Path, marks: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS.replace("MARKS", marks))
    run = [sys.executable, "-m", "pytest", "-p", "xdist", "-n", "3", "-q", f"--rootdir={folder}", str(folder)]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(run, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], env=env)
    assert done.returncode == 0, done.stdout
    return (folder / "lived").read_text().splitlines()


def together(lines: list[str]) -> set[str]:
    """Who was alone by mark, and not by what happened."""
    inside: set[str] = set()
    found = set()
    for line in lines:
        who, _, what = line.rpartition(" ")
        (inside.add if what == "begins" else inside.discard)(who)
        if len(inside) > 1:
            found |= {one for one in inside if "alone" in one}
    return found


@pytest.mark.long
def test_nobody_runs_beside_who_is_alone(tmp_path: Path) -> None:
    lines = lived(tmp_path, "pytest.mark.alone")
    assert len(lines) == 60
    assert together(lines) == set()


@pytest.mark.long
def test_without_the_mark_they_run_together(tmp_path: Path) -> None:
    assert together(lived(tmp_path, "()")) != set()
