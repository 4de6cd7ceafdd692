"""Carries a plan out, as far as it is not so already, and takes it back."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stead.install.plan import ETC, PRIVATE, STATE, SYSUSERS, UNITS, File, Plan, drop_in

OWNER = "stead"
START_TIMEOUT = 120.0
"""Seconds that all units have to come up."""
STEADY_SECONDS = 4.0
"""Seconds for which all of them have to run: systemd restarts one that has failed after two."""
LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where a server that listens on every address is found on its own machine."""


class InstallFailed(Exception):
    """A command has failed, or a file cannot be written; the message says which, and why."""


@dataclass(frozen=True)
class Action:
    """A step, as it is told."""

    says: str
    file: File | None = None
    command: Sequence[str] = ()
    gone: str = ""
    """A file or folder to be removed."""
    awaited: Plan | None = None
    """What is to come up."""


def apply(plan: Plan, *, dry: bool = False) -> Iterator[Action]:
    """Do what is not done yet, step by step; each is told once it is done, or instead of it."""
    root = plan.wanted.root
    changed = False
    for file in plan.files:
        if _differs(root, file):
            changed = True
            verb = "change" if _at(root, file.path).exists() else "write"
            yield _done(root, Action(f"{verb} {file.path}", file=file), dry)
    for path in plan.absent:
        if _at(root, path).exists():
            changed = True
            yield _done(root, Action(f"remove {path}", gone=path), dry)
    if root != Path("/"):
        return
    if changed or not _all_run(plan.units):
        yield _done(root, Action("make the user stead", command=("systemd-sysusers", SYSUSERS)), dry)
        owned = ("chown", "--recursive", f"{OWNER}:{OWNER}", ETC)
        yield _done(root, Action(f"give {ETC} to the user stead", command=owned), dry)
        yield _done(root, Action("have systemd read the units", command=("systemctl", "daemon-reload")), dry)
        yield _done(root, Action("start them at boot", command=("systemctl", "enable", *plan.units)), dry)
        yield _done(root, Action("start them now", command=("systemctl", "restart", *plan.units)), dry)
        yield _done(root, Action("wait until the server listens and all of them run", awaited=plan), dry)


def remove(root: Path, *, data: bool = False, dry: bool = False) -> Iterator[Action]:
    """Take back what `apply` did. What was kept in the meantime stays, unless the data is to go, too."""
    units = sorted(file.name for file in _at(root, UNITS).glob("stead*") if file.is_file())
    agents = sorted(file.stem for file in _at(root, f"{ETC}/agents").glob("*.env"))
    if root == Path("/") and units:
        names = [name for name in units if "@" not in name]
        names += [f"stead-agent@{name}.service" for name in agents]
        yield _done(root, Action("stop all of it", command=("systemctl", "disable", "--now", *names)), dry)
    given = [path for agent in agents if _at(root, path := drop_in(agent)).exists()]
    for path in (*given, *(f"{UNITS}/{name}" for name in units), SYSUSERS, ETC, *((STATE,) if data else ())):
        if _at(root, path).exists():
            yield _done(root, Action(f"remove {path}", gone=path), dry)
    if root == Path("/") and units:
        yield _done(root, Action("have systemd forget the units", command=("systemctl", "daemon-reload")), dry)


def _all_run(units: Sequence[str]) -> bool:
    """Whether all units run, and will after a boot."""
    return _are("enabled", *units) and _are("active", *units)


def _are(state: str, *units: str) -> bool:
    """Asked for each on its own, since for several systemctl ends with 0 if one of them is in this state."""
    return all(
        subprocess.run(["systemctl", "--quiet", f"is-{state}", one], check=False).returncode == 0 for one in units
    )


def _wait_for(plan: Plan) -> None:
    """Return when the server listens and all units have run for a while: systemd restarts a failing one for ever."""
    since = time.monotonic()
    end = since + START_TIMEOUT
    while time.monotonic() - since < STEADY_SECONDS:
        if missing := _not_up(plan):
            since = time.monotonic()
            if since > end:
                raise InstallFailed(f"{missing} within {START_TIMEOUT:.0f} s")
        time.sleep(0.2)


def _not_up(plan: Plan) -> str:
    """What does not run yet, and where the reason is; empty if everything runs."""
    if down := [unit for unit in plan.units if not _are("active", unit)]:
        return f"{', '.join(down)} did not stay up (reason: journalctl --unit {down[0]})"
    if not _listens(plan.wanted.host, plan.wanted.port):
        return f"the server did not listen on port {plan.wanted.port} (reason: journalctl --unit stead-server)"
    return ""


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK_OF.get(host, host), port), timeout=1).close()
    except OSError:
        return False
    return True


def _at(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _differs(root: Path, file: File) -> bool:
    there = _at(root, file.path)
    return not there.is_file() or there.read_text(encoding="utf-8") != file.text


def _done(root: Path, action: Action, dry: bool) -> Action:
    if dry:
        return action
    try:
        if action.file is not None:
            _write(_at(root, action.file.path), action.file)
        elif action.gone:
            path = _at(root, action.gone)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            if path.parent.suffix == ".d" and not any(path.parent.iterdir()):
                path.parent.rmdir()
        elif action.awaited is not None:
            _wait_for(action.awaited)
        else:
            subprocess.run(action.command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise InstallFailed(
            f"{' '.join(action.command)}: {(error.stderr or '').strip() or error.returncode}"
        ) from None
    except OSError as error:
        raise InstallFailed(f"{error.filename or action.says}: {error.strerror or error}") from None
    return action


def _write(path: Path, file: File) -> None:
    """The file as a whole or as it was; with a secret in it, never readable for others."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode), "w", encoding="utf-8") as out:
        out.write(file.text)
    part.chmod(file.mode)
    if file.mode == PRIVATE:
        try:
            owner = pwd.getpwnam(OWNER)
            os.chown(part, owner.pw_uid, owner.pw_gid)
        except (KeyError, PermissionError):
            pass  # the user comes later, and then it is given to them
    part.replace(path)
