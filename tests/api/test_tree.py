"""What lies below a path: namespaces, groups and VMs, the worst first, with sums of all that is below."""

from __future__ import annotations

from typing import Any

import httpx

from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_groups import group
from tests.api.test_resources import make, problem, running


def tree(web: httpx.Client, below: str, **query: Any) -> dict[str, Any]:
    said: dict[str, Any] = web.get("/v1/tree", params={"below": below, **query}).json()
    return said


def names(page: dict[str, Any]) -> list[str]:
    return [item["name"] for item in page["items"]]


def test_a_namespace_is_no_resource_and_has_the_sums_of_what_is_in_it(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = group(cell, web, ns, 2)
    make(web, f"{path}/g/2")
    cell.settle(f"{path}/g/2", Trigger.FAILED)
    cell.numbered()
    (node,) = [item for item in tree(web, "/", limit=1000)["items"] if item["name"] == ns]
    assert (node["path"], node["kind"], node["state"]) == (f"/{ns}", None, None)
    assert (node["health"], node["worst"]) == ("trouble", "Failed")
    assert node["counts"]["vm"] == {"Running": 2, "Failed": 1}
    assert node["total"] == sum(sum(by_state.values()) for by_state in node["counts"].values())
    (mci,) = tree(web, f"/{ns}")["items"]
    assert (mci["name"], mci["kind"], mci["state"], mci["state_class"]) == ("m", "mci", "Running", "stable")
    (subgroup,) = tree(web, path)["items"]
    assert (subgroup["name"], subgroup["counts"]) == ("g", {"vm": {"Running": 2, "Failed": 1}})


def test_leaves_come_worst_first_then_by_number_and_in_pages(cell: Cell, web: httpx.Client, ns: str) -> None:
    for i in (10, 9, 2):
        running(cell, web, f"/{ns}/m/g/{i}")
    make(web, f"/{ns}/m/g/11")
    cell.settle(f"/{ns}/m/g/11", Trigger.FAILED)
    make(web, f"/{ns}/m/g/12")
    running(cell, web, f"/{ns}/m/g-x/1")  # sorts between the group and its members, and is neither
    cell.numbered()
    whole = tree(web, f"/{ns}/m/g")
    assert names(whole) == ["11", "12", "2", "9", "10"]
    assert [item["health"] for item in whole["items"]] == ["trouble", "moving", "well", "well", "well"]
    assert whole["next"] is None
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = tree(web, f"/{ns}/m/g", limit=2, **({"cursor": cursor} if cursor else {}))
        found += names(page)
        cursor = page["next"]
        if cursor is None:
            break
    assert found == names(whole)
    assert names(tree(web, f"/{ns}/m")) == ["g", "g-x"]
    first = tree(web, f"/{ns}/m", limit=1)
    assert names(first) + names(tree(web, f"/{ns}/m", limit=1, cursor=first["next"])) == ["g", "g-x"]


def test_below_nothing_there_is_nothing(web: httpx.Client, ns: str) -> None:
    assert tree(web, f"/{ns}/nothing") == {"items": [], "next": None, "more": False}
    problem(web.get("/v1/tree", params={"below": "nowhere"}), 422, "invalid")
    problem(web.get("/v1/tree", params={"cursor": "made-up"}), 422, "invalid")


def test_the_client_sees_it_too(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    cell.numbered()
    with SyncClient(cell.url) as client:
        assert [node.state for node in client.tree_page(f"/{ns}/m/g").items] == ["Running"]
