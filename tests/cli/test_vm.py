"""`stead vm`, as somebody at a terminal or a script sees it."""

from __future__ import annotations

import json
import re
import shlex
import signal
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import typer
import yaml

from stead.cli.main import app
from stead.cli.output import Code
from stead.cli.paths import complete_paths
from stead.lifecycle.decision import Code as Why
from stead.lifecycle.decision import Reason, Rejection
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.cli.remote import Stead, process, until

AT = ("--provider", "sim", "--region", "a")
REMOTE = ("vm", "operation", "queue", "journal", "claim", "explain", "orphan", "lane")
"""The nouns that speak to a server."""


@pytest.fixture
def vm(cell: Cell, ns: str, stead: Stead) -> str:
    """A VM that runs, in a namespace whose agent obeys."""
    cell.obey(ns)
    path = f"{ns}/m/g/1"
    assert stead("vm", "create", path, *AT).code == Code.DONE
    return path


# Changes


def test_create_follows_until_it_runs(cell: Cell, ns: str, stead: Stead) -> None:
    cell.obey(ns)
    answer = stead("vm", "create", f"{ns}/m/g/1", *AT, "--set", "size=2", "--set", "tags=[a, b]")
    assert answer.code == Code.DONE
    head, row = answer.rows
    assert head == ["OPERATION", "ACTION", "PATH", "OUTCOME"]
    assert row[1:] == ["create", f"/{ns}/m/g/1", "succeeded"]
    assert f"create of /{ns}/m/g/1: operation {row[0]}" in answer.err
    assert f"create of /{ns}/m/g/1: succeeded" in answer.err
    shown = json.loads(stead("vm", "show", f"{ns}/m/g/1", "-o", "json").out)
    assert shown["spec"] == {"provider": "sim", "region": "a", "size": 2, "tags": ["a", "b"]}
    assert (shown["state"], shown["lane"]) == ("Running", "sim.a")


@pytest.mark.parametrize(
    ("action", "state"),
    [("suspend", "Suspended"), ("reboot", "Running"), ("terminate", "Terminated")],
)
def test_verbs(stead: Stead, vm: str, action: str, state: str) -> None:
    answer = stead("vm", action, f"/{vm}", "-o", "json")
    assert answer.code == Code.DONE
    (operation,) = json.loads(answer.out)
    assert (operation["action"], operation["outcome"]) == (action, "succeeded")
    assert json.loads(stead("vm", "show", vm, "-o", "json").out)["state"] == state


def test_suspend_then_resume(stead: Stead, vm: str) -> None:
    assert stead("vm", "suspend", vm).code == Code.DONE
    assert stead("vm", "resume", vm).code == Code.DONE


def test_what_fails_ends_with_1(cell: Cell, ns: str, stead: Stead, vm: str) -> None:
    cell.obey(ns, Trigger.FAILED)
    answer = stead("vm", "suspend", vm)
    assert answer.code == Code.FAILED
    assert answer.rows[1][-1] == "failed"
    assert f"error: suspend of /{vm} ended failed; see: stead journal /{vm}" in answer.err


def test_detach_returns_at_once_with_an_operation_to_wait_for(cell: Cell, ns: str, stead: Stead) -> None:
    answer = stead("vm", "create", f"{ns}/m/g/1", *AT, "--detach", "-o", "name")
    assert answer.code == Code.DONE
    id = answer.out.strip()
    assert stead("operation", "show", id, "-o", "json").code == Code.DONE
    cell.settle(f"/{ns}/m/g/1")
    assert stead("operation", "wait", id).code == Code.DONE


def test_a_timeout_ends_with_124_and_the_operation_goes_on(cell: Cell, ns: str, stead: Stead) -> None:
    answer = stead("vm", "create", f"{ns}/m/g/1", *AT, "--timeout", "1s")
    assert (answer.code, answer.out) == (Code.TIMED_OUT, "")
    assert "timed out" in answer.err
    id = answer.err.split()[-1]
    assert f"follow it: stead operation wait {id}" in answer.err
    cell.settle(f"/{ns}/m/g/1")
    assert stead("operation", "wait", id).code == Code.DONE
    assert stead("vm", "suspend", f"{ns}/m/g/1", "--timeout", "soon").code == Code.USAGE


def test_joined_repeated_and_idle_are_told(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    stead("vm", "create", path, *AT, "--detach", "--key", f"{ns}-1")
    again = stead("vm", "create", path, *AT, "--detach", "--key", f"{ns}-1")
    assert again.code == Code.DONE
    assert "was accepted before, with the same key" in again.err
    cell.settle(f"/{path}")
    stead("vm", "terminate", path, "--detach")
    joined = stead("vm", "terminate", path, "--detach")
    assert "is in progress already; joined operation" in joined.err
    cell.settle(f"/{path}")
    idle = stead("vm", "terminate", path)
    assert (idle.code, idle.out, idle.err) == (Code.DONE, "", f"terminate of /{path}: nothing to do\n")
    assert json.loads(stead("vm", "terminate", path, "-o", "json").out)["no_change"]


def test_dry_run(cell: Cell, stead: Stead, vm: str) -> None:
    sent = len(cell.sent)
    answer = stead("vm", "suspend", vm, "--dry-run")
    assert answer.code == Code.DONE
    assert "Running -> Suspending -> Suspended, or Failed if it fails" in answer.out
    rows = [" ".join(row) for row in answer.rows]
    assert "transition Running -> Suspending request suspend by user" in rows
    assert f"claim /{vm} take, exclusive" in rows
    assert "order suspend on lane sim.a, 1 member" in rows
    assert "timer deadline 10m" in rows
    assert len(cell.sent) == sent
    assert (
        json.loads(stead("vm", "suspend", vm, "--dry-run", "-o", "json").out)["transitions"][0]["target"]
        == "Suspending"
    )
    assert stead("vm", "resume", vm, "--dry-run").code == Code.REJECTED
    assert stead("vm", "suspend", vm, "--dry-run", "-o", "name").out == f"/{vm}\n"


def test_a_dry_run_of_what_would_do_nothing(stead: Stead, vm: str) -> None:
    stead("vm", "terminate", vm)
    assert "nothing to do" in stead("vm", "terminate", vm, "--dry-run").out


# Refusals


def test_a_refusal_says_why_who_and_what_instead(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    id = stead("vm", "create", path, *AT, "--detach", "-o", "name").out.strip()
    answer = stead("vm", "suspend", path)
    assert (answer.code, answer.out) == (Code.REJECTED, "")
    said = answer.err.splitlines()
    assert said[0].startswith("error: create by ann is under way since ")
    assert said[0].endswith(" [in-progress]")
    assert said[1] == "  state: Creating"
    assert said[2].startswith(f"  held by: create of /{path} by ann since 20")
    assert said[2].endswith(f", operation {id}")
    assert said[3] == "  retry in 15 s"
    cell.settle(f"/{path}")
    said = stead("vm", "resume", path).err.splitlines()
    assert said[0] == "error: resume cannot start in Running; it could be forced, with a reason [wrong-state]"
    assert "  allowed actions: suspend, reboot, terminate, refresh" in said


def test_force_needs_a_reason(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/m/g/1"
    stead("vm", "create", path, *AT, "--detach")
    cell.settle(f"/{path}", Trigger.FAILED)
    assert stead("vm", "terminate", path).code == Code.REJECTED
    answer = stead("vm", "terminate", path, "--force")
    assert (answer.code, "error: force needs a reason [needs-reason]" in answer.err) == (Code.USAGE, True)
    answer = stead("vm", "terminate", path, "--force", "--reason", "rack is gone", "--detach", "-o", "wide")
    assert answer.code == Code.DONE
    assert "rack is gone" in answer.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("vm", "suspend", "NS/m/g/9"), Code.NOT_FOUND),
        (("vm", "show", "NS/m/g/9"), Code.NOT_FOUND),
        (("vm", "suspend", "NS/m/g"), Code.USAGE),
        (("vm", "show", "NS//g/1"), Code.USAGE),
        (("vm", "create", "NS/m/g/1"), Code.USAGE),
        (("vm", "create", "NS/m/g/1", "--set", "size"), Code.USAGE),
        (("vm", "create", "NS/m/g/1", "--spec", "/no/such/file"), Code.USAGE),
        (("vm", "create", "NS/m/g/1", "--spec", "-"), Code.USAGE),
        (("vm", "list", "--server", "http://127.0.0.1:9"), Code.FAILED),
    ],
)
def test_exit_codes(ns: str, stead: Stead, words: tuple[str, ...], code: Code) -> None:
    answer = stead(*(word.replace("NS", ns) for word in words), stdin="[no, mapping]")
    assert (answer.code, answer.out) == (code, "")
    assert answer.err


def test_what_is_not_allowed_ends_with_4(
    cell: Cell, ns: str, stead: Stead, vm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        return Rejection((Reason(Why.NOT_THE_ACTOR, "suspend is for admin, not for user"),), "Running")

    monkeypatch.setattr(cell.admission, "admit", refuse)
    answer = stead("vm", "suspend", vm)
    assert answer.code == Code.NOT_ALLOWED
    assert answer.err.startswith("error: suspend is for admin, not for user [not-the-actor]")


def test_a_spec_from_a_file_and_from_stdin(ns: str, stead: Stead, tmp_path: Path) -> None:
    file = tmp_path / "spec.yaml"
    file.write_text("provider: sim\nregion: a\nimage: plain\n")
    stead("vm", "create", f"{ns}/m/g/1", "--spec", str(file), "--region", "b", "--detach")
    spec = json.loads(stead("vm", "show", f"{ns}/m/g/1", "-o", "json").out)["spec"]
    assert spec == {"provider": "sim", "region": "b", "image": "plain"}
    answer = stead("vm", "create", f"{ns}/m/g/2", "--spec", "-", "--lane", "edge.1", "--detach", stdin='{"size": 1}')
    assert answer.code == Code.DONE
    shown = json.loads(stead("vm", "show", f"{ns}/m/g/2", "-o", "json").out)
    assert (shown["spec"], shown["lane"]) == ({"size": 1}, "edge.1")


# Looking


def test_list_in_every_format(ns: str, stead: Stead, cell: Cell) -> None:
    for i in (1, 2):
        stead("vm", "create", f"{ns}/m/g/{i}", *AT, "--detach")
    cell.settle(f"/{ns}/m/g/1")
    answer = stead("vm", "list", ns)
    assert answer.rows[0] == ["PATH", "STATE", "CLASS", "OPERATION", "LANE"]
    assert answer.rows[1] == [f"/{ns}/m/g/1", "Running", "stable", "sim.a"]
    assert answer.rows[2] == [f"/{ns}/m/g/2", "Creating", "transitional", "create", "to", "Running", "sim.a"]
    wide = stead("vm", "list", f"/{ns}/m", "-o", "wide").rows
    assert wide[0][5:] == ["PHASE", "BY", "CHANGED", "OBSERVED", "CREATED", "ETAG", "FAILURE"]
    assert wide[2][7:9] == ["acting", "ann"]
    assert stead("vm", "list", ns, "-o", "name").out == f"/{ns}/m/g/1\n/{ns}/m/g/2\n"
    as_json = json.loads(stead("vm", "list", ns, "-o", "json").out)
    assert [row["state"] for row in as_json] == ["Running", "Creating"]
    assert yaml.safe_load(stead("vm", "list", ns, "-o", "yaml").out) == as_json
    assert stead("vm", "list", f"{ns}/other", "-o", "name").out == ""


def test_show_as_it_is_and_as_it_was(cell: Cell, stead: Stead, vm: str) -> None:
    running = datetime.now(UTC)
    stead("vm", "suspend", vm)
    cell.numbered()
    fields = {row[0]: " ".join(row[1:]) for row in stead("vm", "show", vm).rows}
    assert (fields["state"], fields["spec"]) == ("Suspended", '{"region": "a", "provider": "sim"}')
    at = running.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    was = json.loads(stead("vm", "show", vm, "--at", at, "-o", "json").out)
    assert (was["state"], was["facts"]) == ("Running", {"id": "i-1"})
    assert stead("vm", "show", vm, "--at", "2020-01-01T00:00:00").code == Code.NOT_FOUND
    assert stead("vm", "show", vm, "-o", "name").out == f"/{vm}\n"


def test_a_vm_is_no_other_kind(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"{ns}/a/b/c"
    cell.obey(ns)
    stead("cloudlet", "create", f"{ns}/a")
    cell.rest(f"/{ns}/a", "Ready")
    stead("cluster", "create", f"{ns}/a/b")
    assert stead("app", "create", path, "--", "sleep", "1").code == Code.DONE
    assert stead("vm", "show", path).code == Code.NOT_FOUND
    assert stead("vm", "terminate", path).code == Code.NOT_FOUND


def test_watch_writes_what_changes(cell: Cell, ns: str, stead: Stead) -> None:
    stead("vm", "create", f"{ns}/m/g/1", *AT, "--detach")
    with process(cell, "vm", "list", ns, "--watch") as child:
        assert child.stdout is not None
        rows = [child.stdout.readline().split() for _ in range(2)]
        assert rows[1][:2] == [f"/{ns}/m/g/1", "Creating"]
        cell.settle(f"/{ns}/m/g/1")
        until(child.stdout, [f"/{ns}/m/g/1", "Running", "stable", "sim.a"])
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
        assert (errors, child.returncode) == ("", 130)


def test_stopping_by_hand_leaves_the_operation(cell: Cell, ns: str, stead: Stead) -> None:
    with process(cell, "vm", "create", f"{ns}/m/g/1", *AT) as child:
        assert child.stderr is not None
        until(child.stderr, ["create", "of", f"/{ns}/m/g/1:", "Creating", "(acting)"])
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130
        said = child.stderr.read()
        assert re.search(rf"^interrupted; create /{ns}/m/g/1 continues as operation (\S+)\n  follow it: .* \1", said)
    cell.settle(f"/{ns}/m/g/1")
    assert stead("vm", "show", f"{ns}/m/g/1", "-o", "name").code == Code.DONE


# Help


def test_names_are_completed_by_asking_the_server(cell: Cell, stead: Stead, vm: str) -> None:
    complete = complete_paths("vm")
    context: Any = SimpleNamespace(params={"server": cell.url})
    assert complete(context, vm[:-1]) == [vm]
    assert complete(context, f"/{vm[:-1]}") == [f"/{vm}"]
    assert complete(context, f"{vm}/x") == []
    context.params["server"] = "http://127.0.0.1:9"
    assert complete(context, "") == []


def examples() -> list[str]:
    """The example in the help of every command that speaks to a server."""

    def walk(command: Any) -> list[Any]:
        return [c for child in getattr(command, "commands", {}).values() for c in walk(child)] or [command]

    nouns = getattr(typer.main.get_command(app), "commands", {})
    return [str(leaf.epilog) for noun in REMOTE for leaf in walk(nouns[noun])]


@pytest.mark.parametrize("example", examples())
def test_the_example_in_the_help_works(
    cell: Cell, stead: Stead, ns: str, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    cell.obey(ns)
    path = f"{ns}/m/g/1"
    assert example.startswith("Example: stead ")
    words = shlex.split(example.removeprefix("Example: stead "))
    made = "" if "create" in words else stead("vm", "create", path, *AT, "--detach", "-o", "name").out.strip()
    if "resume" in words:
        stead("vm", "suspend", path)
    if "refresh" in words or "accept-observed" in words:
        cell.shows(ns, "Running")
    if "accept-observed" in words:  # what is as recorded has nothing to accept
        cell.state(f"/{path}", "Failed")
    if "cancel" in words or "retry" in words:
        del cell.obeyed[ns]
        cell.shows(ns, "Running")
        made = stead("vm", "suspend", path, "--detach", "-o", "name").out.strip()
    if "retry" in words:
        stead("operation", "cancel", made)
        cell.obey(ns)
    if "promote" in words:
        del cell.obeyed[ns]
        stead("vm", "suspend", path, "--detach")
        made = stead("vm", "resume", path, "--queue", "--detach", "-o", "name").out.strip()
    if "queue" in words:
        stead("queue", "open", path)
    if "orphan" in words:
        made = str(uuid4())
        cell.orphan("sim.a", made)
        cell.obey("orphans")
        cell.shows("orphans", "Running")
    places = {"shop/web/front/1": path, "shop/web": f"{ns}/m", "shop": ns}
    if "orphan" in words:
        places["aws.us-east-1"] = "sim.a"  # which has no limits
    words = [places.get(word, made if word.count("-") == 4 else word) for word in words if word != "--follow"]
    alone = "survey" in words  # nobody serves a lane here
    assert stead(*words).code == (Code.FAILED if alone else Code.DONE)
