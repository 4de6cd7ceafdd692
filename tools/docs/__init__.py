"""What is made from the code: lifecycles with their pictures, the command line, the HTTP interface, errors, settings.

`python -m tools.docs` writes them, `--check` names those that no longer say what the code does. A page that people
read is made from the same values that the code runs by, so it cannot be wrong for long.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from stead.api import openapi
from stead.catalog import KINDS, infrastructure
from stead.lifecycle.diagram import render
from tools.docs import architecture, commandline, configuration, endpoints, errors, file, lifecycles, way

ROOT = Path(__file__).parents[2]
REFERENCE = Path("docs/reference")
LIFECYCLES = REFERENCE / "lifecycles"
CLI = REFERENCE / "cli.md"
API = REFERENCE / "api.md"
ERRORS = REFERENCE / "errors.md"
CONFIGURATION = REFERENCE / "configuration.md"
OPENAPI = REFERENCE / "openapi.json"
SCHEMA = REFERENCE / "infrastructure.schema.json"
FILE = REFERENCE / "infrastructure.md"
WAY = REFERENCE / "change.svg"
ARCHITECTURE = REFERENCE / "architecture.svg"


def pages() -> dict[Path, str]:
    """Every made file with what it should hold."""
    said, schema = openapi(), infrastructure.schema()
    made = {
        LIFECYCLES / "README.md": lifecycles.index(),
        CLI: commandline.page(),
        API: endpoints.page(said),
        ERRORS: errors.page(),
        CONFIGURATION: configuration.page(),
        # Whoever changes the interface sees the difference beside the code's.
        OPENAPI: json.dumps(said, indent=2, ensure_ascii=False) + "\n",
        SCHEMA: json.dumps(schema, indent=2) + "\n",
        FILE: file.page(schema),
        WAY: way.picture(),
        ARCHITECTURE: architecture.picture(),
    }
    for kind, lifecycle in KINDS.items():
        made[LIFECYCLES / f"{kind}.md"] = lifecycles.page(lifecycle)
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
