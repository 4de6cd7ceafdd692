"""An action on a group, over the wire: its members counted, and those that did not follow, each with why."""

from __future__ import annotations

import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import MCI, Cell
from tests.api.test_resources import problem, running


def group(cell: Cell, web: httpx.Client, ns: str, vms: int) -> str:
    """An infrastructure of VMs that run; its path."""
    path = f"/{ns}/m"
    for i in range(vms):
        running(cell, web, f"{path}/g/{i}")
    assert web.post(f"/v1/resources{path}", json=MCI).status_code == 202
    cell.rest(path, "Running")
    return path


def ask(cell: Cell, web: httpx.Client, path: str, action: str) -> str:
    """The operation of an action that was let in."""
    answer = web.post(f"/v1/resources{path}?action={action}")
    assert answer.status_code == 202, answer.text
    cell.run(cell.idle())
    return str(answer.json()["operation"]["id"])


@pytest.mark.req("S0-11", "X-09")
def test_members_that_did_not_follow_are_listed_and_tried_once_more(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 4)
    web.post(f"/v1/resources{path}/g/3?action=suspend")
    cell.settle(f"{path}/g/3", Trigger.FAILED)
    id = ask(cell, web, path, "terminate")
    for i, word in enumerate((Trigger.SUCCEEDED, Trigger.FAILED, Trigger.SUCCEEDED)):
        cell.settle(f"{path}/g/{i}", word)
    assert web.get(f"/v1/operations/{id}").json()["outcome"] == "failed"
    listed = web.get(f"/v1/operations/{id}/members").json()
    assert [(one["path"], one["outcome"]) for one in listed["items"]] == [
        (f"{path}/g/1", "failed"),
        (f"{path}/g/3", "skipped"),
    ]
    assert listed["items"][1]["message"] == "terminate cannot start in Failed; it could be forced, with a reason"
    page = web.get(f"/v1/operations/{id}/members?limit=1").json()
    rest = web.get(f"/v1/operations/{id}/members", params={"cursor": page["next"]}).json()
    assert page["items"] + rest["items"] == listed["items"]
    assert rest["next"] is None
    problem(web.post(f"/v1/operations/{id}/retry"), 409, "no-member")
    problem(web.post(f"/v1/operations/{id}/retry", json={"force": True}), 422, "needs-reason")
    again = web.post(f"/v1/operations/{id}/retry", json={"force": True, "reason": "the disk was mended"})
    assert again.status_code == 202
    cell.run(cell.idle())
    assert [member["path"] for member in cell.sent[-1]["members"]] == [f"{path}/g/1"]


@pytest.mark.req("S0-08")
def test_a_group_says_how_many_of_its_members_are_in_which_state(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 3)
    ask(cell, web, path, "suspend")
    cell.settle(f"{path}/g/0")
    cell.numbered()
    assert web.get(f"/v1/resources{path}").json()["members"] == {"Suspended": 1, "Suspending": 2}
    listed = web.get("/v1/resources", params={"below": f"/{ns}", "kind": "mci"}).json()["items"]
    assert [one["members"] for one in listed] == [{"Suspended": 1, "Suspending": 2}]


@pytest.mark.req("S0-06")
def test_infrastructure_that_failed_in_preparation_is_terminated_only_by_force(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    path = f"/{ns}/m"
    web.post(f"/v1/resources{path}", json=MCI)
    cell.rest(path, "Failed")
    said = problem(web.post(f"/v1/resources{path}?action=terminate"), 409, "wrong-state")
    assert said["detail"] == "terminate cannot start in Failed; it could be forced, with a reason"
    why = {"force": True, "reason": "no VM was made"}
    assert web.post(f"/v1/resources{path}?action=terminate", json=why).status_code == 202


@pytest.mark.req("S0-05", "S0-15")
def test_group_with_nothing_to_do_answers_so_and_moves_nothing(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 2)
    before = cell.numbered()
    answer = web.post(f"/v1/resources{path}?action=refine")
    assert (answer.status_code, answer.json()["no_change"], answer.json()["operation"]) == (200, True, None)
    ask(cell, web, path, "terminate")
    for i in range(2):
        cell.settle(f"{path}/g/{i}")
    assert web.get(f"/v1/resources{path}").json()["state"] == "Terminated"
    before = cell.numbered()
    answer = web.post(f"/v1/resources{path}?action=terminate")
    assert (answer.status_code, answer.json()["no_change"], answer.json()["operation"]) == (200, True, None)
    assert cell.numbered() == before


@pytest.mark.req("S0-17")
def test_held_infrastructure_is_settled(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m"
    web.post(f"/v1/resources{path}", json={**MCI, "hold": True})
    assert web.get(f"/v1/resources{path}").json()["state_class"] == "transitional"
    assert web.get(f"/v1/status{path}").json()["stable"] is False
    cell.prepared(path)
    held = web.get(f"/v1/resources{path}").json()
    assert (held["state"], held["state_class"], held["operation"]["phase"]) == ("Prepared", "stable", "held")
    assert web.get(f"/v1/status{path}").json()["stable"] is True


@pytest.mark.req("S0-17")
def test_creation_in_preparation_is_withdrawn(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m"
    id = web.post(f"/v1/resources{path}", json=MCI).json()["operation"]["id"]
    assert web.get(f"/v1/resources{path}").json()["state"] == "Preparing"
    answer = web.post(f"/v1/resources{path}?action=withdraw")
    assert (answer.status_code, answer.json()["operation"]["id"]) == (202, id)
    cell.run(cell.idle())
    problem(web.get(f"/v1/resources{path}"), 404, "not-found")
    assert web.get("/v1/claims", params={"below": path}).json()["items"] == []
