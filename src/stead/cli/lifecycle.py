"""`stead lifecycle`: look at lifecycles, check them, explore them, draw them. None of this needs a server."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from stead.catalog import FAMILIES, KINDS
from stead.cli import lifecycle_register, tables
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

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Look at lifecycles, check them, explore them, draw them."
)

_BOUNDS = Bounds()
_SUFFIXES = {".svg": Picture.SVG, ".dot": Picture.DOT, ".gv": Picture.DOT}

Name = Annotated[
    str,
    typer.Argument(metavar="KIND|FILE", help="A built-in kind, or a lifecycle in YAML.", autocompletion=complete),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How the result is written.")]


@app.command("list", short_help="The built-in kinds.", epilog="Example: stead lifecycle list -o wide")
def list_(
    output: Annotated[
        ListFormat, typer.Option("--output", "-o", help="How the result is written.")
    ] = ListFormat.TABLE,
) -> None:
    """The built-in kinds."""
    rows = [_summary(family, KINDS[kind]) for family, kinds in FAMILIES.items() for kind in kinds]
    match output:
        case ListFormat.NAME:
            for row in rows:
                line(row["kind"])
        case ListFormat.TABLE:
            table(("KIND", "FAMILY", "SAYS"), [(r["kind"], r["family"], r["says"]) for r in rows])
        case ListFormat.WIDE:
            columns = [key.upper() for key in rows[0]]
            table(columns, [[str(v) for v in row.values()] for row in rows], right=("STATES", "ACTIONS", "MOVES"))
        case _:
            data(rows, output)


@app.command(short_help="A lifecycle: its states, actions and moves.", epilog="Example: stead lifecycle show vm")
def show(
    name: Name,
    output: Output = Format.TABLE,
    moves: Annotated[bool, typer.Option("--moves", help="Only the derived moves, every one of them.")] = False,
) -> None:
    """A lifecycle: its states, its actions, its moves.

    As YAML it is the document that `lint`, `explore` and `diagram` read again.
    """
    lifecycle = find(name)
    if output is Format.TABLE:
        _show(lifecycle, only_moves=moves)
    elif moves:
        data([_plain(move) for move in tables.ordered(lifecycle)], output)
    elif output is Format.YAML:
        line(dump(lifecycle).rstrip("\n"))
    else:
        data(yaml.safe_load(dump(lifecycle)), output)


@app.command(short_help="Whether lifecycles are sound.", epilog="Example: stead lifecycle lint door.yaml")
def lint(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND|FILE", help="Without any: all built-in kinds.", autocompletion=complete),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """Whether lifecycles are sound, and how to mend them where they are not.

    Exit code 0: no findings. 1: findings. 2: a file is no lifecycle at all.
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
            {"lifecycle": name, "rule": str(f.rule), "where": f.where, "says": f.says, "mend": f.mend}
            for f in findings_of(lifecycle)
        ]
    if output is Format.TABLE:
        for finding in found:
            line(f"{finding['lifecycle']}: {finding['where']}: {finding['says']} [{finding['rule']}]")
            line(f"    {finding['mend']}")
    else:
        data(found, output)
    checked = len(names) - unreadable
    note(f"{_count(checked, 'lifecycle')} checked, {_count(len(found), 'finding')}.")
    raise typer.Exit(Code.USAGE if unreadable else Code.FAILED if found else Code.DONE)


@app.command(
    short_help="Run lifecycles through all that can go wrong.", epilog="Example: stead lifecycle explore clusterinst"
)
def explore(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND|FILE", help="What to explore.", autocompletion=complete),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All built-in kinds.")] = False,
    requests: Annotated[
        int, typer.Option(metavar="N", min=0, help="Requests besides the delete.")
    ] = _BOUNDS.requests,
    crashes: Annotated[
        int, typer.Option(metavar="N", min=0, help="Crashes of a controller or an agent.")
    ] = _BOUNDS.crashes,
    in_flight: Annotated[
        int, typer.Option(metavar="N", min=1, help="Messages under way at once.")
    ] = _BOUNDS.in_flight,
    repeats: Annotated[int, typer.Option(metavar="N", min=0, help="Messages delivered twice.")] = _BOUNDS.repeats,
    late: Annotated[int, typer.Option(metavar="N", min=0, help="Agents that act after their time.")] = _BOUNDS.late,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, help="Kinds explored at once, a process each.")] = 2,
    output: Output = Format.TABLE,
) -> None:
    """Run lifecycles through every order of lost, repeated and late messages and crashes, within bounds.

    Exit code 0: all was seen, and all was well. 1: something that must not be was reached (its shortest story is
    told), or the search did not come to its end.
    """
    if bool(names) is all_:
        fail("name what to explore, or say --all", Code.USAGE)
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


@app.command(
    short_help="A picture of a lifecycle.", epilog="Example: stead lifecycle diagram lease --output lease.svg"
)
def diagram(
    name: Name,
    format: Annotated[
        Picture | None,
        typer.Option("--format", "-f", help="Without it: by the file's suffix, else mermaid."),
    ] = None,
    detail: Annotated[bool, typer.Option("--detail", help="Draw every move, also forced and observed ones.")] = False,
    file: Annotated[Path | None, typer.Option("--output", help="A file to write, instead of stdout.")] = None,
) -> None:
    """A picture of a lifecycle."""
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
        "moves": len(lifecycle.table),
        "parent": lifecycle.parent,
        "members": lifecycle.members,
        "says": lifecycle.says,
    }


def _plain(move: Transition) -> dict[str, Any]:
    """A move in the words of the document."""
    when = f"{move.trigger} {move.on}".strip()
    return {"from": move.source, "when": when, "by": move.actor, "to": move.target, "forced": move.forced}


def _show(lifecycle: Lifecycle, *, only_moves: bool) -> None:
    if not only_moves:
        heading(f"{lifecycle.kind}: {lifecycle.says}")
        line()
        table(tables.STATES, tables.states(lifecycle))
        line()
        table(tables.ACTIONS, tables.actions(lifecycle))
        line()
    table(tables.MOVES, tables.moves(lifecycle))


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
