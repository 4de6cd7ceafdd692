"""`stead orphan`: what providers have that nobody owns."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.remote import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Orphan

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What providers have that nobody owns.")

ORPHANS: Columns[Orphan] = Columns(
    narrow=(
        ("LANE", lambda orphan: orphan.lane),
        ("TOKEN", lambda orphan: orphan.token),
        ("PATH", lambda orphan: orphan.path),
        ("STATE", lambda orphan: orphan.state),
        ("SINCE", lambda orphan: clock(orphan.since)),
    ),
    wide=(
        ("SEEN", lambda orphan: clock(orphan.seen_at)),
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
    resource that it was made for.
    """
    with reach(server) as client:
        page = client.orphans(lane=lane)
    write(page.items, ORPHANS, output)
    if page.more:
        note("there are more; name a lane with --lane")
