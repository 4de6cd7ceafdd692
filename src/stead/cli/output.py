"""How every command answers: the formats of `-o`, where output goes, and what exit codes mean.

A result goes to stdout and nothing else does, so that a pipe gets exactly what was asked for. JSON and YAML have the
same content and keep their keys; tables are for people and may change. Colours are left to the terminal library,
which honours NO_COLOR and leaves them out of pipes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import Any, NoReturn

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE = 10_000
"""Columns of an output that is no terminal: nothing is wrapped or cut."""

_COLOURS = {
    "stable": "green",
    "transitional": "yellow",
    "final": "blue",
    "absent": "bright_black",
    "violation": "red",
    "not complete": "red",
}
"""Cells that stand out, wherever they stand."""


class Code(IntEnum):
    """What an exit code means, in every command."""

    DONE = 0
    """The request succeeded."""
    FAILED = 1
    """The operation failed, or the server could not be reached."""
    USAGE = 2
    """Wrong use: invalid options, arguments, files or requests."""
    REJECTED = 3
    """Rejected because of the state, another operation or a newer version."""
    NOT_ALLOWED = 4
    """The caller is not authorized."""
    NOT_FOUND = 5
    """The resource does not exist."""
    PARTIAL = 6
    """Done, except for members of a group that were skipped, since they could not act; none failed."""
    TIMED_OUT = 124
    """The time given by `--timeout` is over; the operation goes on."""
    INTERRUPTED = 130
    """Ctrl-C stopped the command; the operation it followed continues."""


class Format(StrEnum):
    """What `-o` may say of one thing."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class ListFormat(StrEnum):
    """What `-o` may say of a list."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def note(message: str) -> None:
    """Say something beside the result."""
    typer.echo(message, err=True)


def fail(message: str, code: Code = Code.FAILED) -> NoReturn:
    """Say what went wrong, and end."""
    note(f"error: {message}")
    raise typer.Exit(code)


def line(text: str = "") -> None:
    """A line of the result."""
    typer.echo(text)


def data(value: Any, format: Format | ListFormat) -> None:
    """The result as JSON or YAML."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if format == Format.JSON:
        typer.echo(text)
    else:
        # Through JSON, so that both say the same and nothing but plain values gets into either.
        typer.echo(yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True, width=110), nl=False)


def heading(text: str) -> None:
    """A heading in the result, bold where the terminal can."""
    console = _console()
    console.print(Text(text, style="bold"))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """The result as a table; the columns named in `right` hold numbers."""
    console = _console()
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        grid.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    with console.capture() as capture:
        console.print(grid)
    for text in capture.get().splitlines():
        typer.echo(text.rstrip())


def coloured(pieces: Iterable[tuple[str, str]]) -> None:
    """A line of the result in pieces, each with its style where the terminal can."""
    console = _console()
    with console.capture() as capture:
        console.print(Text.assemble(*pieces), end="", soft_wrap=True)
    typer.echo(capture.get())


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    return console
