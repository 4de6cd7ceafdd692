"""`stead quota`: how much accounts and cloudspaces may have."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import AnyPath
from stead.cli.server_commands import Output, Server, reach
from stead.client import DEFAULT_SERVER, Quota

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="How much accounts and cloudspaces may have.")

UNITS = {"memory": " MiB", "storage": " MiB", "lease_seconds": " s"}
UNLIMITED = "none"
"""The word for no quota."""

QUOTAS: Columns[Quota] = Columns(
    narrow=(
        ("WHAT", lambda quota: quota.resource),
        ("USED", lambda quota: f"{quota.used}{UNITS.get(quota.resource, '')}"),
        ("MOST", lambda quota: "-" if quota.limit is None else f"{quota.limit}{UNITS.get(quota.resource, '')}"),
    ),
    wide=(),
    name=lambda quota: quota.resource,
    right=("USED", "MOST"),
)


def _most(value: str) -> int | None:
    if value == UNLIMITED:
        return None
    if not value.isdecimal():
        raise typer.BadParameter(f"{value} is no number; {UNLIMITED} takes the quota away")
    return int(value)


Most = Annotated[str | None, typer.Option(metavar="N|none", show_default=False)]


@app.command(short_help="How much one has and may have.", epilog="Example: stead quota show acme")
def show(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """How much an account or a cloudspace has and may have. What lies in the recycle bin counts."""
    with reach(server) as client:
        write(iter(client.quotas(path).items), QUOTAS, output)


@app.command("set", short_help="Say how much one may have.", epilog="Example: stead quota set acme --machines 10")
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
    """Say how much an account or a cloudspace may have from now on; memory and storage in MiB. Of a namespace, say
    how many hosts its leases may have at a time, and how many seconds each may last.

    What is there already stays, also where that is more. What is not named stays as it is; `none` takes a quota away.
    """
    said = {"machines": machines, "cpus": cpus, "memory": memory, "disks": disks, "storage": storage}
    said |= {"hosts": hosts, "lease_seconds": lease_seconds}
    most = {what: _most(value) for what, value in said.items() if value is not None}
    if not most:
        fail("say of what: --machines, --cpus, --memory, --disks, --storage, --hosts or --lease-seconds", Code.USAGE)
    with reach(server) as client:
        write(iter(client.set_quotas(path, most).items), QUOTAS, output)
