"""`stead lifecycle`: show, check, explore, draw and register lifecycles. All but registering needs no server."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from stead.catalog import FAMILIES, KINDS
from stead.cli import lifecycle_register, tables
from stead.cli.command import command, group
from stead.cli.exploration import ExplorationReport, search_all
from stead.cli.lifecycle_sources import complete, find, locate
from stead.cli.output import Code, Format, ListFormat, data, fail, heading, line, note, table
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.diagram import Format as Picture
from stead.lifecycle.diagram import render
from stead.lifecycle.document import DocumentError, dump
from stead.lifecycle.explore import Bounds
from stead.lifecycle.lint import lint as findings_of
from stead.lifecycle.rows import Transition

app = group()

_BOUNDS = Bounds()
_SUFFIXES = {".svg": Picture.SVG, ".dot": Picture.DOT, ".gv": Picture.DOT}

Name = Annotated[
    str,
    typer.Argument(
        metavar="KIND|FILE", help="Built-in kind, or file of a lifecycle in YAML.", autocompletion=complete
    ),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="Output format.")]


@command(app, "stead lifecycle list -o wide")
def list_(
    output: Annotated[ListFormat, typer.Option("--output", "-o", help="Output format.")] = ListFormat.TABLE,
) -> None:
    """List the built-in kinds."""
    rows = [_summary(family, KINDS[kind]) for family, kinds in FAMILIES.items() for kind in kinds]
    match output:
        case ListFormat.NAME:
            for row in rows:
                line(row["kind"])
        case ListFormat.TABLE:
            table(("KIND", "FAMILY", "DESCRIPTION"), [(r["kind"], r["family"], r["description"]) for r in rows])
        case ListFormat.WIDE:
            columns = [key.upper() for key in rows[0]]
            table(
                columns, [[str(v) for v in row.values()] for row in rows], right=("STATES", "ACTIONS", "TRANSITIONS")
            )
        case _:
            data(rows, output)


@command(app, "stead lifecycle show vm")
def show(
    name: Name,
    output: Output = Format.TABLE,
    transitions: Annotated[bool, typer.Option("--transitions", help="Show only the derived transitions.")] = False,
) -> None:
    """Show a lifecycle: its states, actions and transitions.

    As YAML it is the document that `lint`, `explore` and `diagram` read again.
    """
    lifecycle = find(name)
    if output is Format.TABLE:
        _show(lifecycle, only_transitions=transitions)
    elif transitions:
        data([_plain(move) for move in tables.ordered(lifecycle)], output)
    elif output is Format.YAML:
        line(dump(lifecycle).rstrip("\n"))
    else:
        data(yaml.safe_load(dump(lifecycle)), output)


@command(app, "stead lifecycle lint door.yaml")
def lint(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND|FILE", help="Lifecycles to check; default all built-in kinds.", autocompletion=complete
        ),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Check whether lifecycles are sound, and show how to repair them.

    Exit code 0: no findings. 1: findings. 2: a file is not a lifecycle.
    """
    found: list[dict[str, str]] = []
    unreadable = 0
    names = files or list(KINDS)
    for name in names:
        try:
            lifecycle = locate(name)
        except DocumentError as error:
            unreadable += 1
            for message in error.messages:
                note(message)
            continue
        found += [
            {"lifecycle": name, "rule": str(f.rule), "where": f.where, "message": f.message, "remedy": f.remedy}
            for f in findings_of(lifecycle)
        ]
    if output is Format.TABLE:
        for finding in found:
            line(f"{finding['lifecycle']}: {finding['where']}: {finding['message']} [{finding['rule']}]")
            line(f"    {finding['remedy']}")
    else:
        data(found, output)
    checked = len(names) - unreadable
    note(f"{_count(checked, 'lifecycle')} checked, {_count(len(found), 'finding')}.")
    raise typer.Exit(Code.USAGE if unreadable else Code.FAILED if found else Code.DONE)


@command(app, "stead lifecycle explore clusterinst")
def explore(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND|FILE", help="Lifecycles to explore.", autocompletion=complete),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Explore all built-in kinds.")] = False,
    requests: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum requests beside the delete.")
    ] = _BOUNDS.requests,
    crashes: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum crashes of a controller or an agent.")
    ] = _BOUNDS.crashes,
    in_flight: Annotated[
        int, typer.Option(metavar="N", min=1, help="Maximum messages in flight at once.")
    ] = _BOUNDS.in_flight,
    repeats: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum messages delivered twice.")
    ] = _BOUNDS.repeats,
    late: Annotated[
        int, typer.Option(metavar="N", min=0, help="Maximum calls of agents after their custody expired.")
    ] = _BOUNDS.late,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Kinds explored at once, a process each.")] = 2,
    output: Output = Format.TABLE,
) -> None:
    """Explore lifecycles under lost, repeated and late messages and crashes.

    Every order of events within the bounds is explored.

    Exit code 0: no violation. 1: a violation (its shortest story is shown), or the search was not complete.
    """
    if bool(names) is all_:
        fail("name lifecycles to explore, or give --all", Code.USAGE)
    lifecycles = list(KINDS.values()) if all_ else [find(name) for name in names or ()]
    bounds = replace(_BOUNDS, requests=requests, crashes=crashes, in_flight=in_flight, repeats=repeats, late=late)
    results: dict[int, ExplorationReport] = {}
    note(f"exploring {_count(len(lifecycles), 'lifecycle')}")
    for place, result in search_all(lifecycles, bounds, jobs):
        results[place] = result
        note(f"[{len(results)}/{len(lifecycles)}] {result.kind}: {_verdict(result)}, {result.seconds:.1f} s")
    ordered = [results[place] for place in sorted(results)]
    if output is Format.TABLE:
        _explored(ordered, bounds)
    else:
        data([result.plain() for result in ordered], output)
    raise typer.Exit(Code.DONE if all(result.good for result in ordered) else Code.FAILED)


@command(app, "stead lifecycle diagram lease --output lease.svg")
def diagram(
    name: Name,
    format: Annotated[
        Picture | None,
        typer.Option("--format", "-f", help="Format; default by the suffix of the file, else mermaid."),
    ] = None,
    detail: Annotated[
        bool, typer.Option("--detail", help="Draw every transition, forced and observed ones included.")
    ] = False,
    file: Annotated[Path | None, typer.Option("--output", help="File to write; default stdout.")] = None,
) -> None:
    """Draw a lifecycle as a diagram."""
    suffix = file.suffix.lower() if file else ""
    text = render(find(name), format or _SUFFIXES.get(suffix, Picture.MERMAID), detail=detail)
    if file is None:
        line(text.rstrip("\n"))
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {file}: {error.strerror}")
    note(f"wrote {file}")


lifecycle_register.add_to(app)


def _summary(family: str, lifecycle: Lifecycle) -> dict[str, Any]:
    return {
        "kind": lifecycle.kind,
        "family": family,
        "states": len(lifecycle.states),
        "actions": len(lifecycle.actions),
        "transitions": len(lifecycle.table),
        "parent": lifecycle.parent,
        "members": lifecycle.members,
        "description": lifecycle.description,
    }


def _plain(move: Transition) -> dict[str, Any]:
    """A transition in the words of the document."""
    trigger = f"{move.trigger} {move.on}".strip()
    fields = {"source": move.source, "trigger": trigger, "actor": move.actor, "target": move.target}
    return {**fields, "forced": move.forced}


def _show(lifecycle: Lifecycle, *, only_transitions: bool) -> None:
    if not only_transitions:
        heading(f"{lifecycle.kind}: {lifecycle.description}")
        line()
        table(tables.STATES, tables.states(lifecycle))
        line()
        table(tables.ACTIONS, tables.actions(lifecycle))
        line()
    table(tables.TRANSITIONS, tables.transitions(lifecycle))


def _explored(results: list[ExplorationReport], bounds: Bounds) -> None:
    table(
        ("KIND", "VISITED", "TRANSITIONS", "SECONDS", "RESULT"),
        [(r.kind, f"{r.visited:,}", f"{r.transitions:,}", f"{r.seconds:.1f}", _verdict(r)) for r in results],
        right=("VISITED", "TRANSITIONS", "SECONDS"),
    )
    line()
    line(f"Bounds: {', '.join(f'{name.replace("_", " ")} {n}' for name, n in asdict(bounds).items())}.")
    for result in results:
        if result.story:
            line()
            heading(f"{result.kind}: the shortest story")
            line(result.story)


def _verdict(result: ExplorationReport) -> str:
    if result.story:
        return "violation"
    return "complete within its bounds" if result.complete else "not complete"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
