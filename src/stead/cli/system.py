"""`stead system`: trees of services, deployed in parallel where it is safe."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import pairwise
from typing import Annotated, Any

import typer

from stead.catalog import tree
from stead.cli.action_commands import add_observing, add_verb
from stead.cli.columns import CHANGED, CREATED, OPERATION, PATH, STATE
from stead.cli.list_show import add_list
from stead.cli.listing import Columns, counts, printable
from stead.cli.output import Code, Format, ListFormat, data, heading, line, note, table
from stead.cli.paths import SystemPath
from stead.cli.progress import (
    DryRun,
    ExpectAgent,
    How,
    Key,
    OnFailure,
    Remedy,
    Wait,
    Why,
    change,
    see_through,
)
from stead.cli.server_commands import Output, Server, Timeout, plain, reach
from stead.cli.spec_options import read_text
from stead.client import DEFAULT_SERVER, Accepted, Resource, System, SystemPlan
from stead.lifecycle.claims import ancestors
from stead.lifecycle.files.problems import DocumentError

KIND = "system"
SIGNS = {"added": "+", "changed": "~", "scaled": "#", "restarted": "*", "removed": "-"}
"""How a plan shows what becomes of a service."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Trees of services, deployed path by path.")

SYSTEMS: Columns[Resource] = Columns(
    narrow=(
        PATH,
        STATE,
        ("SERVICES", lambda one: counts(one.members or {})),
        OPERATION,
    ),
    wide=(
        ("LANES", lambda one: ", ".join(one.spec.get("lanes", ()))),
        CHANGED,
        CREATED,
    ),
    name=lambda one: one.path,
)

Lanes = Annotated[
    list[str] | None,
    typer.Option("--lane", metavar="LANE", help="Where its services run. May be repeated: they are spread."),
]
At = Annotated[str, typer.Option("--path", metavar="PATH", help="The place in the system, such as /data/db.")]
File = Annotated[
    str, typer.Option("--file", "-f", metavar="FILE", help="What is to be there, in YAML or JSON; - is stdin.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether the plan is as wanted.")]


@app.command(
    short_help="Set a system up.", epilog="Example: stead system create shop/web --lane local.one --lane local.two"
)
def create(
    path: SystemPath,
    lanes: Lanes = None,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Set a system up, with nothing in it yet. Each of its lanes is one that an agent has served."""
    spec: dict[str, Any] = {"lanes": list(lanes)} if lanes else {}
    change(
        server,
        path,
        "create",
        How(output, wait, timeout, dry_run, key, expect_agent),
        kind=KIND,
        spec=spec,
        reason=reason,
    )


@app.command(
    short_help="Define what runs at a path of a system.",
    epilog="Example: stead system deploy shop/web --path /data -f data.yaml",
)
def deploy(
    path: SystemPath,
    file: File,
    at: At = "/",
    yes: Yes = False,
    on_failure: OnFailure = Remedy.ROLLBACK,
    reason: Why = "",
    wait: Wait = True,
    timeout: Timeout = None,
    dry_run: DryRun = False,
    expect_agent: ExpectAgent = False,
    key: Key = None,
    output: Output = ListFormat.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Define what runs at a path of a system and below it; what is there and is not in the file is removed.

    Shows what becomes of each service, and asks; if anything there has changed by then, nothing is done. Deploys on
    paths of which none lies on the way to another run side by side.
    """
    definition = read_file(file, at)
    with reach(server) as client:
        plan = client.plan(path, definition, at=at, expect_agent=expect_agent)
        if dry_run:
            show_plan(plan, output)
            return
        if output is ListFormat.TABLE:
            show_plan(plan, output)
        if not yes and sys.stdin.isatty() and not typer.confirm("Is that as wanted?", err=True):
            note("nothing was done")
            raise typer.Exit(Code.FAILED)

        def ask() -> Accepted:
            return client.deploy(
                path,
                definition,
                at=at,
                mark=plan.mark,
                on_failure=on_failure.value,
                reason=reason,
                key=key,
                expect_agent=expect_agent,
            )

        see_through(client, ask, "deploy", path, How(output, wait, timeout, key=key))


def read_file(file: str, at: str) -> dict[str, Any]:
    """What a definition file says; ends the command where it makes no sense."""
    try:
        return tree.parse(read_text(file), "stdin" if file == "-" else file, at)
    except DocumentError as error:
        for message in error.messages:
            typer.echo(f"error: {message}", err=True)
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
        table(("", "SERVICE", "KIND", "WHAT", "FIELDS", "LANE"), rows)
    told = Counter(one.change for one in plan.changes)
    line(", ".join(f"{told[how]} {how}" for how in SIGNS if told[how]) or "nothing changes")


@app.command(short_help="A definition to begin with.", epilog="Example: stead system example > site.yaml")
def example() -> None:
    """A small system, which runs on the lane of `stead dev`."""
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


add_verb(app, KIND, SystemPath, "teardown", "Take down every service of a system.", "shop/web")
add_verb(app, KIND, SystemPath, "delete", "Cancel what is going on, take all down, forget the system.", "shop/web")
add_observing(app, KIND, SystemPath, "shop/web")
add_list(app, KIND, SYSTEMS, "Systems", "stead system list shop --watch")


@app.command(short_help="A system, as a tree.", epilog="Example: stead system show shop/web")
def show(
    path: SystemPath,
    output: Annotated[Format, typer.Option("--output", "-o", help="How the result is written.")] = Format.TABLE,
    server: Server = DEFAULT_SERVER,
) -> None:
    """A system: its state, its services and jobs as a tree, and which deploys have which paths."""
    with reach(server) as client:
        found = client.system(path)
    if output is not Format.TABLE:
        data(plain(found), output)
        return
    for text in drawn(found):
        line(text)


def drawn(system: System) -> list[str]:
    """A system as a tree, with who has which path."""
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
