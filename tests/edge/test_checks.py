"""What has to hold of sites, each rule on a history that keeps it and on one that does not."""

from __future__ import annotations

from dataclasses import replace

from stead.drivers.sim.rules import RUNNING, TERMINATED
from tests.chaos.history import Deed, History, Instance, Line, Resource
from tests.edge import checks
from tests.edge.checks import Believed, Past

CLUSTER, APP = "/edge/s1/c0", "/edge/s1/c0/a1"


def instance(path: str, *deeds: Deed, kind: str = "appinst", revision: int = 7) -> Instance:
    return Instance("x", f"t-{path}", path, "edge.edge.s1", deeds[-1].after, deeds, kind, revision)


def past(*instances: Instance, journal: tuple[Line, ...] = (), believed: tuple[Believed, ...] = ()) -> Past:
    return Past(History(instances=instances, journal=journal), believed)


def made(at: float, order: int = 1) -> Deed:
    return Deed(at, "create", RUNNING, f"t.{order}")


def gone(at: float, order: int = 9) -> Deed:
    return Deed(at, "terminate", TERMINATED, f"t.{order}")


def seen_gone(at: float) -> Line:
    return Line(1, APP, "Ready", "UpdateError", "observed", "absent", "agent", at=at, kind="appinst")


def test_an_app_lives_within_the_life_of_its_cluster() -> None:
    cluster = instance(CLUSTER, made(1), gone(9), kind="clusterinst")
    assert list(checks.homes(past(cluster, instance(APP, made(2), gone(8))))) == []
    for outside in ((made(0.5), gone(8)), (made(2), gone(10)), (made(2),)):
        (says,) = checks.homes(past(cluster, instance(APP, *outside)))
        assert APP in says


def test_what_is_ready_has_the_spec_that_is_believed() -> None:
    there = instance(APP, made(1))
    same = Believed(APP, "Ready", there.token, 7)
    assert list(checks.specs(past(there, believed=(same,)))) == []
    (says,) = checks.specs(past(there, believed=(replace(same, revision=8),)))
    assert "revision 8" in says
    assert list(checks.specs(past(there, believed=(replace(same, revision=8, state="UpdateError"),)))) == []


def test_what_was_seen_gone_was_gone() -> None:
    ready = Line(0, APP, "Creating", "Ready", "succeeded", "create", "agent", at=2, kind="appinst")
    assert list(checks.glances(past(instance(APP, made(1), gone(4)), journal=(ready, seen_gone(5))))) == []
    (says,) = checks.glances(past(instance(APP, made(1)), journal=(ready, seen_gone(5))))
    assert "never absent" in says


def test_what_was_ordered_earlier_is_not_done_later() -> None:
    update = Deed(3, "update", RUNNING, "t.4")
    assert list(checks.in_order(past(instance(APP, made(1), update)))) == []
    (says,) = checks.in_order(past(instance(APP, made(1), update, Deed(5, "update", RUNNING, "t.2"))))
    assert "by order 2" in says


def test_in_the_end_every_site_is_ready() -> None:
    site = Resource("/edge/s1", "Ready", "t", "edge.edge.s1", kind="cloudlet")
    assert list(checks.sites(Past(History(resources=[site])))) == []
    (says,) = checks.sites(Past(History(resources=[replace(site, state="Offline")])))
    assert "Offline" in says
