"""`stead operation cancel` and `retry`, as somebody at a terminal or a script sees them."""

from __future__ import annotations

import json

import yaml

from stead.cli.operation import _complete
from stead.cli.output import Code
from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.cli.remote import COMMAND, Stead, process, until
from tests.cli.test_operation import begin

NEVER = "shop/00000000-0000-0000-0000-000000000000"


def suspending(cell: Cell, stead: Stead, path: str) -> str:
    begin(stead, path)
    cell.settle(f"/{path}")
    return stead("vm", "suspend", path, "--reason", "night", "--detach", "-o", "name").out.strip()


def test_a_cancel_is_followed_to_the_end(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = suspending(cell, stead, path)
    cell.shows(ns, "Running")
    answer = stead("operation", "cancel", id)
    assert answer.code == Code.DONE
    assert answer.rows == [["OPERATION", "ACTION", "PATH", "OUTCOME"], [id, "suspend", f"/{path}", "cancelled"]]
    said = answer.err.splitlines()
    assert said[0] == f"suspend of /{path} is cancelled; it ends when the object was observed"
    assert said[-1] == f"suspend of /{path}: cancelled"


def test_a_cancel_shows_how_it_goes(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = suspending(cell, stead, path)
    with process(cell, "operation", "cancel", id, "-o", "json") as child:
        assert child.stderr is not None
        until(child.stderr, f"suspend of /{path}: Suspending (probing, cancelled)".split())
        cell.look(f"/{path}", "Suspended")
        until(child.stderr, f"suspend of /{path}: succeeded".split())
        assert child.wait(60) == Code.DONE  # it has ended; that it had been done by then is told
        assert child.stdout is not None
        assert json.loads(child.stdout.read())[0]["outcome"] == "succeeded"


def test_a_cancel_that_nobody_waits_for(cell: Cell, ns: str, stead: Stead) -> None:
    id = suspending(cell, stead, f"{ns}/m/g/1")
    answer = stead("operation", "cancel", id, "--detach", "-o", "json")
    (shown,) = json.loads(answer.out)
    assert (answer.code, answer.err, shown["outcome"], shown["cancelled"]) == (Code.DONE, "", None, True)
    assert yaml.safe_load(stead("operation", "cancel", id, "--detach", "-o", "yaml").out) == [shown]
    assert stead("operation", "cancel", id, "--timeout", "0s").code == Code.TIMED_OUT


def test_a_cancel_that_is_refused(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    cell.settle(f"/{path}")
    answer = stead("operation", "cancel", id)
    assert (answer.code, answer.out) == (Code.REJECTED, "")
    assert answer.err.splitlines() == [
        f"error: create of /{path} ended succeeded: there is nothing to cancel [ended]",
        "  state: Running",
    ]
    assert stead("operation", "cancel", NEVER).code == Code.NOT_FOUND
    for wrong in ("nonsense", NEVER.removeprefix("shop/")):
        answer = stead("operation", "cancel", wrong)
        assert (answer.code, "NAMESPACE/UUID" in answer.err) == (Code.USAGE, True)


def test_what_could_not_be_undone_is_a_failure(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"/{ns}/site/c1"
    cell.put(f"/{ns}/site", "cloudlet")
    with SyncClient(cell.url) as client:
        accepted = client.request_action(path, "create", kind="clusterinst")
    assert accepted.operation is not None
    cell.shows(ns, "absent")
    cell.obey(ns, Trigger.FAILED)
    answer = stead("operation", "cancel", accepted.operation.id)
    assert (answer.code, answer.rows[1][3]) == (Code.FAILED, "failed")


def test_a_retry_is_followed_to_the_end(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = suspending(cell, stead, path)
    cell.shows(ns, "Running")
    stead("operation", "cancel", id)
    cell.obey(ns)
    answer = stead("operation", "retry", id)
    assert (answer.code, answer.rows[1][1:]) == (Code.DONE, ["suspend", f"/{path}", "succeeded"])
    new = answer.rows[1][0]
    assert new != id
    assert answer.err.splitlines()[0] == f"suspend of /{path}: operation {new}"
    assert stead("operation", "show", new, "-o", "json").out.count("night") == 1


def test_a_retry_that_nobody_waits_for_under_a_key(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = suspending(cell, stead, path)
    cell.shows(ns, "Running")
    stead("operation", "cancel", id)
    words = ("operation", "retry", id, "--detach", "--key", f"{ns}-1", "-o", "name")
    new = stead(*words).out.strip()
    again = stead(*words)
    assert (again.out.strip(), again.code) == (new, Code.DONE)
    assert again.err == f"suspend of /{path} was accepted before, with the same key: operation {new}\n"


def test_a_retry_that_is_refused(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = begin(stead, path)
    answer = stead("operation", "retry", id)
    assert (answer.code, answer.out) == (Code.REJECTED, "")
    assert "is still under way: wait for its end, or cancel it [not-retryable]" in answer.err
    cell.settle(f"/{path}", Trigger.FAILED)
    answer = stead("operation", "retry", id)
    assert answer.code == Code.REJECTED
    assert "error: create cannot start in Failed [wrong-state]" in answer.err
    assert stead("operation", "retry", NEVER).code == Code.NOT_FOUND


def test_operations_in_progress_are_completed(cell: Cell, ns: str, stead: Stead) -> None:
    id = begin(stead, f"{ns}/m/g/1")
    command = COMMAND.commands["operation"].commands["cancel"]  # type: ignore[attr-defined]
    with command.make_context("cancel", [id, "--server", cell.url], resilient_parsing=True) as context:
        context.params["server"] = cell.url
        assert id in _complete(context, id[:8])
        assert _complete(context, "nonsense") == []
        context.params["server"] = "http://127.0.0.1:9"
        assert _complete(context, "") == []
