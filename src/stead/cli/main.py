"""The command `stead`."""

from __future__ import annotations

from typing import Annotated

import typer

from stead import __version__
from stead.cli import lifecycle

app = typer.Typer(
    name="stead",
    no_args_is_help=True,
    # Plain help and errors: they read well in a pipe, in a log and aloud.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A lifecycle control plane: what you run comes back to a steady state, and says why when it does not.",
)
app.add_typer(lifecycle.app, name="lifecycle", short_help="Look at lifecycles, check, explore and draw them.")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stead {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """A lifecycle control plane: what you run comes back to a steady state, and says why when it does not."""
