"""`stead disk`: disks of machines, and those that lie by themselves."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import CHANGED, CREATED, LANE, OPERATION, PATH, SEEN, STATE
from stead.cli.datacenter import Datacenter, above, in_mebibytes, in_words, lane_at, make, placed, size
from stead.cli.list_show import add_list, add_show, there
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import DiskPath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Queueing,
    Wait,
    Why,
    change,
    on_conflict,
)
from stead.cli.server_commands import Output, Server, Timeout, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

KIND = "disk"

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Disks of machines, and those that lie by themselves."
)


def _machine(one: Resource) -> str:
    """Where it is attached, as it was seen; else where it is to be."""
    return str((one.facts if "machine" in one.facts else one.spec).get("machine") or "")


DISKS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("MACHINE", _machine),
        ("SIZE", lambda one: in_words(one.spec.get("size"))),
        OPERATION,
    ),
    wide=(LANE, CHANGED, SEEN, CREATED),
    name=lambda one: one.path,
    right=("SIZE",),
)

Machine = Annotated[
    str | None, typer.Option("--machine", metavar="NAME", help="Of its cloudspace; or the path of a machine.")
]
Size = Annotated[str | None, size("SIZE", "How large: 512M, 20G. Without it: 1G.")]


@app.command(short_help="Make a disk.", epilog="Example: stead disk create acme/space/data --size 20G")
def create(
    path: DiskPath,
    machine: Machine = None,
    size: Size = None,
    datacenter: Datacenter = "",
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
    """Make a disk that is attached to no machine. One that is named is for later, when it is attached."""
    spec = spec_of(file, settings, size=in_mebibytes(size), machine=placed(machine, above(path)))
    lane, how = lane_at(server, path, datacenter), How(output, wait, timeout, dry_run, key, expect_agent)
    make(server, path, KIND, "create", how, spec, lane=lane, reason=reason, queue=queue)


@app.command(
    short_help="Make a disk for a machine.",
    epilog="Example: stead disk assign acme/space/data --machine web --size 20G",
)
def assign(
    path: DiskPath,
    machine: Machine = None,
    size: Size = None,
    datacenter: Datacenter = "",
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
    """Make a disk, attached to a machine."""
    spec = spec_of(file, settings, size=in_mebibytes(size), machine=placed(machine, above(path)))
    if not spec.get("machine"):
        raise typer.BadParameter("say which machine it is for", param_hint="--machine, --file")
    lane, how = lane_at(server, path, datacenter), How(output, wait, timeout, dry_run, key, expect_agent)
    make(server, path, KIND, "assign", how, spec, lane=lane, reason=reason, queue=queue)


@app.command(
    short_help="Attach a disk to a machine.", epilog="Example: stead disk attach acme/space/data --machine web"
)
def attach(
    path: DiskPath,
    machine: Machine = None,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Attach a disk to a machine, whether that runs or not. Without --machine: to the one that it was made for."""
    with reach(server) as client:
        found = there(client, KIND, path)
    machine = placed(machine, above(path)) or found.spec.get("machine")
    if not machine:
        raise typer.BadParameter("say which machine it is for", param_hint="--machine")
    how, spec = How(output, wait, timeout, dry_run, key), {"machine": machine}
    change(server, path, "attach", how, kind=KIND, spec=spec, reason=reason, on_conflict=on_conflict(queue))


for _action, _says in (
    ("detach", "Detach a disk from its machine."),
    ("delete", "Move a disk that is attached to no machine to the recycle bin."),
    ("delete-with-machine", "Move a disk to the recycle bin as if its machine were deleted."),
    ("restore", "Take a disk out of the recycle bin."),
    ("restore-with-machine", "Take a disk that went with its machine out of the recycle bin."),
    ("restore-after-machine", "Take a disk out of the recycle bin whose machine was destroyed meanwhile."),
    ("destroy", "Remove a disk for good."),
):
    add_verb(app, KIND, DiskPath, _action, _says, "acme/space/data")


add_observing(app, KIND, DiskPath, "acme/space/data")
add_list(app, KIND, DISKS, "Disks", "stead disk list acme/space")
add_show(
    app,
    KIND,
    DiskPath,
    "A disk, as it is or as it was.",
    "A disk: its state, what is going on, its spec, and what the datacenter said of it.",
    "stead disk show acme/space/data -o yaml",
)
