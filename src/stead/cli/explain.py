"""`stead explain`: whether an action would be accepted or rejected, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.change import Force, Queue, Reason, on_conflict
from stead.cli.output import Code, ListFormat, data, heading, line
from stead.cli.paths import AnyPath
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.client import DEFAULT_SERVER, Explanation


def explain(
    path: AnyPath,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="Action to explain.", show_default=False)],
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Kind of a resource that does not exist yet.")
    ] = None,
    force: Force = False,
    reason: Reason = "",
    queue: Queue = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="PATH", help="Path in its system, for a deploy, such as /data/db.")
    ] = None,
    lane: Annotated[
        str | None, typer.Option(metavar="LANE", help="Lane of a resource that does not exist yet.")
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Show whether an action would be accepted, and why.

    Operations in the way and remedies are shown, too. Nothing is changed.

    Exit code 0: it would be accepted. 3: it would be rejected.
    """
    with reach(server) as client:
        conflict = on_conflict(queue=queue)
        said = {"kind": kind, "at": at, "lane": lane}
        answer = client.explain(path, action, force=force, reason=reason, on_conflict=conflict, **said)
    match output:
        case ListFormat.NAME:
            line("accepted" if answer.allowed else "rejected")
        case ListFormat.JSON | ListFormat.YAML:
            data(plain(answer), output)
        case _:
            _tell(answer)
    raise typer.Exit(Code.DONE if answer.allowed else Code.REJECTED)


def _tell(answer: Explanation) -> None:
    verdict = "would be accepted" if answer.allowed else "would be rejected"
    heading(f"{answer.action} {answer.path} {verdict} ({answer.kind} is {answer.state})")
    for true, says in (
        (answer.would_join, "it would join the operation in progress"),
        (answer.no_change, "nothing to do"),
        (answer.would_queue, "it would be queued"),
    ):
        if true:
            line(says)
    for why in answer.reasons:
        line(f"because: {why.message} [{why.code}]")
    for holder in answer.holders or filter(None, [answer.holder]):
        line(f"held by: {holder.action} of {holder.path} by {holder.principal} since {clock(holder.since)}")
    for remedy in answer.remedies:
        line(f"remedy: {remedy.description}{f' ({remedy.operation})' if remedy.operation else ''}")
    if answer.allowed_actions:
        line(f"allowed actions: {', '.join(answer.allowed_actions)}")
    if answer.retry_after is not None:
        line(f"retry in {answer.retry_after} s")
