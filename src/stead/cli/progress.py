"""A change from the command line: asked for, followed with a line of progress, and told how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

import typer

from stead.cli import elapsed
from stead.cli.dry_run import show as show_plan
from stead.cli.group_status import bars, saved
from stead.cli.listing import Columns, printable, write
from stead.cli.output import Code, ListFormat, data, note
from stead.cli.progress_display import progress_display
from stead.cli.server_commands import clock, command_line, plain, reach, seconds_of
from stead.client import Accepted, Operation, SteadError, SyncClient, Unavailable, Unreachable

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
        ("LEFT", lambda op: f"{op.remaining}/{op.total}"),
        ("BY", lambda op: op.principal),
        ("SINCE", lambda op: clock(op.created_at)),
        ("ENDED", lambda op: clock(op.ended_at)),
        ("REASON", lambda op: op.reason),
        ("PLACE", lambda op: str(op.position or "")),
        ("REFUSED", lambda op: "; ".join(reason.says for reason in op.reasons)),
        ("ELAPSED", lambda op: elapsed.told(op.elapsed)),
        ("WHY", lambda op: op.message),
    ),
    name=lambda op: op.id,
)


class Remedy(StrEnum):
    """What becomes of a change that failed."""

    ROLLBACK = "rollback"
    KEEP = "keep"


Wait = Annotated[bool, typer.Option("--wait/--detach", help="Follow the operation to its end, or return at once.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")]
ExpectAgent = Annotated[
    bool, typer.Option("--expect-agent", help="Accept a lane that no agent has served yet: its agent comes later.")
]
Force = Annotated[bool, typer.Option("--force", help="Override the state. Needs --reason.")]
Queueing = Annotated[
    bool, typer.Option("--queue", help="Wait its turn where something else is under way, instead of being refused.")
]
OnFailure = Annotated[
    Remedy, typer.Option("--on-failure", help="What failed is taken back, or its error is kept for a person.")
]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it stays with the operation.")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="TEXT", help="The same request under the same key is let in once."),
]


@dataclass(frozen=True)
class How:
    """How a change is followed."""

    output: ListFormat
    wait: bool
    timeout: str | None
    dry_run: bool = False
    key: str | None = None
    expect_agent: bool = False


def on_conflict(queue: bool) -> Literal["default", "queue"]:
    """What a change is to do where something else is under way."""
    return "queue" if queue else "default"


def change(address: str, path: str, action: str, how: How, **wishes: Any) -> None:
    """Ask for a change and see it through, as far as the caller wants; ends the command."""
    if how.expect_agent:
        wishes["expect_agent"] = True
    with reach(address) as client:
        if how.dry_run:
            show_plan(client.rehearse(path, action, **wishes), how.output)
            return
        see_through(client, lambda: client.ask(path, action, key=how.key, **wishes), action, path, how)


def see_through(client: SyncClient, ask: Callable[[], Accepted], action: str, path: str, how: How) -> None:
    """Ask for a change and follow it, as far as the caller wants; ends the command unless that was well."""
    try:
        accepted = ask()
    except KeyboardInterrupt:
        note(
            f"interrupted before the server answered; {action} {path} may have been accepted\n"
            f"  list operations: {command_line(client.server, 'operation', 'list')}"
        )
        raise typer.Exit(Code.INTERRUPTED) from None
    told = _tell(accepted, action, path)
    if accepted.operation is None:
        if how.output in (ListFormat.JSON, ListFormat.YAML):
            data(plain(accepted), how.output)
        return
    id = accepted.operation.id
    if not how.wait:
        write([client.operation(id)], OPERATIONS, how.output)
        return
    if not told:
        note(f"{action} of {path}: operation {id}")
    finish(client, id, how.timeout, how.output, asked=action)


def finish(
    client: SyncClient,
    id: str,
    timeout: str | None,
    output: ListFormat,
    *,
    asked: str = "",
    well: Sequence[str] = ("succeeded",),
) -> None:
    """Follow an operation to its end and write how it ended; ends the command unless that was well.

    `asked`: the action that was asked for, where it may be another one than the operation's.
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
    conclude(client, ended, well=well, asked=asked or ended.action)


def conclude(client: SyncClient, ended: Operation, *, asked: str, well: Sequence[str] = ("succeeded",)) -> None:
    """End the command with the exit code of how an operation ended, and why; returns where all of it was done."""
    if ended.outcome not in well and not _takes_back(client, ended, asked):
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
            note(f"  because: {reason.says} [{reason.code}]")
        _tell_skipped(client, ended)
        raise typer.Exit(Code.REFUSED if ended.outcome == "rejected" else Code.FAILED)
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


def _takes_back(client: SyncClient, ended: Operation, asked: str) -> bool:
    """Whether what was asked for was to take something back, and that was done."""
    if ended.outcome != "rolled_back":
        return False
    known = next((action for action in client.lifecycle(ended.kind).actions if action.name == asked), None)
    if known is None:
        return asked == UNDO
    return bool(known.signals) and not known.via


def _continues(id: str, operation: Operation | None) -> str:
    if operation is None:
        return f"operation {id} continues"
    return f"{operation.action} {operation.place or operation.path} continues as operation {id}"


def _tell(accepted: Accepted, action: str, path: str) -> bool:
    """Say what is out of the ordinary; whether anything was."""
    if accepted.operation is None:
        note(f"{action} of {path}: nothing to do")
    elif accepted.joined:
        note(f"{action} of {path} is under way already; joined operation {accepted.operation.id}")
    elif accepted.repeated:
        note(f"{action} of {path} was let in before, under the same key: operation {accepted.operation.id}")
    elif accepted.queued:
        note(f"{action} of {path}: {place(accepted.position)}: operation {accepted.operation.id}")
    return accepted.operation is None or accepted.joined or accepted.repeated or accepted.queued


def place(position: int | None) -> str:
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
        return f"{operation.action} of {operation.place or operation.path}: {place(operation.position)}"
    done = f", {operation.total - operation.remaining} of {operation.total}" if operation.total > 1 else ""
    done += saved(operation.total, operation.orders)
    again = f", attempt {operation.attempt}" if (operation.attempt or 1) > 1 else ""
    end = ", cancelled" if operation.cancelled else ""
    where = f"{operation.state or 'under way'} ({operation.phase or 'acting'}{again}{done}{end})"
    says = f": {printable(operation.message)}" if operation.message else ""
    return f"{operation.action} of {operation.place or operation.path}: {where}{says}"
