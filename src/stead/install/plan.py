"""What an installation on one machine is made of: files, each with its text, and commands.

Everything follows from what was wanted: the same wish gives the same plan, which can be shown, carried out again and
taken back. The password of the bus is the exception: it is made once, and what is there is kept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

SOCKET = "postgresql://stead@/stead?host=/run/stead-postgres"
"""The database that is installed with it."""

ETC, STATE, UNITS = "/etc/stead", "/var/lib/stead", "/etc/systemd/system"
SYSUSERS = "/etc/sysusers.d/stead.conf"

PRIVATE, PUBLIC = 0o600, 0o644

AS_ROOT = "agent-as-root.conf"


@dataclass(frozen=True)
class Wanted:
    """What is to be installed."""

    database: str = ""
    """Of a PostgreSQL that is there; without it, one of our own is."""
    host: str = "127.0.0.1"
    port: int = 7770
    bus_port: int = 4222
    cell: str = "main"
    options: str = ""
    """Further words for the server."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """By name, the words after `stead agent run`."""
    root: Path = Path("/")
    """Below which everything is written."""


@dataclass(frozen=True)
class File:
    """A file that is to be there."""

    path: str
    text: str
    mode: int = PUBLIC


@dataclass(frozen=True)
class Plan:
    """All of it."""

    wanted: Wanted
    files: Sequence[File]
    units: Sequence[str]
    """Those that are to run."""
    absent: Sequence[str] = ()
    """Files that are not to be there any more."""


class CannotPlan(Exception):
    """Something that it would be made of is not on this machine; the message says what."""


def plan(wanted: Wanted) -> Plan:
    """What there is to be. Raises `CannotPlan` where a program is missing or a word is wrong."""
    for name in wanted.agents:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise CannotPlan(f"{name!r} is no name of an agent: letters, digits, dots and dashes are")
    bus = f"nats://stead:{(password := _password(wanted.root))}@127.0.0.1:{wanted.bus_port}"
    own = not wanted.database
    places = {
        "etc": ETC,
        "state": STATE,
        "stead": program("stead"),
        "nats": program("nats-server"),
        "postgres": _postgres() if own else "",
        "host": wanted.host,
        "port": wanted.port,
        "bus_port": wanted.bus_port,
        "password": password,
    }
    names = ["stead.target", "stead-nats.service", "stead-server.service", "stead-agent@.service"]
    names += ["stead-backup.service", "stead-backup.timer"]
    names += ["stead-postgres.service"] if own else []
    about_bus = f"STEAD_NATS={bus}\nSTEAD_CELL={wanted.cell}\n"
    found = [File(f"{UNITS}/{name}", _text(name, places)) for name in names]
    found += [
        File(SYSUSERS, _text("sysusers.conf", places)),
        File(f"{ETC}/nats.conf", _text("nats.conf", places), PRIVATE),
        File(f"{ETC}/bus.env", about_bus, PRIVATE),
        File(
            f"{ETC}/server.env",
            f"STEAD_DATABASE={wanted.database or SOCKET}\n{about_bus}SERVER_OPTIONS={wanted.options}\n",
            PRIVATE,
        ),
        *(File(f"{ETC}/agents/{n}.env", f"AGENT_OPTIONS={words}\n", PRIVATE) for n, words in wanted.agents.items()),
        *(File(drop_in(n), _text(AS_ROOT, places)) for n, words in wanted.agents.items() if _takes_root(words)),
    ]
    units = ["stead.target", *(["stead-postgres.service"] if own else []), "stead-nats.service"]
    units += [
        "stead-server.service",
        "stead-backup.timer",
        *(f"stead-agent@{name}.service" for name in wanted.agents),
    ]
    return Plan(wanted, found, units, [drop_in(n) for n, words in wanted.agents.items() if not _takes_root(words)])


def drop_in(agent: str) -> str:
    """The file that gives an agent more rights than others."""
    return f"{UNITS}/stead-agent@{agent}.service.d/{AS_ROOT}"


def _takes_root(words: str) -> bool:
    """Whether the driver of an agent gives programs users and namespaces of their own."""
    said = words.replace("=", " ").split()
    drivers = [word for before, word in pairwise(said) if before == "--driver"]
    return drivers == ["process"] and ["isolation", "false"] not in [list(pair) for pair in pairwise(said)]


def _text(name: str, places: Mapping[str, object]) -> str:
    """A file of ours with names filled in; braces of its own are left alone."""
    text = (files("stead.install") / "files" / name).read_text(encoding="utf-8")
    return re.sub(r"\{([a-z_]+)\}", lambda m: str(places[m[1]]), text)


def _password(root: Path) -> str:
    """Of the bus: the one that is there, or a new one."""
    try:
        found = re.search(r'password: "([^"]+)"', (root / ETC.lstrip("/") / "nats.conf").read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = None
    return found[1] if found else secrets.token_urlsafe(24)


def program(name: str) -> str:
    """Where a program is: beside the interpreter, or on the path."""
    beside = Path(sys.executable).parent / name
    path = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if path is None:
        raise CannotPlan(f"{name} was not found: install Stead into an environment of its own, with `pip install`")
    if path.startswith(("/home/", f"{Path('~root').expanduser()}/")):
        raise CannotPlan(f"{path} is in a home, where services do not look: install Stead below /opt, for one")
    return path


def _postgres() -> str:
    """The folder of an installed PostgreSQL, the newest."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda file: int(file.parts[-3]))
    if found:
        return str(found[-1].parent)
    on_path = shutil.which("postgres")
    if on_path is None:
        raise CannotPlan("PostgreSQL was not found: install it, or name the database of one with --database")
    return str(Path(on_path).parent)
