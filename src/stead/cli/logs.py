"""Commands that show the output of a program, which its agent reads."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from stead.cli.command import command
from stead.cli.output import note
from stead.cli.server_commands import Server, reach
from stead.client import DEFAULT_SERVER

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def add_logs(app: typer.Typer, path_type: Any, what: str, example: str) -> None:
    """Have a command that shows what one of a kind wrote."""

    def logs(
        path: str,
        lines: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of lines, the latest.")] = 100,
        follow: Annotated[
            bool, typer.Option("--follow", "-f", help="Show new lines as they come, until interrupted.")
        ] = False,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        with reach(server) as client:
            if not follow:
                found = client.logs(path, lines=lines)
                _write(found.lines)
                if found.omitted:
                    note(f"{found.omitted:,} older lines left out: an answer has room for {len(found.lines):,}")
                return
            for line in client.follow_logs(path, lines=lines):
                _write([line])

    logs.__doc__ = f"Show the last lines that {what} wrote."
    logs.__annotations__["path"] = path_type
    command(app, example)(logs)


def _write(lines: Iterable[str]) -> None:
    for line in lines:
        # What an app writes could do anything to a terminal; elsewhere it is left as it is.
        sys.stdout.write(f"{_CONTROL.sub('?', line) if sys.stdout.isatty() else line}\n")
    sys.stdout.flush()
