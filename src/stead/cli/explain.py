"""`stead explain`: why, or why not, without doing it."""

from __future__ import annotations

from typing import Annotated

import typer

from stead.cli.output import Code, ListFormat, data, heading, line
from stead.cli.paths import AnyPath
from stead.cli.progress import Force, Queueing, Why, on_conflict
from stead.cli.server_commands import Output, Server, clock, plain, reach
from stead.client import DEFAULT_SERVER, Explanation


def explain(
    path: AnyPath,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="What would be asked for.", show_default=False)],
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Needed where there is no such resource yet.")
    ] = None,
    force: Force = False,
    reason: Why = "",
    queue: Queueing = False,
    at: Annotated[
        str | None, typer.Option("--at", metavar="PLACE", help="Of a deploy: where in its system, such as /data/db.")
    ] = None,
    lane: Annotated[
        str | None, typer.Option(metavar="LANE", help="Of what is not there yet: on which lane it would be made.")
    ] = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Whether an action would be let in now, why, who is in the way, and what would help. Nothing is done.

    Exit code 0: it would be let in. 3: it would be refused.
    """
    with reach(server) as client:
        conflict = on_conflict(queue)
        said = {"kind": kind, "at": at, "lane": lane}
        answer = client.explain(path, action, force=force, reason=reason, on_conflict=conflict, **said)
    match output:
        case ListFormat.NAME:
            line("allowed" if answer.allowed else "refused")
        case ListFormat.JSON | ListFormat.YAML:
            data(plain(answer), output)
        case _:
            _tell(answer)
    raise typer.Exit(Code.DONE if answer.allowed else Code.REFUSED)


def _tell(answer: Explanation) -> None:
    verdict = "would be let in" if answer.allowed else "would be refused"
    heading(f"{answer.action} of {answer.path} ({answer.kind}, {answer.state}) {verdict}")
    for true, says in (
        (answer.would_join, "it would join what is under way"),
        (answer.no_change, "there would be nothing to do"),
        (answer.would_queue, "it would wait its turn"),
    ):
        if true:
            line(says)
    for why in answer.reasons:
        line(f"because: {why.says} [{why.code}]")
    for holder in answer.holders or filter(None, [answer.holder]):
        line(f"held by: {holder.action} of {holder.path} by {holder.principal} since {clock(holder.since)}")
    for remedy in answer.remedies:
        line(f"what would help: {remedy.description}{f' ({remedy.operation})' if remedy.operation else ''}")
    if answer.allowed_actions:
        line(f"could be asked: {', '.join(answer.allowed_actions)}")
    if answer.retry_after is not None:
        line(f"try again in {answer.retry_after} s")
