"""`stead role`: roles of users and groups, written as `operator@shop`."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, line
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER
from stead.client.models import Grant, RoleBinding

app = group()

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
    """The role that a text names; without a namespace, in every one."""
    role, at, namespace = text.partition("@")
    if role not in ROLES or (at and not namespace):
        raise typer.BadParameter(
            f"{text!r} is not a role: use {', '.join(ROLES)}, with @NAMESPACE for a single namespace"
        )
    return RoleBinding(role=role, namespace=namespace or "*")


def role_text(role: RoleBinding) -> str:
    """`operator@shop`."""
    return f"{role.role}@{role.namespace}"


Role = Annotated[str, typer.Argument(metavar="ROLE[@NAMESPACE]", help="viewer, operator or admin; @ a namespace.")]


@command(app, "stead role list")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List grants of roles, in the namespaces of which you are an admin."""
    with reach(server) as client:
        write(client.grants().items, GRANTS, output)


@command(app, "stead role grant group:ops operator@shop")
def grant(subject: Subject, role: Role, server: Server = DEFAULT_SERVER) -> None:
    """Grant a role to a user or a group, in a namespace or everywhere."""
    wanted = role_at(role)
    with reach(server) as client:
        client.grant_role(subject, wanted)
    line(f"granted {role_text(wanted)} to {subject}")


@command(app, "stead role revoke group:ops operator@shop")
def revoke(subject: Subject, role: Role, server: Server = DEFAULT_SERVER) -> None:
    """Revoke a role of a user or a group, within a second."""
    wanted = role_at(role)
    with reach(server) as client:
        client.revoke_role(subject, wanted)
    line(f"revoked {role_text(wanted)} of {subject}")
