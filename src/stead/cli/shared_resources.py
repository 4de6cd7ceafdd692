"""`stead network`, `stead securitygroup` and `stead sshkey`: resources that the VMs of a region share."""

from typing import Annotated, Any

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, LANE, OBSERVED, PATH, STATE
from stead.cli.command import command
from stead.cli.listing import Columns, write
from stead.cli.noun import Noun
from stead.cli.output import Code, ListFormat, fail
from stead.cli.paths import Under, argument
from stead.cli.server_commands import Output, Server, reach
from stead.cli.spec_options import Settings, merged, set_fields
from stead.client import DEFAULT_SERVER, Resource

SHARED: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        LANE,
        ("ID", lambda one: str(one.facts.get("id", ""))),
        ("CREATED FOR", lambda one: str(one.spec.get("madeFor", ""))),
    ),
    wide=(CHANGED, OBSERVED),
)

KINDS = {
    "network": ("network", "cidr=10.1.0.0/16"),
    "securitygroup": ("security group", """'rules=[{"ports": "443"}]'"""),
    "sshkey": ("SSH key", 'publicKey="$(cat ~/.ssh/id_ed25519.pub)"'),
}


def commands(kind: str) -> typer.Typer:
    """The commands of one kind of shared resource."""
    name, setting = KINDS[kind]
    article = "an" if name[0] == "S" else "a"
    path: Any = Annotated[str, argument(kind, f"a {kind}", f"namespace/{kind}s/provider.region.name", f"{kind}s")]
    example = f"shop/{kind}s/aws.us-east-1.main"
    noun = Noun(
        kind,
        path,
        f"{article} {name}",
        f"{name}s",
        example,
        show="its state, its operation, its spec, and the facts that the provider reported",
    )

    def list_(below: Under = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
        with reach(server) as client:
            write(client.resources(kind=kind, below=below, specs=True), SHARED, output)

    list_.__doc__ = (
        f"List {name}s by path.\n\nMADE FOR names the infrastructure that needed it first: it is deleted with its "
        "last user."
    )
    command(noun.app, f"stead {kind} list shop")(list_)

    def create(options: ChangeOptions, path: str, settings: Settings = None) -> None:
        change(options, path, "create", spec=_spec(path, settings))

    def delete(options: ChangeOptions, path: str) -> None:
        change(options, path, "delete")

    create.__doc__ = f"Create {article} {name} that stays until it is deleted."
    delete.__doc__ = f"Delete {article} {name} without users."
    create.__annotations__["path"] = delete.__annotations__["path"] = noun.path
    noun.change(f"{example} --set {setting}", extra=("expect_agent",))(create)
    noun.change(example)(delete)
    return noun.app


def _spec(path: str, settings: list[str] | None) -> dict[str, Any]:
    """The spec of a shared resource: its place, which its name has, and the fields that were set."""
    name = path.rpartition("/")[2]
    provider, _, rest = name.partition(".")
    region = rest.partition(".")[0]
    if not region or not rest.partition(".")[2]:
        fail(f"{path}: the name {name} has no region; name it PROVIDER.REGION.NAME", Code.USAGE)
    return merged({"provider": provider, "region": region, "name": name}, set_fields(settings))


network, securitygroup, sshkey = (commands(kind) for kind in KINDS)
