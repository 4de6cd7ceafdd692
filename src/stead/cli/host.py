"""`stead host`: machines that leases book."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stead.cli.command import command, group
from stead.cli.lease_options import plain_value
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, line
from stead.cli.paths import any_path
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Host, SteadError, SyncClient

app = group()

HOSTS: Columns[Host] = Columns(
    narrow=(
        ("HOST", lambda one: one.name),
        ("LANE", lambda one: one.lane),
        ("HEALTHY", lambda one: "yes" if one.healthy else f"no: {one.reason}" if one.reason else "no"),
        ("PROPERTIES", lambda one: ", ".join(f"{name}={value}" for name, value in sorted(one.properties.items()))),
    ),
    wide=(
        ("NODE", lambda one: one.node or ""),
        ("ADDED", lambda one: clock(one.added_at)),
    ),
    name=lambda one: one.name,
)


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of hosts, as the server lists them; none where it does not answer."""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            found = [host.name for host in client.host_page(limit=200).items]
    except SteadError:
        return []
    return [name for name in found if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(metavar="NAME", help="A host.", autocompletion=_complete, show_default=False)]


@command(app, "stead host add h9 --lane rack.lab --property cpus=16 --property arch=x86_64")
def add(
    name: Name,
    lane: Annotated[str, typer.Option("--lane", metavar="LANE", help="Lane whose agent hands the host over.")],
    having: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME=VALUE", help="Property that leases can require. Repeatable."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            "--node", metavar="PATH", help="Node of the private cloud on the same machine; they fail together."
        ),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Add a host, or replace the properties of one (admins only)."""
    given: dict[str, Any] = {}
    for one in having or ():
        field, equals, value = one.partition("=")
        if not (field and equals):
            raise typer.BadParameter(f"{one!r} is not NAME=VALUE", param_hint="--property")
        given[field] = plain_value(value)
    where = any_path(node) if node is not None else None
    with reach(server) as client:
        write([client.put_host(name, lane, given, where)], HOSTS, output)


@command(app, "stead host list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List hosts by name."""
    with reach(server) as client:
        write(client.hosts(), HOSTS, output)


@command(app, "stead host fail h1 --reason 'fan stopped'")
def fail(
    name: Name,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Reason; shown by `stead host list`.")] = "",
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Mark a host as failed (admins only).

    It is no longer booked, and leases that have it get another host, if one is free.
    """
    with reach(server) as client:
        write([client.set_host_health(name, works=False, why=reason)], HOSTS, output)


@command(app, "stead host recover h1")
def recover(name: Name, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Mark a failed host as working (admins only)."""
    with reach(server) as client:
        write([client.set_host_health(name, works=True)], HOSTS, output)


@command(app, "stead host remove h9")
def remove(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """Remove a host that no lease has or had (admins only)."""
    with reach(server) as client:
        client.remove_host(name)
    line(f"{name} is removed")
