"""`stead token`: tokens for programs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.roles import role_at, role_text
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER
from stead.client.models import RoleBinding, Token
from stead.lifecycle.files.times import seconds

app = group()

TOKENS: Columns[Token] = Columns(
    narrow=(
        ("NAME", lambda token: token.name),
        ("ROLES", lambda token: ", ".join(map(role_text, token.roles))),
        ("EXPIRES", lambda token: clock(token.expires_at)),
        ("LAST USED", lambda token: clock(token.used_at) or "never"),
    ),
    wide=(
        ("ID", lambda token: token.id),
        ("BY", lambda token: token.created_by),
        ("CREATED", lambda token: clock(token.created_at)),
    ),
    name=lambda token: token.name,
)


@command(app, "stead token create ci --role operator@shop --lifetime 30d")
def create(
    name: Annotated[str, typer.Argument(help="Name of the program, also in the journal.")],
    role: Annotated[
        list[str], typer.Option("--role", metavar="ROLE[@NAMESPACE]", help="Role of the token. Repeatable.")
    ],
    lifetime: Annotated[
        str, typer.Option(metavar="TIME", help="Lifetime of the token, such as 12h or 30d; at most 366d.")
    ] = "30d",
    database: Annotated[
        str | None,
        typer.Option(
            envvar="STEAD_DATABASE",
            show_envvar=False,
            help="Database to create the token in, with --direct, as postgresql://user@host/name.",
        ),
    ] = None,
    direct: Annotated[
        bool, typer.Option("--direct", help="Create the token in the database, not through a server.")
    ] = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Create a token for a program.

    Its secret is printed once; only its hash is kept. The first token of a cell is created with --direct and
    --database, since no caller is authorized yet.
    """
    roles = [role_at(text) for text in role]
    try:
        duration = int(seconds(lifetime))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--lifetime") from None
    if direct:
        if database is None:
            raise typer.BadParameter("needed with --direct", param_hint="--database")
        secret = _direct(database, name, roles, duration)
    else:
        with reach(server) as client:
            secret = client.create_token(name, roles, duration).token
    note(f"{name} is {', '.join(map(role_text, roles))} for {lifetime}; this is shown once:")
    line(secret)


def _direct(database: str, name: str, roles: list[RoleBinding], duration: int) -> str:
    from stead.access.access import InvalidAccessRequest
    from stead.access.direct import MigrationFailed, create_token

    wanted = [(role.role, role.namespace) for role in roles]
    try:
        return asyncio.run(create_token(database, name, wanted, timedelta(seconds=duration)))
    except InvalidAccessRequest as error:
        fail(str(error), Code.USAGE)
    except MigrationFailed as error:
        fail(str(error))


@command(app, "stead token list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List tokens, without their secrets."""
    with reach(server) as client:
        write(client.tokens().items, TOKENS, output)


@command(app, "stead token revoke ci")
def revoke(name: Annotated[str, typer.Argument(help="Name of the token.")], server: Server = DEFAULT_SERVER) -> None:
    """Revoke a token, at every server within a second."""
    with reach(server) as client:
        client.revoke_token(name)
    line(f"{name} is revoked")
