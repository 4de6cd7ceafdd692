"""`stead stuck`: operations that do not make progress, why, and what to do."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from stead.cli.durations import duration
from stead.cli.elapsed import allowed, lasted, usual
from stead.cli.listing import Columns, write
from stead.cli.output import ListFormat, note
from stead.cli.paths import Below
from stead.cli.server_commands import Output, Server, clock, reach, seconds_of
from stead.client import DEFAULT_SERVER, Stuck


def _steps(item: Stuck) -> str:
    """The next steps that are commands."""
    commands = []
    for step in item.steps:
        match step.kind:
            case "cancel" | "retry":
                commands.append(f"stead operation {step.kind} {step.operation}")
            case "agent":
                commands.append("stead lane list")
            case "ask":
                commands.append(f"{item.kind} {'|'.join(step.actions)}")
    return "; ".join(commands)


STUCK: Columns[Stuck] = Columns(
    narrow=(
        ("PATH", lambda item: item.path),
        ("STATE", lambda item: item.state),
        ("ACTION", lambda item: item.action),
        ("ELAPSED", lambda item: lasted(item.since) if item.outcome is None else f"{lasted(item.since)} ago"),
        ("TYPICAL", lambda item: usual(item.elapsed)),
        ("LIMIT", lambda item: allowed(item.elapsed)),
        ("CAUSES", lambda item: "; ".join(f"{why.code}: {why.message}" for why in item.causes)),
        ("RESOLUTION", lambda item: item.resolution),
        ("NEXT STEPS", _steps),
    ),
    wide=(
        ("OPERATION", lambda item: item.operation),
        ("PHASE", lambda item: item.phase or ""),
        ("OUTCOME", lambda item: item.outcome or ""),
        ("BY", lambda item: item.principal),
        ("LANE", lambda item: item.lane),
        ("SINCE", lambda item: clock(item.since)),
        (
            "OBSERVATIONS",
            lambda item: ", ".join(f"{look.observed} at {clock(look.at)}" for look in item.observations),
        ),
        ("REMEDY", lambda item: "; ".join(step.description for step in item.steps)),
    ),
    name=lambda item: item.path,
)


def stuck(
    below: Below = "/",
    recent: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=duration,
            help="Age up to which operations that ended without a report count: 90s, 10m, 12h.",
        ),
    ] = "1h",
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of operations.")] = 100,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """List operations past their usual time or timeout, or without progress.

    Operations that are probed or that ended without a report are listed, too. Each has a reason, the observations,
    the decision and next steps. Operations in progress come first, the longest first; then those that ended
    recently, until another operation changes the resource.
    """
    with reach(server) as client:
        found = client.stuck(below=below, lately=int(seconds_of(recent) or 0), limit=min(limit, 1000))
        items = list(islice(found, limit + 1))
    write(items[:limit], STUCK, output)
    if not items:
        note("no operation is stuck")
    if len(items) > limit:
        note(f"the first {limit} are listed; more exist")
