"""The commands that run the processes of a cell: `stead server`, `controller`, `agent` and `sim-cloud`.

What a process is made of is imported when it is run: all other commands start without it.
"""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path
from typing import Annotated

import typer

Nats = Annotated[str, typer.Option("--nats", envvar="STEAD_NATS", help="Where the bus is.")]
Cell = Annotated[str, typer.Option("--cell", envvar="STEAD_CELL", help="The name of the cell.")]
Database = Annotated[
    str, typer.Option("--database", envvar="STEAD_DATABASE", help="PostgreSQL, as postgresql://user@host/name.")
]
Open = Annotated[
    bool,
    typer.Option("--open", envvar="STEAD_OPEN", help="Ask nobody who they are. Only on a loopback address."),
]
IssuerUrl = Annotated[
    str | None,
    typer.Option(
        "--issuer", envvar="STEAD_ISSUER", metavar="URL", help="The OpenID Connect issuer that people log in with."
    ),
]
ClientId = Annotated[
    str, typer.Option("--client", envvar="STEAD_CLIENT", help="The id under which the issuer knows this server.")
]
NameClaim = Annotated[
    str, typer.Option("--name-claim", envvar="STEAD_NAME_CLAIM", help="The claim that is the name of a person.")
]
GroupsClaim = Annotated[
    str, typer.Option("--groups-claim", envvar="STEAD_GROUPS_CLAIM", help="The claim with the groups of a person.")
]
PolicyFolder = Annotated[
    Path | None,
    typer.Option(
        "--policies",
        envvar="STEAD_POLICIES",
        help="A folder of policies, NAME.cedar, that are in force beside the others.",
    ),
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
    open: Open = False,
    issuer: IssuerUrl = None,
    client: ClientId = "stead",
    name_claim: NameClaim = "sub",
    groups_claim: GroupsClaim = "groups",
    policies: PolicyFolder = None,
) -> None:
    """Run the HTTP interface, and a controller beside it. Any number may run on one database and one bus.

    Whoever asks shows who they are: with a token (`stead token create`), or by a login at the issuer.
    """
    from stead.cli import entrance, processes

    entry = entrance.entry(host, open, issuer, client, name_claim, groups_claim, policies)
    _log()
    processes.server(database, nats, cell, host, port, pace, entry)


def controller(
    database: Database,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    pace: Slower = 1.0,
) -> None:
    """Run one more controller, without an HTTP interface: it carries on what others let in."""
    from stead.cli import processes

    _log()
    processes.controller(database, nats, cell, pace)


def agent(
    lane: Annotated[
        list[str], typer.Option("--lane", help="A lane to serve, such as aws.us-east-1; may be repeated.")
    ],
    driver: Annotated[str, typer.Option("--driver", help="The driver that serves the lanes.")] = "sim",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the driver, as name=value; may be repeated.")
    ] = None,
    nats: Nats = "nats://127.0.0.1:4222",
    cell: Cell = "main",
    name: Annotated[str, typer.Option("--name", help="The agent's name; the host's by default.")] = "",
) -> None:
    """Run an agent: it pulls orders from its lanes and carries them out."""
    from stead.cli import processes

    _log()
    processes.agent(nats, cell, name or socket.gethostname(), lane, driver, dict(map(_pair, setting or [])))


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
