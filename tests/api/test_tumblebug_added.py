"""More VMs for an MCI that is there, in the dialect: POST of a subgroup or a VM."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Actor, Trigger
from tests.api.cell import Cell
from tests.api.test_resources import problem
from tests.api.test_tumblebug import group, stands


async def unprepared(cell: Cell, path: str) -> None:
    """The controller could not prepare a subgroup."""
    row = await cell.store.resources.read(path)
    assert row is not None
    said = Report(Trigger.FAILED, row.snapshot.fence, actor=Actor.CONTROLLER)
    await cell.executor.apply(
        [TransitionInput(path, said, principal="controller", detail={"error": "sim.a has no spec large"})]
    )


PATHS = {"subgroup": 3, "subgroupDynamic": 2, "vm": 1, "vmDynamic": 1}
"""By path, how many VMs are asked for; none said is one."""


def body(size: int, **more: Any) -> dict[str, Any]:
    said = {"name": "cache", "specId": "sim+a+large", "imageId": "debian-12", "label": {"tier": "cache"}}
    return said | ({"subGroupSize": str(size)} if size > 1 else {}) | more


@pytest.mark.req("S0-19")
@pytest.mark.parametrize("where", PATHS)
def test_posted_subgroup_or_vm_is_added_to_the_mci(cell: Cell, web: httpx.Client, ns: str, where: str) -> None:
    mci, size = group(cell, web, ns, "web", front=1), PATHS[where]
    cell.obey(ns)
    answer = web.post(f"{mci}/{where}", json=body(size))
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert (said["id"], said["targetAction"], said["targetStatus"]) == ("web", "Create", "Running")
    assert answer.headers["location"] == f"/v1/operations/{said['operation']}"
    cell.prepared(f"/{ns}/web/cache")
    shown = stands(cell, web, mci)
    assert (shown["status"], shown["targetAction"]) == (f"Running:{size + 1} (R:{size + 1}/{size + 1})", "None")
    assert [vm["id"] for vm in shown["vm"]] == [*(f"cache-{n + 1}" for n in range(size)), "front-1"]
    one = web.get(f"{mci}/subgroup/cache").json()
    assert (one["subGroupSize"], one["specId"], one["label"]) == (str(size), "sim+a+large", {"tier": "cache"})
    assert web.get(f"/v1/operations/{said['operation']}").json()["outcome"] == "succeeded"
    assert problem(web.post(f"{mci}/{where}", json=body(size)), 409, "wrong-state")


@pytest.mark.req("S0-19")
def test_subgroup_that_could_not_be_prepared_is_gone_again(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", front=1)
    before = stands(cell, web, mci)
    operation = web.post(f"{mci}/subgroup", json=body(2)).json()["operation"]
    cell.run(unprepared(cell, f"/{ns}/web/cache"))
    assert stands(cell, web, mci) == before
    ended = web.get(f"/v1/operations/{operation}").json()
    assert (ended["outcome"], ended["message"]) == ("failed", "sim.a has no spec large")
    assert web.get(f"{mci}/subgroup").json() == {"output": ["front"]}


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"subGroupSize": 0}, "body.subGroupSize"),
        ({"specId": ""}, "body.specId"),
        ({"imageId": ""}, "body.imageId"),
        ({"name": "Cache"}, "body.name"),
        ({"rootDiskSize": "100"}, "body.rootDiskSize"),
        ({"provider": "other"}, "body.provider"),
    ],
)
def test_what_is_wrong_with_a_subgroup_is_named_by_its_field(
    cell: Cell, web: httpx.Client, ns: str, more: dict[str, Any], where: str
) -> None:
    mci = group(cell, web, ns, "web", front=1)
    answer = web.post(f"{mci}/subgroup", json=body(1, **more))
    assert where in [error["location"] for error in problem(answer, 422, "invalid")["errors"]]
    assert web.get(f"{mci}/subgroup").json() == {"output": ["front"]}


def test_subgroup_of_an_mci_that_is_not_there_is_404(web: httpx.Client, ns: str) -> None:
    problem(web.post(f"/tumblebug/ns/{ns}/mci/none/subgroup", json=body(1)), 404, "not-found")
