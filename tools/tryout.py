"""What a newcomer does: install the built wheel into an empty environment, run `stead dev`, type what it prints.

`python -m tools.tryout` does it, says how long each step took, and fails where something does not work or is left
behind. With `--packaged` it uses the PostgreSQL that comes along, even where another one is installed. With
`--linked` it takes the dependencies, as `requirements.lock` has them, from the environment that it runs in: without a
network, and in seconds.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LIMIT = 60.0
"""Seconds from an empty environment with the wheel in it to the last of the printed commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do it; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.tryout", description="Try the built wheel as a newcomer.")
    parser.add_argument("--packaged", action="store_true", help="with the PostgreSQL that comes along")
    parser.add_argument("--linked", action="store_true", help="with the dependencies of this environment")
    known, more = parser.parse_known_args(arguments)  # what else there is, is for `stead dev`
    with tempfile.TemporaryDirectory(prefix="stead-tryout-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # as root, PostgreSQL runs as somebody else, who has to get there
        _timed("install the wheel into an empty environment", lambda: install(folder, linked=known.linked))
        took = _try(folder, environment(folder, packaged=known.packaged), more)
    print(f"{took:.1f} s from `stead dev` to the last of its commands, of at most {LIMIT:.0f}")
    return 0 if took <= LIMIT else 1


def environment(folder: Path, *, packaged: bool) -> dict[str, str]:
    """The environment of processes: with the commands installed in a folder, and a folder for temporary files."""
    (folder / "tmp").mkdir()
    path = f"{folder / 'env' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "TMPDIR": str(folder / "tmp")}
    env.pop("PYTHONPATH", None)
    if packaged:
        (found,) = folder.glob("env/lib/*/site-packages/*/pginstall/bin")
        env["STEAD_POSTGRES"] = str(found)
    return env


def install(folder: Path, *, linked: bool) -> None:
    """Build the wheel, and install it into a new environment in a folder."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    env = folder / "env"
    venv.create(env, with_pip=not linked)
    if linked:
        _link(env)
        uv = [sys.executable, "-m", "uv", "pip"]
        where = ["--quiet", "--python", str(env / "bin" / "python")]
        subprocess.run([*uv, "install", *where, "--offline", "--no-deps", str(wheel)], check=True)
        subprocess.run([*uv, "check", *where], check=True)  # the lock has all that the wheel asks for
        # Once here, as pip does it, and not in each of the processes that start together.
        subprocess.run([env / "bin" / "python", "-m", "compileall", "-q", *env.glob("lib/*/*/stead")], check=True)
    else:
        pip = [str(env / "bin" / "pip"), "install", "--quiet", str(wheel)]
        subprocess.run(pip, check=True, stderr=subprocess.DEVNULL)


def _link(env: Path) -> None:
    """Everything in `requirements.lock`, and nothing else, from the environment that this runs in."""
    (site,) = env.glob("lib/python*/site-packages")
    for found in re.findall(r"^(\w.*) \\$", (ROOT / "requirements.lock").read_text(), re.M):
        wanted = Requirement(found)
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        installed = importlib.metadata.distribution(wanted.name)
        if not wanted.specifier.contains(installed.version, prereleases=True):
            raise SystemExit(f"{wanted.name} {installed.version} is not what requirements.lock has: run make setup")
        for file in installed.files or ():
            source, target = Path(str(installed.locate_file(file))), site / file
            if ".." in file.parts and source.read_bytes()[:2] == b"#!":
                continue  # a script, with the path of the other environment in it
            _link_file(source, target)
            if file.suffix == ".py" and ".." not in file.parts:
                _link_file(Path(cache_from_source(source)), Path(cache_from_source(target)))


def _link_file(source: Path, target: Path) -> None:
    if not source.is_file() or target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # on another file system
        shutil.copy2(source, target)


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
            run = _serve if command.startswith("stead agent run") else _run
            done = _timed(command, partial(run, command, env, folder))
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


def _serve(command: str, env: Mapping[str, str], folder: Path) -> int:
    """Run an agent until its site is ready, then end it as Ctrl-C does."""
    (site,) = re.findall(r"--lane edge\.(\S+)", command)
    show = ["stead", "cloudlet", "show", site.replace(".", "/"), "-o", "json"]
    with subprocess.Popen(["bash", "-c", f"exec {command}"], env=env, cwd=folder) as agent:
        try:
            end = time.monotonic() + LIMIT
            while (
                json.loads(subprocess.run(show, env=env, check=True, stdout=subprocess.PIPE).stdout)["state"]
                != "Ready"
            ):
                if agent.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"the site is not ready: {command}")
        finally:
            agent.send_signal(signal.SIGINT)
    return agent.returncode


def _timed[T](what: str, work: Callable[[], T]) -> T:
    began = time.monotonic()
    result = work()
    print(f"  [{time.monotonic() - began:.1f} s] {what}")
    return result


if __name__ == "__main__":
    sys.exit(main())
