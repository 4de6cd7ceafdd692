"""What is stuck, over HTTP; and how long what is under way has lasted, beside how long it usually does."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from stead.catalog import KINDS
from stead.client import SyncClient
from stead.controller.reconcilers.durations import DurationLearner
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle.durations import ENOUGH
from tests.api.cell import Cell, http
from tests.api.test_resources import make, problem, running
from tests.controller.test_stuck import agents_there
from tests.databases import Databases


@pytest.fixture(scope="module")
def cell(databases: Databases) -> Iterator[Cell]:
    """One of its own, since what is learned is learned from all of it."""
    with databases.migrated() as dsn, Cell(dsn) as cell:
        cell.view.usual.fresh = 0.0
        cell.run(agents_there(cell.store))
        yield cell


@pytest.fixture
def web(cell: Cell) -> Iterator[httpx.Client]:
    with http(cell) as client:
        yield client


def written(cell: Cell, statement: str, *values: Any) -> None:
    async def write() -> None:
        connection = await asyncpg.connect(cell.dsn)
        await connection.execute(statement, *values)
        await connection.close()

    cell.run(write())


def aged(cell: Cell, path: str, seconds: float) -> None:
    """It has been where it is for so long, and its timers have run for so long."""
    written(
        cell,
        "UPDATE resources SET changed_at = changed_at - $2::interval, due = due - $2::interval, "
        "timers = shift_timers(timers, -extract(epoch FROM $2::interval)::float8) WHERE path = $1",
        *(path, timedelta(seconds=seconds)),
    )


def ticked(cell: Cell) -> None:
    while cell.run(TimerService(cell.executor).tick()):
        pass


def learned(cell: Cell, web: httpx.Client, path: str) -> None:
    """Enough to know how long it takes to suspend a VM, which is longer than this machine takes for any request."""
    running(cell, web, path)
    for action in ("suspend", "resume") * ENOUGH:
        assert web.post(f"/v1/resources{path}", params={"action": action}).status_code == 202
        cell.settle(path)
    suspended = "path = $1 AND target = 'Suspending'"
    written(cell, f"UPDATE journal SET at = at - interval '30 seconds' WHERE {suspended}", path)
    cell.numbered()
    cell.run(DurationLearner(cell.store, KINDS)())


def stuck(web: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    answer = web.get("/v1/stuck", params=query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["next"] is None
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


@pytest.mark.req("X-12")
def test_what_is_under_way_says_how_long_it_has_lasted_and_usually_does(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    path = f"/{ns}/m/g/1"
    learned(cell, web, path)
    assert web.get(f"/v1/resources{path}").json()["operation"] is None
    id = web.post(f"/v1/resources{path}", params={"action": "suspend"}).json()["operation"]["id"]
    seen = web.get(f"/v1/resources{path}").json()
    lasts = seen["operation"]["elapsed"]
    assert lasts["since"] == seen["changed_at"]
    assert lasts["deadline"] == seen["timers"]["deadline"]
    assert lasts["limit"] == KINDS["vm"].state("Suspending").timeout
    assert 0 < lasts["typical"] <= lasts["p99"] < 60
    assert (lasts["samples"], lasts["late"], lasts["overdue"]) == (ENOUGH, False, False)
    aged(cell, path, 60)
    ticked(cell)
    told = web.get(f"/v1/operations/{id}").json()["elapsed"]
    assert (told["late"], told["overdue"], told["p99"]) == (True, False, lasts["p99"])
    assert datetime.fromisoformat(lasts["since"]) - datetime.fromisoformat(told["since"]) == timedelta(seconds=60)
    (listed,) = web.get("/v1/resources", params={"below": f"/{ns}"}).json()["items"]
    assert listed["operation"]["elapsed"] == told
    assert web.get(f"/v1/operations/{id}/timeline").json()["operation"]["elapsed"] == told
    (item,) = stuck(web, below=f"/{ns}")
    assert (item["path"], item["operation"], item["elapsed"]) == (path, id, told)
    assert [why["code"] for why in item["causes"]] == ["late"]
    cell.settle(path)
    assert web.get(f"/v1/operations/{id}").json()["elapsed"] is None
    assert stuck(web, below=f"/{ns}") == []


@pytest.mark.req("S2-10")
def test_what_is_looked_at_and_settled_is_told_with_why(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    id = web.post(f"/v1/resources{path}", params={"action": "reboot"}).json()["operation"]["id"]
    deadline = KINDS["vm"].state("Rebooting").timeout
    assert deadline is not None
    aged(cell, path, deadline + 1)
    ticked(cell)
    (item,) = stuck(web, below=f"/{ns}")
    assert (item["phase"], item["outcome"], item["elapsed"]["overdue"]) == ("probing", None, True)
    assert {"overdue", "probing"} <= {why["code"] for why in item["causes"]}
    assert {"kind": "cancel", "operation": id}.items() <= item["steps"][-1].items()
    cell.look(path, "Running")
    (item,) = stuck(web, below=path)
    assert (item["state"], item["outcome"], item["elapsed"]) == ("Running", "unknown", None)
    assert [look["observed"] for look in item["observations"]] == ["Running"]
    assert "observed Running" in item["causes"][0]["message"]
    assert item["resolution"].endswith("reboot ended unknown")
    assert {"kind": "retry", "operation": id}.items() <= item["steps"][0].items()
    assert stuck(web, below=path, lately=0) == []
    with SyncClient(cell.url) as client:
        (same,) = client.stuck(below=path)
        assert (same.path, same.resolution, same.steps[0].operation) == (path, item["resolution"], id)
    assert web.post(f"/v1/operations/{id}/retry").status_code == 202
    assert stuck(web, below=path) == []


def test_creation_that_an_observation_found_done_is_not_stuck(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    make(web, path)
    deadline = KINDS["vm"].state("Creating").timeout
    assert deadline is not None
    aged(cell, path, deadline + 1)
    ticked(cell)
    assert [item["path"] for item in stuck(web, below=f"/{ns}")] == [path]
    cell.look(path, "Running")
    (ended,) = web.get("/v1/operations", params={"below": path}).json()["items"]
    assert (ended["action"], ended["outcome"]) == ("create", "succeeded")
    assert stuck(web, below=f"/{ns}") == []


def test_pages_and_what_is_no_cursor(cell: Cell, web: httpx.Client, ns: str) -> None:
    paths = [f"/{ns}/m/g/{i}" for i in range(5)]
    for path in paths:
        make(web, path)
        aged(cell, path, 100_000)
        ticked(cell)
    found: list[str] = []
    query: dict[str, Any] = {"below": f"/{ns}", "limit": 2}
    while True:
        page = web.get("/v1/stuck", params=query).json()
        found += [item["path"] for item in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert sorted(found) == paths
    for place in (
        '["now"]',
        '["else", null, 0]',
        '["now", "x", 0]',
        '["now", null, "1"]',
        '["now", "2020-01-01", 1]',
        "7",
    ):
        cursor = base64.urlsafe_b64encode(json.dumps([place]).encode()).decode()
        problem(web.get("/v1/stuck", params={"cursor": cursor}), 422, "invalid")
    for wrong in ({"lately": -1}, {"below": "x"}, {"limit": 0}):
        problem(web.get("/v1/stuck", params=wrong), 422, "invalid")


@pytest.mark.req("S1-11")
def test_site_in_update_error_whose_agent_is_away_is_listed_with_what_to_do(
    cell: Cell, web: httpx.Client, ns: str
) -> None:
    for site, condition in (("away", {"notify": 5}), ("there", {"notify": 5, "connected": True})):
        cell.put(f"/{ns}/{site}", "cloudlet", "UpdateError")
        change = "UPDATE resources SET condition = $2, facts = $3, lane = $4 WHERE path = $1"
        values = (json.dumps(condition), json.dumps({"agent": f"{ns}-{site}"}), f"edge.{ns}.{site}")
        cell.run(cell._hand.execute(change, f"/{ns}/{site}", *values))
    (found,) = web.get("/v1/stuck", params={"below": f"/{ns}"}).json()["items"]
    assert (found["path"], found["kind"], found["state"]) == (f"/{ns}/away", "cloudlet", "UpdateError")
    assert found["causes"] == [
        {"code": "no-agent", "message": f"its agent {ns}-away is not connected, and the upgrade has failed"}
    ]
    (step,) = found["steps"]
    assert step["kind"] == "agent"
    for words in ("start the agent", f"stead cloudlet resolve {ns}/away", f"stead cloudlet forget {ns}/away"):
        assert words in step["description"]
