"""What is really there, over HTTP: belief beside it, what nobody owns, and the lanes that lead there."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stead.client import SyncClient
from stead.dev.engines import Nats
from stead.store.agents import PresentAgent
from tests.api.cell import Cell
from tests.api.test_resources import make, problem, running
from tests.drivers.cloud import SimWorld
from tests.integration.served import served
from tests.integration.whole import PATH, agent, ask, settled


@pytest.mark.req("X-07")
async def test_belief_and_truth_side_by_side(migrated: str, nats_server: Nats, world: SimWorld) -> None:
    async with served(migrated, nats_server) as s, httpx.AsyncClient(base_url=s.url, trust_env=False) as web:
        async with agent(nats_server, s.cell, world):
            for path in (PATH, "/ns/m/g/2"):
                await ask(s.controller, world, "create", path)
            for path in (PATH, "/ns/m/g/2"):
                await settled(s.controller, "Running", path)
            row = await s.controller.store.resources.read("/ns/m/g/2")
            assert row is not None
            await world.drift("stop", tokens=[str(row.token)])
            answer = await web.get("/v1/drift", params={"below": "/ns/m", "kind": "vm", "limit": 1})
            assert answer.status_code == 200, answer.text
            page = answer.json()
            assert [(x["path"], x["observed"], x["matches"]) for x in page["items"]] == [(PATH, "Running", True)]
            page = (await web.get("/v1/drift", params={"below": "/ns/m", "cursor": page["next"]})).json()
            assert page["next"] is None
            (found,) = page["items"]
            assert found.pop("observed_at")
            assert found == {
                "path": "/ns/m/g/2",
                "kind": "vm",
                "lane": f"{world.provider}.{world.region}",
                "recorded": "Running",
                "expected": "Running",
                "observed": "Suspended",
                "matches": False,
                "reason": None,
                "next_action": "record Suspended",
            }
            query = {"below": "/ns/m/g/2", "refresh": "false"}
            (found,) = (await web.get("/v1/drift", params=query)).json()["items"]
            assert (found["observed"], found["matches"], found["reason"]) == (None, None, "unasked")
            (resource,) = (await web.get("/v1/resources", params={"below": "/ns/m", "limit": 1})).json()["items"]
            assert resource["state"] == "Running"
        (found,) = (await web.get("/v1/drift", params={"below": PATH})).json()["items"]
        assert (found["observed"], found["matches"], found["reason"]) == (None, None, "no-agent")


def test_without_a_wish_for_fresh_news_the_store_answers(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    make(web, f"/{ns}/m/g/2")
    found = web.get("/v1/drift", params={"below": f"/{ns}", "refresh": False}).json()["items"]
    assert [(x["recorded"], x["expected"], x["observed"], x["matches"], x["reason"]) for x in found] == [
        ("Running", "Running", None, None, "unasked"),
        ("Creating", "", None, None, "moving"),
    ]
    assert found[0]["observed_at"] is not None
    assert web.get("/v1/drift", params={"below": f"/{ns}", "kind": "disk"}).json() == {
        "items": [],
        "next": None,
        "more": False,
    }


@pytest.mark.parametrize(
    "query",
    [{"below": "no"}, {"kind": "a b"}, {"limit": 0}, {"limit": 1001}, {"cursor": "?"}, {"refresh": "perhaps"}],
)
def test_questions_that_make_no_sense(web: httpx.Client, query: dict[str, Any]) -> None:
    said = problem(web.get("/v1/drift", params=query), 422, "invalid")
    assert said["errors"][0]["location"] == f"query.{next(iter(query))}"


@pytest.mark.req("X-08")
def test_orphans_the_oldest_first(cell: Cell, web: httpx.Client, ns: str) -> None:
    lanes = [f"{ns}.a", f"{ns}.b"]

    def find(lane: str, *tokens: str) -> None:
        found = [{"token": t, "path": f"/{ns}/{t}", "state": "Running", "facts": {"id": f"i-{t}"}} for t in tokens]
        cell.run(cell.store.orphans.record(lane, found))

    find(lanes[0], "t1")
    find(lanes[1], "t2")
    assert web.get("/v1/cells/-/orphans", params={"lane": lanes[0]}).json() == {
        "items": [],
        "next": None,
        "more": False,
    }
    find(lanes[1], "t2")
    find(lanes[0], "t1", "t3")
    find(lanes[0], "t1", "t3")
    page = web.get("/v1/cells/-/orphans", params={"lane": lanes[0]}).json()
    assert [x["token"] for x in page["items"]] == ["t1", "t3"]
    first = page["items"][0]
    assert first["last_observed_at"] > first["first_observed_at"]
    shown = {"lane": lanes[0], "token": "t1", "path": f"/{ns}/t1", "state": "Running", "facts": {"id": "i-t1"}}
    assert first.items() >= shown.items()
    page = web.get("/v1/cells/-/orphans", params={"lane": lanes[0], "limit": 1}).json()
    assert ([x["token"] for x in page["items"]], page["more"]) == (["t1"], True)
    everywhere = web.get("/v1/cells/-/orphans").json()["items"]
    assert [x["token"] for x in everywhere if x["lane"] in lanes] == ["t1", "t2", "t3"]
    assert problem(web.get("/v1/cells/-/orphans", params={"lane": "a b"}), 422, "invalid")["errors"]


def test_lanes_with_who_serves_them(cell: Cell, web: httpx.Client, ns: str) -> None:
    cell.run(
        cell.store.agents.record_presence([PresentAgent(f"{ns}-agent", 1, [f"{ns}.a", f"{ns}.b"], "0.1.0")], "edge.")
    )
    with SyncClient(cell.url) as client:
        client.request_action(f"/{ns}/m/g/1", "create", kind="vm", lane=f"{ns}.b")
        client.request_action(f"/{ns}/m/g/2", "create", kind="vm", lane=f"{ns}.c")
    found: dict[str, Any] = {}
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = web.get("/v1/cells/-/lanes", params=query).json()
        assert len(page["items"]) <= 2
        found |= {item["lane"]: item for item in page["items"]}
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert list(found) == sorted(found)
    a, b, c = (found[f"{ns}.{name}"] for name in "abc")
    (serving,) = a["agents"]
    assert serving.pop("last_seen")
    assert serving == {"name": f"{ns}-agent", "version": "0.1.0", "connected": True, "rejected": ""}
    assert (a["waiting"], a["in_flight"], bool(a["next_inventory_at"])) == (0, 0, True)
    assert (len(b["agents"]), b["in_flight"], b["untaken"]) == (1, 1, 1)
    assert (c["agents"], c["untaken"], c["next_inventory_at"]) == ([], 1, None)


@pytest.mark.parametrize("address", ["/v1/cells/-/lanes/lab.blue/limit", "/v1/cells/-/providers/lab/limits"])
@pytest.mark.parametrize("members", [0, 2**31, 2**63])
def test_a_limit_that_cannot_be_counted_to_is_refused(web: httpx.Client, address: str, members: int) -> None:
    answer = web.put(address, json={"members": members})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
