"""`stead operation`: accepted requests, in progress and ended."""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated

import typer

from stead.cli.change import ChangeOptions, change_command, submit
from stead.cli.command import command, group
from stead.cli.journal import LINES
from stead.cli.listing import Columns, printable, write, write_one
from stead.cli.output import Code, ListFormat, data, note, table
from stead.cli.paths import Below
from stead.cli.progress import OPERATIONS, conclude, finish
from stead.cli.server_commands import Output, Server, Timeout, Watch, clock, command_line, plain, reach
from stead.client import DEFAULT_SERVER, Accepted, OperationMember, SteadError, SyncClient

app = group()
EXAMPLE = "shop/6c7c2a3e-0a51-4d8e-9f7b-0d8a4e1f2b3c"


def _complete(ctx: typer.Context, incomplete: str) -> list[str]:
    """Operations in progress, as the server lists them; none where it does not answer."""
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
        ("MESSAGE", lambda member: member.message),
    ),
    wide=(("AT", lambda member: clock(member.at)),),
    name=lambda member: member.path,
)


def _operation_id(id: str) -> str:
    if not re.fullmatch(r"[^/]+/[0-9a-f-]{36}", id):
        raise typer.BadParameter(f"{id}: not the id of an operation. An id is NAMESPACE/UUID: stead operation list")
    return id


Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Id of an operation: NAMESPACE/UUID.",
        autocompletion=_complete,
        callback=_operation_id,
        show_default=False,
    ),
]


@command(app, "stead operation list --below shop --running")
def list_(
    below: Below = "/",
    running: Annotated[
        bool | None, typer.Option("--running/--ended", help="Only those in progress, or only those that ended.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of operations.")] = 50,
    watch: Watch = False,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List operations on a path and below it, latest first."""
    with reach(server) as client:
        place = client.journal_page(limit=1).end  # before the list is read, so that no change falls in between
        found = client.operations(below=below, running=running, limit=min(limit, 1000))
        items = list(islice(found, limit))
        if len(items) == limit:
            note(f"the first {limit} are listed; more may exist")
        widths = write(items, OPERATIONS, output, endless=watch)
        for event in client.events(after=place, path=below) if watch else ():
            if event.operation is not None:
                write_one(client.operation(event.operation), OPERATIONS, output, widths)


@command(app, f"stead operation show {EXAMPLE}")
def show(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show an operation."""
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


@command(app, f"stead operation members {EXAMPLE}")
def members(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """List members of a group that failed or were skipped, and why."""
    with reach(server) as client:
        write(client.members(id), MEMBERS, output)


@command(app, f"stead operation wait {EXAMPLE} --timeout 10m")
def wait(id: Id, timeout: Timeout = None, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Wait for an operation to end, and show its outcome.

    Exit code 0: done. 1: it ended otherwise. 6: done, except for members that were skipped. 124: still in progress.
    """
    with reach(server) as client:
        finish(client, id, timeout, output)


@command(app, f"stead operation watch {EXAMPLE}")
def watch(
    id: Id,
    after: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Position after which steps are shown; default the start.")
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Follow an operation step by step until it ends.

    While the server is away, the command waits for it; no step is missed or written twice. To continue after an
    interrupt, give --after the position of the last step.

    Exit code 0: done. 1: it ended otherwise. 6: done, except for members that were skipped.
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
        message = f": {printable(ended.message)}" if ended.message else ""
        note(f"{found.action} of {found.path}: {ended.outcome}{message}")
        conclude(client, ended, requested=ended.action)


@change_command(app, f"stead operation cancel {EXAMPLE} --timeout 10m", without=("reason", "dry_run", "key"))
def cancel(options: ChangeOptions, id: Id) -> None:
    """Cancel an operation, and follow it until it has ended.

    Stead fences off the agent that works on it, waits until the agent can no longer act, and observes the object. The
    operation ends cancelled, rolled_back, or succeeded if it turns out so. A queued operation ends at once.

    Exit code 0: it has ended. 1: it could not be rolled back. 3: it had ended before, or cannot be cancelled now.
    """
    with reach(options.server) as client:
        cancelled = client.cancel(id)
        if not options.wait:
            write([cancelled], OPERATIONS, options.output)
            return
        note(f"{cancelled.action} of {cancelled.path} is cancelled; it ends when the object was observed")
        finish(client, id, options.timeout, options.output, well=("cancelled", "rolled_back", "succeeded"))


@command(app, f"stead operation promote {EXAMPLE}")
def promote(id: Id, output: Output = ListFormat.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Move a queued operation to the front of its queue.

    Exit code 0: it is the next. 3: it is not queued.
    """
    with reach(server) as client:
        write([client.promote(id)], OPERATIONS, output)


@change_command(app, f"stead operation retry {EXAMPLE}", extra=("force",), without=("dry_run",))
def retry(options: ChangeOptions, id: Id) -> None:
    """Retry an operation that ended without success, as a new one.

    The new operation has the spec, the force and the reason of the first. Of a group, only failed members retry.
    """
    with reach(options.server) as client:
        tried = client.operation(id)

        def request() -> Accepted:
            return client.retry(id, force=options.force, reason=options.reason, key=options.key)

        submit(client, request, tried.action, tried.path, options)
