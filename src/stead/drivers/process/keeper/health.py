"""An app's health checks: one of them, and one after the other with what follows from them.

A check is a connection, a page, or a command, tried in a process of its own, so nothing that an app does to it can
hold up its keeper. It speaks HTTP by hand: a library for that would be larger than the rest of the keeper.
"""

from __future__ import annotations

import _socket
import contextlib
import os
import signal

from stead.drivers.process.keeper.launch import become, drop

TYPE_CHECKING = False
if TYPE_CHECKING:  # reading `typing` takes longer than most of what a keeper does
    from typing import Any

SOON = 0.2
"""Seconds between checks while an app is not up yet, unless its spec says less."""


class Checks:
    """Of the app that runs now."""

    def __init__(self) -> None:
        self.due = 0.0
        """When there is something to do; 0: never."""
        self.well = False
        """A check has succeeded since the app began."""
        self.why = ""
        """What the last failed check said."""
        self.failures = 0
        self.health: dict[str, Any] | None = None
        self.pid = 0
        self._reads = -1
        self._done: int | None = None

    @property
    def ill(self) -> bool:
        """So many checks in a row have failed that the app is not well any more."""
        return self.health is not None and self.failures >= self.health["failures"]

    def begin(self, health: dict[str, Any] | None, now: float) -> None:
        """With an app that was just started."""
        self.end()
        self.health = health
        self.well, self.why, self.failures = False, "no check has ended", 0
        self.due = now + min(SOON, health["every"]) if health is not None else 0.0

    def end(self) -> None:
        """No more checks."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.close(self._reads)
        self.pid, self.due, self._done = 0, 0.0, None

    def reaped(self, pid: int, status: int) -> None:
        """A process ended; it may have been a check."""
        if pid == self.pid:
            self._done = os.waitstatus_to_exitcode(status)

    def tick(self, now: float, run: dict[str, Any], *, up: bool) -> None:
        """Begin a check, or end one, as it is time to."""
        if self.health is None:
            return
        if self.pid and self._done is not None:
            self._count(self._done, now, up)
        elif self.pid and now >= self.due:
            self.why = f"a check took longer than {self.health['timeout']:g} s"
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.due = now + 1
        elif not self.pid and now >= self.due:
            self._begin(run)
            self.due = now + self.health["timeout"]

    def _count(self, code: int, now: float, up: bool) -> None:
        assert self.health is not None
        said = b""
        with contextlib.suppress(BlockingIOError):  # what a check left running may still have it open
            said = os.read(self._reads, 500)
        os.close(self._reads)
        self.pid, self._done = 0, None
        if code == 0:
            self.well, self.failures = True, 0
        else:
            self.failures += 1
            if code != -signal.SIGKILL:
                self.why = said.decode(errors="replace").strip() or f"the check ended with exit code {code}"
        self.due = now + (self.health["every"] if up or code == 0 else min(SOON, self.health["every"]))

    def _begin(self, run: dict[str, Any]) -> None:
        assert self.health is not None
        self._reads, writes = os.pipe()
        os.set_blocking(self._reads, False)
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                if self.health.get("command"):
                    become(run, self.health["command"], writes)
                drop(run)
                os.write(writes, (why := check(self.health)).encode()[:500])
                code = 1 if why else 0
            finally:
                os._exit(code)
        os.close(writes)


def check(health: dict[str, Any]) -> str:
    """Nothing where the app is well, else why not. A command is for the caller to run."""
    at = health.get("tcp") or health["http"]
    try:
        line = _socket.socket(_socket.AF_INET6 if ":" in at["host"] else _socket.AF_INET, _socket.SOCK_STREAM)
        line.settimeout(health["timeout"])
        line.connect((at["host"], at["port"]))
        return _page(line, at) if health.get("http") else ""
    except OSError as error:
        return f"{at['host']} port {at['port']}: {error.strerror or error}"


def _page(line: _socket.socket, at: dict[str, Any]) -> str:
    asked = f"GET {at['path']} HTTP/1.0\r\nHost: {at['host']}:{at['port']}\r\nConnection: close\r\n\r\n"
    line.sendall(asked.encode())
    answer = b""
    while b"\n" not in answer and len(answer) < 4096 and (piece := line.recv(4096)):
        answer += piece
    words = answer.split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return f"{at['path']}: no answer in HTTP"
    return "" if int(words[1]) < 400 else f"{at['path']}: it answers {int(words[1])}"
