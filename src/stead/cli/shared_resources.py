"""`stead network`, `stead securitygroup` and `stead sshkey`: what the VMs of a region share."""

from typing import Annotated, Any

import typer

from stead.cli.action_commands import add_observing
from stead.cli.columns import CHANGED, LANE, PATH, SEEN, STATE
from stead.cli.list_show import add_show
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import Under, argument
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Wait,
    Why,
    change,
)
from stead.cli.server_commands import Output, Server, Timeout, reach
from stead.cli.spec_options import Settings, merged, set_fields
from stead.client import DEFAULT_SERVER, Resource

SHARED: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        LANE,
        ("ID", lambda thing: str(thing.facts.get("id", ""))),
        ("MADE FOR", lambda thing: str(thing.spec.get("madeFor", ""))),
    ),
    wide=(CHANGED, SEEN),
    name=lambda thing: thing.path,
)

KINDS = {
    "network": ("Networks of VMs.", "cidr=10.1.0.0/16"),
    "securitygroup": ("What traffic is let through to VMs.", """'rules=[{"ports": "443"}]'"""),
    "sshkey": ("Public keys that VMs let in.", 'publicKey="$(cat ~/.ssh/id_ed25519.pub)"'),
}


def commands(kind: str) -> typer.Typer:
    """The commands of one kind of shared thing."""
    says, example = KINDS[kind]
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help=says)
    path_of = argument(kind, f"a {kind}", f"namespace/{kind}s/provider.region.name", f"{kind}s")

    @app.command("list", short_help=says, epilog=f"Example: stead {kind} list shop")
    def list_(
        below: Under = "/",
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        """In order of path. MADE FOR names the infrastructure that needed it first: it goes with its last user."""
        with reach(server) as client:
            write(client.resources(kind=kind, below=below, specs=True), SHARED, output)

    @app.command(
        short_help="Make one that stays.",
        epilog=f"Example: stead {kind} create shop/{kind}s/aws.us-east-1.main --set {example}",
    )
    def create(
        path: Annotated[str, path_of],
        settings: Settings = None,
        reason: Why = "",
        wait: Wait = True,
        timeout: Timeout = None,
        dry_run: DryRun = False,
        expect_agent: ExpectAgent = False,
        key: Key = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        """Make one by hand. It stays until somebody deletes it, whether it is used or not."""
        how = How(output, wait, timeout, dry_run, key, expect_agent)
        change(server, path, "create", how, kind=kind, spec=_spec(path, settings), reason=reason)

    @app.command(
        short_help="Delete one that nobody uses.",
        epilog=f"Example: stead {kind} delete shop/{kind}s/aws.us-east-1.main",
    )
    def delete(
        path: Annotated[str, path_of],
        reason: Why = "",
        wait: Wait = True,
        timeout: Timeout = None,
        dry_run: DryRun = False,
        key: Key = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        """Delete it. It is refused while somebody uses it, and says who."""
        change(server, path, "delete", How(output, wait, timeout, dry_run, key), kind=kind, reason=reason)

    example = f"stead {kind} show shop/{kind}s/aws.us-east-1.main -o yaml"
    says = "Its state, what is going on, its spec, and what the provider said of it."
    add_observing(app, kind, Annotated[str, path_of], example)
    add_show(app, kind, Annotated[str, path_of], "One of them, as it is or as it was.", says, example)
    return app


def _spec(path: str, settings: list[str] | None) -> dict[str, Any]:
    """What it is to be: its place, as its name has it, and what was set."""
    name = path.rpartition("/")[2]
    provider, _, rest = name.partition(".")
    region = rest.partition(".")[0]
    if not region or not rest.partition(".")[2]:
        fail(f"{name} says no place: name it provider.region.name", Code.USAGE)
    return merged({"provider": provider, "region": region, "name": name}, set_fields(settings))


network, securitygroup, sshkey = (commands(kind) for kind in KINDS)
