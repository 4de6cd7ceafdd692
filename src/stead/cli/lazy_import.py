"""Commands whose modules are imported when they are needed, so that no command waits for the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from stead.cli.commands import COMMANDS, SECTIONS

type Command = Any


class LazyCommand(Mapping[str, Command]):
    """Commands by name. All names are known; a command is imported when it is looked up."""

    def __init__(self) -> None:
        self._imported: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._imported:
            self._imported[name] = _import(name)
        return self._imported[name]

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class LazyGroup(TyperGroup):
    """A group of such commands, whose help lists them by section without importing any."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": LazyCommand()})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each section below its heading."""
        for section, entries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, entry.summary) for name, entry in entries.items()])


def _import(name: str) -> Command:
    where, summary, example = COMMANDS[name]
    module, _, attribute = where.partition(":")
    found = getattr(import_module(f"stead.cli.{module}"), attribute)
    parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name, short_help=summary, help=summary)
    else:
        parent.command(name, short_help=summary, epilog=f"Example: {example}")(found)
    return get_group(parent).commands[name]
