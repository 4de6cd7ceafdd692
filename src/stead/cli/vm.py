"""`stead vm`: make virtual machines, look at them, change them."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OPERATION, PATH, PHASE, SEEN, STATE
from stead.cli.list_show import add_list, add_show
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import Under, VmPath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Queueing,
    Wait,
    Why,
    change,
    on_conflict,
)
from stead.cli.server_commands import Output, Server, Timeout
from stead.cli.spec_options import Settings, merged, read_spec, set_fields
from stead.cli.truth import compare
from stead.client import DEFAULT_SERVER, Resource

KIND = "vm"

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Make virtual machines, look at them, change them."
)

VMS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION, LANE),
    wide=(
        PHASE,
        BY,
        CHANGED,
        SEEN,
        CREATED,
        ("TAG", lambda vm: vm.etag),
    ),
    name=lambda vm: vm.path,
)


@app.command(short_help="Make a VM.", epilog="Example: stead vm create shop/web/front/1 --provider sim --region a")
def create(
    path: VmPath,
    provider: Annotated[str | None, typer.Option(help="Where; part of the spec.", metavar="NAME")] = None,
    region: Annotated[str | None, typer.Option(help="Where there; part of the spec.", metavar="NAME")] = None,
    spec: Annotated[
        str | None, typer.Option(help="The rest of the spec, in YAML or JSON; - is stdin.", metavar="FILE")
    ] = None,
    settings: Settings = None,
    lane: Annotated[str, typer.Option(help="Without it: provider.region.", metavar="NAME")] = "",
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make a VM, and follow it until it runs."""
    place = {name: value for name, value in (("provider", provider), ("region", region)) if value is not None}
    whole = merged(read_spec(spec) if spec is not None else {}, set_fields(settings) | place)
    how = How(output, wait, timeout, dry_run, key, expect_agent)
    conflict = on_conflict(queue)
    change(server, path, "create", how, kind=KIND, spec=whole, lane=lane, reason=reason, on_conflict=conflict)


for _action, _says in (
    ("suspend", "Stop a VM and keep it."),
    ("resume", "Start a stopped VM."),
    ("reboot", "Restart a VM."),
    ("terminate", "Remove a VM for good."),
):
    add_verb(app, KIND, VmPath, _action, _says, "shop/web/front/1 --timeout 10m")


add_observing(app, KIND, VmPath, "shop/web/front/1")


add_list(app, KIND, VMS, "VMs", "stead vm list shop/web -o wide")
add_show(
    app,
    KIND,
    VmPath,
    "A VM, as it is or as it was.",
    "A VM: its state, what is going on, its spec, and what the provider said of it.",
    "stead vm show shop/web/front/1 -o yaml",
)


@app.command(short_help="Belief beside what is there.", epilog="Example: stead vm diff shop/web --all")
def diff(
    below: Under = "/",
    all_: Annotated[bool, typer.Option("--all", help="Also those that do not differ.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """What is believed of VMs beside what their providers show now. Nothing is changed.

    AGREES is yes, no, or why nobody can say: moving, no-agent, no-provider, unasked, or unsaid where the state says
    nothing of the provider.

    Exit code 0: nothing differs. 1: something does.
    """
    compare(server, below, output, everything=all_)
