"""The benchmark in short: it runs and says what it found. What it found is not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.long
def test_a_short_run_says_what_it_found() -> None:
    words = [sys.executable, "-m", "bench", "--small", "--only", "settle", "--only", "dispatch", "--only", "minimal"]
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    figures = {line.split()[0]: float(line.split()[1]) for line in done.stdout.splitlines() if "beside:" in line}
    assert figures.keys() == {"settle", "dispatch", "minimal-1", "minimal-16"}
    assert all(value > 0 for value in figures.values())
    assert "bench: 4 figures" in done.stdout
