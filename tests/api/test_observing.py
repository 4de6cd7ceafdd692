"""To refresh and to accept what is observed, over the wire; the agent is played."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_groups import group
from tests.api.test_resources import problem, running

WHY = {"reason": "repaired at the provider"}


def failed(cell: Cell, web: httpx.Client, path: str) -> str:
    """A VM whose suspension failed; the operation."""
    running(cell, web, path)
    id = web.post(f"/v1/resources{path}?action=suspend").json()["operation"]["id"]
    cell.settle(path, Trigger.FAILED)
    assert web.get(f"/v1/resources{path}").json()["state"] == "Failed"
    return str(id)


def operation(cell: Cell, web: httpx.Client, answer: httpx.Response) -> dict[str, Any]:
    """What became of an operation that was accepted."""
    assert answer.status_code == 202, answer.text
    cell.run(cell.idle())
    said: dict[str, Any] = web.get(f"/v1/operations/{answer.json()['operation']['id']}").json()
    return said


def journal(cell: Cell, web: httpx.Client, path: str) -> list[dict[str, Any]]:
    cell.numbered()
    lines: list[dict[str, Any]] = web.get("/v1/journal", params={"path": path}).json()["items"]
    return lines


@pytest.mark.req("S0-13")
def test_refresh_of_failed_vm_observes_it_and_leaves_it_failed(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    failed(cell, web, path)
    cell.shows(ns, "Running")
    done = operation(cell, web, web.post(f"/v1/resources{path}?action=refresh"))
    assert (done["outcome"], web.get(f"/v1/resources{path}").json()["state"]) == ("succeeded", "Failed")
    assert [(line["trigger"], line["detail"]) for line in journal(cell, web, path)][-1] == ("observed", "Running")


@pytest.mark.req("S0-13")
def test_refresh_records_what_has_drifted(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    cell.shows(ns, "Suspended")
    done = operation(cell, web, web.post(f"/v1/resources{path}?action=refresh"))
    assert (done["outcome"], web.get(f"/v1/resources{path}").json()["state"]) == ("succeeded", "Suspended")


def test_observation_that_was_asked_for_is_not_listed_as_stuck(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    cell.shows(ns, "Running")
    assert operation(cell, web, web.post(f"/v1/resources{path}?action=refresh"))["outcome"] == "succeeded"
    assert web.get("/v1/stuck", params={"below": f"/{ns}"}).json()["items"] == []


@pytest.mark.req("S0-02")
def test_observed_state_is_recorded_with_a_reason_and_the_failed_action_can_be_retried(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    path = f"/{ns}/m/g/1"
    suspend = failed(cell, web, path)
    problem(web.post(f"/v1/operations/{suspend}/retry"), 409, "wrong-state")
    problem(web.post(f"/v1/resources{path}?action=accept-observed"), 422, "needs-reason")
    cell.shows(ns, "Running")
    done = operation(cell, web, web.post(f"/v1/resources{path}?action=accept-observed", json=WHY))
    assert (done["outcome"], done["reason"]) == ("succeeded", WHY["reason"])
    assert web.get(f"/v1/resources{path}").json()["state"] == "Running"
    lines = journal(cell, web, path)
    assert [line["change"]["reason"] for line in lines if "reason" in line["change"]] == [WHY["reason"]]
    last = lines[-1]
    assert (last["trigger"], last["source"], last["target"], last["actor"]) == (
        "accepted",
        "Failed",
        "Running",
        "agent",
    )
    assert web.post(f"/v1/operations/{suspend}/retry").status_code == 202


def test_what_no_state_stands_for_fails(cell: Cell, web: httpx.Client, ns: str) -> None:
    cell.put(f"/{ns}/s/m", "machine", "ERROR")
    cell.shows(ns, "broken")
    done = operation(cell, web, web.post(f"/v1/resources/{ns}/s/m?action=accept-observed", json=WHY))
    assert (done["outcome"], web.get(f"/v1/resources/{ns}/s/m").json()["state"]) == ("failed", "ERROR")


@pytest.mark.req("S0-02")
def test_group_accepts_what_is_observed_of_its_members(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 2)
    failed(cell, web, f"{path}/g/2")
    cell.shows(ns, "Running")
    done = operation(cell, web, web.post(f"/v1/resources{path}?action=accept-observed", json=WHY))
    assert (done["outcome"], done["total"]) == ("succeeded", 1)
    assert web.get(f"/v1/resources{path}/g/2").json()["state"] == "Running"
    lines = journal(cell, web, f"{path}/g/2")
    assert [line["change"]["reason"] for line in lines if "reason" in line["change"]] == [WHY["reason"]]
    answer = web.post(f"/v1/resources{path}?action=accept-observed", json=WHY)
    assert (answer.status_code, answer.json()["no_change"]) == (200, True)


@pytest.mark.parametrize(("kind", "state"), [("account", "CONFIRMED"), ("lease", "ACTIVE")])
@pytest.mark.parametrize("action", ["refresh", "accept-observed"])
def test_kind_with_nothing_to_observe_says_so_in_words(
    cell: Cell, web: httpx.Client, ns: str, kind: str, state: str, action: str
) -> None:
    path = f"/{ns}/one" if kind == "lease" else f"/{ns}"
    cell.put(path, kind, state)
    answer = web.post(f"/v1/resources{path}?action={action}", json=WHY)
    said = problem(answer, answer.status_code, "unknown-action")
    assert "has nothing that an agent could observe: its state is what is on record" in said["detail"]
