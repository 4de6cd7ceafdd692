"""`stead cloudspace`: private networks in which an account's machines live."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import CHANGED, CREATED, LANE, OPERATION, PATH, SEEN, STATE
from stead.cli.datacenter import datacenter_of, lane_of, make
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, counts
from stead.cli.output import ListFormat
from stead.cli.paths import CloudspacePath
from stead.cli.progress import DryRun, ExpectAgent, How, Key, Queueing, Wait, Why
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

KIND = "cloudspace"

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Private networks in which an account's machines live."
)

CLOUDSPACES: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("DATACENTER", lambda one: datacenter_of(one.lane)),
        OPERATION,
    ),
    wide=(
        ("MEMBERS", lambda one: counts(one.members or {})),
        LANE,
        CHANGED,
        SEEN,
        CREATED,
    ),
    name=lambda one: one.path,
)


@app.command(short_help="Set up a cloudspace.", epilog="Example: stead cloudspace deploy acme/space --datacenter dc")
def deploy(
    path: CloudspacePath,
    datacenter: Annotated[str, typer.Option("--datacenter", metavar="NAME", help="Where.")],
    file: File = None,
    settings: Settings = None,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Set up a cloudspace of an account in a datacenter. Machines and disks are made in it from then on."""
    how, spec = How(output, wait, timeout, dry_run, key, expect_agent), spec_of(file, settings)
    make(server, path, KIND, "deploy", how, spec, lane=lane_of(datacenter), reason=reason, queue=queue)


for _action, _says in (
    ("disable", "Switch a cloudspace off for its users."),
    ("enable", "Switch a cloudspace on again."),
    ("pause", "Stop a cloudspace's firewall. It is for admins."),
    ("resume", "Start a cloudspace's firewall. It is for admins."),
    ("reset", "Set a cloudspace's firewall up anew. It is for admins."),
    ("delete", "Move a cloudspace to the recycle bin."),
    ("restore", "Take a cloudspace out of the recycle bin."),
    ("destroy", "Remove a deleted cloudspace for good."),
):
    add_verb(app, KIND, CloudspacePath, _action, _says, "acme/space")


add_observing(app, KIND, CloudspacePath, "acme/space")
add_list(app, KIND, CLOUDSPACES, "Cloudspaces", "stead cloudspace list acme")
add_show(
    app,
    KIND,
    CloudspacePath,
    "A cloudspace, as it is or as it was.",
    "A cloudspace: its state, what is going on, its spec, and what the datacenter said of it.",
    "stead cloudspace show acme/space -o yaml",
)
