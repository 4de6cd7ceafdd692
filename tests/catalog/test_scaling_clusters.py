"""Policies for clusters, and places that are a series of clusters."""

from __future__ import annotations

from typing import Any

import pytest

from stead.catalog import scaling
from stead.catalog.demand import Code
from stead.catalog.edge import APPINST, CLUSTERINST
from stead.catalog.scaling import How
from stead.lifecycle.rows import StateClass
from tests.catalog.test_scaling import asked, policy, says, there

SITES = ("/shop/a", "/shop/b")
SERIES = "/shop/a/k-*"


def clusters(**said: Any) -> scaling.Policy:
    return policy(**{"app": "", "cluster": "k", "places": SITES, **said})


@pytest.mark.req("S1-12")
def test_policy_for_clusters_makes_and_deletes_clusters_on_sites() -> None:
    one = clusters()
    assert list(scaling.wrong(one, "shop")) == []
    assert (one.kind, one.name, policy().kind) == (CLUSTERINST.kind, "k", APPINST.kind)
    assert scaling.read(scaling.written(one)) == one
    assert asked(says(one, 150.0, there("/shop/a/k-1"))) == [("+", "/shop/a/k-2")]
    assert asked(says(one, 10.0, there("/shop/a/k-1"), there("/shop/a/k-2"))) == [("-", "/shop/a/k-2")]
    with_apps = there("/shop/a/k-2", How.BUSY)
    assert asked(says(one, 10.0, there("/shop/a/k-1"), with_apps)) == [("-", "/shop/a/k-1")]
    assert says(one, 0.0, with_apps).code is Code.NOT_ITS_OWN


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"app": "web"}, "cluster"),
        ({"cluster": ""}, "app"),
        ({"cluster": "a/b"}, "cluster"),
        ({"places": ("/shop/a/k",)}, "places.0"),
        ({"places": ("/shop/a", SERIES)}, "places.1"),
        ({"places": ("/bank/a",)}, "places.0"),
    ],
)
def test_policy_for_clusters_that_makes_no_sense_is_named(said: dict[str, Any], field: str) -> None:
    assert field in [where for where, _ in scaling.wrong(clusters(**said), "shop")]


def test_series_of_clusters_is_the_clusters_that_there_are() -> None:
    one = policy(places=(SERIES, "/shop/b/k", "/shop/b/k-*"))
    assert list(scaling.wrong(one, "shop")) == []
    there_are = ["/shop/a/k-10", "/shop/a/k-2", "/shop/a/k", "/shop/a/k-x", "/shop/a/kk-1", "/shop/b/k"]
    found = scaling.spelled_out(one, there_are)
    assert found.places == ("/shop/a/k-2", "/shop/a/k-10", "/shop/b/k", "/shop/b/k-*")
    assert scaling.spelled_out(found, there_are).places == found.places
    by_place = policy(places=(SERIES,), demand=scaling.PolicyInput.PLACE)
    assert [where for where, _ in scaling.wrong(by_place, "shop")] == ["places.0"]


def test_every_state_of_a_cluster_counts_as_something() -> None:
    for state in CLUSTERINST.states:
        how = scaling.how(state.name)
        assert (how is None) == (state.cls is StateClass.ABSENT)
        assert (how is How.BAD) == state.name.endswith("Error")
