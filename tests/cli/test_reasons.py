"""Why something failed or waits, wherever somebody at a terminal looks for it."""

from __future__ import annotations

import json

from stead.cli.output import Code
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Actor, Trigger
from tests.api.cell import INFRASTRUCTURE, Cell
from tests.cli.remote import Stead

WHY = "sim.a has no image nowhere-1.0"


def create(cell: Cell, stead: Stead, *more: str) -> str:
    """An infrastructure whose creation was accepted; its path."""
    path = f"/{cell.namespace()}/web"
    words = ("mci", "create", path, "-f", "-", "--detach", *more)
    assert stead(*words, stdin=json.dumps(INFRASTRUCTURE)).code == Code.DONE
    return path


async def fail(cell: Cell, path: str) -> None:
    """The controller cannot prepare it."""
    row = await cell.store.resources.read(path)
    assert row is not None
    said = Report(Trigger.FAILED, row.snapshot.fence, actor=Actor.CONTROLLER)
    await cell.executor.apply([TransitionInput(path, said, principal="controller", detail={"error": WHY})])
    await cell.idle()


def test_status_and_tree_of_failed_infrastructure_show_state_and_reason(cell: Cell, stead: Stead) -> None:
    path = create(cell, stead)
    assert stead("mci", "status", path).out == f"{path[1:]}  Preparing  [create to Running]\n"
    cell.run(fail(cell, path))
    for command in ("status", "tree"):
        assert stead("mci", command, path).out == f"{path[1:]}  Failed: {WHY}\n"


def test_status_and_tree_of_held_infrastructure_show_until_when(cell: Cell, stead: Stead) -> None:
    path = create(cell, stead, "--hold")
    cell.prepared(path)
    until = json.loads(stead("mci", "show", path, "-o", "json").out)["timers"]["hold"]
    for command in ("status", "tree"):
        shown = stead("mci", command, path).out
        assert shown.startswith(f"{path[1:]}  Prepared, held until {until[:10]}"), shown


def test_reason_is_in_show_list_operation_and_journal(cell: Cell, stead: Stead) -> None:
    path = create(cell, stead)
    cell.run(fail(cell, path))
    cell.numbered()
    assert json.loads(stead("mci", "show", path, "-o", "json").out)["failure"] == WHY
    assert WHY in stead("mci", "show", path).out
    (listed,) = json.loads(stead("mci", "list", path, "-o", "json").out)
    assert listed["failure"] == WHY
    assert WHY in stead("mci", "list", path, "-o", "wide").out
    (operation,) = json.loads(stead("operation", "list", "--below", path, "-o", "json").out)
    assert operation["message"] == WHY
    assert WHY in stead("operation", "show", operation["id"]).out
    assert WHY in stead("operation", "list", "--below", path, "-o", "wide").out
    assert WHY in stead("journal", path).out


def test_reason_goes_once_something_was_done_well(cell: Cell, stead: Stead) -> None:
    path = f"/{cell.namespace()}/m/g/1"
    assert stead("vm", "create", path, "--provider", "sim", "--region", "a", "--detach").code == Code.DONE
    cell.settle(path, Trigger.FAILED)
    assert "gave no reason" in json.loads(stead("vm", "show", path, "-o", "json").out)["failure"]
    assert stead("vm", "terminate", path, "--force", "--reason", "done with", "--detach").code == Code.DONE
    cell.settle(path)
    cell.look(path, "absent")
    assert "failure" not in stead("vm", "show", path).out


def test_journal_shows_why_a_request_was_rejected(cell: Cell, stead: Stead) -> None:
    path = f"/{cell.namespace()}/m/g/1"
    stead("vm", "create", path, "--provider", "sim", "--region", "a", "--detach")
    assert stead("vm", "resume", path).code == Code.REJECTED
    cell.numbered()
    head, *rows = stead("journal", path).out.splitlines()
    assert head.split()[-1] == "REASON"
    assert any("resume" in row and ("cannot start" in row or "under way" in row) for row in rows), rows
