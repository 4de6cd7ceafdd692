"""The command `stead`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from stead import __version__
from stead.cli.environment import CA
from stead.cli.lazy_import import LazyGroup

app = typer.Typer(
    name="stead",
    cls=LazyGroup,
    no_args_is_help=True,
    # Plain help and errors: they read well in a pipe, in a log and aloud.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A lifecycle control plane: what you run comes back to a steady state, and says why when it does not.",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"stead {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    ca: Annotated[
        str,
        typer.Option(
            "--ca",
            envvar=CA,
            metavar="FILE",
            help="Certificates of authorities to trust, where none that the world knows has signed the server's.",
        ),
    ] = "",
) -> None:
    """A lifecycle control plane: what you run comes back to a steady state, and says why when it does not."""
    if ca:
        os.environ[CA] = ca
