"""`stead orphan`: what providers have that nobody owns."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.paths import vm_path
from stead.cli.progress import How, Wait, see_through
from stead.cli.server_commands import Output, Server, Timeout, clock, reach
from stead.client import DEFAULT_SERVER, Orphan

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What providers have that nobody owns.")

ORPHANS: Columns[Orphan] = Columns(
    narrow=(
        ("LANE", lambda orphan: orphan.lane),
        ("TOKEN", lambda orphan: orphan.token),
        ("PATH", lambda orphan: orphan.path),
        ("STATE", lambda orphan: orphan.state),
        ("SINCE", lambda orphan: clock(orphan.first_observed_at)),
    ),
    wide=(
        ("SEEN", lambda orphan: clock(orphan.last_observed_at)),
        ("ID", lambda orphan: str(orphan.facts.get("id", ""))),
    ),
    name=lambda orphan: orphan.token,
)


@app.callback()
def orphan() -> None:
    """What providers have that nobody owns."""


@app.command("list", short_help="Orphans.", epilog="Example: stead orphan list --lane aws.us-east-1")
def list_(
    lane: Annotated[str | None, typer.Option(metavar="LANE", help="Only on this lane.")] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """What providers have that carries our tag and that nobody owns, the oldest first.

    Lanes are surveyed from time to time, and whatever was found twice is listed until it is gone. PATH is the
    resource that it was made for. TOKEN is the provider's id where there is no token, or another object has the same.
    """
    with reach(server) as client:
        page = client.orphans(lane=lane)
    write(page.items, ORPHANS, output)
    if page.more:
        note("there are more; name a lane with --lane")


LaneName = Annotated[str, typer.Argument(metavar="LANE", help="Where it was found.", show_default=False)]
Token = Annotated[str, typer.Argument(metavar="TOKEN", help="Its TOKEN, as listed.", show_default=False)]


@app.command(
    short_help="Own it.",
    epilog="Example: stead orphan adopt aws.us-east-1 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c --path shop/web/front/7",
)
def adopt(
    lane: LaneName,
    token: Token,
    path: Annotated[
        str | None,
        typer.Option(metavar="NS/MCI/GROUP/NAME", callback=lambda path: path and vm_path(path), help="As which VM."),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Put it on record as a VM, at a path or at the one it was made for. A look tells what it is."""
    with reach(server) as client:
        see_through(client, lambda: client.adopt_orphan(lane, token, path), "adopt", token, How(output, True, None))


@app.command(
    short_help="Remove it at the provider.",
    epilog="Example: stead orphan remove aws.us-east-1 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c",
)
def remove(
    lane: LaneName,
    token: Token,
    wait: Wait = True,
    timeout: Timeout = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Remove it for good. It is on record below /orphans, so the journal tells who did that and when."""
    with reach(server) as client:
        see_through(client, lambda: client.remove_orphan(lane, token), "remove", token, How(output, wait, timeout))
