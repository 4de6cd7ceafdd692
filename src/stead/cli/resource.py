"""`stead resource`: resources of any kind, registered ones included."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change, change_command
from stead.cli.columns import BY, CHANGED, CLASS, CREATED, LANE, OBSERVED, OPERATION, PATH, PHASE, STATE
from stead.cli.command import command, group
from stead.cli.kinds import ActionName, KindName
from stead.cli.list_show import At, find_any, show_list, show_whole
from stead.cli.listing import Columns
from stead.cli.output import ListFormat
from stead.cli.paths import AnyPath, Under
from stead.cli.server_commands import Output, Server, Watch, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource

app = group()

RESOURCES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, CLASS, OPERATION),
    wide=(("KIND", lambda one: one.kind), LANE, PHASE, BY, CHANGED, OBSERVED, CREATED),
)


@change_command(
    app,
    "stead resource create certificate shop/www --lane tls.lab --set days=90",
    extra=("on_failure", "queue", "expect_agent"),
)
def create(
    options: ChangeOptions,
    kind: KindName,
    path: AnyPath,
    lane: Annotated[str, typer.Option("--lane", metavar="LANE", help="Lane whose agent serves the resource.")] = "",
    file: File = None,
    settings: Settings = None,
    action: Annotated[str, typer.Option("--action", metavar="ACTION", help="Action of the kind.")] = "create",
) -> None:
    """Create a resource of any kind."""
    change(options, path, action, spec=spec_of(file, settings), lane=lane)


@change_command(
    app,
    "stead resource request shop/www renew --reason 'it ends in May'",
    extra=("on_failure", "force", "queue", "expect_agent"),
)
def request(
    options: ChangeOptions, path: AnyPath, action: ActionName, file: File = None, settings: Settings = None
) -> None:
    """Request an action of a resource's lifecycle.

    A spec is for actions that carry one.
    """
    change(options, path, action, spec=spec_of(file, settings))


@change_command(app, "stead resource delete shop/www", extra=("force", "queue"))
def delete(
    options: ChangeOptions,
    path: AnyPath,
    action: Annotated[str, typer.Option("--action", metavar="ACTION", help="Action of the kind.")] = "delete",
) -> None:
    """Delete a resource of any kind."""
    change(options, path, action)


@command(app, "stead resource list certificate --watch")
def list_(
    kind: KindName,
    below: Under = "/",
    watch: Watch = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List resources of a kind by path."""
    with reach(server) as client:
        show_list(client, kind, below, RESOURCES, output, watch=watch)


@command(app, "stead resource show shop/www -o yaml")
def show(path: AnyPath, at: At = None, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show a resource of any kind, now or at a past time.

    It shows its kind, its state, its operation, its spec, and the facts that the agent reported.
    """
    with reach(server) as client:
        show_whole(find_any(client, path, at), output)
