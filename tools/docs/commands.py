"""The tree of commands of `stead`, as its command line library has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from stead.cli.main import app

type Command = Any
type Option = Any


@cache
def root() -> Command:
    """The command `stead`."""
    return typer.main.get_command(app)


def leaves(command: Command = None, name: str = "stead") -> Iterator[tuple[str, Command]]:
    """Every command that does something, with its name."""
    here = command or root()
    below = getattr(here, "commands", {})
    for word, child in below.items():
        yield from leaves(child, f"{name} {word}")
    if not below:
        yield name, here


def options(command: Command) -> Iterator[Option]:
    """The options of a command, apart from those that all have, and those that are not for people."""
    for parameter in command.params:
        if parameter.param_type_name == "option" and parameter.name != "help" and not parameter.hidden:
            yield parameter
