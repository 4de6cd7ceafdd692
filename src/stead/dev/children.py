"""Child processes that are told to stop by their own pid, and that leave nothing behind.

Each has a folder of its own, thrown away with it unless it is to be kept. If the parent itself is killed, a small
keeper process, which waits on a pipe that only the parent holds open, does what the parent would have done.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Self

START_TIMEOUT = 120.0
"""Seconds for a start or a stop; only a machine under heavy load needs more than five of them."""

KEEPER = """
held=
while read -r line; do held=$line; done
if [ -n "$held" ]; then
    kill -INT "$held"
    tries=0
    while kill -0 "$held" && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
    kill -KILL "$held"
fi
if [ -n "$1" ]; then rm -rf "$1"; fi
"""


class NotStarted(Exception):
    """A server ended, or said nothing, instead of becoming ready; the message has the end of its log."""


def free_port(count: int = 1) -> int:
    """A port that nobody listens on; or the first of so many in a row.

    It lies below the range that the kernel gives to outgoing connections. Otherwise, while a server is down, a client
    that tries to reconnect could be given the server's own port, and connect to itself.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with ExitStack() as probes, suppress(OSError):
            for each in range(port, port + count):
                probes.enter_context(socket.socket()).bind(("127.0.0.1", each))
            return port


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Look again and again: for what another process does and nothing in this one signals."""
    end = time.monotonic() + START_TIMEOUT
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {START_TIMEOUT:.0f} s for {what}")
        time.sleep(0.01)


class Server:
    """A child process that can be started again in the same folder and on the same port."""

    def __init__(
        self, name: str, user: str | None = None, *, folder: Path | None = None, port: int | None = None
    ) -> None:
        """In a folder that is kept, where one is given, and on a free port, unless one is given."""
        self.name = name
        self.folder = folder or Path(tempfile.mkdtemp(prefix=f"stead-{name}-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        if user is not None:
            shutil.chown(self.folder, user, pwd.getpwnam(user).pw_gid)
        self.port = port or free_port()
        self.log = self.folder / "log"
        self.user = user
        self.process: subprocess.Popen[bytes] | None = None
        self.keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", "" if folder else str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None, "the server is not running"
        return self.process.pid

    def command(self) -> Sequence[str | Path]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """The environment of the process."""
        return os.environ

    def ready(self) -> bool:
        """Whether the process just started can be worked with."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        assert not self.running, "the server is running already"
        with self.log.open("ab") as log:
            self.process = self.spawn(self.command(), stdout=log)
        self.keep(self.pid)
        try:
            wait_until(lambda: not self.running or self.ready(), "the server to be ready")
            if not self.running:
                raise NotStarted
        except (NotStarted, TimeoutError) as error:
            self.end(signal.SIGKILL)
            late = f"it was not ready within {START_TIMEOUT:.0f} s: " if isinstance(error, TimeoutError) else ""
            raise NotStarted(late + self.log.read_text(errors="replace")[-2000:]) from error

    def stop(self) -> None:
        """End it in an orderly way; what it stored stays."""
        self.end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a crash would; what it stored stays."""
        self.end(signal.SIGKILL)

    def destroy(self) -> None:
        """End it for good, at once."""
        self.kill()

    def restart(self) -> None:
        """Start it again on the same port with what it stored, after a stop if it is running."""
        self.stop()
        self.start()

    def close(self) -> None:
        """End it, and let the keeper remove all it had."""
        self.destroy()
        if self.keeper.stdin is not None:
            self.keeper.stdin.close()
        self.keeper.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spawn(self, command: Sequence[str | Path], stdout: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env=self.environment(),
            start_new_session=True,  # a Ctrl-C is for the parent, which then ends it
            user=self.user,
            group=None if self.user is None else pwd.getpwnam(self.user).pw_gid,
            extra_groups=None if self.user is None else [],
        )

    def end(self, with_signal: signal.Signals, patience: float = START_TIMEOUT) -> None:
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait(patience)
            self.process = None
            self.keep(None)

    def keep(self, pid: int | None) -> None:
        """Tell the keeper what to end, should this process not come to it."""
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(f"{pid or ''}\n".encode())
        self.keeper.stdin.flush()


def signal_process(pid: int, with_signal: signal.Signals, *, group: bool = False) -> bool:
    """Send a signal to a process, or to its group; False where the process has ended.

    A process that was listed may end before the signal is sent: that is an answer, and no error.
    """
    try:
        (os.killpg if group else os.kill)(pid, with_signal)
    except ProcessLookupError:
        return False
    return True


def children(parent: int) -> list[int]:
    """The pids of a process's children. Where there is no /proc: none known."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if status(path).get("PPid") == str(parent)]


def alive(pid: int) -> bool:
    """Whether it still runs; one that has ended but was not yet reaped by its parent does not."""
    return status(Path("/proc") / str(pid)).get("State", "Z")[0] != "Z"


def status(process: Path) -> dict[str, str]:
    try:
        lines = (process / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
