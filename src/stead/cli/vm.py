"""`stead vm`: virtual machines at cloud providers."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OBSERVED, OPERATION, PATH, PHASE, STATE
from stead.cli.command import command
from stead.cli.drift import compare
from stead.cli.listing import Columns
from stead.cli.noun import Noun
from stead.cli.output import ListFormat
from stead.cli.paths import Under, VmPath
from stead.cli.server_commands import Output, Server
from stead.cli.spec_options import Settings, merged, read_spec, set_fields
from stead.client import DEFAULT_SERVER, Resource

VMS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION, LANE),
    wide=(PHASE, BY, CHANGED, OBSERVED, CREATED, ("ETAG", lambda vm: vm.etag)),
)
VM = Noun(
    "vm",
    VmPath,
    "a VM",
    "VMs",
    "shop/web/front/1",
    columns=VMS,
    show="its state, its operation, its spec, and the facts that the provider reported",
    verbs={
        "suspend": "Suspend a VM.",
        "resume": "Resume a suspended VM.",
        "reboot": "Restart a VM.",
        "terminate": "Remove a VM for good.",
    },
)
app = VM.app


@VM.change("shop/web/front/1 --provider sim --region a", extra=("queue", "expect_agent"))
def create(
    options: ChangeOptions,
    path: VmPath,
    provider: Annotated[str | None, typer.Option(help="Provider of the VM.", metavar="NAME")] = None,
    region: Annotated[str | None, typer.Option(help="Region of the provider.", metavar="NAME")] = None,
    spec: Annotated[
        str | None, typer.Option(help="Other fields of the spec, in YAML or JSON; - is stdin.", metavar="FILE")
    ] = None,
    settings: Settings = None,
    lane: Annotated[str, typer.Option(help="Lane of the VM; default PROVIDER.REGION.", metavar="NAME")] = "",
) -> None:
    """Create a VM."""
    place = {name: value for name, value in (("provider", provider), ("region", region)) if value is not None}
    whole = merged(read_spec(spec) if spec is not None else {}, set_fields(settings) | place)
    change(options, path, "create", spec=whole, lane=lane)


@command(app, "stead vm drift shop/web --all")
def drift(
    below: Under = "/",
    all_: Annotated[bool, typer.Option("--all", help="List VMs without drift, too.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Compare recorded states of VMs with what their providers show now.

    Nothing is changed. AGREES is yes or no, or why that is unknown: moving, no-agent, no-provider, unasked, or unsaid
    where the recorded state does not say what the provider has.

    Exit code 0: no drift. 1: drift.
    """
    compare(server, below, output, everything=all_)
