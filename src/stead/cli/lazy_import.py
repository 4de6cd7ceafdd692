"""Commands whose modules are imported when they are called for: none has to wait for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from stead.cli.commands import COMMANDS

type Command = Any


class LazyCommand(Mapping[str, Command]):
    """Commands by name. All names are known; a command is made when somebody asks for it."""

    def __init__(self) -> None:
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = _made(name)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """A group of such commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": LazyCommand()})


def _made(name: str) -> Command:
    where, says, example = COMMANDS[name]
    module, _, inside = where.partition(":")
    found = getattr(import_module(f"stead.cli.{module}"), inside)
    around = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name, short_help=says)
    else:
        around.command(name, short_help=says, epilog=f"Example: {example}")(found)
    return get_group(around).commands[name]
