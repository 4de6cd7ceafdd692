"""`stead lifecycle register` and what belongs to it: kinds that a server has beside those that are built in."""

from __future__ import annotations

from typing import Annotated

import typer

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
        ("SAYS", lambda one: one.description),
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
    str, typer.Argument(metavar="KIND", help="A kind.", autocompletion=complete_registered, show_default=False)
]


def register(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A lifecycle in YAML; - is stdin.")],
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Give a server a kind of one's own, or another document for it. No code is needed.

    The server lints and explores it first. It is in force at once, for everybody; what is there of the kind goes by
    it from then on. It is refused where something is in a state, or in the middle of an action, that it lacks.
    It is for admins.
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
    """Let a server forget a kind of which there are no resources. It is for admins."""
    with reach(server) as client:
        client.unregister_lifecycle(kind)
    line(f"{kind} is not there any more")


def registered(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND", help="Only its document.", autocompletion=complete_registered, show_default=False
        ),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """The kinds that a server has beside those that are built in; or the document of one, as it was registered."""
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
    """Have the commands."""
    app.command(
        short_help="Give a server a kind of one's own.", epilog="Example: stead lifecycle register certificate.yaml"
    )(register)
    app.command(short_help="Let a server forget a kind.", epilog="Example: stead lifecycle unregister certificate")(
        unregister
    )
    app.command(
        short_help="The kinds that a server has beside the built-in ones.",
        epilog="Example: stead lifecycle registered certificate",
    )(registered)
