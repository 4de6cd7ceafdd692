"""Targets of the Makefile that run the tests of one file select tests in it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

RUNS = re.findall(r"-m pytest (.*\btests/\S+\.py)$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("arguments", RUNS)
def test_target_selects_tests_of_its_file(arguments: str) -> None:
    words = [word for word in arguments.split() if word not in ("-s", "-n", "$$(nproc)")]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq", *words]
    done = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_such_target_is_found() -> None:
    assert len(RUNS) == len(re.findall(r"\btests/\S+\.py$", (ROOT / "Makefile").read_text(), re.MULTILINE)) > 0
