"""`stead claim`: the rights of operations to change paths."""

from __future__ import annotations

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.paths import Below
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Claim

app = group()

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


@command(app, "stead claim list --below shop/web")
def list_(below: Below = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List claims on a path, below it and above it.

    A claim is an operation's right to change a path, or to use it.
    """
    with reach(server) as client:
        page = client.claims(below=below)
    write(page.items, CLAIMS, output)
    if page.more:
        note("more claims exist; name a longer path with --below")
