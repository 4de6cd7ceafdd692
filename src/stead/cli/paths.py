"""Paths on the command line: how they are said, checked and completed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

from stead.client import DEFAULT_SERVER, SteadError, SyncClient

_PATH = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


def any_path(value: str) -> str:
    """A path, given with or without the slash before it."""
    path = f"/{value.removeprefix('/')}"
    if not _PATH.fullmatch(path):
        raise typer.BadParameter(f"{value!r} is not a path: names between slashes, such as shop/web/front/1")
    return path


def any_path_or_root(value: str) -> str:
    """A path, or the root."""
    return "/" if value in ("", "/") else any_path(value)


def complete_paths(kind: str | None) -> Callable[[typer.Context, str], list[str]]:
    """Completes paths of a kind by asking the server; says nothing where it does not answer."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        upper = incomplete.removeprefix("/").rpartition("/")[0]
        address = ctx.params.get("server") or DEFAULT_SERVER
        try:
            with SyncClient(address, timeout=2.0, retries=0) as client:
                page = client.resource_page(kind=kind, below=f"/{upper}", limit=200)
        except SteadError:
            return []
        slash = "/" if incomplete.startswith("/") else ""
        names = [slash + item.path.removeprefix("/") for item in page.items]
        return [name for name in names if name.startswith(incomplete)]

    return complete


def path_of(says: str, parts: str, second: str = "") -> Callable[[str], str]:
    """Checks that a path has names for `parts`, between slashes; with `second`, that it lies in that folder."""

    def checked(value: str) -> str:
        path = any_path(value)
        names = path.split("/")[1:]
        if len(names) != len(parts.split("/")) or (second and names[1] != second):
            raise typer.BadParameter(f"{value!r} is not {says}: say it as {parts}")
        return path

    return checked


def argument(kind: str, says: str, parts: str, second: str = "") -> Any:
    """The argument that names a resource of a kind."""
    return typer.Argument(
        metavar=parts.upper().replace("NAMESPACE", "NS").replace("INFRASTRUCTURE", "MCI"),
        help=f"{says[0].upper()}{says[1:]}.",
        callback=path_of(says, parts, second),
        autocompletion=complete_paths(kind),
        show_default=False,
    )


AnyPath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Path of a resource.",
        callback=any_path,
        autocompletion=complete_paths(None),
        show_default=False,
    ),
]
Below = Annotated[
    str, typer.Option("--below", metavar="PATH", callback=any_path_or_root, help="Path to list below; default all.")
]
Under = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Path to list, and below it; default all.",
        callback=any_path_or_root,
        autocompletion=complete_paths(None),
        show_default=False,
    ),
]
MciPath = Annotated[str, argument("mci", "an infrastructure", "namespace/infrastructure")]
SubgroupPath = Annotated[str, argument("subgroup", "a subgroup", "namespace/infrastructure/subgroup")]
VM = ("a VM", "namespace/infrastructure/subgroup/name")
VmPath = Annotated[str, argument("vm", *VM)]
vm_path = path_of(*VM)
CloudletPath = Annotated[str, argument("cloudlet", "a site", "namespace/site")]
ClusterPath = Annotated[str, argument("clusterinst", "a cluster", "namespace/site/cluster")]
AppPath = Annotated[str, argument("appinst", "an app", "namespace/site/cluster/app")]
AccountPath = Annotated[str, argument("account", "an account", "account")]
CloudspacePath = Annotated[str, argument("cloudspace", "a cloudspace", "account/cloudspace")]
MachinePath = Annotated[str, argument("machine", "a machine", "account/cloudspace/machine")]
DiskPath = Annotated[str, argument("disk", "a disk", "account/cloudspace/disk")]
ImagePath = Annotated[str, argument("image", "an image", "datacenter/image")]
NodePath = Annotated[str, argument("node", "a node", "datacenter/node")]
SystemPath = Annotated[str, argument("system", "a system", "namespace/system")]
LeasePath = Annotated[str, argument("lease", "a lease", "namespace/name")]
