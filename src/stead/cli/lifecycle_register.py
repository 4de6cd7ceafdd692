"""`stead lifecycle register`, `unregister` and `registered`: kinds of a server beside the built-in ones."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.command import command
from stead.cli.kinds import complete_registered
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, data, fail, line, note
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER, LifecycleDetail
from stead.lifecycle.document import DocumentError, load

PATIENCE = 300.0
"""Seconds for an answer: the server explores a lifecycle before it takes it."""

REGISTERED: Columns[LifecycleDetail] = Columns(
    narrow=(
        ("KIND", lambda one: one.kind),
        ("VERSION", lambda one: str(one.registered.version) if one.registered else ""),
        ("WORLDS", lambda one: f"{one.explored.worlds:,}" if one.explored else ""),
        ("BY", lambda one: one.registered.registered_by if one.registered else ""),
        ("DESCRIPTION", lambda one: one.description),
    ),
    wide=(
        ("STEPS", lambda one: f"{one.explored.steps:,}" if one.explored else ""),
        ("SINCE", lambda one: clock(one.registered.registered_at) if one.registered else ""),
        ("STATES", lambda one: str(len(one.states))),
        ("ACTIONS", lambda one: str(len(one.actions))),
    ),
    name=lambda one: one.kind,
    right=("VERSION", "WORLDS", "STEPS", "STATES", "ACTIONS"),
)

Kind = Annotated[
    str,
    typer.Argument(metavar="KIND", help="Registered kind.", autocompletion=complete_registered, show_default=False),
]


def register(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Lifecycle in YAML; - is stdin.")],
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Register a lifecycle as a kind, or replace its document (admins only).

    The server lints and explores it first. It is in force at once, also for existing resources of the kind. It is
    rejected where a resource is in a state, or an operation runs an action, that it lacks.
    """
    text = read_text(file)
    try:
        kind = load(text, file).kind
    except DocumentError as error:
        for message in error.messages:
            note(message)
        raise typer.Exit(Code.USAGE) from None
    with reach(server, timeout=PATIENCE, retries=0) as client:
        client.register_lifecycle(kind, text)
        write([client.lifecycle(kind)], REGISTERED, output)


def unregister(kind: Kind, server: Server = DEFAULT_SERVER) -> None:
    """Remove a registered kind without resources (admins only)."""
    with reach(server) as client:
        client.unregister_lifecycle(kind)
    line(f"{kind} is removed")


def registered(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind whose document to print.",
            autocompletion=complete_registered,
            show_default=False,
        ),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List registered kinds, or print the document of one."""
    with reach(server) as client:
        if kind is None:
            names = [one.kind for one in client.lifecycles().items if one.version is not None]
            write([client.lifecycle(name) for name in names], REGISTERED, output)
            return
        found = client.lifecycle(kind)
    if found.registered is None:
        fail(f"{kind} is built in; see: stead lifecycle show {kind}", Code.NOT_FOUND)
    if output is ListFormat.JSON:
        data(plain(found.registered), output)
    else:
        line(found.registered.document.rstrip("\n"))


def add_to(app: typer.Typer) -> None:
    """Add the commands to a group."""
    command(app, "stead lifecycle register certificate.yaml")(register)
    command(app, "stead lifecycle unregister certificate")(unregister)
    command(app, "stead lifecycle registered certificate")(registered)
