"""`stead install`: Stead on this machine, as services of systemd."""

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
            help="A PostgreSQL that is there, as postgresql://user@host/name. Without it: one of its own.",
        ),
    ] = "",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME=WORDS",
            help="An agent on this machine: its name, and what follows `stead agent run`. May be repeated.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address that the server listens on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port that the server listens on.")] = 7770,
    bus_port: Annotated[int, typer.Option("--bus-port", help="The port of the bus, on loopback.")] = 4222,
    cell: Annotated[str, typer.Option("--cell", help="The name of the cell.")] = "main",
    options: Annotated[
        str, typer.Option("--server-options", metavar="WORDS", help="What else the server is told.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    take_back: Annotated[
        bool, typer.Option("--remove", help="Stop all of it and take it away. The data stays.")
    ] = False,
    data: Annotated[bool, typer.Option("--data", help="With --remove: the data goes, too, for good.")] = False,
    root: Annotated[
        Path, typer.Option("--root", help="Write everything below this folder, for an image, and run nothing.")
    ] = Path("/"),
) -> None:
    """Run Stead on this machine as services of systemd: PostgreSQL, the bus, the server, agents, a nightly backup.

    What is so already is left alone: run it again with other options to change something. Configuration is in
    /etc/stead, data in /var/lib/stead.
    """
    if root == Path("/") and not dry_run:
        if os.geteuid() != 0:
            fail("it takes root to install services; --dry-run shows what would be done", Code.USAGE)
        if shutil.which("systemctl") is None or not Path("/run/systemd/system").is_dir():
            fail("systemd does not run this machine: see `--root` for images, and the container files for the rest")
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
        note("nothing of this was done: --dry-run")
    elif not take_back and root == Path("/"):
        note(
            "\nThe first token, which is shown once:\n"
            f"  runuser -u stead -- {program('stead')} token create root --role admin --direct "
            f"--database '{database or SOCKET}'"
        )


def _pair(text: str) -> tuple[str, str]:
    name, equals, words = text.partition("=")
    if not (name and equals and words):
        raise typer.BadParameter("an agent is given as NAME=WORDS", param_hint="--agent")
    return name, words
