"""`stead subgroup`: VMs of an infrastructure that are alike; more of them, or fewer."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing
from stead.cli.columns import CHANGED, PATH
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns, counts
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import SubgroupPath
from stead.cli.progress import DryRun, ExpectAgent, How, Key, Wait, Why, change
from stead.cli.server_commands import Output, Server, Timeout, reach
from stead.cli.spec_options import read_spec
from stead.client import DEFAULT_SERVER, Resource

KIND = "subgroup"

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="VMs of an infrastructure that are alike.")


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
    name=lambda group: group.path,
)


add_observing(app, KIND, SubgroupPath, "shop/web/front")
add_list(app, KIND, SUBGROUPS, "Subgroups", "stead subgroup list shop/web")
add_show(
    app,
    KIND,
    SubgroupPath,
    "A subgroup, as it is or as it was.",
    "A subgroup: what is going on, its spec, and how many VMs are in which state.",
    "stead subgroup show shop/web/front -o yaml",
)


@app.command(short_help="Add a subgroup.", epilog="Example: stead subgroup add shop/web/cache -f cache.yaml")
def add(
    path: SubgroupPath,
    file: Annotated[
        str,
        typer.Option("--file", "-f", help="An entry of `subgroups`, in YAML or JSON; - is stdin.", metavar="FILE"),
    ],
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Add a subgroup to an infrastructure, and follow it until its VMs run.

    What its VMs share is made first, or found. Where that is not possible, nothing of the subgroup is left.
    """
    how = How(output, wait, timeout, dry_run, key, expect_agent)
    change(server, path, "add", how, kind=KIND, spec=read_spec(file), reason=reason)


@app.command(short_help="More VMs, or fewer.", epilog="Example: stead subgroup scale shop/web/front --to 5")
def scale(
    path: SubgroupPath,
    to: Annotated[int | None, typer.Option(min=0, help="How many VMs it is to have.")] = None,
    by: Annotated[int | None, typer.Option(help="How many more; fewer, if negative.")] = None,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make more VMs like those there are, or remove those with the highest numbers."""
    if (to is None) == (by is None):
        raise typer.BadParameter("say how many it is to have, or how many more", param_hint="--to, --by")
    with reach(server) as client:
        found = client.resource(path)
    if found.kind != KIND:
        fail(f"{path} is a {found.kind}", Code.NOT_FOUND)
    have = sum((found.members or {}).values())
    wanted = to if to is not None else have + (by or 0)
    if wanted == have:
        typer.echo(f"{path} has {have} VMs", err=True)
        return
    action = "scale-out" if wanted > have else "scale-in"
    how = How(output, wait, timeout, dry_run, key)
    change(server, path, action, how, kind=KIND, spec={"size": wanted}, reason=reason)
