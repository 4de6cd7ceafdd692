"""`stead operation`, `journal`, `claim` and `explain`, as somebody at a terminal or a script sees them."""

from __future__ import annotations

import json

import pytest
import yaml

from stead.cli.listing import printable
from stead.cli.output import Code
from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.cli.remote import Stead, process, until

AT = ("--provider", "sim", "--region", "a")


def begin(stead: Stead, path: str) -> str:
    return stead("vm", "create", path, *AT, "--detach", "-o", "name").out.strip()


# operation


def test_operations_are_listed_the_latest_first(cell: Cell, ns: str, stead: Stead) -> None:
    first, second = begin(stead, f"{ns}/m/g/1"), begin(stead, f"{ns}/m/g/2")
    cell.settle(f"/{ns}/m/g/1")
    cell.numbered()
    rows = stead("operation", "list", "--below", ns).rows
    assert rows == [
        ["OPERATION", "ACTION", "PATH", "OUTCOME"],
        [second, "create", f"/{ns}/m/g/2", "running"],
        [first, "create", f"/{ns}/m/g/1", "succeeded"],
    ]
    assert stead("operation", "list", "--below", ns, "--running", "-o", "name").out.split() == [second]
    assert stead("operation", "list", "--below", ns, "--ended", "-o", "name").out.split() == [first]
    one = stead("operation", "list", "--below", ns, "--limit", "1", "-o", "name")
    assert (one.out.split(), one.err) == ([second], "the first 1 are listed; more may exist\n")
    wide = stead("operation", "list", "--below", ns, "-o", "wide").rows
    assert wide[0][4:10] == ["STATE", "PHASE", "REMAINING", "BY", "SINCE", "ENDED"]
    assert wide[0][10:] == ["REASON", "POSITION", "REJECTED", "ELAPSED", "MESSAGE"]
    assert wide[1][4:8] == ["Creating", "acting", "1/1", "ann"]
    listed = json.loads(stead("operation", "list", "--below", ns, "-o", "json").out)
    assert [op["id"] for op in listed] == [second, first]
    assert yaml.safe_load(stead("operation", "list", "--below", ns, "-o", "yaml").out) == listed


def test_an_operation_by_its_id(cell: Cell, ns: str, stead: Stead) -> None:
    id = begin(stead, f"{ns}/m/g/1")
    fields = {row[0]: " ".join(row[1:]) for row in stead("operation", "show", id).rows}
    assert fields.items() >= {"operation": id, "outcome": "running", "state": "Creating", "by": "ann"}.items()
    cell.settle(f"/{ns}/m/g/1", Trigger.FAILED)
    assert json.loads(stead("operation", "show", id, "-o", "json").out)["outcome"] == "failed"
    assert stead("operation", "show", id, "-o", "name").out == f"{id}\n"
    assert stead("operation", "wait", id).code == Code.FAILED
    assert stead("operation", "show", "shop/00000000-0000-0000-0000-000000000000").code == Code.NOT_FOUND
    assert stead("operation", "show", "shop/nonsense").code == Code.USAGE


def test_wait_times_out(cell: Cell, ns: str, stead: Stead) -> None:
    id = begin(stead, f"{ns}/m/g/1")
    assert stead("operation", "wait", id, "--timeout", "0s").code == Code.TIMED_OUT


def test_operations_are_watched(cell: Cell, ns: str, stead: Stead) -> None:
    id = begin(stead, f"{ns}/m/g/1")
    cell.numbered()
    with process(cell, "operation", "list", "--below", ns, "--watch") as child:
        assert child.stdout is not None
        assert [child.stdout.readline().split() for _ in range(2)][1] == [id, "create", f"/{ns}/m/g/1", "running"]
        cell.settle(f"/{ns}/m/g/1")
        until(child.stdout, [id, "create", f"/{ns}/m/g/1", "succeeded"])


# journal


def test_the_journal_of_a_path(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    stead("vm", "suspend", path)  # refused
    cell.settle(f"/{path}")
    cell.numbered()
    rows = stead("journal", path).rows
    assert rows[0] == ["POSITION", "AT", "PATH", "TRIGGER", "FROM", "TO", "BY", "REASON"]
    assert [row[3:8] for row in rows[1:]] == [
        ["request", "create", "Absent", "Creating", "ann"],
        ["rejected", "suspend", "Creating", "Creating", "ann"],
        ["succeeded", "create", "Creating", "Running", "agent"],
    ]
    assert "create by ann is under way" in " ".join(rows[2][8:])
    wide = stead("journal", path, "-o", "wide").rows
    assert wide[0][8:] == ["KIND", "ACTOR", "REJECTIONS", "OPERATION", "ORIGIN", "REQUEST"]
    assert wide[1][10] == id
    after = rows[2][0]
    assert stead("journal", path, "--after", after, "-o", "name").out.split() == [rows[3][0]]
    assert stead("journal", "--all", "--after", "1").code == Code.USAGE


@pytest.mark.req("X-03")
def test_the_whole_journal_is_exported_a_document_a_line(cell: Cell, ns: str, stead: Stead) -> None:
    with SyncClient(cell.url) as client:
        for i in range(30):
            client.request_action(f"/{ns}/m/g/{i}", "create", kind="vm", lane="sim.a")
    end = cell.numbered()
    out = stead("journal", "--all", "-o", "json").out
    positions = [json.loads(line)["position"] for line in out.splitlines()]
    assert positions[:end] == list(range(1, end + 1))
    assert len(list(yaml.safe_load_all(stead("journal", ns, "-o", "yaml").out))) == 30
    assert len(stead("journal").rows) == 1 + 20


def test_the_journal_is_followed(cell: Cell, ns: str, stead: Stead) -> None:
    begin(stead, f"{ns}/m/g/1")
    cell.numbered()
    with process(cell, "journal", ns, "--follow", "-o", "json") as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["target"] == "Creating"
        cell.settle(f"/{ns}/m/g/1")
        assert json.loads(child.stdout.readline())["target"] == "Running"


# claim


def test_claims(cell: Cell, ns: str, stead: Stead) -> None:
    id = begin(stead, f"{ns}/m/g/1")
    rows = stead("claim", "list", "--below", ns, "-o", "wide").rows
    assert rows[0] == ["PATH", "MODE", "ACTION", "BY", "SINCE", "OPERATION"]
    assert rows[1][:4] == [f"/{ns}/m/g/1", "exclusive", "create", "ann"]
    assert rows[1][-1] == id
    cell.settle(f"/{ns}/m/g/1")
    assert stead("claim", "list", "--below", ns, "-o", "name").out == ""


# explain


@pytest.mark.req("X-01")
def test_explain_says_whether_and_what_would_help(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    answer = stead("explain", path, "suspend")
    assert answer.code == Code.REJECTED
    said = answer.out.splitlines()
    assert said[0] == f"suspend /{path} would be rejected (vm is Creating)"
    assert said[1].startswith("because: create by ann is under way")
    assert said[2].startswith(f"held by: create of /{path} by ann since 20")
    assert said[3] == f"remedy: wait until create on /{path} has ended ({id})"
    cell.settle(f"/{path}")
    answer = stead("explain", path, "suspend")
    assert (answer.code, answer.out.splitlines()[0]) == (
        Code.DONE,
        f"suspend /{path} would be accepted (vm is Running)",
    )
    assert "remedy: first suspend: resume starts in Suspended" in stead("explain", path, "resume").out
    assert stead("explain", path, "resume", "--force", "--reason", "so").code == Code.DONE
    assert json.loads(stead("explain", path, "resume", "-o", "json").out)["allowed"] is False
    assert stead("explain", path, "resume", "-o", "name").out == "rejected\n"
    assert stead("explain", f"{ns}/m/g/2", "create").code == Code.NOT_FOUND
    assert stead("explain", f"{ns}/m/g/2", "create", "--kind", "vm").code == Code.DONE


def test_nothing_that_a_terminal_would_obey_is_written() -> None:
    assert printable("a\x1b[2Jb\x9bc\nd") == "a�[2Jb�c�d"
