"""Questions that change nothing: explain and dry run."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_groups import group
from tests.api.test_resources import SPEC, make, problem, running


def explain(web: httpx.Client, path: str, action: str, **more: Any) -> dict[str, Any]:
    answer = web.get("/v1/explain", params={"path": path, "action": action, **more})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def helps(said: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(remedy["kind"], remedy["actions"]) for remedy in said["remedies"]]


def trace(cell: Cell, web: httpx.Client, ns: str) -> Any:
    """All that a question must not change."""
    journal = web.get("/v1/journal", params={"path": f"/{ns}", "seconds": 0}).json()["items"]
    resources = web.get("/v1/resources", params={"below": f"/{ns}", "specs": True}).json()["items"]
    claims = web.get("/v1/claims", params={"below": f"/{ns}"}).json()["items"]
    return cell.numbered() and journal, resources, claims, len(cell.sent)


@pytest.mark.req("X-01")
def test_what_would_be_let_in(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    cell.numbered()
    before = trace(cell, web, ns)
    said = explain(web, path, "suspend")
    assert (said["allowed"], said["reasons"], said["remedies"], said["state"]) == (True, [], [], "Running")
    assert said["allowed_actions"] == ["suspend", "reboot", "terminate", "refresh"]
    assert trace(cell, web, ns) == before


@pytest.mark.req("X-01")
def test_a_wrong_state_and_the_way_out_of_it(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    cell.numbered()
    before = trace(cell, web, ns)
    said = explain(web, path, "resume")
    assert (said["allowed"], said["reasons"][0]["code"]) == (False, "wrong-state")
    assert helps(said) == [("ask", ["suspend"]), ("force", [])]
    assert trace(cell, web, ns) == before  # a refusal that was only asked about is not in the journal
    assert explain(web, path, "resume", force=True, reason="so")["allowed"]


@pytest.mark.req("X-01")
def test_who_holds_it_and_what_comes_after(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    id = web.post(f"/v1/resources{path}?action=suspend").json()["operation"]["id"]
    said = explain(web, path, "reboot")
    assert (said["allowed"], said["holder"]["operation"], said["holder"]["path"]) == (False, id, path)
    assert said["retry_after"] == 15
    assert helps(said) == [("wait", []), ("ask", ["resume"])]
    assert said["remedies"][0]["operation"] == id
    assert helps(explain(web, path, "resume")) == [("wait", [])]  # it starts where suspend ends
    assert explain(web, path, "suspend")["would_join"]


@pytest.mark.req("X-01")
def test_a_claim_on_what_is_not_there_yet(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    assert explain(web, f"/{ns}/m", "create", kind="mci")["allowed"]
    id = web.post(f"/v1/resources/{ns}/m/g/1?action=suspend").json()["operation"]["id"]
    for path, kind in ((f"/{ns}/m", "mci"), (f"/{ns}/m/g/1/d", "disk")):
        said = explain(web, path, "create", kind=kind)
        assert (said["allowed"], said["holder"]["operation"]) == (False, id)
    assert explain(web, f"/{ns}/m/g/2", "create", kind="vm")["allowed"]


@pytest.mark.req("X-01")
@pytest.mark.parametrize(
    ("action", "more", "code", "what"),
    [
        ("explode", {}, "unknown-action", "ask"),
        ("refine", {}, "not-the-actor", "actor"),
        ("suspend", {"force": True}, "needs-reason", "reason"),
        ("create", {"force": True, "reason": "so"}, "not-forceable", "force"),
    ],
)
def test_every_reason_has_a_remedy(
    cell: Cell, web: httpx.Client, ns: str, action: str, more: dict[str, Any], code: str, what: str
) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    said = explain(web, path, action, **more)
    assert (said["allowed"], said["reasons"][0]["code"]) == (False, code)
    assert what in [remedy["kind"] for remedy in said["remedies"]]


def test_what_is_idle_is_said_to_be(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    web.post(f"/v1/resources{path}?action=terminate")
    cell.settle(path)
    said = explain(web, path, "terminate")
    assert (said["allowed"], said["no_change"]) == (True, True)


@pytest.mark.req("X-02")
def test_a_dry_run_shows_all_and_does_nothing(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    cell.numbered()
    before = trace(cell, web, ns)
    answer = web.post(f"/v1/resources{path}?action=suspend&dry_run=true")
    assert answer.status_code == 200
    assert answer.json() == {
        "path": path,
        "kind": "vm",
        "action": "suspend",
        "state": "Running",
        "would_join": False,
        "no_change": False,
        "would_queue": False,
        "transitions": [
            {"source": "Running", "target": "Suspending", "trigger": "request", "detail": "suspend", "actor": "user"}
        ],
        "claims": [{"path": path, "mode": "exclusive", "change": "take"}],
        "orders": [{"verb": "suspend", "lane": "sim.a", "members": 1}],
        "timers": [{"name": "resend", "seconds": 10}, {"name": "deadline", "seconds": 600}],
        "provider_calls": ["suspend"],
        "states": ["Running", "Suspending", "Suspended"],
        "failure_state": "Failed",
        "members": [],
    }
    assert trace(cell, web, ns) == before
    problem(web.post(f"/v1/resources{path}?action=resume&dry_run=true"), 409, "wrong-state")
    assert trace(cell, web, ns) == before


@pytest.mark.req("X-02")
def test_a_dry_run_of_a_creation(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    said = web.post(f"/v1/resources{path}?dry_run=true", json={"kind": "vm", "spec": SPEC}).json()
    assert (said["states"], said["orders"]) == (
        ["Absent", "Creating", "Running"],
        [{"verb": "create", "lane": "sim.a", "members": 1}],
    )
    problem(web.get(f"/v1/resources{path}"), 404, "not-found")
    problem(web.post(f"/v1/resources{path}?dry_run=true", json={"kind": "vm"}), 422, "invalid")


@pytest.mark.req("X-02")
def test_a_dry_run_of_a_group_counts_its_members_by_what_they_would_do(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    group = f"/{ns}/m/g"
    for i in range(3):
        running(cell, web, f"{group}/{i}")
    elsewhere = {"kind": "vm", "spec": SPEC, "lane": "sim.b"}
    web.post(f"/v1/resources{group}/3", json=elsewhere)
    cell.settle(f"{group}/3")
    make(web, f"{group}/4")
    cell.settle(f"{group}/4", Trigger.FAILED)
    running(cell, web, f"/{ns}/m/g-x/0")  # of another group
    cell.subgroup(group)
    said = web.post(f"/v1/resources{group}?action=suspend&dry_run=true").json()
    assert sorted(said["orders"], key=lambda o: o["lane"]) == [
        {"verb": "suspend", "lane": "sim.a", "members": 3},
        {"verb": "suspend", "lane": "sim.b", "members": 1},
    ]
    parts = {(part["state"], part["effect"]): part for part in said["members"]}
    assert {key: part["members"] for key, part in parts.items()} == {("Running", "acts"): 4, ("Failed", "skipped"): 1}
    assert parts["Failed", "skipped"]["reasons"][0]["code"] == "wrong-state"


@pytest.mark.req("X-01")
def test_what_a_group_could_do_is_what_some_member_could_follow(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 2)
    for i, states in enumerate((["Running", "Suspended"], ["Suspended", "Suspended"])):
        web.post(f"/v1/resources{path}/g/{i}?action=suspend")
        cell.settle(f"{path}/g/{i}")
        cell.rest(path, states[0])
        said = explain(web, path, "create")
        listed = {name for name in said["allowed_actions"] if explain(web, path, name)["allowed"]}
        assert listed == set(said["allowed_actions"])
        assert ("suspend" in listed, "resume" in listed) == ("Running" in states, True)


@pytest.mark.req("X-01")
def test_what_is_above_helps_where_it_is_in_the_way_and_nowhere_else(cell: Cell, web: httpx.Client, ns: str) -> None:
    cell.put(f"/{ns}/site", "cloudlet", "Offline")
    cell.put(f"/{ns}/site/c", "clusterinst")
    cell.put(f"/{ns}/site/c/web", "appinst")
    said = explain(web, f"/{ns}/site/c/web", "delete")
    assert not said["allowed"]
    assert [remedy["description"] for remedy in said["remedies"]] == ["bring its cloudlet to Ready"]


@pytest.mark.req("X-01")
@pytest.mark.parametrize("error", ["CreateError", "UpdateError", "DeleteError"])
def test_explain_of_an_edge_error_names_undo_as_the_way_out(
    cell: Cell, web: httpx.Client, ns: str, error: str
) -> None:
    cell.put(f"/{ns}/site", "cloudlet")
    cell.put(f"/{ns}/site/c", "clusterinst")
    cell.put(f"/{ns}/site/c/web", "appinst", error)
    said = explain(web, f"/{ns}/site/c/web", "update")
    assert not said["allowed"]
    (remedy,) = said["remedies"]
    if error == "CreateError":  # what is left of it goes, and then there is nothing to update
        assert remedy["actions"][0] == "undo"
    else:
        assert remedy["actions"] == ["undo"]
        assert remedy["description"] == "first undo: update starts in Ready"
