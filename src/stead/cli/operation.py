"""`stead operation`: what was asked for, and what became of it."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from stead.cli.journal import LINES
from stead.cli.listing import Columns, printable, write, write_one
from stead.cli.output import Code, ListFormat, data, note, table
from stead.cli.paths import Below
from stead.cli.progress import OPERATIONS, How, Key, Wait, conclude, finish, see_through
from stead.cli.server_commands import Output, Server, Timeout, Watch, clock, command_line, plain, reach
from stead.client import DEFAULT_SERVER, Accepted, OperationMember, SteadError, SyncClient

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="What was asked for, and what became of it.")


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """The operations under way, by asking the server; none where it does not answer."""
    try:
        with SyncClient(ctx.params.get("server") or DEFAULT_SERVER, timeout=2.0, retries=0) as client:
            page = client.operation_page(running=True, limit=200)
    except SteadError:
        return []
    return [op.id for op in page.items if op.id.startswith(incomplete)]


MEMBERS: Columns[OperationMember] = Columns(
    narrow=(
        ("PATH", lambda member: member.path),
        ("OUTCOME", lambda member: member.outcome),
        ("WHY", lambda member: member.message),
    ),
    wide=(("AT", lambda member: clock(member.at)),),
    name=lambda member: member.path,
)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="Of an operation.", autocompletion=_complete, show_default=False)
]


@app.command("list", short_help="Operations.", epilog="Example: stead operation list --below shop --running")
def list_(
    below: Below = "/",
    running: Annotated[
        bool | None, typer.Option("--running/--ended", help="Only those under way, or only those that ended.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")] = 50,
    watch: Watch = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Operations on a path and below it, the latest first."""
    with reach(server) as client:
        place = client.journal_page(limit=1).end  # before the list is read, so that no change falls in between
        found = client.operations(below=below, running=running, limit=min(limit, 1000))
        items = list(islice(found, limit))
        if len(items) == limit:
            note(f"these are the first {limit}; there may be others")
        widths = write(items, OPERATIONS, output, endless=watch)
        for event in client.events(after=place, path=below) if watch else ():
            if event.operation is not None:
                write_one(client.operation(event.operation), OPERATIONS, output, widths)


@app.command(short_help="An operation.", epilog="Example: stead operation show 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c")
def show(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """An operation, under way or ended."""
    with reach(server) as client:
        found = client.operation(id)
    if output in (ListFormat.JSON, ListFormat.YAML):
        data(plain(found), output)
    elif output is ListFormat.NAME:
        write([found], OPERATIONS, output)
    else:
        names = [title.lower() for title, _ in OPERATIONS.shown(ListFormat.WIDE)]
        rows = zip(names, OPERATIONS.row(found, ListFormat.WIDE), strict=True)
        table(("FIELD", "VALUE"), [row for row in rows if row[1]])


@app.command(
    short_help="Who did not do it, and why.",
    epilog="Example: stead operation members 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c",
)
def members(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Members of a group that failed to do what an operation asked of them, or that were skipped, each with why."""
    with reach(server) as client:
        write(client.members(id), MEMBERS, output)


@app.command(
    short_help="Wait for an operation to end.",
    epilog="Example: stead operation wait 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c --timeout 10m",
)
def wait(id: Id, timeout: Timeout = None, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Wait for an operation to end, and say how.

    Exit code 0: done. 1: it ended otherwise. 6: done, except for members that were skipped. 124: still in progress.
    """
    with reach(server) as client:
        finish(client, id, timeout, output)


@app.command(
    short_help="An operation step by step, to its end.",
    epilog="Example: stead operation watch 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c",
)
def watch(
    id: Id,
    after: Annotated[int | None, typer.Option(min=0, metavar="N", help="Only steps after this position.")] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Every step of an operation as it comes, from its beginning to its end, and how it ended.

    A server that goes away meanwhile is waited for, and nothing is missed or written twice. Whoever stops it comes
    back with --after and the position of the last step. Exit code 0: done. 1: it ended otherwise. 6: done, except
    for members that were skipped.
    """
    place = after
    with reach(server) as client:
        found = client.operation(id)
        widths = write((), LINES, output, endless=True)
        try:
            for step in client.steps(id, after=after):
                write_one(step, LINES, output, widths)
                place = step.position
        except KeyboardInterrupt:
            words = ("operation", "watch", id, *(("--after", str(place)) if place else ()))
            what = f"{found.action} {found.place or found.path} continues as operation {id}"
            note(f"interrupted; {what}\n  follow it: {command_line(client.server, *words)}")
            raise typer.Exit(Code.INTERRUPTED) from None
        ended = client.operation(id)
        why = f": {printable(ended.message)}" if ended.message else ""
        note(f"{found.action} of {found.path}: {ended.outcome}{why}")
        conclude(client, ended, asked=ended.action)


@app.command(
    short_help="End an operation before it is done.",
    epilog="Example: stead operation cancel 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c --timeout 10m",
)
def cancel(
    id: Id,
    wait: Wait = True,
    timeout: Timeout = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """End an operation before it is done, and follow it until it has ended.

    Stead fences the agent off that works on it, waits until it can no longer act, and observes the object. The
    operation ends cancelled, undone, or done if it turns out so. One that waits its turn ends at once.

    Exit code 0: it has ended. 1: what it did could not be undone. 3: it had ended before, or cannot be cancelled now.
    """
    with reach(server) as client:
        cancelled = client.cancel(id)
        if not wait:
            write([cancelled], OPERATIONS, output)
            return
        note(f"{cancelled.action} of {cancelled.path} is cancelled; it ends when it is known what is there")
        finish(client, id, timeout, output, well=("cancelled", "rolled_back", "succeeded"))


@app.command(
    short_help="Put an operation that waits first.",
    epilog="Example: stead operation promote 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c",
)
def promote(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Put an operation that waits its turn first in its queue.

    Exit code 0: it is the next. 3: it does not wait.
    """
    with reach(server) as client:
        write([client.promote(id)], OPERATIONS, output)


@app.command(
    short_help="Try once more what an operation was to do.",
    epilog="Example: stead operation retry 6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c",
)
def retry(
    id: Id,
    force: Annotated[bool, typer.Option("--force", help="Whatever the state says. Needs a reason.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why it is forced.", show_default=False)] = "",
    wait: Wait = True,
    timeout: Timeout = None,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Ask once more for what an operation was to do that has ended, and not well; follow the new one to its end.

    It has the spec, the force and the reason of the first. Of a group, only the members that failed are asked.
    """
    with reach(server) as client:
        tried = client.operation(id)

        def ask() -> Accepted:
            return client.retry(id, force=force, reason=reason, key=key)

        see_through(client, ask, tried.action, tried.path, How(output, wait, timeout, key=key))
