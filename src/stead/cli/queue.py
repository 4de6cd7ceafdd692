"""`stead queue`: where operations wait their turn."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.listing import Columns, write
from stead.cli.output import Code, ListFormat, data, fail, note
from stead.cli.paths import AnyPath, Below, any_path, complete_paths
from stead.cli.progress import OPERATIONS
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.client import DEFAULT_SERVER, Queue

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Where operations wait their turn.")

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
        help="A resource.",
        callback=lambda value: None if value is None else any_path(value),
        autocompletion=complete_paths(None),
        show_default=False,
    ),
]


@app.command("list", short_help="Queues.", epilog="Example: stead queue list --below shop")
def list_(below: Below = "/", output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Queues of a path and below it. An object has one from when something first waited for it."""
    with reach(server) as client:
        write(client.queues(below=below), QUEUES, output)


@app.command(short_help="What waits in a queue.", epilog="Example: stead queue show shop/web/front/1")
def show(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Operations that wait in the queue of an object, the next one first."""
    with reach(server) as client:
        found = client.queue(path)
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
        return
    write(found.items, OPERATIONS, output)
    if found.more:
        note("there are more")
    if found.stopping:
        note("the queue takes nothing more, and goes when all that is in it is carried out")


@app.command("open", short_help="Make a queue.", epilog="Example: stead queue open shop/web/front/1")
def open_(path: AnyPath, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Make the queue of an object before something waits for it; one that is there stays as it is."""
    with reach(server) as client:
        write([client.open_queue(path)], QUEUES, output)


@app.command(short_help="Empty a queue and remove it.", epilog="Example: stead queue stop shop/web/front/1")
def stop(
    path: MaybePath = None,
    all_: Annotated[bool, typer.Option("--all", help="All queues.")] = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Let a queue take nothing more. What is in it is carried out, then it is removed."""
    if (path is None) is not all_:
        fail("say which queue, or --all", Code.USAGE)
    with reach(server) as client:
        write([client.stop_queue(path)] if path is not None else client.stop_queues().items, QUEUES, output)
