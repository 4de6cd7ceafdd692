"""Requests over HTTP that wait their turn."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.cell import MCI, Cell
from tests.api.test_resources import problem, running

QUEUE = {"on_conflict": "queue"}


def ask(web: httpx.Client, path: str, action: str, **body: Any) -> httpx.Response:
    return web.post(f"/v1/resources{path}?action={action}", json={**QUEUE, **body})


def waiting(web: httpx.Client, path: str, *actions: str) -> list[str]:
    """Operations that wait, by id."""
    answers = [ask(web, path, action).json() for action in actions]
    assert all(answer["queued"] for answer in answers)
    return [answer["operation"]["id"] for answer in answers]


def deployed(cell: Cell, web: httpx.Client, path: str) -> None:
    """A machine that runs."""
    assert web.post(f"/v1/resources{path}?action=deploy", json={"kind": "machine", "lane": "dc.1"}).status_code == 202
    cell.settle(path)


@pytest.mark.req("X-11")
def test_a_request_waits_its_turn_and_its_place_is_shown(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    ask(web, path, "reboot")
    answers = [ask(web, path, action) for action in ("suspend", "resume")]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [(a.json()["queued"], a.json()["position"]) for a in answers] == [(True, 1), (True, 2)]
    one, two = [answer.json()["operation"]["id"] for answer in answers]
    assert answers[0].headers["location"] == f"/v1/operations/{one}"
    shown = web.get(f"/v1/operations/{two}").json()
    expected = {"id": two, "outcome": None, "phase": "queued", "queued": True, "position": 2, "state": "Rebooting"}
    assert shown.items() >= expected.items()
    cell.settle(path)
    assert web.get(f"/v1/resources{path}").json()["operation"]["id"] == one
    begun = web.get(f"/v1/operations/{one}").json()
    assert (begun["queued"], begun["position"], begun["phase"]) == (False, None, "acting")
    assert web.get(f"/v1/operations/{two}").json()["position"] == 1


@pytest.mark.req("X-10")
def test_the_same_key_again_is_the_same_place(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    ask(web, path, "reboot")
    headers = {"Idempotency-Key": f"{ns}-1"}
    first, again = [
        web.post(f"/v1/resources{path}?action=suspend", json=QUEUE, headers=headers).json() for _ in range(2)
    ]
    assert again == {**first, "repeated": True}


@pytest.mark.req("S2-04")
def test_a_settled_machine_moves_at_once_and_a_moving_one_refuses(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/space/m"
    deployed(cell, web, path)
    table = [
        ("pause", "PAUSING", "PAUSED"),
        ("resume", "RESUMING", "RUNNING"),
        ("stop", "STOPPING", "HALTED"),
        ("start", "STARTING", "RUNNING"),
        ("reboot", "REBOOTING", "RUNNING"),
    ]
    for action, moving, settled in table:
        taken = web.post(f"/v1/resources{path}?action={action}")
        assert (taken.status_code, taken.json()["queued"]) == (202, False)
        assert web.get(f"/v1/resources{path}").json()["state"] == moving
        for other in ("pause", "stop", "destroy", action):
            said = problem(web.post(f"/v1/resources{path}?action={other}"), 409, "in-progress")
            assert said["current_state"] == moving
            assert said["holder"]["operation"] == taken.json()["operation"]["id"]
        cell.settle(path)
        assert web.get(f"/v1/resources{path}").json()["state"] == settled


@pytest.mark.req("S2-04")
def test_a_moving_machine_takes_in_what_is_to_wait(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/space/m"
    deployed(cell, web, path)
    ask(web, path, "pause")
    assert ask(web, path, "resume").json()["position"] == 1
    assert web.get(f"/v1/resources{path}").json()["state"] == "PAUSING"
    cell.settle(path)
    assert web.get(f"/v1/resources{path}").json()["state"] == "RESUMING"  # it was its turn, and it shows at once


@pytest.mark.req("X-11")
def test_one_that_waits_is_cancelled_or_put_first(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    busy = ask(web, path, "reboot").json()["operation"]["id"]
    one, two, three = waiting(web, path, "suspend", "resume", "suspend")
    promoted = web.post(f"/v1/operations/{three}/promote")
    assert (promoted.status_code, promoted.json()["position"]) == (200, 1)
    cancelled = web.post(f"/v1/operations/{one}/cancel")
    assert (cancelled.status_code, cancelled.json()["outcome"], cancelled.json()["queued"]) == (
        202,
        "cancelled",
        False,
    )
    problem(web.post(f"/v1/operations/{one}/cancel"), 409, "ended")
    for id in (one, busy):
        problem(web.post(f"/v1/operations/{id}/promote"), 409, "not-queued")
    problem(web.post(f"/v1/operations/{path.split('/')[1]}/{path.count('/'):032}/promote"), 404, "not-found")
    assert [item["id"] for item in web.get(f"/v1/queues{path}").json()["items"]] == [three, two]
    cell.settle(path)
    assert web.get(f"/v1/resources{path}").json()["operation"]["id"] == three


def test_what_is_refused_at_its_turn_says_why(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    ask(web, path, "suspend")
    (id,) = waiting(web, path, "reboot")
    cell.settle(path)
    ended = web.get(f"/v1/operations/{id}").json()
    assert (ended["outcome"], [reason["code"] for reason in ended["reasons"]]) == ("rejected", ["wrong-state"])
    cell.numbered()
    (line,) = [x for x in web.get("/v1/journal", params={"path": path}).json()["items"] if x["trigger"] == "rejected"]
    assert (line["operation"], line["detail"], line["change"]["reasons"]) == (id, "reboot", ended["reasons"])


def test_those_that_wait_are_listed_with_all_others_and_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    made = running(cell, web, path)
    busy = ask(web, path, "reboot").json()["operation"]["id"]
    one, two, three = waiting(web, path, "suspend", "resume", "suspend")
    web.post(f"/v1/operations/{three}/cancel")
    cell.settle(path)
    cell.numbered()

    def listed(**query: Any) -> list[str]:
        items = web.get("/v1/operations", params={"below": f"/{ns}", **query}).json()["items"]
        return [item["id"] for item in items]

    assert listed() == [three, two, one, busy, made]
    assert listed(running=True) == [one, two]
    assert listed(running=False) == [three, busy, made]


@pytest.mark.req("S2-03")
def test_queues_are_listed_made_and_stopped(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    problem(web.get(f"/v1/queues{path}"), 404, "not-found")
    problem(web.delete(f"/v1/queues{path}"), 404, "not-found")
    made = web.put(f"/v1/queues{path}")
    assert (made.status_code, made.json()["waiting"], made.json()["stopping"]) == (200, 0, False)
    assert web.put(f"/v1/queues{path}").json() == made.json()
    problem(web.put(f"/v1/queues/{ns}/m/g/2"), 404, "not-found")  # there is no such object
    running(cell, web, f"/{ns}/m/g/2")
    web.put(f"/v1/queues/{ns}/m/g/2")
    first = web.get("/v1/queues", params={"below": f"/{ns}", "limit": 1}).json()
    assert [item["path"] for item in first["items"]] == [path]
    rest = web.get("/v1/queues", params={"below": f"/{ns}", "cursor": first["next"]}).json()
    assert ([item["path"] for item in rest["items"]], rest["next"]) == ([f"/{ns}/m/g/2"], None)
    ask(web, path, "reboot")
    waiting(web, path, "suspend")
    stopped = web.delete(f"/v1/queues{path}")
    assert (stopped.status_code, stopped.json()["stopping"], stopped.json()["waiting"]) == (202, True, 1)
    problem(ask(web, path, "resume"), 409, "stopping")
    cell.settle(path)
    assert web.get(f"/v1/queues{path}").json()["running"]
    cell.settle(path)
    assert web.get(f"/v1/resources{path}").json()["state"] == "Suspended"
    problem(web.get(f"/v1/queues{path}"), 404, "not-found")


@pytest.mark.req("X-11")
def test_explain_and_a_rehearsal_say_that_it_would_wait(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)

    def explained(action: str, choice: str = "queue") -> dict[str, Any]:
        query = {"path": path, "action": action, "on_conflict": choice}
        answer: dict[str, Any] = web.get("/v1/explain", params=query).json()
        return answer

    assert (explained("suspend")["allowed"], explained("suspend")["would_queue"]) == (True, False)
    ask(web, path, "reboot")
    assert (explained("suspend")["allowed"], explained("suspend")["would_queue"]) == (True, True)
    assert (explained("suspend", "default")["allowed"], explained("suspend", "default")["would_queue"]) == (
        False,
        False,
    )
    plan = web.post(f"/v1/resources{path}?action=suspend&dry_run=true", json=QUEUE).json()
    assert (plan["would_queue"], plan["transitions"], plan["orders"]) == (True, [], [])
    problem(web.get(f"/v1/queues{path}"), 404, "not-found")  # nothing was done
    waiting(web, path, "suspend")
    web.delete(f"/v1/queues{path}")
    refused = explained("resume")
    assert (refused["allowed"], refused["reasons"][0]["code"], refused["remedies"][0]["kind"]) == (
        False,
        "stopping",
        "wait",
    )


def test_a_disk_would_wait_for_its_machine(cell: Cell, web: httpx.Client, ns: str) -> None:
    machine, disk = f"/{ns}/space/m", f"/{ns}/space/d"
    deployed(cell, web, machine)
    cell.put(disk, "disk", "ASSIGNED", machine=machine)
    ask(web, machine, "reboot")
    query = {"path": disk, "action": "detach"}
    assert web.get("/v1/explain", params={**query, **QUEUE}).json()["would_queue"]
    assert not web.get("/v1/explain", params=query).json()["would_queue"]
    (id,) = waiting(web, disk, "detach")
    assert [item["id"] for item in web.get(f"/v1/queues{machine}").json()["items"]] == [id]
    assert web.get(f"/v1/operations/{id}").json()["action"] == "detach-disk"
    cell.settle(machine)
    assert web.get(f"/v1/resources{machine}").json()["state"] == "DETACHING_DISK"


def test_what_waits_to_be_made_was_never_there(cell: Cell, web: httpx.Client, ns: str) -> None:
    web.post(f"/v1/resources/{ns}/m", json=MCI)  # under way, and holds all below it
    path = f"/{ns}/m/x"
    assert ask(web, path, "deploy", kind="machine", lane="dc.1").json()["queued"]
    problem(web.get(f"/v1/resources{path}"), 404, "not-found")
    problem(web.get(f"/v1/resources{path}", params={"at": "2100-01-01T00:00:00Z"}), 404, "not-found")


def test_a_group_waits_for_its_member(cell: Cell, web: httpx.Client, ns: str) -> None:
    web.post(f"/v1/resources/{ns}/m", json=MCI)
    cell.rest(f"/{ns}/m", "Running")
    running(cell, web, f"/{ns}/m/g/1")
    ask(web, f"/{ns}/m/g/1", "reboot")
    problem(web.post(f"/v1/resources/{ns}/m?action=suspend"), 409, "no-member")
    (id,) = waiting(web, f"/{ns}/m", "suspend")
    cell.settle(f"/{ns}/m/g/1")
    cell.run(cell.queues.heal())
    assert web.get(f"/v1/operations/{id}").json()["state"] == "Suspending"
