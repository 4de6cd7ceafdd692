"""A library with which a process has the time that CLOCK_OFFSET says."""

from __future__ import annotations

import subprocess
from pathlib import Path


def build(folder: Path) -> Path:
    """Compile it into a folder; it takes gcc."""
    library = folder / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library
