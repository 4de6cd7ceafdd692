"""OpenStack's services from their packages, in an environment of their own that is made once and kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
KEPT = HERE.parents[2] / ".build"

ADDED = {"hypervisor.py": "nova/virt/stead_hypervisor.py", "mechanism.py": "stead_mechanism.py"}
"""What is ours, and where it has to be."""

ENTRY = "[neutron.ml2.mechanism_drivers]\nstead = stead_mechanism:Mechanism\n"


def environment() -> Path:
    """The folder of the environment."""
    said = b"".join((HERE / name).read_bytes() for name in ("requirements.lock", *ADDED))
    folder = KEPT / f"openstack-{hashlib.sha256(said).hexdigest()[:12]}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        uv: list[str | Path] = [
            sys.executable,
            "-m",
            "uv",
            "pip",
            "install",
            "--quiet",
            "--python",
            folder / "bin/python",
        ]
        run(*uv, "--compile-bytecode", "--require-hashes", "-r", HERE / "requirements.lock")
        (packages,) = folder.glob("lib/python3*/site-packages")
        for name, place in ADDED.items():
            shutil.copy(HERE / name, packages / place)
        about = packages / "stead_mechanism-0.1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stead-mechanism\nVersion: 0.1\n")
        (about / "entry_points.txt").write_text(ENTRY)
        (folder / "ready").touch()
    return folder


def run(*command: str | Path) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout)[-3000:]}")
