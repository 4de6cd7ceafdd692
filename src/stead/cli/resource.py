"""`stead resource`: resources of any kind, also of those that nobody wrote a command for."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OPERATION, PATH, PHASE, SEEN, STATE
from stead.cli.kinds import ActionName, KindName
from stead.cli.list_show import At, any_one, shown_list, whole
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import AnyPath, Under
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    Force,
    How,
    Key,
    OnFailure,
    Queueing,
    Remedy,
    Wait,
    Why,
    change,
    on_conflict,
)
from stead.cli.server_commands import Output, Server, Timeout, Watch, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Resources of any kind.")

RESOURCES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION),
    wide=(
        ("KIND", lambda one: one.kind),
        LANE,
        PHASE,
        BY,
        CHANGED,
        SEEN,
        CREATED,
    ),
    name=lambda one: one.path,
)

Lane = Annotated[str, typer.Option("--lane", metavar="LANE", help="The lane whose agent sees to it.")]


@app.command(
    short_help="Make a resource.",
    epilog="Example: stead resource create certificate shop/www --lane tls.lab --set days=90",
)
def create(
    kind: KindName,
    path: AnyPath,
    lane: Lane = "",
    file: File = None,
    settings: Settings = None,
    action: Annotated[
        str, typer.Option("--action", metavar="ACTION", help="How the kind calls it, if not create.")
    ] = "create",
    on_failure: OnFailure = Remedy.ROLLBACK,
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
    """Make a resource, and follow it until it is there."""
    wishes = {"on_failure": on_failure, "reason": reason, "on_conflict": on_conflict(queue)}
    how, spec = How(output, wait, timeout, dry_run, key, expect_agent), spec_of(file, settings)
    change(server, path, action, how, kind=kind, spec=spec, lane=lane, **wishes)


@app.command(
    short_help="Ask for an action.", epilog="Example: stead resource ask shop/www renew --reason 'it ends in May'"
)
def ask(
    path: AnyPath,
    action: ActionName,
    file: File = None,
    settings: Settings = None,
    on_failure: OnFailure = Remedy.ROLLBACK,
    force: Force = False,
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
    """Ask for an action of a resource's lifecycle, and follow it to its end. A spec is for actions that bring one."""
    wishes = {"on_failure": on_failure, "force": force, "reason": reason, "on_conflict": on_conflict(queue)}
    change(
        server,
        path,
        action,
        How(output, wait, timeout, dry_run, key, expect_agent),
        spec=spec_of(file, settings),
        **wishes,
    )


@app.command(short_help="Delete a resource.", epilog="Example: stead resource delete shop/www")
def delete(
    path: AnyPath,
    action: Annotated[
        str, typer.Option("--action", metavar="ACTION", help="How the kind calls it, if not delete.")
    ] = "delete",
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
    """Delete a resource, and follow it until it is gone."""
    how = How(output, wait, timeout, dry_run, key)
    change(server, path, action, how, force=force, reason=reason, on_conflict=on_conflict(queue))


@app.command("list", short_help="Resources of a kind.", epilog="Example: stead resource list certificate --watch")
def list_(
    kind: KindName,
    below: Under = "/",
    watch: Watch = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Resources of a kind, in order of path."""
    with reach(server) as client:
        shown_list(client, kind, below, RESOURCES, output, watch=watch)


@app.command(short_help="A resource, as it is or as it was.", epilog="Example: stead resource show shop/www -o yaml")
def show(path: AnyPath, at: At = None, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """A resource: its kind, its state, what is going on, its spec, and what the agent said of it."""
    with reach(server) as client:
        whole(any_one(client, path, at), output)
