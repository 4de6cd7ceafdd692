"""Every lock file installs, and nothing is compiled but what cannot be had otherwise."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_repository import ROOT

LOCKS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("requirements*.lock"))
SOURCE_ONLY = ("nkeys",)
"""Packages in plain Python that are published without a wheel."""
COMPILED = {"requirements-libvirt.lock": "libvirt-python"}
"""Locks whose very purpose is a library that is compiled on the machine."""


@pytest.mark.long
@pytest.mark.parametrize("lock", LOCKS)
def test_lock_installs_without_compiling(lock: str, tmp_path: Path) -> None:
    if lock in COMPILED and not (shutil.which("pkg-config") and shutil.which("gcc")):
        pytest.skip("gcc and pkg-config are not installed")
    uv = str(Path(sys.executable).with_name("uv"))
    environment = str(tmp_path / "env")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    built = [*SOURCE_ONLY, *([COMPILED[lock]] if lock in COMPILED else [])]
    sources = [word for name in built for word in ("--no-binary", name)]
    install = [uv, "pip", "install", "--python", environment, "--only-binary", ":all:", *sources, "--require-hashes"]
    done = subprocess.run([*install, "-r", str(ROOT / lock)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
