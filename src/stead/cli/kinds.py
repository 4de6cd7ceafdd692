"""Kinds on the command line, completed by asking a server."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.client import DEFAULT_SERVER, LifecycleName, SteadError, SyncClient


def complete_registered(ctx: typer.Context, incomplete: str) -> list[str]:
    """The registered kinds."""
    return [one.kind for one in _known(ctx) if one.version is not None and one.kind.startswith(incomplete)]


def complete_kinds(ctx: typer.Context, incomplete: str) -> list[str]:
    """All kinds."""
    return [one.kind for one in _known(ctx) if one.kind.startswith(incomplete)]


def complete_actions(ctx: typer.Context, incomplete: str) -> list[str]:
    """The actions of a resource that users may request."""
    path = ctx.params.get("path") or ""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            kind = client.resource(path).kind
            found = [action.name for action in client.lifecycle(kind).actions if "user" in action.actors]
    except SteadError:
        return []
    return [action for action in found if action.startswith(incomplete)]


def _known(ctx: typer.Context) -> tuple[LifecycleName, ...]:
    """The kinds of a server; none where it does not answer."""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            return client.lifecycles().items
    except SteadError:
        return ()


def _kind(value: str) -> str:
    """The same, once it is known to be no path, which comes after it."""
    if "/" in value:
        raise typer.BadParameter(f"{value} is not a kind: the kind comes first, such as vm")
    return value


KindName = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        callback=_kind,
        help="Kind of the resource.",
        autocompletion=complete_kinds,
        show_default=False,
    ),
]
ActionName = Annotated[
    str,
    typer.Argument(
        metavar="ACTION", help="Action of its lifecycle.", autocompletion=complete_actions, show_default=False
    ),
]
