"""Which requirement is proven by which tests.

`docs/requirements.md` is the list, a test says what it proves with `@pytest.mark.req("S0-07")`, and
`tools.evidence` noted how those tests ended. This lays the list beside the evidence, and fails wherever the
list says more than the tests show.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

LIST = Path("docs/requirements.md")
EVIDENCE = {"fast": Path(".build/requirements-fast.json"), "full": Path(".build/requirements.json")}
"""What each tier of the suite leaves; only the full one can prove every requirement."""
STATUSES = ("open", "core", "done")
SHOWN = 3
"""So many tests are named for one requirement; the others are counted."""

ROW = re.compile(r"^\| *(?P<id>[A-Z][0-9]?-[0-9]{2}) *\|(?P<text>.*)\|(?P<status>[^|]*)\|\s*$", re.MULTILINE)

type Statuses = dict[str, str]
"""Status of each requirement by id, in the order of the list."""

type Outcomes = dict[str, dict[str, str]]
"""Outcome of each test by node id, by the requirement that it carries."""


def read_list(text: str) -> Statuses:
    """The requirements of a page: its table rows that start with an id."""
    statuses: Statuses = {}
    for row in ROW.finditer(text):
        id_, status = row["id"], row["status"].strip()
        if status not in STATUSES:
            raise ValueError(f"{id_}: {status!r} is none of {', '.join(STATUSES)}")
        if id_ in statuses:
            raise ValueError(f"{id_} stands twice in the list")
        statuses[id_] = status
    return statuses


def short(node_id: str) -> str:
    """A test's name without the folder all tests are in and without its parameters."""
    return node_id.removeprefix("tests/").partition("[")[0]


def proofs(outcomes: Outcomes, id_: str) -> list[str]:
    """The short names of the passing tests that carry an id."""
    return sorted({short(test) for test, outcome in outcomes.get(id_, {}).items() if outcome == "passed"})


def problems(statuses: Statuses, outcomes: Outcomes) -> list[str]:
    """What must not be, a sentence each."""
    found = []
    for id_, tests in outcomes.items():
        if id_ not in statuses:
            found.append(f"{id_} is not in the list, but carried by {short(min(tests))}")
        failed = {short(test) for test, outcome in tests.items() if outcome == "failed"}
        found += [f"{id_} is carried by {test}, which failed" for test in sorted(failed)]
    for id_, status in statuses.items():
        if status != "open" and not proofs(outcomes, id_):
            found.append(f"{id_} is marked {status}, but no passing test carries it")
    return found


def table(statuses: Statuses, outcomes: Outcomes) -> list[str]:
    """A line for each requirement: its id, its status and the tests that prove it."""
    lines = []
    for id_, status in statuses.items():
        tests = proofs(outcomes, id_)
        more = [f"+{len(tests) - SHOWN}"] if len(tests) > SHOWN else []
        lines.append(" ".join([f"{id_:5}", status, *tests[:SHOWN], *more]))
    return lines


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tools.requirements", description="requirements, and the tests that prove them"
    )
    parser.add_argument("--brief", action="store_true", help="only what is wrong, and the last line")
    parser.add_argument("--list", type=Path, default=LIST, metavar="PAGE")
    parser.add_argument("--evidence", type=Path, default=EVIDENCE["full"], metavar="JSON")
    options = parser.parse_args(arguments)

    statuses = read_list(options.list.read_text())
    if not options.evidence.exists():
        print("no evidence yet: run `make check-full` first", file=sys.stderr)
        return 2
    outcomes: Outcomes = json.loads(options.evidence.read_text())
    if not options.brief:
        print("\n".join(table(statuses, outcomes)))
    found = problems(statuses, outcomes)
    for problem in found:
        print(problem, file=sys.stderr)
    proven = sum(status == "done" and bool(proofs(outcomes, id_)) for id_, status in statuses.items())
    print(f"requirements: {proven} of {len(statuses)} proven")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
