"""`stead host`: machines that leases can have."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stead.cli.lease_options import plain_value
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, line
from stead.cli.paths import any_path
from stead.cli.server_commands import Output, Server, clock, reach
from stead.client import DEFAULT_SERVER, Host, SteadError, SyncClient

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Machines that leases can have.")

HOSTS: Columns[Host] = Columns(
    narrow=(
        ("HOST", lambda one: one.name),
        ("LANE", lambda one: one.lane),
        ("WORKS", lambda one: "yes" if one.healthy else f"no: {one.reason}" if one.reason else "no"),
        ("PROPERTIES", lambda one: ", ".join(f"{name}={value}" for name, value in sorted(one.properties.items()))),
    ),
    wide=(
        ("NODE", lambda one: one.node or ""),
        ("ADDED", lambda one: clock(one.added_at)),
    ),
    name=lambda one: one.name,
)


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """The hosts there are, by asking the server; none where it does not answer."""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            found = [host.name for host in client.host_page(limit=200).items]
    except SteadError:
        return []
    return [name for name in found if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(metavar="NAME", help="A host.", autocompletion=_complete, show_default=False)]


@app.command(
    short_help="Add a host, or say anew what it has.",
    epilog="Example: stead host add h9 --lane rack.lab --property cpus=16 --property arch=x86_64",
)
def add(
    name: Name,
    lane: Annotated[str, typer.Option("--lane", metavar="LANE", help="Whose agent hands it over.")],
    having: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME=VALUE", help="What it has; leases ask for it. May be repeated."),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option("--node", metavar="PATH", help="The node of the private cloud that it is: it fails with it."),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Have a host booked from now on. One that is there has what is said here from now on, and nothing else.

    It is for admins.
    """
    given: dict[str, Any] = {}
    for one in having or ():
        field, equals, value = one.partition("=")
        if not (field and equals):
            raise typer.BadParameter(f"{one!r} is not NAME=VALUE", param_hint="--property")
        given[field] = plain_value(value)
    where = any_path(node) if node is not None else None
    with reach(server) as client:
        write([client.put_host(name, lane, given, where)], HOSTS, output)


@app.command("list", short_help="Hosts that can be booked.", epilog="Example: stead host list -o wide")
def list_(output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Hosts in order of name: what they have, and whether they work."""
    with reach(server) as client:
        write(client.hosts(), HOSTS, output)


@app.command(short_help="Say that a host failed.", epilog="Example: stead host fail h1 --why 'its fan stands still'")
def fail(
    name: Name,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="What is wrong with it.")] = "",
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Say that a host failed: it is booked no more, and leases that have it get another, if one is free.

    It is for admins.
    """
    with reach(server) as client:
        write([client.judge_host(name, works=False, why=why)], HOSTS, output)


@app.command(short_help="Say that a host works again.", epilog="Example: stead host recover h1")
def recover(name: Name, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Say that a host works again. It is for admins."""
    with reach(server) as client:
        write([client.judge_host(name, works=True)], HOSTS, output)


@app.command(short_help="Forget a host.", epilog="Example: stead host remove h9")
def remove(name: Name, server: Server = DEFAULT_SERVER) -> None:
    """Forget a host that no lease has or had. It is for admins."""
    with reach(server) as client:
        client.remove_host(name)
    line(f"{name} is not there any more")
