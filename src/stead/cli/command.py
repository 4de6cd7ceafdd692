"""How commands are declared: the help of a command is its docstring, and lists show its first line."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Any

import typer


def group() -> typer.Typer:
    """A group of commands. What help says of it stands in `commands`, which is read before any group is imported."""
    return typer.Typer(no_args_is_help=True, rich_markup_mode=None)


def command[F: Callable[..., Any]](app: typer.Typer, example: str, name: str = "") -> Callable[[F], F]:
    """Declare a function as a command, by its own name if no other is given."""

    def declare(function: F) -> F:
        summary = (getdoc(function) or "").partition("\n")[0]
        word = name or function.__name__.strip("_").replace("_", "-")
        app.command(word, short_help=summary, epilog=f"Example: {example}")(function)
        return function

    return declare
