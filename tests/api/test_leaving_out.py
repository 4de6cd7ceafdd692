"""An action on an infrastructure or a subgroup leaves out what others have a claim on, and names them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.cell import Cell, http
from tests.api.test_resources import problem
from tests.api.test_tumblebug import group

ACTIONS = ("suspend", "terminate")
"""Of these, one that others could go on after, and one that they could not."""


def states(cell: Cell, path: str) -> dict[str, str]:
    """The members below a path by name, with their states."""
    names = cell.run(cell.store.resources.list_paths("vm", f"{path}/", "", 100))
    rows = cell.run(cell.store.resources.read_many(names))
    return {name.removeprefix(f"{path}/"): rows[name].snapshot.state for name in names}


def accepted(cell: Cell, web: httpx.Client, path: str, action: str, **body: Any) -> str:
    answer = web.post(f"/v1/resources{path}?action={action}", json=body or None)
    assert answer.status_code == 202, answer.text
    cell.run(cell.idle())
    operation: str = answer.json()["operation"]["id"]
    return operation


def skipped(web: httpx.Client, operation: str) -> dict[str, str]:
    items = web.get(f"/v1/operations/{operation}/members").json()["items"]
    return {item["path"]: item["message"] for item in items if item["outcome"] == "skipped"}


@pytest.mark.req("S0-11", "S0-20")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("of", ["", "/front"])
def test_group_action_leaves_out_member_that_another_operation_holds(
    cell: Cell, web: httpx.Client, ns: str, of: str, action: str
) -> None:
    group(cell, web, ns, "web", front=3)
    path = f"/{ns}/web"
    cell.rest(f"{path}/front", "Running")
    with http(cell, **{"x-name": "bob"}) as bob:
        reboot = accepted(cell, bob, f"{path}/front/2", "reboot")
        dry = web.post(f"/v1/resources{path}{of}?action={action}&dry_run=true")
        assert dry.status_code == 200, dry.text
        operation = accepted(cell, web, f"{path}{of}", action)
    moving = {"suspend": "Suspending", "terminate": "Terminating"}[action]
    assert states(cell, path) == {"front/1": moving, "front/2": "Rebooting", "front/3": moving}
    ((left, says),) = skipped(web, operation).items()
    assert left == f"{path}/front/2"
    assert says.startswith("reboot by bob is in progress since ")
    assert says.endswith(f"(operation {reboot})")
    for name in ("1", "3"):
        cell.settle(f"{path}/front/{name}")
    assert web.get(f"/v1/operations/{operation}").json()["outcome"] == "succeeded"
    assert states(cell, path)["front/2"] == "Rebooting"
    cell.settle(f"{path}/front/2")
    assert web.get(f"/v1/operations/{reboot}").json()["outcome"] == "succeeded"
    assert states(cell, path)["front/2"] == "Running"
    assert web.get("/v1/claims", params={"below": path}).json()["items"] == []


@pytest.mark.req("S0-11")
def test_group_action_leaves_out_subgroup_that_another_operation_holds(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    group(cell, web, ns, "web", front=2, back=1)
    path = f"/{ns}/web"
    cell.rest(f"{path}/front", "Running")
    scale = accepted(cell, web, f"{path}/front", "scale-out", spec={"by": 1})
    operation = accepted(cell, web, path, "suspend")
    assert states(cell, path) == {
        "back/1": "Suspending",
        "front/1": "Running",
        "front/2": "Running",
        "front/3": "Creating",
    }
    says = skipped(web, operation)
    assert set(says) == {f"{path}/front/{n}" for n in (1, 2, 3)}
    assert all(text.endswith(f"(operation {scale})") for text in says.values())
    assert all(f"scale-out by ann is in progress on {path}/front since " in text for text in says.values())
    cell.settle(f"{path}/back/1")
    cell.settle(f"{path}/front/3")
    for id in (operation, scale):
        assert web.get(f"/v1/operations/{id}").json()["outcome"] == "succeeded"


@pytest.mark.req("S0-11")
def test_group_action_is_rejected_only_where_no_member_can_act(cell: Cell, web: httpx.Client, ns: str) -> None:
    group(cell, web, ns, "web", front=2)
    path = f"/{ns}/web"
    cell.rest(f"{path}/front", "Running")
    reboot = accepted(cell, web, f"{path}/front/1", "reboot")
    accepted(cell, web, f"{path}/front/2", "reboot")
    for action in ACTIONS:
        for of in ("", "/front"):
            said = problem(web.post(f"/v1/resources{path}{of}?action={action}"), 409, "no-member")
            assert said["holder"].items() >= {"operation": reboot, "action": "reboot", "principal": "ann"}.items()
    problem(web.delete(f"/tumblebug/ns/{ns}/mci/web?option=terminate"), 409, "held")


@pytest.mark.req("S0-11")
def test_group_action_waits_for_member_that_does_the_same_by_itself(cell: Cell, web: httpx.Client, ns: str) -> None:
    group(cell, web, ns, "web", front=2)
    path = f"/{ns}/web"
    cell.rest(f"{path}/front", "Running")
    accepted(cell, web, f"{path}/front/1", "suspend")
    operation = accepted(cell, web, path, "suspend")
    assert skipped(web, operation) == {}
    cell.settle(f"{path}/front/2")
    assert web.get(f"/v1/operations/{operation}").json()["outcome"] is None
    cell.settle(f"{path}/front/1")
    assert web.get(f"/v1/operations/{operation}").json()["outcome"] == "succeeded"


def test_nothing_but_infrastructures_and_subgroups_leaves_out_what_is_claimed(cell: Cell) -> None:
    found = {
        (kind.kind, action.name) for kind in cell.kinds.values() for action in kind.actions if action.skips_claimed
    }
    names = ("suspend", "resume", "reboot", "terminate", "refine", "refresh", "accept-observed")
    assert found == {(kind, name) for kind in ("mci", "subgroup") for name in names}
