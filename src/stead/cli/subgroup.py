"""`stead subgroup`: VMs of an infrastructure that share one spec."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, PATH
from stead.cli.list_show import find
from stead.cli.listing import Columns, counts
from stead.cli.noun import Noun
from stead.cli.output import note
from stead.cli.paths import SubgroupPath
from stead.cli.server_commands import reach
from stead.cli.spec_options import read_spec
from stead.client import Resource

SUBGROUPS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        ("PROVIDER", lambda group: str(group.spec.get("provider", ""))),
        ("REGION", lambda group: str(group.spec.get("region", ""))),
        ("SPEC", lambda group: str(group.spec.get("spec", ""))),
        ("IMAGE", lambda group: str(group.spec.get("image", ""))),
        ("VMS", lambda group: counts(group.members or {})),
    ),
    wide=(
        ("NETWORK", lambda group: str(group.spec.get("network", ""))),
        ("SECURITY GROUP", lambda group: str(group.spec.get("securityGroup", ""))),
        ("KEY", lambda group: str(group.spec.get("sshKey", ""))),
        CHANGED,
    ),
)
SUBGROUP = Noun(
    "subgroup",
    SubgroupPath,
    "a subgroup",
    "subgroups",
    "shop/web/front",
    columns=SUBGROUPS,
    show="its operation, its spec, and how many VMs are in which state",
)
app = SUBGROUP.app


@SUBGROUP.change("shop/web/cache -f cache.yaml", extra=("expect_agent",))
def add(
    options: ChangeOptions,
    path: SubgroupPath,
    file: Annotated[
        str,
        typer.Option("--file", "-f", help="An entry of `subgroups`, in YAML or JSON; - is stdin.", metavar="FILE"),
    ],
) -> None:
    """Add a subgroup to an infrastructure.

    Shared resources of its VMs are created first, or found. Where that fails, nothing of the subgroup remains.
    """
    change(options, path, "add", spec=read_spec(file))


@SUBGROUP.change("shop/web/front --to 5")
def scale(
    options: ChangeOptions,
    path: SubgroupPath,
    to: Annotated[int | None, typer.Option(min=0, help="Number of VMs after the change.")] = None,
    by: Annotated[int | None, typer.Option(help="Number of VMs to add; to remove, if negative.")] = None,
) -> None:
    """Add VMs to a subgroup, or remove those with the highest numbers."""
    if (to is None) == (by is None):
        raise typer.BadParameter("exactly one of the two is needed", param_hint="--to, --by")
    with reach(options.server) as client:
        found = find(client, SUBGROUP.kind, path)
    have = sum((found.members or {}).values())
    wanted = to if to is not None else have + (by or 0)
    if wanted == have:
        note(f"{path} has {have} VMs")
        return
    change(options, path, "scale-out" if wanted > have else "scale-in", spec={"size": wanted})
