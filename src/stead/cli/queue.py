"""`stead queue`: operations that wait for others on the same resource."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.command import command, group
from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, data, fail, note
from stead.cli.paths import AnyPath, Below, any_path, complete_paths
from stead.cli.progress import OPERATIONS
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.client import DEFAULT_SERVER, Queue

app = group()

QUEUES: Columns[Queue] = Columns(
    narrow=(
        ("PATH", lambda queue: queue.path),
        ("WAITING", lambda queue: str(queue.waiting)),
        ("STOPPING", lambda queue: "yes" if queue.stopping else ""),
    ),
    wide=(
        ("RUNNING", lambda queue: queue.running or ""),
        ("SINCE", lambda queue: clock(queue.created_at)),
    ),
    name=lambda queue: queue.path,
    right=("WAITING",),
)

MaybePath = Annotated[
    str | None,
    typer.Argument(
        metavar="PATH",
        help="Path of a resource.",
        callback=lambda value: None if value is None else any_path(value),
        autocompletion=complete_paths(None),
        show_default=False,
    ),
]


@command(app, "stead queue list --below shop")
def list_(below: Below = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List queues of a path and below it.

    A resource has a queue from the first time that an operation waited for it.
    """
    with reach(server) as client:
        write(client.queues(below=below), QUEUES, output)


@command(app, "stead queue show shop/web/front/1")
def show(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show the operations in the queue of a resource, next one first."""
    with reach(server) as client:
        found = client.queue(path)
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
        return
    write(found.items, OPERATIONS, output)
    if found.more:
        note("more operations are queued")
    if found.stopping:
        note("the queue is stopping: it accepts no operations, and is removed when it is empty")


@command(app, "stead queue open shop/web/front/1")
def open_(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Create the queue of a resource; an existing one stays as it is."""
    with reach(server) as client:
        write([client.open_queue(path)], QUEUES, output)


@command(app, "stead queue stop shop/web/front/1")
def stop(
    path: MaybePath = None,
    all_: Annotated[bool, typer.Option("--all", help="Stop all queues.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Stop a queue: reject new operations, run those in it, then remove it."""
    if (path is None) is not all_:
        fail("name one queue, or give --all", Code.USAGE)
    with reach(server) as client:
        write([client.stop_queue(path)] if path is not None else client.stop_queues().items, QUEUES, output)
