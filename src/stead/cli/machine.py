"""`stead machine`: machines on the nodes of the private cloud."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, OBSERVED, OPERATION, PATH, STATE
from stead.cli.datacenter import Datacenter, above, datacenter_of, in_mebibytes, in_words, lane_at, last, placed, size
from stead.cli.list_show import find
from stead.cli.listing import Columns
from stead.cli.noun import Noun
from stead.cli.paths import MachinePath
from stead.cli.server_commands import reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import Resource


def node_of(one: Resource) -> str:
    """The name of the node that it is on, as observed; else of the one that it is to be on."""
    return last(one.facts.get("node") or one.spec.get("node"))


MACHINES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("NODE", node_of), ("IMAGE", lambda one: last(one.spec.get("image"))), OPERATION),
    wide=(
        ("CPUS", lambda one: str(one.spec.get("cpu", ""))),
        ("MEMORY", lambda one: in_words(one.spec.get("memory"))),
        ("MIGRATES TO", lambda one: last((one.next_spec or {}).get("node"))),
        ("DATACENTER", lambda one: datacenter_of(one.lane)),
        CHANGED,
        OBSERVED,
        CREATED,
    ),
    right=("CPUS", "MEMORY"),
)
MACHINE = Noun(
    "machine",
    MachinePath,
    "a machine",
    "machines",
    "acme/space/web",
    columns=MACHINES,
    show="its state, its operation, its spec, and the facts that the datacenter reported",
    verbs={
        "pause": "Freeze a machine in memory.",
        "resume": "Resume a paused machine.",
        "stop": "Shut down a machine.",
        "start": "Start a stopped machine.",
        "reboot": "Restart a machine.",
        "reset": "Power-cycle a machine.",
        "delete": "Stop a machine and move it to the recycle bin, with its disks.",
        "restore": "Restore a machine from the recycle bin, stopped, with its disks.",
    },
)
app = MACHINE.app


@MACHINE.change("acme/space/web --image debian --cpus 2 --memory 4G", extra=("queue", "expect_agent"))
def deploy(
    options: ChangeOptions,
    path: MachinePath,
    image: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Image in its datacenter, or the path of an image; copied to its first disk."
        ),
    ] = None,
    cpus: Annotated[int | None, typer.Option(min=1, help="Number of processors; default 1.")] = None,
    memory: Annotated[str | None, size("SIZE", "Memory, such as 512M or 4G; default 512M.")] = None,
    disk: Annotated[str | None, size("SIZE", "Capacity of its first disk; default the size of the image.")] = None,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Node in its datacenter, or the path of a node; default the emptiest."),
    ] = None,
    datacenter: Datacenter = "",
    file: File = None,
    settings: Settings = None,
) -> None:
    """Create a machine in a cloudspace, place it on a node and start it."""
    lane = lane_at(options.server, path, datacenter)
    folder = f"/{datacenter_of(lane)}"
    spec = spec_of(
        file,
        settings,
        image=placed(image, folder),
        cpu=cpus,
        memory=in_mebibytes(memory),
        disk=in_mebibytes(disk),
        node=placed(node, folder),
    )
    change(options, path, "deploy", spec=spec, lane=lane)


@MACHINE.change("acme/space/web --to n2")
def migrate(
    options: ChangeOptions,
    path: MachinePath,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="NAME", help="Target node; default the one with the fewest machines."),
    ] = None,
) -> None:
    """Migrate a machine to another node of its datacenter (admins only).

    The machine keeps its state meanwhile.
    """
    with reach(options.server) as client:
        found = find(client, MACHINE.kind, path)
    node = placed(to, f"/{datacenter_of(found.lane)}")
    change(options, path, "migrate", spec={"node": node} if node else {})


@MACHINE.change("acme/space/web --keep-disks", extra=("queue",))
def destroy(
    options: ChangeOptions,
    path: MachinePath,
    keep_disks: Annotated[
        bool, typer.Option("--keep-disks", help="Detach its disks, instead of leaving them in the recycle bin.")
    ] = False,
) -> None:
    """Stop a machine and remove it for good."""
    change(options, path, "destroy", spec={"disks": "keep"} if keep_disks else {})


Disk = Annotated[str, typer.Option("--disk", metavar="NAME", help="Name of the disk in the cloudspace, or its path.")]


@MACHINE.change("acme/space/web --disk data2 --size 20G", extra=("queue",))
def add_disk(
    options: ChangeOptions,
    path: MachinePath,
    disk: Disk,
    size: Annotated[str | None, size("SIZE", "Capacity, such as 512M or 20G; default 1G.")] = None,
) -> None:
    """Create a disk and attach it to a machine, running or not."""
    change(
        options, path, "add-disk", spec=spec_of(None, None, disk=placed(disk, above(path)), size=in_mebibytes(size))
    )


@MACHINE.change("acme/space/web --disk data", extra=("queue",))
def attach_disk(options: ChangeOptions, path: MachinePath, disk: Disk) -> None:
    """Attach a disk to a machine, as `stead disk attach` does."""
    change(options, path, "attach-disk", spec={"disk": placed(disk, above(path))})


@MACHINE.change("acme/space/web --disk data", extra=("queue",))
def detach_disk(options: ChangeOptions, path: MachinePath, disk: Disk) -> None:
    """Detach a disk from a machine, as `stead disk detach` does."""
    change(options, path, "detach-disk", spec={"disk": placed(disk, above(path))})
