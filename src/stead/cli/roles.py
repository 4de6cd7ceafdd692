"""Roles on the command line: `operator@shop`, and `stead role`."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, line
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER
from stead.client.models import Grant, RoleBinding

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Which roles people and groups have.")

ROLES = ("viewer", "operator", "admin")
Subject = Annotated[str, typer.Argument(help="user:NAME or group:NAME.")]

GRANTS: Columns[Grant] = Columns(
    narrow=(
        ("SUBJECT", lambda grant: grant.subject),
        ("ROLE", lambda grant: grant.role),
        ("NAMESPACE", lambda grant: grant.namespace),
    ),
    wide=(("BY", lambda grant: grant.created_by), ("SINCE", lambda grant: clock(grant.created_at))),
    name=lambda grant: f"{grant.subject} {grant.role}@{grant.namespace}",
)


def role_at(text: str) -> RoleBinding:
    """`operator@shop`; without a namespace, everywhere."""
    role, at, namespace = text.partition("@")
    if role not in ROLES or (at and not namespace):
        raise typer.BadParameter(f"{text!r}: say {', '.join(ROLES)}, with @NAMESPACE for one namespace alone")
    return RoleBinding(role=role, namespace=namespace or "*")


def role_text(role: RoleBinding) -> str:
    """`operator@shop`."""
    return f"{role.role}@{role.namespace}"


Role = Annotated[str, typer.Argument(metavar="ROLE[@NAMESPACE]", help="viewer, operator or admin; @ one namespace.")]


@app.callback()
def role() -> None:
    """Which roles people and groups have."""


@app.command("list", short_help="Who has which role.", epilog="Example: stead role list")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Who has which role where, in the namespaces in which one is an admin."""
    with reach(server) as client:
        write(client.grants().items, GRANTS, output)


@app.command(short_help="Give somebody a role.", epilog="Example: stead role give group:ops operator@shop")
def give(subject: Subject, role: Role, server: Server = DEFAULT_SERVER) -> None:
    """Give a person or a group a role: in one namespace, or everywhere."""
    wanted = role_at(role)
    with reach(server) as client:
        client.give_role(subject, wanted)
    line(f"{subject} is {wanted}")


@app.command(short_help="Take a role from somebody.", epilog="Example: stead role take group:ops operator@shop")
def take(subject: Subject, role: Role, server: Server = DEFAULT_SERVER) -> None:
    """Take a role from a person or a group. It counts within a second."""
    wanted = role_at(role)
    with reach(server) as client:
        client.take_role(subject, wanted)
    line(f"{subject} is no longer {wanted}")
