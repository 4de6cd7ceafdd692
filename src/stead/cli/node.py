"""`stead node`: the hosts that machines of the private cloud run on."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from stead.cli.action_commands import add_verb
from stead.cli.columns import CHANGED, CREATED, LANE, OPERATION, PATH, STATE
from stead.cli.datacenter import above, in_words, lane_of, last, make
from stead.cli.list_show import At, add_list, one, whole
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, line
from stead.cli.paths import NodePath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    Wait,
    Why,
)
from stead.cli.server_commands import Output, Server, Timeout, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource, SyncClient

KIND = "node"

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="The hosts that machines of the private cloud run on."
)

NODES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, LANE, OPERATION),
    wide=(
        ("CPUS", lambda one: str(one.facts.get("cpus", ""))),
        ("MEMORY", lambda one: in_words(one.facts.get("memory"))),
        CHANGED,
        CREATED,
    ),
    name=lambda one: one.path,
    right=("CPUS", "MEMORY"),
)


@app.command(short_help="Take in a node.", epilog="Example: stead node create dc/n1")
def create(
    path: NodePath,
    file: File = None,
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
    """Take in a node of a datacenter, under the name that its agent knows it by. It is for admins."""
    how, lane = How(output, wait, timeout, dry_run, key, expect_agent), lane_of(last(above(path)))
    make(server, path, KIND, "create", how, spec_of(file, settings), lane=lane, reason=reason)


for _action, _says in (
    ("maintain", "Move a node's machines to others, and take no more. It is for admins."),
    ("enable", "Put a node in use again. It is for admins."),
    ("decommission", "Take a node out for good, once no machine is on it. It is for admins."),
):
    add_verb(app, KIND, NodePath, _action, _says, "dc/n1")
add_list(app, KIND, NODES, "Nodes", "stead node list dc")

MACHINES: Columns[Resource] = Columns(
    narrow=(
        ("MACHINE", lambda one: one.path),
        STATE,
        ("FROM", lambda one: last(one.spec.get("node"))),
        ("TO", lambda one: last((one.next_spec or {}).get("node"))),
    ),
    wide=(),
    name=lambda one: one.path,
)


@app.command(
    short_help="A node, as it is or as it was, and the machines on it.",
    epilog="Example: stead node show dc/n1 -o yaml",
)
def show(
    path: NodePath,
    at: At = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """A node: its state, how far its maintenance has come, and the machines on it or on their way."""
    with reach(server) as client:
        found = one(client, KIND, path, at)
        if not isinstance(found, Resource):
            whole(found, output)
            return
        machines = list(_on(client, path))
        running = client.operation(found.operation.id) if found.operation is not None else None
    says = {"says": running.message} if running is not None and running.message else {}
    whole(found, output, {**says, "machines": [machine.path for machine in machines]})
    if machines and output in (ListFormat.TABLE, ListFormat.WIDE):
        line()
        write(machines, MACHINES, output)


def _on(client: SyncClient, node: str) -> Iterator[Resource]:
    """Machines on a node, on their way to it or away from it."""
    for machine in client.resources(kind="machine", specs=True):
        where = (machine.spec.get("node"), (machine.next_spec or {}).get("node"))
        if node in where and machine.state not in ("VIRTUAL", "DESTROYED"):
            yield machine
