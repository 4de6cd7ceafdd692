"""`stead quota`: limits of accounts, cloudspaces and namespaces."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import AnyPath
from stead.cli.server_commands import Output, Server, reach
from stead.client import DEFAULT_SERVER, Quota

app = group()

UNITS = {"memory": " MiB", "storage": " MiB", "lease_seconds": " s"}
UNLIMITED = "none"
"""The word for no quota."""

QUOTAS: Columns[Quota] = Columns(
    narrow=(
        ("RESOURCE", lambda quota: quota.resource),
        ("USED", lambda quota: f"{quota.used}{UNITS.get(quota.resource, '')}"),
        ("LIMIT", lambda quota: "-" if quota.limit is None else f"{quota.limit}{UNITS.get(quota.resource, '')}"),
    ),
    wide=(),
    name=lambda quota: quota.resource,
    right=("USED", "LIMIT"),
)


def _most(value: str) -> int | None:
    if value == UNLIMITED:
        return None
    if not value.isdecimal():
        raise typer.BadParameter(f"{value} is not a number; {UNLIMITED} removes the quota")
    return int(value)


Most = Annotated[str | None, typer.Option(metavar="N|none", help="New quota; `none` removes it.", show_default=False)]


@command(app, "stead quota show acme")
def show(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show usage and quotas of a path.

    Resources in the recycle bin count.
    """
    with reach(server) as client:
        write(iter(client.quotas(path).items), QUOTAS, output)


@command(app, "stead quota set acme --machines 10")
def set_(
    path: AnyPath,
    machines: Most = None,
    cpus: Most = None,
    memory: Most = None,
    disks: Most = None,
    storage: Most = None,
    hosts: Most = None,
    lease_seconds: Most = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Set quotas of an account, a cloudspace or a namespace.

    Memory and storage are in MiB. Of a namespace: hosts that its leases may have at a time, and seconds that each may
    last. Resources that exist stay, also beyond a quota. Quotas that are not named stay; `none` removes one.
    """
    said = {"machines": machines, "cpus": cpus, "memory": memory, "disks": disks, "storage": storage}
    said |= {"hosts": hosts, "lease_seconds": lease_seconds}
    most = {what: _most(value) for what, value in said.items() if value is not None}
    if not most:
        fail(
            "name at least one quota: --machines, --cpus, --memory, --disks, --storage, --hosts or --lease-seconds",
            Code.USAGE,
        )
    with reach(server) as client:
        write(iter(client.set_quotas(path, most).items), QUOTAS, output)
