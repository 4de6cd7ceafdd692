"""`stead journal`: every transition and every rejection, in order. A path after it is shown."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.core import TyperGroup

from stead.cli.archive import archive
from stead.cli.command import command
from stead.cli.journal_verify import export, head, verify
from stead.cli.listing import Columns, write, write_one
from stead.cli.output import Code, ListFormat, fail, note
from stead.cli.paths import any_path, complete_paths
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, JournalLine

SHOW = "show"


class JournalFilter(TyperGroup):
    """A group that shows the journal where no command is named."""

    default = SHOW

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """`stead journal shop` is `stead journal show shop`."""
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [SHOW, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=JournalFilter, rich_markup_mode=None)


@app.callback()
def journal_group() -> None:
    """Show, verify, export and archive the journal.

    `stead journal shop --follow` is short for `stead journal show shop --follow`.
    """


LAST = 20
"""Lines that are shown by default."""


def _what(line: JournalLine) -> str:
    """The trigger of a transition; drift is one without an operation."""
    drift = line.trigger == "observed" and line.operation is None and line.source != line.target
    return f"{line.trigger} {line.detail}".strip() + " (drift)" * drift


def reason(line: JournalLine) -> str:
    """The error that was reported, or the reasons of a rejection."""
    said = line.change.get("reasons")
    reasons = [str(one.get("message", "")) for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    found = [str(line.change.get(name) or "") for name in ("error", "reason")] + reasons
    if line.trigger == "timed_out" and not any(found):
        found.append("no report arrived in time")
    return "; ".join(one for one in found if one)


LINES: Columns[JournalLine] = Columns(
    narrow=(
        ("POSITION", lambda line: str(line.position)),
        ("AT", lambda line: clock(line.at)),
        ("PATH", lambda line: line.path),
        ("TRIGGER", _what),
        ("FROM", lambda line: line.source),
        ("TO", lambda line: line.target),
        ("BY", lambda line: line.principal or line.actor),
        ("REASON", reason),
    ),
    wide=(
        ("KIND", lambda line: line.kind),
        ("ACTOR", lambda line: line.actor),
        ("REJECTIONS", lambda line: str(line.rejections or "")),
        ("OPERATION", lambda line: line.operation or ""),
        ("ORIGIN", lambda line: line.origin or ""),
        ("REQUEST", lambda line: line.request or ""),
    ),
    name=lambda line: str(line.position),
    right=("POSITION", "REJECTIONS"),
)


def _path(value: str | None) -> str | None:
    return None if value is None or value == "/" else any_path(value)


@command(app, "stead journal show shop --follow", SHOW)
def journal(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            callback=_path,
            autocompletion=complete_paths(None),
            help="Path to show, and below it; default all.",
        ),
    ] = None,
    after: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Position after which lines are shown.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Show the journal from its start.")] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new lines as they come, until interrupted.")
    ] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show the journal: every transition and every rejection, in order.

    By default it shows all lines of a path, or else the last 20 lines. JSON and YAML have a document for each line,
    so that a journal of any length can be exported. An observed transition that no operation requested is marked as
    drift.
    """
    if all_ and after is not None:
        fail("--all and --after exclude each other", Code.USAGE)
    with reach(server) as client:
        begin = after or 0
        if path is None and after is None and not all_:
            begin = max(0, client.journal_page(limit=1).end - LAST)
        page = client.journal_page(after=begin, path=path)
        if page.archived > begin:
            note(f"lines up to {page.archived} are in archive files")
        widths = write(page.items, LINES, output, endless=True)
        while page.next < page.end:
            page = client.journal_page(after=page.next, path=path)
            for item in page.items:
                write_one(item, LINES, output, widths)
        for item in client.events(after=page.next, path=path) if follow else ():
            write_one(item, LINES, output, widths)


command(app, "stead journal head")(head)
command(app, "stead journal verify")(verify)
command(app, "stead journal export --to audit --since 2026-01-01")(export)
command(app, "stead journal archive --before 2026-01-01 --to archive")(archive)
