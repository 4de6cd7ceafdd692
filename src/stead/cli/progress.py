"""A change from the command line: asked for, followed with a line of progress, and told how it ended."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from stead.cli import elapsed
from stead.cli.group_status import bars, saved
from stead.cli.listing import Columns, printable, write
from stead.cli.output import Code, ListFormat, note
from stead.cli.progress_display import progress_display
from stead.cli.server_commands import clock, command_line, seconds_of
from stead.client import Operation, SteadError, SyncClient, Unavailable, Unreachable

UNDO = "undo"
"""What every kind takes that keeps a failure for a person: take it back."""

GROUPS = ("mci", "subgroup")
"""Kinds that have members."""

OPERATIONS: Columns[Operation] = Columns(
    narrow=(
        ("OPERATION", lambda op: op.id),
        ("ACTION", lambda op: op.action),
        ("PATH", lambda op: op.place or op.path),
        ("OUTCOME", lambda op: op.outcome or ("queued" if op.queued else "running")),
    ),
    wide=(
        ("STATE", lambda op: op.state or ""),
        ("PHASE", lambda op: op.phase or ""),
        ("REMAINING", lambda op: f"{op.remaining}/{op.total}"),
        ("BY", lambda op: op.principal),
        ("SINCE", lambda op: clock(op.created_at)),
        ("ENDED", lambda op: clock(op.ended_at)),
        ("REASON", lambda op: op.reason),
        ("POSITION", lambda op: str(op.position or "")),
        ("REJECTED", lambda op: "; ".join(reason.message for reason in op.reasons)),
        ("ELAPSED", lambda op: elapsed.told(op.elapsed)),
        ("MESSAGE", lambda op: op.message),
    ),
    name=lambda op: op.id,
)


def finish(
    client: SyncClient,
    id: str,
    timeout: str | None,
    output: ListFormat,
    *,
    requested: str = "",
    well: Sequence[str] = ("succeeded",),
) -> None:
    """Follow an operation to its end and write how it ended; ends the command unless that was well.

    `requested`: the action that was requested, where it may differ from the operation's.
    This is the one place in which a command waits for an operation.
    """
    ended: Operation | None = None
    again = command_line(client.server, "operation", "wait", id)
    try:
        with progress_display() as show:
            for ended in client.follow(id, seconds_of(timeout)):
                show(_says(ended), _bars(client, ended))
    except KeyboardInterrupt:
        note(f"interrupted; {_continues(id, ended)}\n  follow it: {again}")
        raise typer.Exit(Code.INTERRUPTED) from None
    except (Unreachable, Unavailable):
        if ended is not None:
            note(
                f"the server no longer answers; {_continues(id, ended)}\n  follow it once the server is back: {again}"
            )
        raise
    assert ended is not None
    write([ended], OPERATIONS, output)
    conclude(client, ended, well=well, requested=requested or ended.action)


def conclude(client: SyncClient, ended: Operation, *, requested: str, well: Sequence[str] = ("succeeded",)) -> None:
    """End the command with the exit code of how an operation ended, and why; returns where all of it was done."""
    if ended.outcome not in well and not _takes_back(client, ended, requested):
        where = ended.place or ended.path
        journal = command_line(client.server, "journal", where)
        note(f"error: {ended.action} of {where} ended {ended.outcome}; see: {journal}")
        if ended.message:
            note(f"  because: {printable(ended.message)}")
        if ended.kind in (*GROUPS, "system") and ended.failed:
            members = command_line(client.server, "operation", "members", ended.id)
            count = f"{ended.failed} member{'s' if ended.failed > 1 else ''}"
            note(f"  {count} did not do it; see: {members}")
        for reason in ended.reasons:
            note(f"  because: {reason.message} [{reason.code}]")
        _tell_skipped(client, ended)
        raise typer.Exit(Code.REJECTED if ended.outcome == "rejected" else Code.FAILED)
    if ended.skipped:
        _tell_skipped(client, ended)
        if well == ("succeeded",) and ended.outcome == "succeeded":
            raise typer.Exit(Code.PARTIAL)


def _tell_skipped(client: SyncClient, ended: Operation) -> None:
    """Write how many members were skipped, and why."""
    if not ended.skipped:
        return
    count = sum(ended.skipped.values())
    members = command_line(client.server, "operation", "members", ended.id)
    note(f"{count} {'member' if count == 1 else 'members'} skipped; see: {members}")
    for says, number in sorted(ended.skipped.items(), key=lambda item: (-item[1], item[0])):
        note(f"  {number}: {printable(says)}")


def _takes_back(client: SyncClient, ended: Operation, requested: str) -> bool:
    """Whether what was asked for was to take something back, and that was done."""
    if ended.outcome != "rolled_back":
        return False
    known = next((action for action in client.lifecycle(ended.kind).actions if action.name == requested), None)
    if known is None:
        return requested == UNDO
    return bool(known.signals) and not known.via


def _continues(id: str, operation: Operation | None) -> str:
    if operation is None:
        return f"operation {id} continues"
    return f"{operation.action} {operation.place or operation.path} continues as operation {id}"


def queue_place(position: int | None) -> str:
    """How long the line is before one that waits."""
    before = (position or 1) - 1
    return f"queued, {before or 'none'} before it"


def _bars(client: SyncClient, operation: Operation) -> list[str]:
    """How far it has come by provider and region, where it is about a group."""
    if operation.outcome is not None or operation.kind not in GROUPS:
        return []
    try:
        return bars(client.status(operation.path))
    except SteadError:  # the bars are an extra; whether the server is lost, `follow` says
        return []


def _says(operation: Operation) -> str:
    if operation.outcome is not None:
        return f"{operation.action} of {operation.place or operation.path}: {operation.outcome}"
    if operation.queued:
        return f"{operation.action} of {operation.place or operation.path}: {queue_place(operation.position)}"
    done = f", {operation.total - operation.remaining} of {operation.total}" if operation.total > 1 else ""
    done += saved(operation.total, operation.orders)
    again = f", attempt {operation.attempt}" if (operation.attempt or 1) > 1 else ""
    end = ", cancelled" if operation.cancelled else ""
    where = f"{operation.state or 'in progress'} ({operation.phase or 'acting'}{again}{done}{end})"
    says = f": {printable(operation.message)}" if operation.message else ""
    return f"{operation.action} of {operation.place or operation.path}: {where}{says}"
