"""`stead orphan`: objects at providers that no resource stands for."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change_command, submit
from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.paths import vm_path
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Orphan

app = group()

ORPHANS: Columns[Orphan] = Columns(
    narrow=(
        ("LANE", lambda orphan: orphan.lane),
        ("TOKEN", lambda orphan: orphan.token),
        ("PATH", lambda orphan: orphan.path),
        ("STATE", lambda orphan: orphan.state),
        ("SINCE", lambda orphan: clock(orphan.first_observed_at)),
    ),
    wide=(
        ("OBSERVED", lambda orphan: clock(orphan.last_observed_at)),
        ("ID", lambda orphan: str(orphan.facts.get("id", ""))),
    ),
    name=lambda orphan: orphan.token,
)


@command(app, "stead orphan list --lane aws.us-east-1")
def list_(
    lane: Annotated[str | None, typer.Option(metavar="LANE", help="Lane to list; default all.")] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List objects at providers that no resource stands for, oldest first.

    Only objects with Stead's tag count. Lanes are surveyed from time to time, and an object that was found twice is
    listed until it is gone. PATH is the resource that it was created for. TOKEN is the provider's id where the object
    has no token, or another object has the same.
    """
    with reach(server) as client:
        page = client.orphans(lane=lane)
    write(page.items, ORPHANS, output)
    if page.more:
        note("more orphans exist; name a lane with --lane")


LaneName = Annotated[str, typer.Argument(metavar="LANE", help="Lane of the orphan.", show_default=False)]
Token = Annotated[str, typer.Argument(metavar="TOKEN", help="TOKEN of the orphan, as listed.", show_default=False)]
EXAMPLE = "aws.us-east-1 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c"
NO_ACTION = ("reason", "dry_run", "key")
"""Shared options of changes that are none of orphans, which have no lifecycle yet."""


@change_command(app, f"stead orphan adopt {EXAMPLE} --path shop/web/front/7", without=(*NO_ACTION, "wait", "timeout"))
def adopt(
    options: ChangeOptions,
    lane: LaneName,
    token: Token,
    path: Annotated[
        str | None,
        typer.Option(
            metavar="NS/MCI/GROUP/NAME",
            callback=lambda path: path and vm_path(path),
            help="Path of the new VM; default the path that the orphan was created for.",
        ),
    ] = None,
) -> None:
    """Adopt an orphan as a VM.

    An observation then tells its state.
    """
    with reach(options.server) as client:
        submit(client, lambda: client.adopt_orphan(lane, token, path), "adopt", token, options)


@change_command(app, f"stead orphan remove {EXAMPLE}", without=NO_ACTION)
def remove(options: ChangeOptions, lane: LaneName, token: Token) -> None:
    """Remove an orphan at its provider.

    It is recorded below /orphans, so the journal has who removed it and when.
    """
    with reach(options.server) as client:
        submit(client, lambda: client.remove_orphan(lane, token), "remove", token, options)
