"""Sites behind links that lose, delay, reorder, repeat and break, and everybody killed: in the end all agree."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.edge.faults import KINDS
from tests.edge.links import ROOT, possible
from tests.edge.plans import PLANTED, SHORT
from tests.edge.planted import BUGS

needs_links = pytest.mark.skipif(possible() != "", reason=possible())


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since it is at the hub of its links ever after."""
    command = [sys.executable, "-m", "tests.edge.run", *words]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.req("S1-03", "S1-08", "S1-09")
@needs_links
def test_sites_and_cell_agree_whatever_was_cut_and_killed() -> None:
    done = run("--short")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout.splitlines()
    assert said[-1].startswith(f"edge: {SHORT.sites} sites, ")
    assert said[-1].endswith("0 lost, 0 violations")
    packets = next(line for line in said if line.startswith("  packets: "))
    assert all(f" {what}" in packets for what in ("lost", "delayed", "overtaken", "repeated")), packets


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@needs_links
def test_a_planted_bug_is_caught() -> None:
    done = run("--planted", "fence-ignored", "--seconds", "10")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "violation: " in done.stdout


def test_every_planted_bug_has_a_run_that_is_to_catch_it() -> None:
    assert PLANTED.keys() == BUGS.keys()
    assert {kind for plan in PLANTED.values() for kind in plan.kinds} <= KINDS.keys()
