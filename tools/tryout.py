"""What a newcomer does: install the built wheel into an empty environment, run `stead dev`, type what it prints.

`python -m tools.tryout` does it, says how long each step took, and fails where something does not work or is left
behind. With `--packaged` it uses the PostgreSQL that comes along, even where another one is installed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT = 60.0
"""Seconds from an empty environment with the wheel in it to the last of the printed commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.tryout", description="Try the built wheel as a newcomer.")
    parser.add_argument("--packaged", action="store_true", help="with the PostgreSQL that comes along")
    known, more = parser.parse_known_args(arguments)  # what else there is, is for `stead dev`
    packaged = known.packaged
    with tempfile.TemporaryDirectory(prefix="stead-tryout-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # as root, PostgreSQL runs as somebody else, who has to get there
        installed = _timed("install the wheel into an empty environment", lambda: _install(folder))
        (folder / "tmp").mkdir()
        path = f"{installed}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, "PATH": path, "TMPDIR": str(folder / "tmp")}
        env.pop("PYTHONPATH", None)
        if packaged:
            (found,) = folder.glob("**/pginstall/bin")
            env["STEAD_POSTGRES"] = str(found)
        took = _try(folder, env, more)
    print(f"{took:.1f} s from `stead dev` to the last of its commands, of at most {LIMIT:.0f}")
    return 0 if took <= LIMIT else 1


def _install(folder: Path) -> Path:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, stderr=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=True)
    pip = [str(folder / "env" / "bin" / "pip"), "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)
    return folder / "env" / "bin"


def _try(folder: Path, env: Mapping[str, str], words: Sequence[str]) -> float:
    began = time.monotonic()
    out = folder / "out"
    with out.open("wb") as written:
        cell = subprocess.Popen(
            ["stead", "dev", *words], stdout=written, stderr=subprocess.STDOUT, env=env, cwd=folder
        )
    try:
        while "Ctrl-C ends it" not in out.read_text():
            if cell.poll() is not None:
                raise SystemExit(f"stead dev ended: {out.read_text()}")
            time.sleep(0.1)
        print(out.read_text())
        for command in re.findall(r"^  (stead .*)$", out.read_text(), re.M):
            print(f"$ {command}")
            done = _timed(command, partial(_run, command, env, folder))
            if done:
                raise SystemExit(f"{command}: exit code {done}")
        took = time.monotonic() - began
    finally:
        cell.send_signal(signal.SIGTERM)
        ended = cell.wait(60)
    if ended:
        raise SystemExit(f"stead dev ended with {ended}: {out.read_text()}")
    left = [*(folder / "tmp").iterdir()]
    if left:
        raise SystemExit(f"it left {left}")
    return took


def _run(command: str, env: Mapping[str, str], folder: Path) -> int:
    code = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=env, cwd=folder, check=False).returncode
    # That resume is refused is what the third command is there to say.
    return 0 if command.startswith("stead explain") and code == 3 else code


def _timed[T](what: str, work: Callable[[], T]) -> T:
    began = time.monotonic()
    result = work()
    print(f"  [{time.monotonic() - began:.1f} s] {what}")
    return result


if __name__ == "__main__":
    sys.exit(main())
