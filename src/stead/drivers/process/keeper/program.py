"""The keeper of one app: starts it, starts it again, looks after its health, keeps what it writes, and stops it.

It is a program of its own, `python -m stead.drivers.process.keeper.program FOLDER`, and lives on when the agent that
started it ends. It is the first process of the app's namespace: when it ends, however it ends, the kernel ends all
the others there. For as long as it lives it holds a lock in the folder, so an app never has two.

It does what stands in the folder as wanted, reads that again on SIGHUP, and says there how the app is.
"""

from __future__ import annotations

import _socket
import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import sys
import time

from stead.drivers.process.keeper import isolation
from stead.drivers.process.keeper.health import Checks
from stead.drivers.process.keeper.launch import become, sweep
from stead.drivers.process.keeper.output import Output

TYPE_CHECKING = False
if TYPE_CHECKING:  # reading `typing` takes longer than most of what a keeper does
    from typing import Any

TAKEN = 3
"""The exit code of one who finds that the app has a keeper."""

ALONE = 4
"""The exit code of one who is given no namespaces."""

BECOMES = 5.0
"""Seconds in which a fork has become the app; until then it counts as neither up nor ended."""

LASTS = 10.0
"""Seconds that an app must be up before its earlier failures are forgotten."""

STARTING, UP, STOPPING = "starting", "up", "stopping"
WAITING = "waiting"
"""It ended, and is started again after a pause."""
FAILING = "failing"
"""As `waiting`, and has been so too often."""
ENDED, FAILED, STOPPED = "ended", "failed", "stopped"
"""The last words of a keeper: it finished its work; it will not run; somebody wanted it to end."""

VERSION = 1
"""Of keepers: those from 1 on run programs under a user of their own, and give it the working folder."""

STARTED = "started, with revision"
"""How a keeper's own line in what an app wrote begins, at every start."""

_LOCK = struct.pack("@hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)


class Keeper:
    """Keeps the app of one folder."""

    def __init__(self, folder: str, wanted: dict[str, Any]) -> None:
        self.folder = folder
        self.me = identity()
        self.wanted = wanted
        self.run: dict[str, Any] = wanted["run"]
        """How the app runs now; something else may be wanted by then."""
        self.output = Output(folder, self.run["log_size"], self.run["log_files"])
        self.checks = Checks()
        self.main = 0
        """The app's first process; 0 while there is none."""
        self.phase = ""
        self.code: int | None = None
        self.proven = False
        """It has been up with what is wanted now."""
        self.starts = 0
        self.flaws = 0
        """Starts in a row that did not last."""
        self.up_since = 0.0
        self.due = 0.0
        """When the phase is over, by itself."""
        self.limit = 0.0
        """When it must have become well."""
        self.why = ""
        """Why it is being stopped, where nobody asked for that."""
        self.heard: set[int] = set()

    def keep(self, ready: int) -> None:
        """Until there is nothing to keep any more."""
        wake, woken = os.pipe()
        for end in (wake, woken):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)
        self._begin()
        os.close(ready)  # whoever started this keeper need not wait any longer
        events = select.poll()
        events.register(wake, select.POLLIN)
        events.register(self.output.fileno(), select.POLLIN)
        while self.phase not in (ENDED, FAILED, STOPPED):
            events.poll(max(0.0, self._next() - time.monotonic()) * 1000 + 1)
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
            self.output.pump()
            self._obey()
            self._reap()
            self._tick(time.monotonic())

    def _hear(self, number: int, _: object) -> None:
        self.heard.add(number)

    def _next(self) -> float:
        """When there is something to do, if nothing happens before."""
        return min([time.monotonic() + 3600, *(when for when in (self.due, self.checks.due) if when)])

    def _begin(self) -> None:
        """Start the app, for the first time or again."""
        self.run = self.wanted["run"]
        self.starts += 1
        self.why = ""
        self.output.say(f"{STARTED} {self.wanted['revision']}")
        self._say(STARTING)  # before it is: nothing is begun of which nobody could know
        became, becoming = os.pipe()  # closed by the kernel as soon as the fork is the app, or gone
        self.main = os.fork()
        if self.main == 0:
            become(self.run, self.run["command"], self.output.writes, first=True)
        os.close(becoming)
        select.select([became], [], [], BECOMES)
        os.close(became)
        now = time.monotonic()
        health = self.run.get("health")
        if health is None:
            self.due = now + self.run["settle"]
        else:
            if self.proven or not self.limit:  # a new app that was started again has what is left of its grace
                self.limit = now + health["grace"]
            self.due = self.limit
        self.checks.begin(health, now)

    def _obey(self) -> None:
        """What somebody wants by now."""
        heard, self.heard = self.heard, set()
        if signal.SIGTERM in heard or signal.SIGINT in heard:
            self.wanted = {**self.wanted, "absent": True}
            self._stop("")
        elif signal.SIGHUP in heard and not self.wanted["absent"]:
            before, self.wanted = self.wanted, load(self.folder)
            if self.wanted["absent"] or self.wanted["digest"] != before["digest"]:
                self.proven, self.flaws, self.limit = False, 0, 0.0
                self._stop("")

    def _stop(self, why: str) -> None:
        """Ask the app to end; when it has, it is seen what was wanted."""
        self.why = why
        self.checks.end()
        stopping = self.phase == STOPPING
        self._say(STOPPING)
        if stopping:
            return
        self.due = time.monotonic() + self.run["stop_grace"]
        if self.main:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.main, self.run["stop_signal"])
        else:
            self._ended(None)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.main:
                self.main = 0
                sweep(self.run["namespaces"])
                self._ended(os.waitstatus_to_exitcode(status))
            else:
                self.checks.reaped(pid, status)

    def _tick(self, now: float) -> None:
        if self.phase in (WAITING, FAILING) and now >= self.due:
            self._begin()
        elif self.phase == STOPPING and now >= self.due:
            self.due = now + 1
            self._kill()
        elif self.phase == STARTING and now >= self.due:
            if self.run.get("health") is None:
                self._came_up(now)
            else:
                self.why = f"it did not become well within {self.run['health']['grace']:g} s: {self.checks.why}"
                self.due = now + 1
                self._kill()
        if self.phase in (STARTING, UP) and self.main:
            self._check(now)

    def _check(self, now: float) -> None:
        self.checks.tick(now, self.run, up=self.phase == UP)
        if self.phase == STARTING and self.checks.well and not self.why:
            self._came_up(now)
        elif self.phase == UP and self.checks.ill:
            self.output.say(f"it is ill: {self.checks.why}")
            self._stop(f"its health check failed {self.checks.failures} times: {self.checks.why}")

    def _came_up(self, now: float) -> None:
        self.proven = True
        self.up_since = now
        self.due = 0.0
        self._say(UP)

    def _kill(self) -> None:
        if self.main:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.main, signal.SIGKILL)

    def _ended(self, code: int | None) -> None:
        """The app is gone, with all that belonged to it. What now?"""
        now = time.monotonic()
        self.output.pump(1000)
        self.checks.end()
        self.code = code
        if self.phase == STOPPING and not self.why:
            if self.wanted["absent"]:
                self._say(STOPPED)
            else:
                self._begin()
            return
        lasted = self.phase in (UP, STOPPING) and now - self.up_since >= LASTS
        self.flaws = 1 if lasted else self.flaws + 1
        good = code == 0 and not self.why
        error = self.why or told(code)
        again = self.run["restart"] == "always" or (self.run["restart"] == "on-failure" and not good)
        patient = self.run.get("health") is not None and not self.why  # it may need more than one try to become well
        if good and not again:
            self._say(ENDED)
        elif not again or not (self.proven or patient):
            self._say(FAILED, error)
        else:
            pause = min(self.run["backoff_most"], self.run["backoff_first"] * 2 ** min(self.flaws - 1, 30))
            if not self.proven and now + pause >= self.limit:
                self._say(FAILED, error)
                return
            self.output.say(f"{error}; it is started again in {pause:g} s")
            self.due = now + pause
            self._say(FAILING if self.flaws > self.run["backoff_tries"] else WAITING, error)

    def _say(self, phase: str, error: str = "") -> None:
        self.phase = phase
        said = {
            "keeper": self.me,
            "phase": phase,
            "digest": self.wanted["digest"],
            "starts": self.starts,
            "code": self.code,
            "error": error,
            "since": time.time(),
            "version": VERSION,
        }
        fresh = f"{self.folder}/state.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(said, file)
        os.rename(fresh, f"{self.folder}/state.json")  # noqa: PTH104


def told(code: int | None) -> str:
    """An exit code in words."""
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"


def identity() -> list[int]:
    """This process as the machine knows it: its number, and when it began."""
    with open("/proc/self/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        text = file.read()
    return [int(text.split(" ", 1)[0]), int(text.rpartition(")")[2].split()[19])]


def load(folder: str) -> dict[str, Any]:
    """What is wanted."""
    with open(f"{folder}/app.json", encoding="utf-8") as file:  # noqa: PTH123
        wanted: dict[str, Any] = json.load(file)
    return wanted


def main(arguments: list[str]) -> int:
    """Become the keeper of a folder; or, with `--net`, make a network namespace and keep it at a file."""
    if arguments[0] == "--net":
        os.unshare(os.CLONE_NEWNET)
        up = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        isolation.keep_net(arguments[1], up.fileno())
        return 0
    folder = arguments[0]
    lock = os.open(f"{folder}/keeper.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, _LOCK)
    except (BlockingIOError, PermissionError):
        return TAKEN
    wanted = load(folder)
    if wanted["absent"]:
        return 0
    run = wanted["run"]
    if run["namespaces"]:
        try:
            groups = [run["group"], *run["groups"]] if run["user"] is not None else []
            isolation.leave(run["net"], run["user"], groups)
        except PermissionError:
            return ALONE
    ready, going = os.pipe()
    if os.fork():
        os.close(going)
        os.read(ready, 1)  # until it keeps, or has ended
        return 0
    os.close(ready)
    if run["namespaces"]:
        isolation.name(run["host"])
    else:
        isolation.adopt()
    Keeper(folder, wanted).keep(going)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
