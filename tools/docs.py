"""What is made from the code: every lifecycle with its picture, the command line, and the HTTP interface.

`python -m tools.docs` writes them, `--check` names those that no longer say what the code does. A page that people
read is made from the same values that `decide` runs by, so it cannot be wrong for long.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from stead.api import openapi
from stead.catalog import FAMILIES, KINDS, infrastructure
from stead.cli import tables
from stead.cli.output import Code
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.diagram import render
from stead.lifecycle.document import dump

ROOT = Path(__file__).parents[1]
LIFECYCLES = Path("docs/reference/lifecycles")
CLI = Path("docs/reference/cli.md")
OPENAPI = Path("docs/reference/openapi.json")
SCHEMA = Path("docs/reference/infrastructure.schema.json")
MADE = "<!-- Made from the code by `make docs`. Change the code, not this page. -->"

TITLES = {
    "multicloud": "Multi-cloud infrastructure",
    "edge": "Edge sites",
    "datacenter": "Private cloud",
    "reservation": "Leases",
    "system": "Systems of services",
}
CODES = {
    Code.DONE: "done",
    Code.FAILED: "failed",
    Code.USAGE: "wrong use: options, arguments, or a file that is no lifecycle",
    Code.REFUSED: "refused, because of a conflict",
    Code.NOT_ALLOWED: "not allowed",
    Code.NOT_FOUND: "not found",
    Code.TIMED_OUT: "timed out",
}


def pages() -> dict[Path, str]:
    """Every made file with what it should hold."""
    made = {LIFECYCLES / "README.md": _index(), CLI: _cli(), OPENAPI: _openapi()}
    made[SCHEMA] = json.dumps(infrastructure.schema(), indent=2) + "\n"
    for kind, lifecycle in KINDS.items():
        made[LIFECYCLES / f"{kind}.md"] = _page(lifecycle)
        made[LIFECYCLES / f"{kind}.svg"] = render(lifecycle)
    return made


def stale(made: Mapping[Path, str], root: Path = ROOT) -> list[Path]:
    """The files that are missing, differ, or are there though nothing makes them any more."""
    wrong = [path for path, text in made.items() if not _holds(root / path, text)]
    return sorted([*wrong, *_left_over(made, root)])


def write(made: Mapping[Path, str], root: Path = ROOT) -> list[Path]:
    """Make all files what they should be; which ones were touched."""
    touched = stale(made, root)
    for path in touched:
        if path in made:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(made[path], encoding="utf-8")
        else:
            (root / path).unlink()
    return touched


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _left_over(made: Mapping[Path, str], root: Path) -> Iterator[Path]:
    """What stands in the folder of the lifecycles, which holds nothing but made files."""
    for path in (root / LIFECYCLES).glob("*"):
        if path.is_file() and path.relative_to(root) not in made:
            yield path.relative_to(root)


INDEX = f"""{MADE}

# Lifecycles

The kinds of resource that Stead knows without being taught. A page has the picture of a kind, its states and actions,
and every move there is: from where, on what word, by whom, to where. Kinds of your own are written in the same YAML
that stands at the end of each page; `stead lifecycle lint` says whether they are sound.

States are *settled* (stays until somebody asks for a change), *moving* (on the way, with a deadline and a way out on
success, on failure and on silence), *final* (nothing leaves it by itself) or *absent* (there is no such object).
`(back)` stands for the state in which an operation began.
"""


def _index() -> str:
    lines = [INDEX]
    for family, kinds in FAMILIES.items():
        lines += [f"## {TITLES[family]}", ""]
        rows = [(f"[{kind}]({kind}.md)", KINDS[kind].says, *_sizes(KINDS[kind])) for kind in kinds]
        lines += [*_table(("kind", "what it is", "states", "actions", "moves"), rows), ""]
    return "\n".join(lines)


def _sizes(lifecycle: Lifecycle) -> Iterator[str]:
    return map(str, (len(lifecycle.states), len(lifecycle.actions), len(lifecycle.table)))


def _page(lifecycle: Lifecycle) -> str:
    kind = lifecycle.kind
    lines = [MADE, "", f"# {kind}", "", lifecycle.says, *_kin(lifecycle), ""]
    lines += [f"![The lifecycle of {kind}]({kind}.svg)", ""]
    lines += ["## States", "", *_table(("state", "class", "deadline", "meaning"), tables.states(lifecycle)), ""]
    lines += ["## Actions", ""]
    says = {action.name: action.says for action in lifecycle.actions}
    actions = [(f"**{name}**<br>{says[name]}", *rest) for name, *rest in tables.actions(lifecycle)]
    lines += [*_table(("action", "starts", "through", "ends", "fails", "undo", "by", "flags"), actions), ""]
    lines += ["## Moves", "", f"All {len(lifecycle.table)} of them.", ""]
    lines += [*_table(("from", "on", "by", "to"), tables.moves(lifecycle)), ""]
    lines += ["## As YAML", "", "<details>", f"<summary>The lifecycle of {kind} as a document</summary>", ""]
    lines += ["```yaml", dump(lifecycle).rstrip("\n"), "```", "", "</details>", ""]
    return "\n".join(lines)


def _kin(lifecycle: Lifecycle) -> Iterator[str]:
    """The kinds above and below it in the tree."""
    for word, kind in (("Its parent is a", lifecycle.parent), ("Its members are of the kind", lifecycle.members)):
        if kind:
            yield f"{word} {f'[{kind}]({kind}.md)' if kind in KINDS else kind}."


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}", *(f"| {row} |" for row in cells)]


COMMANDS = f"""{MADE}

# Command line

Results go to stdout, everything else to stderr. JSON and YAML (`-o json`, `-o yaml`) keep their keys; tables are for
people and may change. NO_COLOR is honoured.
"""


def _cli() -> str:
    command = [sys.executable, "-m", "typer", "stead.cli.main", "utils", "docs", "--name", "stead"]
    made = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    codes = _table(("exit code", "meaning"), [(str(code.value), CODES[code]) for code in Code])
    # The first heading is the page's; the program's own goes one down, with all below it.
    body = ["#" + line if line.startswith("#") else line for line in made.strip().splitlines()]
    return "\n".join([COMMANDS, *codes, "", *body]) + "\n"


def _openapi() -> str:
    """What the HTTP interface says of itself: whoever changes it sees the difference beside the code's."""
    return json.dumps(openapi(), indent=2, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the pages, or say which are stale; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="The pages made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page is stale")
    check = parser.parse_args(arguments).check
    made = pages()
    touched = stale(made) if check else write(made)
    for path in touched:
        print(f"{'stale' if check else 'wrote'} {path}")
    if check and touched:
        print("run `make docs`", file=sys.stderr)
    return 1 if check and touched else 0


if __name__ == "__main__":
    sys.exit(main())
