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
    help="Stead, a lifecycle control plane.",
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
            help="CA bundle to trust in addition to the system's.",
        ),
    ] = "",
) -> None:
    """Operate clouds, edge sites, private clouds, leases and systems with Stead, a lifecycle control plane."""
    if ca:
        os.environ[CA] = ca
