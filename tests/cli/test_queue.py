"""`stead queue`, `--queue` and what becomes of those that wait, as somebody at a terminal sees it."""

from __future__ import annotations

import json

import pytest

from stead.cli.output import Code
from tests.api.cell import Cell
from tests.cli.remote import Stead, process, until
from tests.cli.test_operation import begin


def wait(stead: Stead, path: str, *actions: str) -> list[str]:
    """Operations that wait, by id."""
    return [stead("vm", action, path, "--queue", "--detach", "-o", "name").out.strip() for action in actions]


@pytest.mark.req("X-11")
def test_a_change_waits_its_turn(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    begin(stead, path)
    refused = stead("vm", "suspend", path)
    assert refused.code == Code.REJECTED
    first = stead("vm", "suspend", path, "--queue", "--detach")
    (id, *rest) = first.rows[1]
    assert (first.code, rest) == (Code.DONE, ["suspend", f"/{path}", "queued"])
    assert first.err == f"suspend of /{path}: queued, none before it: operation {id}\n"
    second = stead("vm", "resume", path, "--queue", "--detach")
    assert f"resume of /{path}: queued, 1 before it" in second.err
    fields = {row[0]: " ".join(row[1:]) for row in stead("operation", "show", second.rows[1][0]).rows}
    assert fields.items() >= {"outcome": "queued", "phase": "queued", "position": "2"}.items()
    told = stead("explain", path, "reboot", "--queue")
    assert (told.code, "it would be queued" in told.out) == (Code.DONE, True)
    assert "it would be queued" in stead("vm", "reboot", path, "--queue", "--dry-run").out


@pytest.mark.req("X-11")
def test_it_is_followed_from_the_queue_to_its_end(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    begin(stead, path)
    with process(cell, "vm", "suspend", path, "--queue") as child:
        assert child.stderr is not None
        until(child.stderr, ["suspend", "of", f"/{path}:", "queued,", "none", "before", "it"])
        cell.settle(f"/{path}")
        until(child.stderr, ["suspend", "of", f"/{path}:", "Suspending", "(acting)"])
        cell.settle(f"/{path}")
        assert child.wait(60) == Code.DONE


def test_what_is_refused_at_its_turn_says_why(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    begin(stead, path)
    cell.settle(f"/{path}")
    stead("vm", "suspend", path, "--detach")
    (id,) = wait(stead, path, "reboot")
    cell.settle(f"/{path}")
    answer = stead("operation", "wait", id)
    assert answer.code == Code.REJECTED
    assert "because: reboot cannot start in Suspended" in answer.err
    assert "reboot cannot start in Suspended" in stead("operation", "show", id).out


@pytest.mark.req("X-11")
def test_one_that_waits_is_cancelled_or_put_first(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    busy = begin(stead, path)
    one, two, three = wait(stead, path, "suspend", "resume", "suspend")
    assert stead("operation", "promote", three).rows[1] == [three, "suspend", f"/{path}", "queued"]
    cancelled = stead("operation", "cancel", one)
    assert (cancelled.code, cancelled.rows[1][-1]) == (Code.DONE, "cancelled")
    assert stead("operation", "promote", busy).code == Code.REJECTED
    assert stead("queue", "show", path, "-o", "name").out.split() == [three, two]


@pytest.mark.req("S2-03")
def test_queues(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    begin(stead, path)
    assert stead("queue", "show", path).code == Code.NOT_FOUND
    assert stead("queue", "open", path).rows[1] == [f"/{path}", "0"]
    wait(stead, path, "suspend", "resume")
    rows = stead("queue", "list", "--below", ns).rows
    assert rows == [["PATH", "WAITING", "STOPPING"], [f"/{path}", "2"]]
    assert [row[1] for row in stead("queue", "show", path).rows[1:]] == ["suspend", "resume"]
    whole = json.loads(stead("queue", "show", path, "-o", "json").out)
    assert (whole["waiting"], [item["position"] for item in whole["items"]]) == (2, [1, 2])
    assert stead("queue", "stop", path).rows[1] == [f"/{path}", "2", "yes"]
    assert "accepts no operations" in stead("queue", "show", path).err
    assert stead("vm", "reboot", path, "--queue").code == Code.REJECTED
    assert stead("queue", "stop").code == Code.USAGE
    assert stead("queue", "stop", path, "--all").code == Code.USAGE


@pytest.mark.req("S2-03")
def test_all_queues_stop(cell: Cell, ns: str, stead: Stead) -> None:
    paths = [f"{ns}/m/g/{i}" for i in (1, 2)]
    for path in paths:
        begin(stead, path)
        wait(stead, path, "suspend")
    assert {f"/{path}" for path in paths} <= set(stead("queue", "stop", "--all", "-o", "name").out.split())
    for path in paths:
        assert stead("vm", "resume", path, "--queue").code == Code.REJECTED
        cell.settle(f"/{path}")
        cell.settle(f"/{path}")
    assert stead("queue", "list", "--below", ns, "-o", "name").out == ""
