"""Lifecycles over HTTP."""

from __future__ import annotations

import httpx

from stead.catalog import KINDS
from stead.client import SyncClient
from tests.api.cell import Cell
from tests.api.test_resources import problem


def test_all_are_listed_in_brief(web: httpx.Client) -> None:
    items = web.get("/v1/cells/-/lifecycles").json()["items"]
    assert [item["kind"] for item in items] == list(KINDS)
    vm = items[0]
    assert (vm["family"], vm["parent"], vm["findings"]) == ("multicloud", "subgroup", 0)
    assert (vm["states"], vm["actions"], vm["transitions"]) == (
        len(KINDS["vm"].states),
        len(KINDS["vm"].actions),
        len(KINDS["vm"].table),
    )


def test_one_is_shown_whole(web: httpx.Client) -> None:
    said = web.get("/v1/cells/-/lifecycles/vm").json()
    assert [state["name"] for state in said["states"]] == [state.name for state in KINDS["vm"].states]
    states = {state["name"]: state for state in said["states"]}
    assert (
        states["Creating"].items() >= {"state_class": "transitional", "unhealthy": False, "awaits": "agent"}.items()
    )
    assert states["Creating"]["timeout"] > 0
    assert (
        states["Failed"].items()
        >= {"state_class": "final", "unhealthy": True, "timeout": None, "awaits": None}.items()
    )
    suspend = next(action for action in said["actions"] if action["name"] == "suspend")
    assert suspend.items() >= {"source": ["Running"], "target": "Suspended", "on_failure": "Failed"}.items()
    assert len(said["transitions"]) == len(KINDS["vm"].table)
    assert {"source", "trigger", "detail", "actor", "target", "forced"} == set(said["transitions"][0])


def test_there_are_no_others(web: httpx.Client) -> None:
    problem(web.get("/v1/cells/-/lifecycles/door"), 404, "not-found")


def test_the_client_sees_them_too(cell: Cell) -> None:
    with SyncClient(cell.url) as client:
        assert {one.kind for one in client.lifecycles().items} == set(KINDS)
        assert client.lifecycle("mci").members == "vm"
