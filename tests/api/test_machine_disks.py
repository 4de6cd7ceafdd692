"""Disks of machines: one operation of both, asked for in two ways, and one thing at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_resources import problem

STATES = {"RUNNING": (), "PAUSED": ("pause",), "HALTED": ("stop",)}


class Space:
    """A cloudspace with a machine, whose agent is played by hand or obeys."""

    def __init__(self, cell: Cell, web: httpx.Client, ns: str) -> None:
        self.cell, self.web, self.ns = cell, web, ns
        self.machine, self.disk = f"/{ns}/space/web", f"/{ns}/space/data"
        body = {"kind": "machine", "lane": "dc.1"}
        assert web.post(f"/v1/resources{self.machine}?action=deploy", json=body).status_code == 202
        cell.settle(self.machine)

    def ask(self, path: str, action: str, **body: Any) -> httpx.Response:
        return self.web.post(f"/v1/resources{path}?action={action}", json=body)

    def begin(self, path: str, action: str, **body: Any) -> dict[str, Any]:
        answer = self.ask(path, action, **body)
        assert answer.status_code == 202, answer.text
        operation: dict[str, Any] = answer.json()["operation"]
        return operation

    def state(self, path: str) -> str:
        return str(self.web.get(f"/v1/resources{path}").json()["state"])

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 30  # deadline: two steps of a controller are a second at most
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.05)

    def ended(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The operation, when it has ended."""
        found: dict[str, Any] = {}

        def over() -> bool:
            found.update(self.web.get(f"/v1/operations/{operation['id']}").json())
            return bool(found["outcome"])

        self.until(over)
        return found

    def reported(self, word: Trigger = Trigger.SUCCEEDED, **facts: Any) -> None:
        """The agent reports on the disk, when the disk is at work."""
        self.until(lambda: self.web.get(f"/v1/resources{self.disk}").json().get("operation") is not None)
        self.cell.settle(self.disk, word, **facts)

    def attached(self) -> None:
        self.cell.put(self.disk, "disk", "ASSIGNED", machine=self.machine)


@pytest.fixture
def space(cell: Cell, web: httpx.Client, ns: str) -> Space:
    return Space(cell, web, ns)


def ways(space: Space) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Path, action, the machine's state meanwhile, and what is said; by the machine and by the disk."""
    by_disk = {"machine": space.machine}
    return [
        (space.disk, "assign", "ADDING_DISK", {"kind": "disk", "lane": "dc.1", "spec": {"size": 8, **by_disk}}),
        (space.disk, "detach", "DETACHING_DISK", {}),
        (space.disk, "attach", "ATTACHING_DISK", {}),
        (space.disk, "detach", "DETACHING_DISK", {}),
        (space.disk, "attach", "ATTACHING_DISK", {"spec": by_disk}),
        (space.machine, "detach-disk", "DETACHING_DISK", {"spec": {"disk": "data"}}),
        (space.machine, "attach-disk", "ATTACHING_DISK", {"spec": {"disk": space.disk}}),
        (space.disk, "destroy", "DETACHING_DISK", {}),
    ]


@pytest.mark.req("S2-01")
@pytest.mark.parametrize("state", list(STATES))
def test_disk_action_moves_machine_and_disk_alike(space: Space, state: str) -> None:
    space.cell.put(space.machine, "machine", state)
    for path, action, meanwhile, said in ways(space):
        operation = space.begin(path, action, **said)
        assert space.state(space.machine) == meanwhile
        gone = action in ("detach", "detach-disk", "destroy")
        space.reported(machine=None if gone else space.machine)
        assert space.ended(operation)["outcome"] == "succeeded", (path, action)
        there = "DESTROYED" if action == "destroy" else "CREATED" if gone else "ASSIGNED"
        assert (space.state(space.machine), space.state(space.disk)) == (state, there)
    again = space.begin(space.machine, "add-disk", spec={"disk": "data", "size": 8})  # the name is free
    space.reported(machine=space.machine)
    assert space.ended(again)["outcome"] == "succeeded"


@pytest.mark.req("S2-01")
def test_machine_adds_disk_by_name(space: Space) -> None:
    operation = space.begin(space.machine, "add-disk", spec={"disk": "data", "size": 8})
    assert (operation["action"], operation["path"]) == ("add-disk", space.machine)
    space.reported(machine=space.machine)
    assert space.ended(operation)["outcome"] == "succeeded"
    found = space.web.get(f"/v1/resources{space.disk}").json()
    assert (found["state"], found["spec"]) == ("ASSIGNED", {"size": 8, "machine": space.machine})


def test_disk_that_fails_leaves_machine_as_it_was(space: Space) -> None:
    space.cell.put(space.disk, "disk", "CREATED")
    operation = space.begin(space.machine, "attach-disk", spec={"disk": "data"})
    space.reported(Trigger.FAILED)
    assert space.ended(operation)["outcome"] == "failed"
    assert (space.state(space.machine), space.state(space.disk)) == ("RUNNING", "ERROR")


@pytest.mark.req("S2-03", "S2-05")
def test_machine_and_its_disks_take_one_action_at_a_time(space: Space) -> None:
    other = f"/{space.ns}/space/other"
    space.cell.put(other, "disk", "ASSIGNED", machine=space.machine)
    space.attached()
    asks: list[tuple[str, str, dict[str, Any]]] = [
        (space.machine, "stop", {}),
        (space.machine, "destroy", {}),
        (space.disk, "detach", {}),
        (space.disk, "destroy", {}),
        (other, "detach", {}),
        (space.machine, "detach-disk", {"spec": {"disk": "other"}}),
        (f"/{space.ns}/space/new", "assign", {"kind": "disk", "lane": "dc.1", "spec": {"machine": space.machine}}),
    ]
    for path, action, said in asks:
        space.begin(path, action, **said)
        for each, word, body in asks:
            refused = problem(space.ask(each, word, **body), 409, "in-progress")
            assert refused["holder"]["path"].startswith(f"/{space.ns}/space/"), (action, word)
        space.cell.put(space.machine, "machine", "RUNNING")  # as if it had never been asked
        for disk in (space.disk, other):
            space.cell.put(disk, "disk", "ASSIGNED", machine=space.machine)


@pytest.mark.req("S2-05")
def test_disk_that_is_changed_by_itself_is_not_attached_meanwhile(space: Space) -> None:
    space.cell.put(space.disk, "disk", "CREATED")
    space.begin(space.disk, "delete")
    refused = problem(space.ask(space.machine, "attach-disk", spec={"disk": "data"}), 409, "in-progress")
    assert refused["holder"]["path"] == space.disk
    assert space.state(space.machine) == "RUNNING"


@pytest.mark.req("S2-06")
def test_migration_and_disk_and_stop_are_not_all_accepted(space: Space) -> None:
    for first, second in [("disk", "machine"), ("machine", "disk")]:
        space.cell.put(space.machine, "machine", "RUNNING")
        space.cell.put("/dc/n2", "node", "ENABLED")
        space.cell.put(space.disk, "disk", "CREATED")
        admin = {"x-actor": "admin"}
        body = {"spec": {"node": "/dc/n2"}}
        moves = space.web.post(f"/v1/resources{space.machine}?action=migrate", json=body, headers=admin)
        assert moves.status_code == 202, moves.text
        asks: dict[str, tuple[str, str, dict[str, Any]]] = {
            "disk": (space.disk, "attach", {"spec": {"machine": space.machine}}),
            "machine": (space.machine, "stop", {}),
        }
        path, action, said = asks[first]
        operation = space.begin(path, action, **said)
        assert space.state(space.machine) == ("ATTACHING_DISK" if first == "disk" else "STOPPING")
        path, action, said = asks[second]
        problem(space.ask(path, action, **said), 409, "in-progress")
        space.cell.settle(space.machine)  # it has moved, and what was accepted begins
        if first == "disk":
            space.reported(machine=space.machine)
        else:
            space.cell.settle(space.machine)
        assert space.ended(operation)["outcome"] == "succeeded"


@pytest.mark.req("S2-03")
def test_disk_waits_in_the_queue_of_its_machine(space: Space) -> None:
    space.cell.put(space.disk, "disk", "CREATED")
    space.begin(space.machine, "reboot")
    said = {"spec": {"machine": space.machine}, "on_conflict": "queue"}
    answer = space.ask(space.disk, "attach", **said).json()
    assert answer["position"] == 1
    assert [q["path"] for q in space.web.get("/v1/queues", params={"below": space.machine}).json()["items"]] == [
        space.machine
    ]
    space.cell.settle(space.machine)
    space.reported(machine=space.machine)
    assert space.ended(answer["operation"])["outcome"] == "succeeded"


def test_same_key_is_the_same_operation_after_the_disk_has_moved(space: Space) -> None:
    space.attached()
    headers = {"Idempotency-Key": f"{space.ns}-1"}
    url = f"/v1/resources{space.disk}?action=detach"
    first = space.web.post(url, headers=headers).json()
    again = space.web.post(url, headers=headers).json()
    assert again == {**first, "repeated": True}
    space.reported(machine=None)
    space.ended(first["operation"])
    late = space.web.post(url, headers=headers).json()
    assert (late["operation"]["id"], late["repeated"]) == (first["operation"]["id"], True)


@pytest.mark.parametrize(
    ("action", "spec", "says"),
    [
        ("add-disk", {}, "name the disk"),
        ("attach-disk", {"disk": "none"}, "there is no disk"),
        ("attach-disk", {"disk": "web"}, "is a machine"),
        ("attach-disk", {"disk": "/data//"}, "is not the name"),
    ],
)
def test_request_without_a_fitting_disk_is_rejected(
    space: Space, action: str, spec: dict[str, str], says: str
) -> None:
    answer = space.ask(space.machine, action, spec=spec)
    assert (answer.status_code, says in answer.text) == (422, True)
    assert space.state(space.machine) == "RUNNING"


def test_disk_is_attached_to_a_machine_that_is_there(space: Space) -> None:
    space.cell.put(space.disk, "disk", "CREATED")
    there = problem(space.ask(space.machine, "add-disk", spec={"disk": "data"}), 409, "wrong-state")
    assert there["detail"] == f"{space.disk}: assign cannot start in CREATED"
    gone = problem(space.ask(space.disk, "attach", spec={"machine": f"/{space.ns}/space/none"}), 409, "parent")
    assert "its machine is not there" in gone["detail"]
    space.cell.put(space.machine, "machine", "DELETED")
    said = problem(space.ask(space.disk, "attach", spec={"machine": space.machine}), 409, "wrong-state")
    assert said["detail"].startswith(f"{space.machine}: attach-disk cannot start in DELETED")


def test_explain_and_dry_run_tell_what_the_machine_says(space: Space) -> None:
    space.attached()
    asked = {"path": space.disk, "action": "detach"}
    assert space.web.get("/v1/explain", params=asked).json()["allowed"] is True
    dry = space.web.post(f"/v1/resources{space.disk}?action=detach&dry_run=true").json()
    assert dry["states"] == ["RUNNING", "DETACHING_DISK", "RUNNING"]
    assert [claim["path"] for claim in dry["claims"]] == [space.machine, space.disk]
    space.begin(space.machine, "stop")
    told = space.web.get("/v1/explain", params=asked).json()
    assert (told["allowed"], told["path"], told["holders"][0]["action"]) == (False, space.disk, "stop")
    assert told["state"] == "ASSIGNED"
    dry = problem(space.web.post(f"/v1/resources{space.disk}?action=detach&dry_run=true"), 409, "in-progress")
    assert told["reasons"][0]["message"] == dry["detail"]
    assert dry["detail"].startswith(f"{space.machine}: ")


@pytest.mark.req("S2-08")
def test_disk_in_the_bin_comes_back_after_the_clock_destroyed_its_machine(space: Space) -> None:
    space.cell.put(space.disk, "disk", "TOBEDELETED", machine=space.machine)
    for state in ("RUNNING", "DELETED"):
        space.cell.put(space.machine, "machine", state)
        problem(space.ask(space.disk, "restore-after-machine"), 409, "parent")
    space.cell.put(space.machine, "machine", "DESTROYED")
    explained = space.web.get("/v1/explain", params={"path": space.disk, "action": "restore"}).json()
    assert "restore-after-machine" in explained["allowed_actions"]
    operation = space.begin(space.disk, "restore-after-machine")
    space.reported(machine=None)
    assert (space.ended(operation)["outcome"], space.state(space.disk)) == ("succeeded", "CREATED")
