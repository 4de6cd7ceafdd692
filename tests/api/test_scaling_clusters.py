"""Policies that follow demand with clusters: over sites, with the apps of another policy on what they made."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.cell import Cell
from tests.api.test_resources import problem
from tests.api.test_scaling import follow, instances, policy, put, shown, site, tell


def clusters(*sites: str, **said: Any) -> dict[str, Any]:
    """A policy for clusters called k-1, k-2, …"""
    plain = policy(*sites, spec={"cpu": 2}, **said)
    del plain["app"]
    return {**plain, "cluster": "k"}


@pytest.fixture
def sites(cell: Cell, web: httpx.Client, ns: str) -> list[str]:
    """Two sites that are ready and have nothing, with agents that obey."""
    cell.obey(ns)
    for name in ("a", "b"):
        site(cell, web, f"/{ns}/{name}")
    return [f"/{ns}/a", f"/{ns}/b"]


@pytest.mark.req("S1-12")
def test_clusters_follow_demand_over_sites(cell: Cell, web: httpx.Client, ns: str, sites: list[str]) -> None:
    put(web, ns, clusters(*sites, choice="spread"))
    for value, there in (
        (50, ["a/k-1"]),
        (150, ["a/k-1", "b/k-1"]),
        (290, ["a/k-1", "a/k-2", "b/k-1"]),
        (900, ["a/k-1", "a/k-2", "b/k-1"]),
        (60, ["a/k-1", "b/k-1"]),
        (0, ["a/k-1"]),
        (0, []),
    ):
        tell(web, ns, value)
        follow(cell, ns)
        assert instances(web, ns) == dict.fromkeys(there, "Ready"), (value, shown(web, ns))
    tell(web, ns, 50)
    follow(cell, ns)
    row = web.get(f"/v1/resources{sites[0]}/k-1").json()
    assert (row["kind"], row["lane"]) == ("clusterinst", f"edge.{ns}.a")
    assert row["spec"] == {"cpu": 2, "labels": {"made-by": f"policy:{ns}/p"}}
    (made,) = [act for act in shown(web, ns)["actions"] if act["place"] == sites[0] and act["action"] == "create"]
    operation = web.get(f"/v1/operations/{made['operation']}").json()
    assert (operation["path"], operation["outcome"]) == (f"{sites[0]}/k-1", "succeeded")
    assert operation["reason"] == "the demand over all places is 50, and there is no instance"


@pytest.mark.req("S1-12")
def test_cluster_that_has_apps_is_not_deleted(cell: Cell, web: httpx.Client, ns: str, sites: list[str]) -> None:
    put(web, ns, clusters(sites[0]))
    for value in (50, 150):
        tell(web, ns, value)
        follow(cell, ns)
    app = f"{sites[0]}/k-2/mine"
    assert web.post(f"/v1/resources{app}", json={"kind": "appinst", "lane": f"edge.{ns}.a"}).status_code == 202
    tell(web, ns, 0)
    follow(cell, ns)
    assert list(instances(web, ns)) == ["a/k-2"]
    tell(web, ns, 0)
    follow(cell, ns)
    assert (list(instances(web, ns)), shown(web, ns)["code"]) == (["a/k-2"], "not-its-own")
    assert web.post(f"/v1/resources{app}?action=delete").status_code == 202
    cell.childless(app)
    follow(cell, ns)  # its end is in the journal, and wakes the policy
    assert instances(web, ns) == {}


@pytest.mark.req("S1-12")
def test_apps_follow_demand_on_the_clusters_that_a_policy_makes(
    cell: Cell, web: httpx.Client, ns: str, sites: list[str]
) -> None:
    app = policy(*(f"{place}/k-*" for place in sites), choice="spread", maximum_at_place=1)
    put(web, ns, app, "app")
    put(web, ns, clusters(*sites, choice="spread"))
    tell(web, ns, 50, "app")
    follow(cell, ns)
    found = shown(web, ns, "app")
    assert (found["code"], found["instances"]) == ("no-place", [])
    assert f"there is no cluster {sites[0]}/k-*" in found["message"]
    tell(web, ns, 150)  # a cluster comes, and the app goes on it without a further figure
    follow(cell, ns)
    assert list(instances(web, ns)) == ["a/k-1"]
    assert [one["path"] for one in shown(web, ns, "app")["instances"]] == [f"{sites[0]}/k-1/web-1"]
    for value in (150, 290):
        tell(web, ns, value)
        tell(web, ns, value, "app")
        follow(cell, ns)
    assert list(instances(web, ns)) == ["a/k-1", "a/k-2", "b/k-1"]
    assert len(shown(web, ns, "app")["instances"]) == 3
    for _ in range(3):
        tell(web, ns, 0, "app")
        follow(cell, ns)
        tell(web, ns, 0)
        follow(cell, ns)
    assert (instances(web, ns), shown(web, ns, "app")["instances"]) == ({}, [])


@pytest.mark.req("S1-12")
def test_site_that_is_not_ready_takes_no_cluster(cell: Cell, web: httpx.Client, ns: str, sites: list[str]) -> None:
    cell.rest(sites[0], "Offline")
    put(web, ns, clusters(sites[0]))
    tell(web, ns, 50)
    follow(cell, ns)
    assert shown(web, ns)["message"].endswith(f"the site {sites[0]} is Offline")
    cell.rest(sites[0], "Ready")
    put(web, ns, clusters(*sites))
    follow(cell, ns)
    assert list(instances(web, ns)) == ["a/k-1"]


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({"app": "web"}, "body.cluster"),
        ({"cluster": ""}, "body.app"),
        ({"places": ["/{ns}/s/c"]}, "body.places.0"),
        ({"places": ["/{ns}/s/k-*"]}, "body.places.0"),
        ({"places": ["/{ns}/*"]}, "body.places.0"),
        ({"cluster": "", "app": "web", "places": ["/{ns}/s/k-*"], "demand": "place"}, "body.places.0"),
    ],
)
def test_policy_for_clusters_that_makes_no_sense_is_422(
    web: httpx.Client, ns: str, said: dict[str, Any], where: str
) -> None:
    said = {**said, "places": [place.format(ns=ns) for place in said.get("places", ["/{ns}/s"])]}
    answer = web.put(f"/v1/scaling/{ns}/p", json={**clusters(), **said})
    assert where in [error["location"] for error in problem(answer, 422, "invalid")["errors"]]
