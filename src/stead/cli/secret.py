"""`stead secret`: keys, and secrets that are sealed with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from stead.cli.output import Code, fail, note

app = typer.Typer(no_args_is_help=True, help="Seal secrets, so that only agents with the key can read them.")


@app.command("key", epilog="Example: stead secret key agent.key")
def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the key is put. There may be none yet.")],
) -> None:
    """Make a key, in a new file that only its owner may read."""
    from stead.secrets.sealing import make_key  # noqa: PLC0415 - slow to import, and needed by few

    try:
        make_key(file)
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}", Code.USAGE)
    note(f"{file} opens whatever is sealed with it: agents need it, and nobody else")


@app.command("seal", epilog="Example: stead secret seal --key agent.key < password")
def seal(
    file: Annotated[
        Path, typer.Option("--key", envvar="STEAD_SECRETS_KEY", metavar="FILE", help="The file of the key.")
    ],
) -> None:
    """Seal a secret that is read from stdin, and write `sealed:…`, which may be kept anywhere.

    The end of the last line is no part of the secret.
    """
    from stead.secrets.sealing import SealingKeys  # noqa: PLC0415 - slow to import, and needed by few
    from stead.secrets.sources import private  # noqa: PLC0415

    if sys.stdin.isatty():
        note("the secret, and then Ctrl-D; with a pipe or a file it is not seen on the screen:")
    try:
        private(file)
        keys = SealingKeys.read(file)
        value = sys.stdin.read().removesuffix("\n").removesuffix("\r")
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}", Code.USAGE)
    except UnicodeDecodeError:
        fail("the secret is not text", Code.USAGE)
    except ValueError as error:
        fail(str(error), Code.USAGE)
    if not value:
        fail("there is nothing to seal on stdin", Code.USAGE)
    typer.echo(keys.seal(value))
