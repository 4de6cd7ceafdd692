"""A noun of the command line: a kind of resource as a table of columns and verbs.

A noun has `list`, `show` and a verb for each action that needs nothing but a path. An action that takes more is a
function, which `Noun.change` declares as a command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup

from stead.cli.change import ChangeFunction, ChangeOptions, change, change_command
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns
from stead.client import Resource

FIRST = ("create", "deploy", "list", "show")
"""Commands that help lists before all others of a noun."""


class NounGroup(TyperGroup):
    """The commands of a noun, in the order in which people need them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of commands: those to begin with first, all others as they are declared."""
        return sorted(self.commands, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))


@dataclass(frozen=True)
class Verb:
    """An action as a command, where more than its help is to be said."""

    help: str
    action: str = ""
    """The action of the kind, where the command has another name."""
    forceable: bool = True


class Noun:
    """A kind of resource as a group of commands."""

    def __init__(
        self,
        kind: str,
        path: Any,
        singular: str,
        plural: str,
        example: str,
        *,
        name: str = "",
        columns: Columns[Resource] | None = None,
        verbs: Mapping[str, str | Verb] | None = None,
        observed: bool = True,
        show: str = "",
    ) -> None:
        """`path` is the argument that names one, `example` such a path. `observed`: whether a provider has it, so
        that it can be observed. `show`: what `show` tells, where the noun has that command."""
        self.kind, self.name, self.path, self.example = kind, name or kind, path, example
        self.app = typer.Typer(cls=NounGroup, no_args_is_help=True, rich_markup_mode=None)
        if columns is not None:
            folder = example.rpartition("/")[0]
            add_list(self.app, kind, columns, plural, f"stead {self.name} list {folder}".rstrip())
        if show:
            add_show(self.app, kind, path, singular, show, f"stead {self.name} show {example} -o yaml")
        for word, verb in (verbs or {}).items():
            self._add(word, verb if isinstance(verb, Verb) else Verb(verb))
        if observed:
            self._add("refresh", Verb(f"Observe {singular} now, and record drift."))
            accept = Verb(f"Make the observed state of {singular} the recorded one.")
            self._add("accept-observed", accept, '--reason "repaired by hand"')

    def change(
        self, example: str, name: str = "", *, extra: Collection[str] = (), without: Collection[str] = ()
    ) -> Callable[[ChangeFunction], ChangeFunction]:
        """Declare a function as a command of this noun; the example is what follows the name of the command."""

        def declare(function: ChangeFunction) -> ChangeFunction:
            word = name or function.__name__.strip("_").replace("_", "-")
            whole = f"stead {self.name} {word} {example}"
            return change_command(self.app, whole, word, kind=self.kind, extra=extra, without=without)(function)

        return declare

    def _add(self, name: str, verb: Verb, example: str = "") -> None:
        action = verb.action or name

        def command(options: ChangeOptions, path: str) -> None:
            change(options, path, action)

        command.__doc__ = verb.help
        command.__annotations__["path"] = self.path
        extra = ("force", "queue") if verb.forceable else ("queue",)
        self.change(f"{self.example} {example}".rstrip(), name, extra=extra)(command)
