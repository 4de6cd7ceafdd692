"""What was explored in full, on record: `python -m tools.explored` explores every kind and writes it down.

It takes minutes, so it is not done on every run of the tests. The record names the very code that was explored, by a
digest over all that decides, and the tests accept it for no other: whoever changes a lifecycle, or how it is decided,
has to explore anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from stead.catalog import KINDS
from stead.cli.exploration import ExplorationReport, search_all
from stead.lifecycle.explore import Bounds

ROOT = Path(__file__).parents[1] / "src" / "stead"
RECORD = ROOT / "catalog" / "explored.py"
BESIDE = ("diagram", "document", "files", "lint", "demand.py", "scaling.py")
"""Parts of the core that decide nothing about a resource."""

HEAD = '''"""How many worlds each kind was explored in, in full. Made by `make explore`; change nothing here.

A world is where things can stand: the resource, messages under way, agents, what is really there. A step leads from
one to the next.
"""

from __future__ import annotations

from typing import NamedTuple


class ExploredSize(NamedTuple):
    """How much there was to see; nothing of it was as it must not be."""

    worlds: int
    steps: int


'''


def digest() -> str:
    """Of all that says what happens next, and of what explores it."""
    sources = [path for part in ("lifecycle", "catalog") for path in sorted((ROOT / part).rglob("*.py"))]
    found = hashlib.sha256()
    for path in sources:
        if path != RECORD and path.relative_to(ROOT).parts[1] not in BESIDE:
            found.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def written(results: list[ExplorationReport], of: str) -> str:
    """The record."""
    rows = [f'    "{r.kind}": ExploredSize({r.visited:_}, {r.transitions:_}),' for r in results]
    return "\n".join([f'{HEAD}DIGEST = "{of}"', "EXPLORED = {", *rows, "}", ""])


def main() -> int:
    """Explore every kind; the exit code."""
    of = digest()
    results: dict[int, ExplorationReport] = {}
    for place, result in search_all(list(KINDS.values()), Bounds(), os.cpu_count() or 1):
        results[place] = result
        says = "good" if result.good else result.story or "not complete"
        print(f"{result.kind:<14} {result.visited:>9,} worlds {result.transitions:>10,} steps  {says}", flush=True)
    if not all(result.good for result in results.values()):
        return 1
    RECORD.write_text(written([results[place] for place in sorted(results)], of), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
