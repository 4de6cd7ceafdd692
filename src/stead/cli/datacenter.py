"""What the commands of the private cloud share: lanes of datacenters, names within a folder, and sizes."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from stead.cli.paths import any_path
from stead.cli.server_commands import reach

PROVIDER = "libvirt"
"""Of the lanes of datacenters."""

_SIZE = re.compile(r"([1-9]\d*)([MG]?)")
_MIB = {"": 1, "M": 1, "G": 1024}

Datacenter = Annotated[
    str, typer.Option("--datacenter", metavar="NAME", help="Name of the datacenter; default that of its cloudspace.")
]


def mebibytes(value: str | None) -> str | None:
    """A size, unchanged; ends the command where it is not one."""
    if value is not None and _SIZE.fullmatch(value) is None:
        raise typer.BadParameter(f"{value!r} is not a size, such as 512M or 2G")
    return value


def size(metavar: str, description: str) -> Any:
    """An option that takes a size."""
    return typer.Option(metavar=metavar, callback=mebibytes, help=description)


def in_mebibytes(value: str | None) -> int | None:
    """A size as specs have it."""
    found = _SIZE.fullmatch(value) if value is not None else None
    return int(found[1]) * _MIB[found[2]] if found is not None else None


def in_words(mib: Any) -> str:
    """A size as people write it."""
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
    """The path of the parent."""
    return path.rpartition("/")[0]


def lane_at(server: str, path: str, datacenter: str) -> str:
    """The lane of a new resource in a cloudspace: that of the named datacenter, or else of the cloudspace."""
    if datacenter:
        return lane_of(datacenter)
    with reach(server) as client:
        return client.resource(above(path)).lane


def placed(name: str | None, folder: str) -> str | None:
    """The path that a name stands for: a bare name is in the folder."""
    if not name:
        return name
    return any_path(name if "/" in name else f"{folder}/{name}")


def last(path: Any) -> str:
    """The name at the end of a path."""
    return str(path or "").rpartition("/")[2]
