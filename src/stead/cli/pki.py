"""`stead pki`: keys and certificates of a bus that authenticates its clients."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.output import Code, fail, line, note, table
from stead.pki import certificates, initialization, renewal
from stead.pki.files import FileExists
from stead.pki.identity import DESCRIPTION, Identity, NoIdentity

app = group()

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the keys and certificates.")]
Hosts = Annotated[
    list[str], typer.Option("--host", help="Name or address of the server. Repeatable; the first is its common name.")
]


@command(app, "stead pki init pki --cell main --host bus.example")
def init(
    folder: Folder,
    host: Hosts,
    cell: Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="Name of the cell.")] = "main",
    port: Annotated[int, typer.Option("--port", help="Port that the bus listens on.")] = 4222,
) -> None:
    """Create the certificate authority, keys and settings of a cell's bus.

    An identity for controllers is created, too. No existing file is overwritten. The folder `root` has the keys of
    the authority; no process needs them.
    """
    try:
        made = initialization.found(folder, cell, host, port)
    except (FileExists, ValueError) as error:
        fail(str(error), Code.USAGE)
    line(f"{made.folder}: keys and settings of the bus of cell {cell}")
    note("Next steps:")
    note(f"  1. Put {made.folder / initialization.ROOT} away, offline: its keys sign every identity.")
    note(f"  2. Start the bus, in {made.nats}: nats-server -c nats.conf")
    note(f"  3. Start servers and controllers: stead server --identity {made.controller} --database …")
    note("  4. Invite agents: stead agent invite NAME --lane LANE")


@command(app, "stead pki server-cert pki --host stead.example --host 10.0.0.7", "server-cert")
def server_cert(
    folder: Folder,
    host: Hosts,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="Validity in days.")] = 365,
) -> None:
    """Create a certificate for a server of NATS, HTTP or PostgreSQL.

    It needs the key in the folder `root`.
    """
    try:
        certificate, key = initialization.server_certificate(folder, host, days)
    except (FileExists, OSError, ValueError) as error:
        fail(_reason(error), Code.USAGE)
    line(str(certificate))
    line(str(key))


@command(app, "stead pki renew pki")
def renew(
    folder: Folder,
    everything: Annotated[
        bool, typer.Option("--all", help="Renew certificates with more than half of their lifetime left, too.")
    ] = False,
) -> None:
    """Renew certificates that have less than half of their lifetime left.

    Each is written to its own file and keeps its key. The command needs the key in the folder `root`. Agents renew
    their identity themselves. The authority is valid for ten years and is not renewed.
    """
    try:
        renewed = list(renewal.renew(folder, everything=everything))
    except (OSError, ValueError, NoIdentity) as error:
        fail(_reason(error), Code.USAGE)
    if not renewed:
        note("nothing to do: every certificate has more than half of its lifetime left")
        return
    table(
        ("CERTIFICATE", "NAME", "EXPIRES"),
        [(str(r.path.relative_to(folder)), r.name, _time(r.until)) for r in renewed],
    )
    note("Copy each to the machine that uses it. Servers and controllers reload theirs without a restart;")
    note("NATS reloads on a signal, in its folder: nats-server --signal reload=nats.pid")


@command(app, "stead pki show pki")
def show(folder: Folder) -> None:
    """Show the certificates and identities below a folder, with their expiry."""
    if not folder.is_dir():
        fail(f"folder {folder} does not exist", Code.NOT_FOUND)
    rows = [
        (
            str(path.relative_to(folder)),
            certificates.named(text := path.read_text()),
            _time(certificates.expires(text)),
        )
        for path in initialization.certificates_in(folder)
    ]
    table(("CERTIFICATE", "NAME", "EXPIRES"), rows)
    for path in sorted(folder.rglob(DESCRIPTION)):
        try:
            about = Identity(path.parent)
            _, until = about.window()
        except (NoIdentity, ValueError) as error:
            fail(str(error))
        line(f"{path.parent.relative_to(folder)}: the {about.description.role} {about.name}, until {_time(until)}")


def _reason(error: Exception) -> str:
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
