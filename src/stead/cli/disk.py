"""`stead disk`: disks of the private cloud, attached to a machine or to none."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, LANE, OBSERVED, OPERATION, PATH, STATE
from stead.cli.datacenter import Datacenter, above, in_mebibytes, in_words, lane_at, placed, size
from stead.cli.list_show import find
from stead.cli.listing import Columns
from stead.cli.noun import Noun
from stead.cli.paths import DiskPath
from stead.cli.server_commands import reach
from stead.cli.spec_options import File, Settings, Spec, spec_of
from stead.client import Resource


def _machine(one: Resource) -> str:
    """The machine it is attached to, as observed; else the one it is to be attached to."""
    return str((one.facts if "machine" in one.facts else one.spec).get("machine") or "")


DISKS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("MACHINE", _machine), ("SIZE", lambda one: in_words(one.spec.get("size"))), OPERATION),
    wide=(LANE, CHANGED, OBSERVED, CREATED),
    right=("SIZE",),
)
DISK = Noun(
    "disk",
    DiskPath,
    "a disk",
    "disks",
    "acme/space/data",
    columns=DISKS,
    show="its state, its operation, its spec, and the facts that the datacenter reported",
    verbs={
        "detach": "Detach a disk from its machine.",
        "delete": "Move a detached disk to the recycle bin.",
        "delete-with-machine": "Move a disk to the recycle bin as if its machine were deleted.",
        "restore": "Restore a disk from the recycle bin.",
        "restore-with-machine": "Restore a disk that was deleted with its machine.",
        "restore-after-machine": "Restore a disk whose machine was destroyed meanwhile.",
        "destroy": "Remove a disk for good.",
    },
)
app = DISK.app

Machine = Annotated[
    str | None, typer.Option("--machine", metavar="NAME", help="Machine in its cloudspace, or the path of a machine.")
]
Size = Annotated[str | None, size("SIZE", "Capacity, such as 512M or 20G; default 1G.")]


def _spec(path: str, machine: str | None, size: str | None, file: str | None, settings: list[str] | None) -> Spec:
    return spec_of(file, settings, size=in_mebibytes(size), machine=placed(machine, above(path)))


@DISK.change("acme/space/data --size 20G", extra=("queue", "expect_agent"))
def create(
    options: ChangeOptions,
    path: DiskPath,
    machine: Machine = None,
    size: Size = None,
    datacenter: Datacenter = "",
    file: File = None,
    settings: Settings = None,
) -> None:
    """Create a disk that is attached to no machine.

    A machine that is named is the one that `attach` attaches it to.
    """
    spec = _spec(path, machine, size, file, settings)
    change(options, path, "create", spec=spec, lane=lane_at(options.server, path, datacenter))


@DISK.change("acme/space/data --machine web --size 20G", extra=("queue", "expect_agent"))
def assign(
    options: ChangeOptions,
    path: DiskPath,
    machine: Machine = None,
    size: Size = None,
    datacenter: Datacenter = "",
    file: File = None,
    settings: Settings = None,
) -> None:
    """Create a disk and attach it to a machine."""
    spec = _spec(path, machine, size, file, settings)
    if not spec.get("machine"):
        raise typer.BadParameter("name the machine to attach the disk to", param_hint="--machine, --file")
    change(options, path, "assign", spec=spec, lane=lane_at(options.server, path, datacenter))


@DISK.change("acme/space/data --machine web", extra=("queue",))
def attach(options: ChangeOptions, path: DiskPath, machine: Machine = None) -> None:
    """Attach a disk to a machine, running or not.

    Without --machine: to the one that it was created for.
    """
    with reach(options.server) as client:
        found = find(client, DISK.kind, path)
    target: Any = placed(machine, above(path)) or found.spec.get("machine")
    if not target:
        raise typer.BadParameter("name the machine to attach the disk to", param_hint="--machine")
    change(options, path, "attach", spec={"machine": target})
