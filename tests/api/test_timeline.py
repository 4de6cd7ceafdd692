"""What an operation did and when: bars of its members, and why those failed that did."""

from __future__ import annotations

from uuid import uuid4

import httpx

from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_groups import ask, group
from tests.api.test_resources import problem, running


def test_one_resource_is_one_bar(cell: Cell, web: httpx.Client, ns: str) -> None:
    id = running(cell, web, f"/{ns}/m/g/1")
    said = web.get(f"/v1/operations/{id}/timeline").json()
    assert (said["operation"]["id"], said["total"], said["next"], said["errors"]) == (id, 1, None, [])
    (bar,) = said["items"]
    assert (bar["path"], bar["source"], bar["outcome"]) == (f"/{ns}/m/g/1", "Absent", "succeeded")
    assert [phase["state"] for phase in bar["phases"]] == ["Creating", "Running"]
    assert bar["started_at"] <= bar["ended_at"]


def test_a_group_has_a_bar_for_each_member_and_each_reason_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 5)
    id = ask(cell, web, path, "suspend")
    cell.settle(f"{path}/g/3", Trigger.FAILED, error="the host is gone")
    cell.settle(f"{path}/g/1", Trigger.FAILED, error="the host is gone")
    cell.settle(f"{path}/g/0")
    said = web.get(f"/v1/operations/{id}/timeline").json()
    bars = {bar["path"]: bar for bar in said["items"]}
    assert list(bars)[:3] == [path, f"{path}/g/1", f"{path}/g/3"] or list(bars)[:3] == [
        path,
        f"{path}/g/3",
        f"{path}/g/1",
    ]
    assert {p: bar["outcome"] for p, bar in bars.items()} == {
        path: None,
        f"{path}/g/0": "succeeded",
        f"{path}/g/1": "failed",
        f"{path}/g/2": None,
        f"{path}/g/3": "failed",
        f"{path}/g/4": None,
    }
    assert bars[f"{path}/g/2"]["ended_at"] is None
    assert said["total"] == 6
    (error,) = said["errors"]
    assert (error["outcome"], error["members"], error["path"]) == ("failed", 2, f"{path}/g/1")
    first = web.get(f"/v1/operations/{id}/timeline?limit=4").json()
    rest = web.get(f"/v1/operations/{id}/timeline", params={"limit": 4, "cursor": first["next"]}).json()
    assert first["items"] + rest["items"] == said["items"]
    assert rest["next"] is None
    for i in (2, 4):
        cell.settle(f"{path}/g/{i}")
    with SyncClient(cell.url) as client:
        ended = client.timeline(id)
        assert ended.items[0].outcome == ended.operation.outcome == "failed"


def test_of_no_operation_there_is_nothing(web: httpx.Client) -> None:
    problem(web.get(f"/v1/operations/shop/{uuid4()}/timeline"), 404, "not-found")
