"""`stead secret`: keys, and secrets that are sealed with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.output import Code, fail, note

app = group()


@command(app, "stead secret key agent.key")
def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file for the key.")],
) -> None:
    """Create a key for sealed secrets, in a file that only its owner may read."""
    from stead.secrets.sealing import make_key  # noqa: PLC0415 - slow to import, and needed by few

    try:
        make_key(file)
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}", Code.USAGE)
    note(f"{file} opens secrets that are sealed with it: only agents need it")


@command(app, "stead secret seal --key agent.key < password")
def seal(
    file: Annotated[Path, typer.Option("--key", envvar="STEAD_SECRETS_KEY", metavar="FILE", help="File of the key.")],
) -> None:
    """Seal a secret from stdin, and print `sealed:…`, which is safe to store.

    The end of the last line is no part of the secret.
    """
    from stead.secrets.sealing import SealingKeys  # noqa: PLC0415 - slow to import, and needed by few
    from stead.secrets.sources import private  # noqa: PLC0415

    if sys.stdin.isatty():
        note("type the secret, then Ctrl-D; a pipe or a file keeps it off the screen:")
    try:
        private(file)
        keys = SealingKeys.read(file)
        value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", Code.USAGE)
    except UnicodeDecodeError:
        fail("stdin: the secret is not UTF-8 text", Code.USAGE)
    except ValueError as error:
        fail(str(error), Code.USAGE)
    if not value:
        fail("stdin: empty; pipe the secret to the command", Code.USAGE)
    typer.echo(keys.seal(value))
