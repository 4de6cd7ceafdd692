"""`stead machine`: machines on the nodes of the private cloud."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, SEEN, STATE
from stead.cli.datacenter import (
    Datacenter,
    above,
    datacenter_of,
    in_mebibytes,
    in_words,
    lane_at,
    last,
    make,
    placed,
    size,
)
from stead.cli.list_show import add_list, add_show, there
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import MachinePath
from stead.cli.progress import DryRun, ExpectAgent, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.server_commands import Output, Server, Timeout, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

KIND = "machine"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Machines on the nodes of the private cloud.")


def node_of(one: Resource) -> str:
    """The name of the node that it is on, as it was seen; else of the one that it is put on."""
    return last(one.facts.get("node") or one.spec.get("node"))


MACHINES: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("NODE", node_of),
        ("IMAGE", lambda one: last(one.spec.get("image"))),
        OPERATION,
    ),
    wide=(
        ("CPUS", lambda one: str(one.spec.get("cpu", ""))),
        ("MEMORY", lambda one: in_words(one.spec.get("memory"))),
        ("MOVES TO", lambda one: last((one.next_spec or {}).get("node"))),
        ("DATACENTER", lambda one: datacenter_of(one.lane)),
        CHANGED,
        SEEN,
        CREATED,
    ),
    name=lambda one: one.path,
    right=("CPUS", "MEMORY"),
)


@app.command(
    short_help="Make a machine.",
    epilog="Example: stead machine deploy acme/space/web --image debian --cpus 2 --memory 4G",
)
def deploy(
    path: MachinePath,
    image: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of its datacenter; or the path of an image. Its first disk is a copy."),
    ] = None,
    cpus: Annotated[int | None, typer.Option(min=1, help="Processors. Without it: 1.")] = None,
    memory: Annotated[str | None, size("SIZE", "Memory: 512M, 4G. Without it: 512M.")] = None,
    disk: Annotated[str | None, size("SIZE", "Of its first disk, where that is larger than its image.")] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of its datacenter; or the path of a node. Without it: the emptiest."),
    ] = None,
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
    """Make a machine in a cloudspace, put it on a node, and follow it until it runs."""
    lane = lane_at(server, path, datacenter)
    where = f"/{datacenter_of(lane)}"
    spec = spec_of(
        file,
        settings,
        image=placed(image, where),
        cpu=cpus,
        memory=in_mebibytes(memory),
        disk=in_mebibytes(disk),
        node=placed(node, where),
    )
    how = How(output, wait, timeout, dry_run, key, expect_agent)
    make(server, path, KIND, "deploy", how, spec, lane=lane, reason=reason, queue=queue)


@app.command(
    short_help="Move a machine to another node.", epilog="Example: stead machine migrate acme/space/web --to n2"
)
def migrate(
    path: MachinePath,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="NAME", help="The node. Without it: of the others, the one with the fewest."),
    ] = None,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Move a machine to another node of its datacenter, as it is. Its state does not show it. It is for admins."""
    with reach(server) as client:
        found = there(client, KIND, path)
    node = placed(to, f"/{datacenter_of(found.lane)}")
    spec = {"node": node} if node else {}
    change(server, path, "migrate", How(output, wait, timeout, dry_run, key), kind=KIND, spec=spec, reason=reason)


@app.command(
    short_help="Remove a machine for good.", epilog="Example: stead machine destroy acme/space/web --keep-disks"
)
def destroy(
    path: MachinePath,
    keep_disks: Annotated[
        bool, typer.Option("--keep-disks", help="Detach its disks. Without it, they go to the recycle bin.")
    ] = False,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Stop a machine, delete it and remove it for good. Its disks stay in the recycle bin, or are kept."""
    spec = {"disks": "keep"} if keep_disks else {}
    _ask_about(server, path, "destroy", How(output, wait, timeout, dry_run, key), spec, reason, queue)


Disk = Annotated[
    str, typer.Option("--disk", metavar="NAME", help="The disk: its name in the cloudspace, or its path.")
]


@app.command(
    "add-disk",
    short_help="Make a disk for a machine.",
    epilog="Example: stead machine add-disk acme/space/web --disk data2 --size 20G",
)
def add_disk(
    path: MachinePath,
    disk: Disk,
    size: Annotated[str | None, size("SIZE", "Capacity: 512M, 20G; default 1G.")] = None,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make a disk and attach it to a machine, whether the machine runs or not."""
    spec = spec_of(None, None, disk=placed(disk, above(path)), size=in_mebibytes(size))
    _ask_about(server, path, "add-disk", How(output, wait, timeout, dry_run, key), spec, reason, queue)


@app.command(
    "attach-disk",
    short_help="Attach a disk to a machine.",
    epilog="Example: stead machine attach-disk acme/space/web --disk data",
)
def attach_disk(
    path: MachinePath,
    disk: Disk,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Attach a disk to a machine, whether the machine runs or not; the same as `stead disk attach`."""
    spec = {"disk": placed(disk, above(path))}
    _ask_about(server, path, "attach-disk", How(output, wait, timeout, dry_run, key), spec, reason, queue)


@app.command(
    "detach-disk",
    short_help="Detach a disk from a machine.",
    epilog="Example: stead machine detach-disk acme/space/web --disk data",
)
def detach_disk(
    path: MachinePath,
    disk: Disk,
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Detach a disk from a machine; the same as `stead disk detach`."""
    spec = {"disk": placed(disk, above(path))}
    _ask_about(server, path, "detach-disk", How(output, wait, timeout, dry_run, key), spec, reason, queue)


def _ask_about(
    server: str, path: str, action: str, how: How, spec: Mapping[str, Any], reason: str, queue: bool
) -> None:
    change(server, path, action, how, kind=KIND, spec=dict(spec), reason=reason, on_conflict=on_conflict(queue))


for _action, _says in (
    ("pause", "Freeze a machine in memory."),
    ("resume", "Wake a paused machine."),
    ("stop", "Shut a machine down."),
    ("start", "Start a machine that is shut down."),
    ("reboot", "Restart a machine."),
    ("reset", "Switch a machine off and on."),
    ("delete", "Stop a machine and move it to the recycle bin, with its disks."),
    ("restore", "Take a machine out of the recycle bin, shut down, with its disks."),
):
    add_verb(app, KIND, MachinePath, _action, _says, "acme/space/web")


add_observing(app, KIND, MachinePath, "acme/space/web")
add_list(app, KIND, MACHINES, "Machines", "stead machine list acme/space --watch")
add_show(
    app,
    KIND,
    MachinePath,
    "A machine, as it is or as it was.",
    "A machine: its state, what is going on, its spec, and what the datacenter said of it.",
    "stead machine show acme/space/web -o yaml",
)
