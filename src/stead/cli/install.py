"""`stead install`: Stead as systemd services of this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.output import Code, fail, line, note
from stead.install import InstallFailed, Wanted, apply, plan, remove
from stead.install.plan import SOCKET, CannotPlan, program


def install(
    database: Annotated[
        str,
        typer.Option(
            "--database",
            help="Existing PostgreSQL, as postgresql://user@host/name; default one of its own.",
        ),
    ] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME=OPTIONS",
            help="Agent on this machine: name and options of `stead agent run`. Repeatable.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address that the server listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port that the server listens on.")] = 7770,
    bus_port: Annotated[int, typer.Option("--bus-port", help="Port of the bus, on loopback.")] = 4222,
    cell: Annotated[str, typer.Option("--cell", help="Name of the cell.")] = "main",
    options: Annotated[
        str, typer.Option("--server-options", metavar="OPTIONS", help="Further options of `stead server`.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, without doing it.")] = False,
    take_back: Annotated[bool, typer.Option("--remove", help="Stop and remove the services; data stays.")] = False,
    data: Annotated[bool, typer.Option("--data", help="With --remove: delete the data for good.")] = False,
    root: Annotated[
        Path, typer.Option("--root", help="Folder to write below, for an image; no service is started.")
    ] = Path("/"),
) -> None:
    """Install Stead on this machine, as systemd services.

    They are PostgreSQL, the bus, the server, agents and a nightly backup. Parts that are installed already stay: run
    the command again with other options to change them. Configuration is in /etc/stead, data in /var/lib/stead.
    """
    if root == Path("/") and not dry_run:
        if os.geteuid() != 0:
            fail("services are installed by root; --dry-run shows what would be done", Code.USAGE)
        if shutil.which("systemctl") is None or not Path("/run/systemd/system").is_dir():
            fail("this machine has no systemd; for images there is --root, elsewhere use containers")
    agents = dict(_pair(text) for text in agent or [])
    wanted = Wanted(database, host, port, bus_port, cell, options, agents, root)
    count = 0
    try:
        for action in remove(root, data=data, dry=dry_run) if take_back else apply(plan(wanted), dry=dry_run):
            line(action.says + (f"    {' '.join(action.command)}" if action.command else ""))
            count += 1
    except (CannotPlan, InstallFailed) as error:
        fail(str(error))
    if not count:
        note("nothing to do")
    elif dry_run:
        note("dry run: nothing was changed")
    elif not take_back and root == Path("/"):
        note(
            "\nThe first token, which is shown once:\n"
            f"  runuser -u stead -- {program('stead')} token create root --role admin --direct "
            f"--database '{database or SOCKET}'"
        )


def _pair(text: str) -> tuple[str, str]:
    name, equals, words = text.partition("=")
    if not (name and equals and words):
        raise typer.BadParameter("an agent is given as NAME=OPTIONS", param_hint="--agent")
    return name, words
