"""`stead journal`: every move and every refusal, in order."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write, write_one
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import any_path, complete_paths
from stead.cli.remote import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Line

LAST = 20
"""Lines that are shown where nothing says which."""


def _what(line: Line) -> str:
    """The word it came by; drift is a move that nobody asked for."""
    drift = line.trigger == "seen" and line.operation is None and line.source != line.target
    return f"{line.trigger} {line.word}".strip() + " (drift)" * drift


LINES: Columns[Line] = Columns(
    narrow=(
        ("POSITION", lambda line: str(line.position)),
        ("AT", lambda line: clock(line.at)),
        ("PATH", lambda line: line.path),
        ("WHAT", _what),
        ("FROM", lambda line: line.source),
        ("TO", lambda line: line.target),
        ("BY", lambda line: line.principal or line.actor),
    ),
    wide=(
        ("KIND", lambda line: line.kind),
        ("ACTOR", lambda line: line.actor),
        ("TIMES", lambda line: str(line.refused or "")),
        ("OPERATION", lambda line: line.operation or ""),
    ),
    name=lambda line: str(line.position),
    right=("POSITION", "TIMES"),
)


def _path(value: str | None) -> str | None:
    return None if value is None or value == "/" else any_path(value)


def journal(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH", callback=_path, autocompletion=complete_paths(None), help="Only of this, and below it."
        ),
    ] = None,
    after: Annotated[int | None, typer.Option(min=0, metavar="N", help="From after this position on.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="From the beginning.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows, until stopped.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Every move, every refusal, and what else is to be known though the state stays, in order.

    Without options: all of a path, or the last 20 lines of everything. JSON and YAML are a document for each line, so
    that the whole journal can be exported, however long it is. A move that was seen and that nobody had asked for is
    told as drift.
    """
    if all_ and after is not None:
        fail("say --all or --after, not both", Code.USAGE)
    with reach(server) as client:
        begin = after or 0
        if path is None and after is None and not all_:
            begin = max(0, client.journal_page(limit=1).end - LAST)
        page = client.journal_page(after=begin, path=path)
        widths = write(page.items, LINES, output, endless=True)
        while page.next < page.end:
            page = client.journal_page(after=page.next, path=path)
            for item in page.items:
                write_one(item, LINES, output, widths)
        for item in client.events(after=page.next, path=path) if follow else ():
            write_one(item, LINES, output, widths)
