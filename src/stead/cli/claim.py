"""`stead claim`: who may change what now."""

from __future__ import annotations

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.paths import Below
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Claim

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Who may change what now.")

CLAIMS: Columns[Claim] = Columns(
    narrow=(
        ("PATH", lambda claim: claim.path),
        ("MODE", lambda claim: claim.mode),
        ("ACTION", lambda claim: claim.action),
        ("BY", lambda claim: claim.principal),
        ("SINCE", lambda claim: clock(claim.since)),
    ),
    wide=(("OPERATION", lambda claim: claim.operation),),
    name=lambda claim: claim.path,
)


@app.callback()
def claim() -> None:
    """Who may change what now."""


@app.command("list", short_help="Claims.", epilog="Example: stead claim list --below shop/web")
def list_(below: Below = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List claims on a path, below it and above it: each is an operation's right to change it, or to use it."""
    with reach(server) as client:
        page = client.claims(below=below)
    write(page.items, CLAIMS, output)
    if page.more:
        note("there are more; name a longer path with --below")
