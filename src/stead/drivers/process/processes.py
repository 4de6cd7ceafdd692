"""Processes as what apps are. Each has a keeper: it is started here, looked at, told what to do, and ended.

Whether there is one, its lock says, which nobody can hold by mistake; a number of a process is trusted only together
with the time at which that process began.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import stead
from stead.drivers.base import TRANSITIONAL, LogTail, PermanentError, RetryableError
from stead.drivers.process import logs, spec
from stead.drivers.process.folders import App, Wanted
from stead.drivers.process.keeper.program import (
    ALONE,
    ENDED,
    FAILED,
    FAILING,
    STARTED,
    STOPPED,
    TAKEN,
    UP,
    VERSION,
)
from stead.drivers.process.machine import Machine
from stead.drivers.process.runner import READY, Frame, Sight
from stead.drivers.process.users import User
from stead.lifecycle.rows import ABSENT, BROKEN

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ASK = struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
PACKAGES = str(Path(stead.__file__).parent.parent)
"""Where a program of our own finds its modules."""

PROGRAM = (
    *(sys.executable, "-S", "-P", "-c"),
    "import sys; from stead.drivers.process.keeper.program import main; sys.exit(main(sys.argv[1:]))",
)
"""A keeper, without what it does not need: there is one for every app."""


class State(Struct, frozen=True):
    """What a keeper said last."""

    keeper: tuple[int, int]
    phase: str
    digest: str
    error: str = ""
    starts: int = 0
    version: int = 0
    """Of the keeper, which may be older than the agent."""


_DECODER = msgspec.json.Decoder(State)  # made here, since threads must not be the first to use a type


class Processes:
    """Each app is a process, and its keeper does what stands in the folder."""

    pause = 0.05

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._root = machine.root

    def read(self, said: Mapping[str, Any]) -> spec.App:
        """An app is a command."""
        return spec.app(said)

    def user(self, path: str, named: int | str | None) -> User | None:
        """Its namespace's own, or one that the operator has allowed."""
        if self._machine.users is not None:
            return self._machine.users.program(path, named)
        if named is not None:
            raise PermanentError(f"user {named}: only an agent that runs as root runs programs as another user")
        return None

    def room(self, wanted: Wanted) -> float:
        """What keepers stop, they stop after that."""
        return 1.0

    def run(self, place: App, frame: Frame, asked: spec.App) -> dict[str, Any]:
        """What a keeper has to know, without knowing specs."""
        machine = self._machine
        user = self.user(frame.path, asked.user)
        return {
            "command": asked.command,
            "env": {"PATH": _PATH, "HOME": str(place.work), **_names(user), **frame.env, **asked.env},
            "root": str(self._root.folder),
            "work": str(place.work),
            "tmp": frame.tmp,
            "net": frame.net,
            "host": frame.host,
            **_ids(user),
            "namespaces": machine.isolation,
            "cgroups": machine.limit(machine.group_of(place), asked),
            "health": msgspec.to_builtins(asked.health),
            "restart": asked.restart,
            "backoff_first": asked.backoff.first,
            "backoff_most": asked.backoff.most,
            "backoff_tries": asked.backoff.tries,
            "stop_signal": int(signal.Signals[f"SIG{asked.stop.signal}"]),
            "stop_grace": asked.stop.grace,
            "settle": asked.settle,
            "log_size": machine.log_size,
            "log_files": machine.log_files,
        }

    def view(self) -> object:
        """Single looks cost nothing."""
        return None

    def observe(self, place: App, wanted: Wanted, view: object = None) -> Sight:
        """From what its keeper said."""
        alive = has_keeper(place)  # first: the last words of a keeper are written before its lock is free
        said = read(place)
        mine = said is not None and said.digest == wanted.digest
        if wanted.absent:
            return Sight(state=TRANSITIONAL if alive else ABSENT, alive=alive)
        if said is None or not mine:
            error = "" if alive else "nobody has started it"
            return Sight(state=TRANSITIONAL if alive else BROKEN, alive=alive, fresh=True, error=error)
        if alive and said.phase == UP:
            return Sight(state=READY, alive=True)
        if said.phase in (FAILED, FAILING):
            return Sight(state=BROKEN, alive=alive, failed=True, error=f"{said.error}{last_lines(place)}")
        if said.phase == ENDED:
            return Sight(state=READY, alive=alive, ended=True)
        if alive:
            return Sight(state=TRANSITIONAL, alive=True)
        error = "it was stopped by somebody else" if said.phase == STOPPED else "its keeper is gone, and it with it"
        return Sight(state=BROKEN, error=f"{error}{last_lines(place)}")

    def lost(self, place: App, wanted: Wanted) -> bool:
        """It has no keeper, and neither failed nor ended by itself."""
        sight = self.observe(place, wanted)
        return sight.state == BROKEN and not (sight.alive or sight.failed)

    def alive(self, place: App) -> bool:
        """It has a keeper."""
        return has_keeper(place)

    def start(self, place: App, wanted: Wanted, within: float) -> None:
        """Start a keeper. Where there is one already, nothing happens."""
        wanted = self._under_its_user(place, wanted)
        place.state.unlink(missing_ok=True)
        said = place.folder / "keeper.log"
        with said.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            try:
                starter = subprocess.run(
                    [*PROGRAM, str(place.folder)],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    cwd="/",
                    env={"PYTHONPATH": PACKAGES},  # and nothing of the agent's own
                    start_new_session=True,
                    timeout=max(within, 0.5),
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise RetryableError("its keeper does not start", unknown=True) from error
        if starter.returncode == ALONE:
            raise PermanentError("this machine gives the agent no namespaces: run it as root, or set isolation=false")
        if starter.returncode not in (0, TAKEN):
            lines = said.read_text(errors="replace").strip().splitlines()
            raise RetryableError(f"its keeper cannot be started: {lines[-1] if lines else starter.returncode}")

    def heed(self, place: App) -> None:
        """Its keeper reads what is wanted.

        One of an earlier version does not know how to run a program under its namespace's id: it is ended, and the
        next call starts another.
        """
        said, wanted = read(place), place.wanted()
        old = said is not None and said.version < VERSION and self._machine.users is not None
        tell(place, signal.SIGTERM if old and wanted is not None and not wanted.absent else signal.SIGHUP)

    def end(self, place: App) -> None:
        """Its keeper stops it."""
        tell(place, signal.SIGTERM)

    def drop(self, place: App) -> None:
        """Its keeper has."""

    def kill(self, place: App) -> None:
        """With its keeper."""
        tell(place, signal.SIGKILL)

    def tail(self, place: App, lines: int, since: str) -> LogTail:
        """From the files of its keeper."""
        return logs.tail(place, lines, since)

    def _under_its_user(self, place: App, wanted: Wanted) -> Wanted:
        """What is wanted, under the user that it runs as today: an earlier version of the agent may have written it,
        or one with other settings."""
        user = self.user(wanted.path, wanted.spec.get("user"))
        ids = _ids(user)
        if any(wanted.run.get(name) != value for name, value in ids.items()):
            env = {**wanted.run["env"], **_names(user), **wanted.spec.get("env", {})}
            wanted = msgspec.structs.replace(wanted, run={**wanted.run, **ids, "env": env})
            place.write(wanted)
            place.furnish(user)
        return wanted


def _ids(user: User | None) -> dict[str, Any]:
    """What a keeper has to know of the user."""
    if user is None:
        return {"user": None}
    return {"user": user.uid, "group": user.gid, "groups": user.groups, "confined": user.confined}


def _names(user: User | None) -> dict[str, str]:
    """What a program is told of its user."""
    return {} if user is None else {"USER": user.name, "LOGNAME": user.name}


def has_keeper(app: App) -> bool:
    """Whether somebody holds the keeper's lock. Asking takes nothing."""
    try:
        fd = os.open(app.lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        (kind, *_) = struct.unpack("@hhqqi", fcntl.fcntl(fd, fcntl.F_OFD_GETLK, _ASK))
    finally:
        os.close(fd)
    return bool(kind != fcntl.F_UNLCK)


def read(app: App) -> State | None:
    """What its keeper said last; None where there is nothing that can be read."""
    try:
        return _DECODER.decode(app.state.read_bytes())
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def tell(app: App, number: signal.Signals) -> bool:
    """Send a signal to the keeper; whether there was one."""
    said = read(app)
    if said is None:
        return False
    pid, began = said.keeper
    try:
        fd = os.pidfd_open(pid)
    except (ProcessLookupError, PermissionError):
        return False
    try:
        # The descriptor is of whoever has the number now; if that one began when the keeper did, it is the keeper.
        if began_at(pid) != began:
            return False
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True


def began_at(pid: int) -> int | None:
    """When a process began, as the kernel counts it."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    return None


def last_lines(app: App) -> str:
    """For an error: what it wrote at the end, since it was started."""
    lines = [line[:300] for line in logs.tail(app, 5).lines]
    starts = [number for number, line in enumerate(lines) if line.startswith(f"stead: {STARTED}")]
    lines = lines[starts[-1] + 1 :] if starts else lines
    return f"; the last it wrote: {' | '.join(lines)}" if lines else ""
