"""`stead vm`: make virtual machines, look at them, change them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from stead.cli.following import DryRun, Force, How, Key, Queueing, Wait, Why, change, on_conflict
from stead.cli.listing import Columns, printable, write, write_one
from stead.cli.output import Code, ListFormat, data, fail, line, note, table
from stead.cli.remote import (
    Output,
    Server,
    Timeout,
    VmPath,
    Watch,
    any_path_or_root,
    clock,
    complete_paths,
    plain,
    reach,
)
from stead.client import DEFAULT_SERVER, NotFound, Past, Resource, Truth

KIND = "vm"

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Make virtual machines, look at them, change them."
)

VMS: Columns[Resource] = Columns(
    narrow=(
        ("PATH", lambda vm: vm.path),
        ("STATE", lambda vm: vm.state),
        ("CLASS", lambda vm: vm.state_class),
        ("OPERATION", lambda vm: f"{vm.operation.action} to {vm.operation.aims_at}" if vm.operation else ""),
        ("LANE", lambda vm: vm.lane),
    ),
    wide=(
        ("PHASE", lambda vm: vm.operation.phase if vm.operation else ""),
        ("BY", lambda vm: vm.operation.by if vm.operation else ""),
        ("CHANGED", lambda vm: clock(vm.changed_at)),
        ("SEEN", lambda vm: clock(vm.seen_at)),
        ("CREATED", lambda vm: clock(vm.created_at)),
        ("TAG", lambda vm: vm.tag),
    ),
    name=lambda vm: vm.path,
)

TRUTHS: Columns[Truth] = Columns(
    narrow=(
        ("PATH", lambda vm: vm.path),
        ("BELIEVED", lambda vm: vm.believed),
        ("SEEN", lambda vm: vm.seen or ""),
        ("AGREES", lambda vm: vm.why or ("yes" if vm.agrees else "no")),
        ("LANE", lambda vm: vm.lane),
    ),
    wide=(
        ("EXPECTED", lambda vm: vm.expects),
        ("CONFIRMED", lambda vm: clock(vm.seen_at)),
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
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="One field of the spec. May be repeated.", metavar="NAME=VALUE")
    ] = None,
    lane: Annotated[str, typer.Option(help="Without it: provider.region.", metavar="NAME")] = "",
    reason: Why = "",
    queue: Queueing = False,
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Make a VM, and follow it until it runs."""
    whole = _spec(spec, settings or [], provider=provider, region=region)
    how = How(output, wait, timeout, dry_run, key)
    conflict = on_conflict(queue)
    change(server, path, "create", how, kind=KIND, spec=whole, lane=lane, reason=reason, on_conflict=conflict)


def _verb(action: str, says: str) -> Callable[..., None]:
    """The command of an action that needs nothing but the VM."""

    def command(
        path: VmPath,
        force: Force = False,
        reason: Why = "",
        queue: Queueing = False,
        wait: Wait = True,
        timeout: Timeout = None,
        dry_run: DryRun = False,
        key: Key = None,
        output: Output = ListFormat.TABLE,
        server: Server = DEFAULT_SERVER,
    ) -> None:
        how = How(output, wait, timeout, dry_run, key)
        change(server, path, action, how, kind=KIND, force=force, reason=reason, on_conflict=on_conflict(queue))

    command.__doc__ = says
    return command


for _action, _says in (
    ("suspend", "Stop a VM and keep it."),
    ("resume", "Start a stopped VM."),
    ("reboot", "Restart a VM."),
    ("terminate", "Remove a VM for good."),
):
    _example = f"Example: stead vm {_action} shop/web/front/1 --timeout 10m"
    app.command(_action, short_help=_says, epilog=_example)(_verb(_action, _says))


@app.command("list", short_help="VMs.", epilog="Example: stead vm list shop/web -o wide")
def list_(
    below: Annotated[
        str, typer.Argument(metavar="PATH", callback=any_path_or_root, help="Only below this.", show_default=False)
    ] = "/",
    watch: Watch = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """VMs, in order of path."""
    with reach(server) as client:
        place = client.journal_page(limit=1).end  # before the list is read, so that no change falls in between
        widths = write(client.resources(kind=KIND, below=below), VMS, output, endless=watch)
        for event in client.events(after=place, path=below) if watch else ():
            if event.kind == KIND and not event.refused:
                try:
                    now = client.resource(event.path)
                except NotFound:
                    now = Resource(path=event.path, kind=KIND, state=event.target, state_class="absent", tag="")
                write_one(now, VMS, output, widths)


@app.command(short_help="A VM, as it is or as it was.", epilog="Example: stead vm show shop/web/front/1 -o yaml")
def show(
    path: VmPath,
    at: Annotated[
        datetime | None,
        typer.Option(
            help="As it was at this time (UTC).",
            formats=["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%fZ", "%Y-%m-%dT%H:%M:%S"],
        ),
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """A VM: its state, what is going on, its spec, and what the provider said of it."""
    with reach(server) as client:
        found = client.resource(path) if at is None else client.past(path, at.replace(tzinfo=UTC))
    if found.kind != KIND:
        fail(f"{path} is a {found.kind}", Code.NOT_FOUND)
    match output:
        case ListFormat.NAME:
            line(found.path)
        case ListFormat.JSON | ListFormat.YAML:
            data(plain(found), output)
        case _:
            table(("FIELD", "VALUE"), _fields(found))


@app.command(short_help="Belief beside what is there.", epilog="Example: stead vm diff shop/web --all")
def diff(
    below: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            callback=any_path_or_root,
            autocompletion=complete_paths(KIND),
            help="Only this, and below it.",
            show_default=False,
        ),
    ] = "/",
    all_: Annotated[bool, typer.Option("--all", help="Also those that do not differ.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """What is believed of VMs beside what their providers show now. Nothing is changed.

    AGREES is yes, no, or why nobody can say: moving, no-agent, no-provider, unasked, or unsaid where the state says
    nothing of the provider.

    Exit code 0: nothing differs. 1: something does.
    """
    with reach(server) as client:
        found = list(client.truth(kind=KIND, below=below))
    differ = [vm for vm in found if vm.agrees is False]
    write(found if all_ else differ, TRUTHS, output)
    note(_summary(found, len(differ)))
    raise typer.Exit(Code.FAILED if differ else Code.DONE)


def _summary(found: list[Truth], differ: int) -> str:
    """How many differ, and of how many nobody can say."""
    whys = Counter(vm.why for vm in found)
    unseen = whys["unasked"] + whys["no-agent"] + whys["no-provider"]
    parts = (
        (unseen, "could not be looked at"),
        (whys["moving"], "moving"),
        (whys["unsaid"], "in a state that says nothing"),
    )
    return ", ".join([f"{differ} of {len(found)} differ", *(f"{count} {says}" for count, says in parts if count)])


def _fields(found: Resource | Past) -> list[tuple[str, str]]:
    """Everything there is to say, a row each; what lies deeper as JSON."""
    rows = []
    for name, value in plain(found).items():
        if value not in (None, {}, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            rows.append((name, printable(text)))
    return rows


def _spec(file: str | None, settings: list[str], **given: str | None) -> dict[str, Any]:
    """The spec from a file, single fields and the options that are fields of their own."""
    spec: Any = {}
    if file is not None:
        try:
            spec = yaml.safe_load(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")) or {}
        except OSError as error:
            fail(f"cannot read {file}: {error.strerror}", Code.USAGE)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            fail(f"{file} is neither YAML nor JSON: {error}", Code.USAGE)
        if not isinstance(spec, dict):
            fail(f"{file} is no spec: names with values are", Code.USAGE)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name and equals):
            fail(f"--set takes NAME=VALUE, not {setting!r}", Code.USAGE)
        spec[name] = yaml.safe_load(value)
    return {**spec, **{name: value for name, value in given.items() if value is not None}}
