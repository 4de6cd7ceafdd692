"""The commands that run the processes of a cell: `stead server`, `controller`, `agent` and `sim-cloud`.

What a process is made of is imported when it is run: all other commands start without it.
"""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stead.cli.output import Code, fail
from stead.cli.times import duration

if TYPE_CHECKING:
    from stead.pki.identity import Identity

Nats = Annotated[str, typer.Option("--nats", envvar="STEAD_NATS", help="Where the bus is.")]
Cell = Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="The name of the cell.")]
Database = Annotated[
    str, typer.Option("--database", envvar="STEAD_DATABASE", help="PostgreSQL, as postgresql://user@host/name.")
]
Slower = Annotated[
    float,
    typer.Option(
        "--pace",
        min=0.05,
        max=20,
        envvar="STEAD_PACE",
        help="All waits of the protocol (custody, resends, looks), as a multiple of the usual; the same for all.",
    ),
]
Who = Annotated[
    Path | None,
    typer.Option(
        "--identity",
        envvar="STEAD_IDENTITY",
        help="The folder of its identity, which also says where the bus is; without one, the bus lets everybody in.",
    ),
]
Lifetime = Annotated[
    str,
    typer.Option(
        "--agent-lifetime",
        envvar="STEAD_AGENT_LIFETIME",
        callback=duration,
        help="How long what an agent connects with holds; it is renewed at half of that.",
    ),
]


def _log() -> None:
    text = "%(asctime)s %(levelname)s %(name)s %(message)s"
    logging.basicConfig(level=os.environ.get("STEAD_LOG", "INFO"), format=text)


def server(
    database: Database,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on.")] = 7770,
    pace: Slower = 1.0,
    identity: Who = None,
    lifetime: Lifetime = "30d",
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="Listen over TLS, with this certificate.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="The certificate's private key.")] = None,
) -> None:
    """Run the HTTP interface, and a controller beside it. Any number may run on one database and one bus."""
    from stead.cli import processes

    _log()
    if (certificate is None) != (key is None):
        raise typer.BadParameter("a certificate needs its key, and a key its certificate", param_hint="--certificate")
    _described(identity)
    place = processes.Place(database, nats, cell, pace, identity, lifetime)
    processes.server(place, processes.Web(host, port, certificate, key))


def controller(
    database: Database,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    pace: Slower = 1.0,
    identity: Who = None,
    lifetime: Lifetime = "30d",
) -> None:
    """Run one more controller, without an HTTP interface: it carries on what others let in."""
    from stead.cli import processes

    _log()
    _described(identity)
    processes.controller(processes.Place(database, nats, cell, pace, identity, lifetime))


def _described(folder: Path | None) -> Identity | None:
    """The identity in a folder; the command ends where there is none."""
    from stead.pki.identity import Identity, NoIdentity

    try:
        return Identity(folder) if folder is not None else None
    except NoIdentity as error:
        fail(str(error), Code.USAGE)


def agent(
    lane: Annotated[
        list[str] | None,
        typer.Option(
            "--lane",
            help="A lane to serve, such as aws.us-east-1; may be repeated. By default, those of its identity.",
        ),
    ] = None,
    driver: Annotated[str, typer.Option("--driver", help="The driver that serves the lanes.")] = "sim",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the driver, as name=value; may be repeated.")
    ] = None,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    name: Annotated[str, typer.Option("--name", help="The agent's name; the host's by default.")] = "",
    identity: Who = None,
) -> None:
    """Run an agent: it pulls orders from its lanes and carries them out."""
    from stead.cli import processes

    _log()
    known = _described(identity)
    lanes = lane or (known.description.lanes if known is not None else [])
    if not lanes:
        raise typer.BadParameter("an agent serves at least one", param_hint="--lane")
    if known is not None and (others := sorted(set(lanes) - set(known.description.lanes))):
        raise typer.BadParameter(f"{known.name} may not serve {', '.join(others)}", param_hint="--lane")
    settings = dict(map(_pair, setting or []))
    processes.agent(nats, cell, name or socket.gethostname(), lanes, driver, settings, known)


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise typer.BadParameter(f"{text!r} is not name=value", param_hint="--set")
    return name, value


def sim_cloud(
    data: Annotated[Path, typer.Option("--data", help="The folder of its ledger.")],
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on; 0 for a free one.")] = 7780,
) -> None:
    """Run a simulated cloud, whose every provider and region can be made to fail."""
    from stead.agent import simcloud

    simcloud.serve(host, port, data)
