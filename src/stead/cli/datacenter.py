"""What the commands of the private cloud share: where things are, what is near them, and how large they are."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from stead.cli.paths import any_path
from stead.cli.progress import How, change, on_conflict
from stead.cli.server_commands import reach
from stead.cli.spec_options import Spec

PROVIDER = "libvirt"
"""Of the lanes of datacenters."""

_SIZE = re.compile(r"([1-9]\d*)([MG]?)")
_MIB = {"": 1, "M": 1, "G": 1024}

Datacenter = Annotated[
    str, typer.Option("--datacenter", metavar="NAME", help="Where. Without it: where its cloudspace is.")
]


def mebibytes(value: str | None) -> str | None:
    """The same size, once it is known to be one."""
    if value is not None and _SIZE.fullmatch(value) is None:
        raise typer.BadParameter(f"{value!r} is no size: say it as 512M or 2G")
    return value


def size(metavar: str, says: str) -> Any:
    """An option that takes a size."""
    return typer.Option(metavar=metavar, callback=mebibytes, help=says)


def in_mebibytes(value: str | None) -> int | None:
    """A size as specs have it."""
    found = _SIZE.fullmatch(value) if value is not None else None
    return int(found[1]) * _MIB[found[2]] if found is not None else None


def in_words(mib: Any) -> str:
    """A size as people say it."""
    if not isinstance(mib, int):
        return str(mib or "")
    return f"{mib // 1024}G" if mib % 1024 == 0 else f"{mib}M"


def lane_of(datacenter: str) -> str:
    """The lane of a datacenter."""
    return f"{PROVIDER}.{datacenter}"


def datacenter_of(lane: str) -> str:
    """The datacenter that a lane leads to."""
    return lane.partition(".")[2]


def above(path: str) -> str:
    """What something is in."""
    return path.rpartition("/")[0]


def lane_at(server: str, path: str, datacenter: str) -> str:
    """The lane of what is made in a cloudspace: of the datacenter that was named, or else that of the cloudspace."""
    if datacenter:
        return lane_of(datacenter)
    with reach(server) as client:
        return client.resource(above(path)).lane


def placed(name: str | None, folder: str) -> str | None:
    """The path of something that was named: a bare name lies in the folder."""
    if not name:
        return name
    return any_path(name if "/" in name else f"{folder}/{name}")


def last(path: Any) -> str:
    """The name at the end of a path."""
    return str(path or "").rpartition("/")[2]


def make(
    server: str,
    path: str,
    kind: str,
    action: str,
    how: How,
    spec: Spec,
    *,
    lane: str = "",
    reason: str = "",
    queue: bool = False,
) -> None:
    """Ask for something new, and see it through."""
    change(server, path, action, how, kind=kind, spec=spec, lane=lane, reason=reason, on_conflict=on_conflict(queue))
