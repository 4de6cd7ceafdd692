"""`stead token`: tokens for programs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail, line, note
from stead.cli.roles import role_at, role_text
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER
from stead.client.models import RoleBinding, Token
from stead.lifecycle.files.times import seconds

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Tokens for programs.")

TOKENS: Columns[Token] = Columns(
    narrow=(
        ("NAME", lambda token: token.name),
        ("ROLES", lambda token: ", ".join(map(role_text, token.roles))),
        ("EXPIRES", lambda token: clock(token.expires_at)),
        ("USED", lambda token: clock(token.used_at) or "never"),
    ),
    wide=(
        ("ID", lambda token: token.id),
        ("BY", lambda token: token.created_by),
        ("CREATED", lambda token: clock(token.created_at)),
    ),
    name=lambda token: token.name,
)


@app.callback()
def token() -> None:
    """Tokens for programs."""


@app.command(short_help="Make a token.", epilog="Example: stead token create ci --role operator@shop --lasts 30d")
def create(
    name: Annotated[str, typer.Argument(help="What the program is called, in the journal too.")],
    role: Annotated[
        list[str], typer.Option("--role", metavar="ROLE[@NAMESPACE]", help="What it may; may be repeated.")
    ],
    lasts: Annotated[str, typer.Option(metavar="TIME", help="For how long: 12h, 30d; 366d at most.")] = "30d",
    database: Annotated[
        str | None,
        typer.Option(
            envvar="STEAD_DATABASE",
            show_envvar=False,
            help="Make it right in the database, for the first one: whoever may write there is an admin anyway.",
        ),
    ] = None,
    direct: Annotated[bool, typer.Option("--direct", help="Make it in the database, not through a server.")] = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make a token. Its secret is printed once; only its hash is kept.

    The first one is made with --direct and --database, since nobody can ask a server for it yet.
    """
    roles = [role_at(text) for text in role]
    try:
        duration = int(seconds(lasts))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--lasts") from None
    if direct:
        if database is None:
            raise typer.BadParameter("say which database", param_hint="--database")
        secret = _direct(database, name, roles, duration)
    else:
        with reach(server) as client:
            secret = client.create_token(name, roles, duration).token
    note(f"{name} is {', '.join(map(role_text, roles))} for {lasts}; this is shown once:")
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


@app.command("list", short_help="Tokens.", epilog="Example: stead token list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Tokens, without their secrets, which nobody knows any more."""
    with reach(server) as client:
        write(client.tokens().items, TOKENS, output)


@app.command(short_help="Revoke a token.", epilog="Example: stead token revoke ci")
def revoke(
    name: Annotated[str, typer.Argument(help="The name it was made with.")], server: Server = DEFAULT_SERVER
) -> None:
    """Revoke a token: within a second it lets nobody in any more, at any server."""
    with reach(server) as client:
        client.revoke_token(name)
    line(f"{name} is revoked")
