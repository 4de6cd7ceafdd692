"""`stead node`: the hosts on which machines of the private cloud run."""

from __future__ import annotations

from collections.abc import Iterator

from stead.cli.change import ChangeOptions, change
from stead.cli.columns import CHANGED, CREATED, LANE, OPERATION, PATH, STATE
from stead.cli.command import command
from stead.cli.datacenter import above, in_words, lane_of, last
from stead.cli.list_show import At, find_at, show_whole
from stead.cli.listing import Columns, write
from stead.cli.noun import Noun
from stead.cli.output import ListFormat, line
from stead.cli.paths import NodePath
from stead.cli.server_commands import Output, Server, reach
from stead.cli.spec_options import File, Settings, spec_of
from stead.client import DEFAULT_SERVER, Resource, SyncClient

NODES: Columns[Resource] = Columns(
    narrow=(PATH, STATE, LANE, OPERATION),
    wide=(
        ("CPUS", lambda one: str(one.facts.get("cpus", ""))),
        ("MEMORY", lambda one: in_words(one.facts.get("memory"))),
        CHANGED,
        CREATED,
    ),
    right=("CPUS", "MEMORY"),
)
MACHINES: Columns[Resource] = Columns(
    narrow=(
        ("MACHINE", lambda one: one.path),
        STATE,
        ("FROM", lambda one: last(one.spec.get("node"))),
        ("TO", lambda one: last((one.next_spec or {}).get("node"))),
    ),
)
NODE = Noun(
    "node",
    NodePath,
    "a node",
    "nodes",
    "dc/n1",
    columns=NODES,
    observed=False,
    verbs={
        "maintain": "Migrate all machines off a node, and place none on it (admins only).",
        "enable": "Enable a node for machines (admins only).",
        "decommission": "Remove a node without machines for good (admins only).",
    },
)
app = NODE.app


@NODE.change("dc/n1", extra=("expect_agent",))
def create(options: ChangeOptions, path: NodePath, file: File = None, settings: Settings = None) -> None:
    """Add a node to a datacenter, by its name at the agent (admins only)."""
    change(options, path, "create", spec=spec_of(file, settings), lane=lane_of(last(above(path))))


@command(app, "stead node show dc/n1 -o yaml")
def show(
    path: NodePath,
    at: At = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show a node and the machines on it, now or at a past time.

    It shows its state, the progress of its maintenance, and the machines that are on it or migrate to or from it.
    """
    with reach(server) as client:
        found = find_at(client, NODE.kind, path, at)
        if not isinstance(found, Resource):
            show_whole(found, output)
            return
        machines = list(_machines_on(client, path))
        running = client.operation(found.operation.id) if found.operation is not None else None
    message = {"message": running.message} if running is not None and running.message else {}
    show_whole(found, output, {**message, "machines": [machine.path for machine in machines]})
    if machines and output in (ListFormat.TABLE, ListFormat.WIDE):
        line()
        write(machines, MACHINES, output)


def _machines_on(client: SyncClient, node: str) -> Iterator[Resource]:
    """Machines on a node, or migrating to or from it."""
    for machine in client.resources(kind="machine", specs=True):
        where = (machine.spec.get("node"), (machine.next_spec or {}).get("node"))
        if node in where and machine.state not in ("VIRTUAL", "DESTROYED"):
            yield machine
