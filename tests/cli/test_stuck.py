"""`stead stuck`, and how long things last, as somebody at a terminal sees it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from stead.catalog import KINDS
from stead.cli.elapsed import span, told
from stead.cli.output import Code
from stead.client import Elapsed
from tests.api.cell import Cell
from tests.api.test_stuck import aged, ticked
from tests.cli.remote import Stead
from tests.cli.test_operation import begin
from tests.controller.test_stuck import agents_there

DEADLINE = KINDS["vm"].state("Creating").timeout or 0


@pytest.fixture(autouse=True)
def agents(cell: Cell) -> None:
    cell.run(agents_there(cell.store))


@pytest.mark.req("S2-10")
def test_what_is_stuck_says_why_and_what_to_do(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    quiet = stead("stuck", "--below", ns)
    assert (quiet.code, quiet.rows[1:], quiet.err) == (Code.DONE, [], "no operation is stuck\n")
    aged(cell, f"/{path}", DEADLINE + 5)
    ticked(cell)
    answer = stead("stuck", "--below", ns)
    assert answer.code == Code.DONE
    head, row = answer.out.splitlines()
    assert " ".join(head.split()) == "PATH STATE ACTION ELAPSED TYPICAL LIMIT CAUSES RESOLUTION NEXT STEPS"
    assert row.startswith(f"/{path}")
    assert "overdue: Creating for" in row
    assert "probing: nobody has taken the order to look at it" in row
    assert f"stead lane list; stead operation cancel {id}" in row
    assert stead("stuck", "--below", ns, "-o", "name").out.split() == [f"/{path}"]
    (said,) = json.loads(stead("stuck", "--below", ns, "-o", "json").out)
    assert (said["operation"], said["elapsed"]["overdue"], said["resolution"]) == (id, True, "")
    assert yaml.safe_load(stead("stuck", "--below", ns, "-o", "yaml").out) == [said]
    assert id in stead("stuck", "--below", ns, "-o", "wide").out
    aged(cell, f"/{path}", 5 * DEADLINE)  # unobserved
    ticked(cell)
    (row,) = stead("stuck", "--below", ns).out.splitlines()[1:]
    assert "settled to Undefined, from Creating; for it, create ended unknown" in row
    assert "no agent could observe it" in row
    assert f"stead operation retry {id}" in row
    assert stead("stuck", "--below", ns, "--recent", "0s").rows[1:] == []
    assert stead("stuck", "--recent", "soon").code == Code.USAGE


@pytest.mark.req("X-12")
def test_what_is_under_way_says_for_how_long(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    for words in (("operation", "show", id), ("vm", "show", path)):
        fields = {row[0]: " ".join(row[1:]) for row in stead(*words).rows}
        assert f"at most {span(DEADLINE)}" in fields["elapsed"]
    more = [begin(stead, f"{ns}/m/g/{n}") for n in (2, 3)]
    assert len(more) == 2
    for n in (2, 3):
        aged(cell, f"/{ns}/m/g/{n}", DEADLINE + 5)
    ticked(cell)
    some = stead("stuck", "--below", ns, "--limit", "1")
    assert (len(some.rows), some.err) == (2, "the first 1 are listed; more exist\n")


def test_how_long_is_told_in_a_line() -> None:
    since = datetime.now(UTC) - timedelta(seconds=42)
    known: dict[str, Any] = {"since": since, "samples": 0, "lane": "", "late": False, "overdue": False}
    usual = {"limit": 600, "typical": 3.0, "p99": 12.0, "samples": 40, "late": True, "lane": "sim.a"}
    assert told(None) == ""
    assert told(Elapsed(**known)) == "42s"
    assert told(Elapsed(**{**known, **usual})) == (
        "42s; usually 3.0s, 99 of 100 within 12s, from 40 on sim.a; at most 10m (late)"
    )
    assert told(Elapsed(**{**known, "limit": 30, "overdue": True})) == "42s; at most 30s (overdue)"
