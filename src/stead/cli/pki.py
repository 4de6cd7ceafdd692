"""`stead pki`: keys and certificates of a bus that lets in whom it knows."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.output import Code, fail, line, note, table
from stead.pki import certificates, initialization, renewal
from stead.pki.files import FileExists
from stead.pki.identity import DESCRIPTION, Identity, NoIdentity

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Keys and certificates of a bus that lets in whom it knows."
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of all of it.")]
Hosts = Annotated[
    list[str], typer.Option("--host", help="A name or an address of the server; may be repeated, the first is shown.")
]


@app.command(
    short_help="Found the bus of a cell.", epilog="Example: stead pki init pki --cell main --host bus.example"
)
def init(
    folder: Folder,
    host: Hosts,
    cell: Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="The name of the cell.")] = "main",
    port: Annotated[int, typer.Option("--port", help="The port that the bus is to listen on.")] = 4222,
) -> None:
    """Make an authority, the operator and the account of the bus, its settings, and an identity for controllers.

    Nothing that is there already is written over. The folder `root` has the keys that are above all others; nothing
    that runs needs them.
    """
    try:
        made = initialization.found(folder, cell, host, port)
    except (FileExists, ValueError) as error:
        fail(str(error), Code.USAGE)
    line(f"{made.folder}: the bus of the cell {cell} is founded")
    note("What to do next:")
    note(f"  1. Put {made.folder / initialization.ROOT} away: whoever has it can be anybody.")
    note(f"  2. Start the bus, in {made.nats}: nats-server -c nats.conf")
    note(f"  3. Start servers and controllers: stead server --identity {made.controller} --database …")
    note("  4. Invite agents: stead agent invite NAME --lane LANE")


@app.command(
    "server-cert",
    short_help="A certificate for a server.",
    epilog="Example: stead pki server-cert pki --host stead.example --host 10.0.0.7",
)
def server_cert(
    folder: Folder,
    host: Hosts,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long it holds.")] = 365,
) -> None:
    """Make a certificate for a server of NATS, of HTTP or of PostgreSQL. It needs the key in the folder `root`."""
    try:
        certificate, key = initialization.server_certificate(folder, host, days)
    except (FileExists, OSError, ValueError) as error:
        fail(_reason(error), Code.USAGE)
    line(str(certificate))
    line(str(key))


@app.command(short_help="Renew certificates.", epilog="Example: stead pki renew pki")
def renew(
    folder: Folder,
    everything: Annotated[
        bool, typer.Option("--all", help="Also certificates with more than half of their lifetime left.")
    ] = False,
) -> None:
    """Renew the certificates below a folder that have less than half of their lifetime left.

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
        ("CERTIFICATE", "OF", "UNTIL"), [(str(r.path.relative_to(folder)), r.name, _time(r.until)) for r in renewed]
    )
    note("Copy each to the machine that uses it. Servers and controllers reload theirs without a restart;")
    note("NATS reloads on a signal, in its folder: nats-server --signal reload=nats.pid")


@app.command(short_help="What is there, and until when.", epilog="Example: stead pki show pki")
def show(folder: Folder) -> None:
    """Every certificate and identity below a folder, and until when each holds."""
    if not folder.is_dir():
        fail(f"there is no folder {folder}", Code.NOT_FOUND)
    rows = [
        (
            str(path.relative_to(folder)),
            certificates.named(text := path.read_text()),
            _time(certificates.expires(text)),
        )
        for path in initialization.certificates_in(folder)
    ]
    table(("CERTIFICATE", "OF", "UNTIL"), rows)
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
