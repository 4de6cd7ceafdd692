"""`stead system`: trees of services, deployed in parallel where it is safe."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from typing import Annotated, Any

import typer

from stead.catalog import tree
from stead.cli.change import ChangeOptions, change, submit
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.command import command
from stead.cli.listing import Columns, counts, printable
from stead.cli.noun import Noun
from stead.cli.output import Code, Format, ListFormat, data, heading, line, note, table
from stead.cli.paths import SystemPath
from stead.cli.server_commands import Server, SingleOutput, plain, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER, Accepted, Resource, System, SystemPlan
from stead.lifecycle.claims import ancestors
from stead.lifecycle.files.problems import DocumentError

SIGNS = {"added": "+", "changed": "~", "scaled": "#", "restarted": "*", "removed": "-"}
"""How a plan marks what becomes of a service."""

SYSTEMS: Columns[Resource] = Columns(
    narrow=(PATH, STATE, ("SERVICES", lambda one: counts(one.members or {})), OPERATION),
    wide=(("LANES", lambda one: ", ".join(one.spec.get("lanes", ()))), CHANGED, CREATED),
)
SYSTEM = Noun(
    "system",
    SystemPath,
    "a system",
    "systems",
    "shop/web",
    columns=SYSTEMS,
    verbs={
        "teardown": "Remove every service of a system.",
        "delete": "Cancel the operations of a system, and delete it with its services.",
    },
)
app = SYSTEM.app


@SYSTEM.change("shop/web --lane local.one --lane local.two", extra=("expect_agent",))
def create(
    options: ChangeOptions,
    path: SystemPath,
    lanes: Annotated[
        list[str] | None,
        typer.Option("--lane", metavar="LANE", help="Lane for its services, which are spread over all. Repeatable."),
    ] = None,
) -> None:
    """Create a system without services."""
    change(options, path, "create", spec={"lanes": list(lanes)} if lanes else {})


@SYSTEM.change("shop/web --path /data -f data.yaml", extra=("on_failure", "expect_agent"))
def deploy(
    options: ChangeOptions,
    path: SystemPath,
    file: Annotated[
        str, typer.Option("--file", "-f", metavar="FILE", help="Definition, in YAML or JSON; - is stdin.")
    ],
    at: Annotated[str, typer.Option("--path", metavar="PATH", help="Path in the system, such as /data/db.")] = "/",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Deploy without asking for confirmation.")] = False,
) -> None:
    """Deploy services at a path of a system; remove those not in the file.

    The command shows what becomes of each service, and asks for confirmation. The server rejects the deploy if
    anything there has changed by then. Deploys on paths of which none is above another run in parallel.
    """
    definition = read_file(file, at)
    with reach(options.server) as client:
        plan = client.plan(path, definition, at=at, expect_agent=options.expect_agent)
        if options.dry_run:
            show_plan(plan, options.output)
            return
        if options.output is ListFormat.TABLE:
            show_plan(plan, options.output)
        if not yes and sys.stdin.isatty() and not typer.confirm("Deploy this?", err=True):
            note("nothing was deployed")
            raise typer.Exit(Code.FAILED)

        def request() -> Accepted:
            return client.deploy(
                path,
                definition,
                at=at,
                mark=plan.mark,
                on_failure=options.on_failure.value if options.on_failure else "rollback",
                reason=options.reason,
                key=options.key,
                expect_agent=options.expect_agent,
            )

        submit(client, request, "deploy", path, options)


def read_file(file: str, at: str) -> dict[str, Any]:
    """The definition in a file; ends the command where the file is invalid."""
    try:
        return tree.parse(read_text(file), "stdin" if file == "-" else file, at)
    except DocumentError as error:
        for message in error.messages:
            note(f"error: {message}")
        raise typer.Exit(Code.USAGE) from None


def show_plan(plan: SystemPlan, output: ListFormat) -> None:
    """Write what a deploy would do."""
    match output:
        case ListFormat.JSON | ListFormat.YAML:
            data(plain(plan), output)
        case ListFormat.NAME:
            for one in plan.changes:
                line(one.path)
        case _:
            _plan(plan)


def _plan(plan: SystemPlan) -> None:
    heading(f"deploy of {plan.path} at {plan.place.removeprefix(plan.path) or '/'}")
    rows = [
        (
            SIGNS.get(one.change, "?"),
            one.path.removeprefix(plan.path),
            one.kind,
            one.change,
            ", ".join(one.fields),
            one.lane,
        )
        for one in plan.changes
    ]
    if rows:
        table(("", "SERVICE", "KIND", "CHANGE", "FIELDS", "LANE"), rows)
    told = Counter(one.change for one in plan.changes)
    line(", ".join(f"{told[how]} {how}" for how in SIGNS if told[how]) or "nothing changes")


@command(app, "stead system example > site.yaml")
def example() -> None:
    """Print an example of a definition, for the lane of `stead dev`."""
    line(EXAMPLE.rstrip())


EXAMPLE = """
# A node with a command is a service; any other is a branch. What a deploy finds there and is not in its file, goes.
web:
  front:
    command: [python3, -m, http.server, "${PORT}", --bind, 127.0.0.1]
    count: 3
    port: 8100
    health: {tcp: {port: 0}}
  api: {command: [sleep, "86400"], count: 2}
data:
  cache: {command: [sleep, "86400"]}
  load: {kind: job, command: [sh, -c, echo loaded]}
""".lstrip()


@command(app, "stead system show shop/web")
def show(path: SystemPath, output: SingleOutput = Format.TABLE, server: Server = DEFAULT_SERVER) -> None:
    """Show a system as a tree of services and jobs, with its operations."""
    with reach(server) as client:
        found = client.system(path)
    if output is not Format.TABLE:
        data(plain(found), output)
        return
    for text in drawn(found):
        line(text)


def drawn(system: System) -> list[str]:
    """A system as a tree, with the operations on its paths."""
    held = {
        one.place: f"[{one.action} by {one.principal}, {_progress(one.total, one.remaining)}]"
        for one in system.running
    }
    lines = [f"{system.path.lstrip('/')}  {system.state}  {held.pop(system.path, '')}".rstrip()]
    states = {part.path: part for part in system.parts}
    nodes: dict[str, set[str]] = {}
    for each in (*states, *held):
        for above, path in pairwise([at for at in (*ancestors(each), each) if at.startswith(system.path)]):
            nodes.setdefault(above, set()).add(path)

    def draw(path: str, indent: str) -> None:
        below = sorted(nodes.get(path, ()))
        for place, each in enumerate(below):
            last = place == len(below) - 1
            part = states.get(each)
            cells = [each.rpartition("/")[2]]
            if part is not None:
                up = f"{part.running}/{part.count}" if part.running is not None else f"{part.count}"
                cells += ["job" if part.kind == "job" else up, part.state, part.lane]
            if each in held:
                cells.append(held[each])
            lines.append(printable(f"{indent}{'└─' if last else '├─'} ") + "  ".join(cells))
            draw(each, indent + ("   " if last else "│  "))

    draw(system.path, "")
    return lines


def _progress(total: int, remaining: int) -> str:
    return f"{total - remaining} of {total}"
