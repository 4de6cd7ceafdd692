"""Policies that follow demand, over the wire, on a real engine: an agent obeys, or is played by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from stead.access.authorized import Authorized
from stead.catalog import KINDS
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import ActionRequest
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.reconcilers.scaling import TAKEOVER_SECONDS, ScalingReconciler
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_resources import problem


def site(cell: Cell, web: httpx.Client, path: str, *clusters: str) -> None:
    """A site that is ready, with clusters on it."""
    namespace = path.split("/")[1]
    lane = f"edge.{path[1:].replace('/', '.')}"
    assert web.post(f"/v1/resources{path}", json={"kind": "cloudlet", "lane": lane}).status_code == 202
    cell.rest(path, "Ready")
    for cluster in clusters:
        body = {"kind": "clusterinst", "lane": lane}
        assert web.post(f"/v1/resources{path}/{cluster}", json=body).status_code == 202
        if namespace not in cell.obeyed:
            cell.settle(f"{path}/{cluster}")


def policy(*places: str, **said: Any) -> dict[str, Any]:
    plain = {"app": "web", "places": list(places), "up_above": 100, "down_below": 40, "maximum": 3}
    return {**plain, "cooldown_up": 0, "cooldown_down": 0, "spec": {"command": ["serve"]}, **said}


def put(web: httpx.Client, ns: str, body: dict[str, Any], name: str = "p") -> Any:
    answer = web.put(f"/v1/scaling/{ns}/{name}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tell(web: httpx.Client, ns: str, value: float, name: str = "p", **said: Any) -> Any:
    answer = web.post(f"/v1/scaling/{ns}/{name}/demand", json={"figures": [{"value": value, **said}]})
    assert answer.status_code == 200, answer.text
    return answer.json()


def follow(cell: Cell, ns: str, clock: Callable[[], float] = time.time) -> None:
    """Controllers have looked at whatever is to be looked at, and what they asked for in a namespace is done."""
    executor = TransitionExecutor(cell.store, KINDS, clock)
    executor.on_commit(cell.send)
    heal = ScalingReconciler(Admission(executor))
    cell.numbered()
    while cell.run(heal()):
        for kind in ("appinst", "clusterinst"):
            for path in cell.run(cell.store.resources.list_paths(kind, f"/{ns}/", "", 100)):
                row = cell.run(cell.store.resources.read(path))
                if row is not None and row.snapshot.state == "DeletePrepare" and ns in cell.obeyed:
                    cell.childless(path)  # an app has nothing that depends on it, and a cluster that goes no app
        cell.run(cell.idle())
        cell.numbered()


def shown(web: httpx.Client, ns: str, name: str = "p") -> Any:
    answer = web.get(f"/v1/scaling/{ns}/{name}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def instances(web: httpx.Client, ns: str) -> dict[str, str]:
    return {one["path"].removeprefix(f"/{ns}/"): one["state"] for one in shown(web, ns)["instances"]}


@pytest.fixture
def place(cell: Cell, web: httpx.Client, ns: str) -> str:
    """A cluster on a site, both ready, with an agent that obeys."""
    cell.obey(ns)
    site(cell, web, f"/{ns}/s", "c")
    return f"/{ns}/s/c"


@pytest.mark.req("S1-12")
def test_demand_is_followed_up_and_down(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    said = put(web, ns, policy(place))
    assert (said["code"], said["instances"]) == ("new", [])
    follow(cell, ns)
    assert shown(web, ns)["code"] == "not-believed"
    for value, there in (
        (50, 1),
        (90, 1),
        (150, 2),
        (150, 2),
        (290, 3),
        (900, 3),
        (130, 3),
        (90, 2),
        (30, 1),
        (0, 0),
    ):
        assert tell(web, ns, value) == {"accepted": 1, "outdated": 0}
        follow(cell, ns)
        found = instances(web, ns)
        assert len(found) == there, (value, shown(web, ns))
        assert set(found.values()) <= {"Ready"}
    tell(web, ns, 0)
    follow(cell, ns)
    assert shown(web, ns)["code"] == "rests"


@pytest.mark.req("S1-12")
def test_what_it_asks_for_is_an_operation_with_a_reason(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place))
    tell(web, ns, 50)
    follow(cell, ns)
    (act,) = shown(web, ns)["actions"]
    made = web.get(f"/v1/operations/{act['operation']}").json()
    assert (made["action"], made["path"], made["outcome"]) == ("create", f"{place}/web-1", "succeeded")
    assert made["principal"] == f"policy:{ns}/p"
    assert made["reason"] == "the demand over all places is 50, and there is no instance"
    row = web.get(f"/v1/resources{place}/web-1").json()
    assert row["spec"] == {"command": ["serve"], "labels": {"made-by": f"policy:{ns}/p"}}
    assert row["lane"] == f"edge.{ns}.s"
    lines = web.get("/v1/journal", params={"path": f"{place}/web-1"}).json()["items"]
    assert (lines[0]["principal"], lines[0]["detail"], lines[0]["target"]) == (
        f"policy:{ns}/p",
        "create",
        "CreateRequested",
    )


@pytest.mark.req("S1-12")
def test_why_it_does_not_is_in_the_journal_once(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place, maximum=1))
    for value in (50, 150, 151, 152):
        tell(web, ns, value)
        follow(cell, ns)
    assert shown(web, ns)["code"] == "at-maximum"
    lines = web.get("/v1/journal", params={"path": f"/{ns}"}).json()["items"]
    said = [line for line in lines if line["kind"] == "scaling"]
    assert [(line["detail"], line["principal"], line["rejections"]) for line in said] == [
        ("scale", f"policy:{ns}/p", 1)
    ]
    assert said[0]["change"]["reasons"][0]["code"] == "at-maximum"


@pytest.mark.req("S1-12")
def test_what_users_made_counts_and_stays(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    web.post(f"/v1/resources{place}/web-1", json={"kind": "appinst"})
    put(web, ns, policy(place))
    tell(web, ns, 150)
    follow(cell, ns)
    assert list(instances(web, ns)) == ["s/c/web-1", "s/c/web-2"]
    for _ in range(3):
        tell(web, ns, 0)
        follow(cell, ns)
    assert list(instances(web, ns)) == ["s/c/web-1"]
    assert (shown(web, ns)["code"], shown(web, ns)["instances"][0]["own"]) == ("not-its-own", False)


@pytest.mark.req("S1-12")
def test_a_site_that_is_not_ready_is_passed_over_until_it_is(cell: Cell, web: httpx.Client, ns: str) -> None:
    site(cell, web, f"/{ns}/a", "c")
    site(cell, web, f"/{ns}/b")
    cell.rest(f"/{ns}/a", "Offline")
    web.post(f"/v1/resources/{ns}/b/c", json={"kind": "clusterinst", "lane": f"edge.{ns}.b"})
    put(web, ns, policy(f"/{ns}/a/c", f"/{ns}/b/c"))
    tell(web, ns, 50)
    follow(cell, ns)
    found = shown(web, ns)
    assert (found["code"], found["instances"]) == ("no-place", [])
    assert found["message"].endswith(f"the site /{ns}/a is Offline; the cluster /{ns}/b/c is CreateRequested")
    cell.settle(f"/{ns}/b/c")  # nobody tells the policy: it is in the journal
    follow(cell, ns)
    assert instances(web, ns) == {"b/c/web-1": "CreateRequested"}


@pytest.mark.req("S1-12")
def test_where_it_failed_another_place_is_taken(cell: Cell, web: httpx.Client, ns: str) -> None:
    for name in ("a", "b"):
        site(cell, web, f"/{ns}/{name}", "c")
    put(web, ns, policy(f"/{ns}/a/c", f"/{ns}/b/c", minimum=1, cooldown_up=60))
    follow(cell, ns)
    assert instances(web, ns) == {"a/c/web-1": "CreateRequested"}
    cell.settle(f"/{ns}/a/c/web-1", Trigger.FAILED)
    while cell.run(cell.store.resources.read(f"/{ns}/a/c/web-1")) is not None:
        cell.settle(f"/{ns}/a/c/web-1")  # taking it back
    follow(cell, ns)
    assert instances(web, ns) == {"b/c/web-1": "CreateRequested"}
    assert [act["failed"] for act in shown(web, ns)["actions"]] == [False, True]


def test_it_cools_down_and_looks_again_by_itself(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place, cooldown_up=60))
    tell(web, ns, 50)
    follow(cell, ns)
    tell(web, ns, 150)
    follow(cell, ns)
    assert (len(instances(web, ns)), shown(web, ns)["code"]) == (1, "cools-down")
    follow(cell, ns, lambda: time.time() + 50)
    assert len(instances(web, ns)) == 1
    follow(cell, ns, lambda: time.time() + 70)
    assert len(instances(web, ns)) == 2


def test_a_policy_at_rest_is_not_looked_at(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place))
    tell(web, ns, 50)
    follow(cell, ns)
    tell(web, ns, 60)
    follow(cell, ns)
    assert shown(web, ns)["code"] == "rests"
    kept = cell.run(cell.store.scaling.read(ns, "p"))
    assert kept is not None
    assert kept.evaluate_at is None
    web.post(f"/v1/resources{place}/other", json={"kind": "appinst"})
    cell.numbered()
    while cell.run(cell.store.scaling.wake(5000))[0]:
        pass
    woken = cell.run(cell.store.scaling.read(ns, "p"))
    assert woken is not None
    assert woken.evaluate_at is not None


@pytest.mark.req("S1-12")
def test_figures_that_come_late_or_from_the_future(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place))
    now = datetime.now(UTC)
    assert tell(web, ns, 50, at=(now - timedelta(seconds=10)).isoformat()) == {"accepted": 1, "outdated": 0}
    assert tell(web, ns, 900, at=(now - timedelta(seconds=11)).isoformat()) == {"accepted": 0, "outdated": 1}
    assert [figure["value"] for figure in shown(web, ns)["demand"]] == [50]
    assert tell(web, ns, 70, at=(now + timedelta(days=1)).isoformat()) == {"accepted": 1, "outdated": 0}
    (known,) = shown(web, ns)["demand"]
    assert datetime.fromisoformat(known["at"]) < now + timedelta(minutes=1)
    assert tell(web, ns, 80) == {"accepted": 1, "outdated": 0}
    assert known["reported_by"] == "ann"
    tell(web, ns, 900, name="p", at=(now + timedelta(days=1)).isoformat())
    follow(cell, ns, lambda: time.time() + 130)
    assert (shown(web, ns)["code"], instances(web, ns)) == ("not-believed", {})


def test_each_place_is_told_its_own(cell: Cell, web: httpx.Client, ns: str) -> None:
    cell.obey(ns)
    site(cell, web, f"/{ns}/s", "a", "b")
    a, b = f"/{ns}/s/a", f"/{ns}/s/b"
    put(web, ns, policy(a, b, demand="place"))
    tell(web, ns, 50, place=b)
    follow(cell, ns)
    assert instances(web, ns) == {"s/b/web-1": "Ready"}
    for wrong in (None, f"/{ns}/s/x"):
        answer = web.post(f"/v1/scaling/{ns}/p/demand", json={"figures": [{"value": 1, "place": wrong}]})
        assert problem(answer, 422, "invalid")["errors"][0]["location"] == "body.figures.0.place"
    twice = {"figures": [{"value": 1, "place": a}, {"value": 2, "place": a}]}
    problem(web.post(f"/v1/scaling/{ns}/p/demand", json=twice), 422, "invalid")
    put(web, ns, policy(a, demand="place"))  # what is known of the other place is forgotten
    assert shown(web, ns)["demand"] == []


@pytest.mark.parametrize(
    ("said", "where"),
    [
        ({"down_below": 60}, "body.down_below"),
        ({"minimum": 9}, "body.minimum"),
        ({"maximum": 0}, "body.maximum"),
        ({"places": ["/elsewhere/s/c"]}, "body.places.0"),
        ({"nonsense": 1}, "body.nonsense"),
    ],
)
def test_what_makes_no_sense_is_422(web: httpx.Client, ns: str, said: dict[str, Any], where: str) -> None:
    answer = web.put(f"/v1/scaling/{ns}/p", json=policy(f"/{ns}/s/c", **said))
    assert where in [error["location"] for error in problem(answer, 422, "invalid")["errors"]]
    problem(web.get(f"/v1/scaling/{ns}/p"), 404, "not-found")


def test_policies_are_listed_and_taken_away(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    for name in ("b", "a", "p"):
        put(web, ns, policy(place), name)
    page = web.get("/v1/scaling", params={"namespace": ns, "limit": 2}).json()
    assert [one["name"] for one in page["items"]] == ["a", "b"]
    rest = web.get("/v1/scaling", params={"namespace": ns, "limit": 2, "cursor": page["next"]}).json()
    assert ([one["name"] for one in rest["items"]], rest["next"]) == (["p"], None)
    tell(web, ns, 50)
    follow(cell, ns)
    assert web.delete(f"/v1/scaling/{ns}/p").status_code == 204
    problem(web.delete(f"/v1/scaling/{ns}/p"), 404, "not-found")
    problem(web.post(f"/v1/scaling/{ns}/p/demand", json={"figures": [{"value": 1}]}), 404, "not-found")
    assert web.get(f"/v1/resources{place}/web-1").json()["state"] == "Ready"
    put(web, ns, policy(place))
    assert shown(web, ns)["instances"] == [{"path": f"{place}/web-1", "state": "Ready", "own": True}]


# Crashes, and several controllers


class Died(BaseException):
    """The process is gone."""


class Mortal(Admission):
    """Dies right before it asks, or right after."""

    def __init__(self, executor: TransitionExecutor, after: bool) -> None:
        super().__init__(executor)
        self.after = after

    async def admit(self, request: ActionRequest, authorized: Authorized) -> Any:
        if self.after:
            await super().admit(request, authorized)
        raise Died


@pytest.mark.req("S1-12")
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("more", [True, False])
def test_a_controller_that_dies_while_it_asks(
    cell: Cell, web: httpx.Client, ns: str, after: bool, more: bool
) -> None:
    """Whatever was asked is asked again under the same key: never twice, and not forgotten."""
    site(cell, web, f"/{ns}/s", "c")
    put(web, ns, policy(f"/{ns}/s/c"))
    tell(web, ns, 50)
    if not more:
        follow(cell, ns)
        cell.settle(f"/{ns}/s/c/web-1")
        follow(cell, ns)
        tell(web, ns, 0)
    executor = TransitionExecutor(cell.store, KINDS, time.time)
    dies = ScalingReconciler(Mortal(executor, after))
    with pytest.raises(Died):
        cell.run(dies.look(ns, "p"))
    kept = cell.run(cell.store.scaling.read(ns, "p"))
    assert kept is not None
    assert len(kept.deeds) == 1
    follow(cell, ns, lambda: time.time() + TAKEOVER_SECONDS + 1)
    word = "create" if more else "delete"
    found = web.get("/v1/operations", params={"below": f"/{ns}/s/c/web-1"}).json()["items"]
    assert [one["action"] for one in found].count(word) == 1
    assert list(instances(web, ns)) == ["s/c/web-1"]
    (act,) = [act for act in shown(web, ns)["actions"] if act["action"] == word]
    assert act["operation"] == found[0]["id"]


@pytest.mark.req("S1-12")
def test_of_many_controllers_one_acts(cell: Cell, web: httpx.Client, ns: str) -> None:
    site(cell, web, f"/{ns}/s", "c")
    put(web, ns, policy(f"/{ns}/s/c"))
    tell(web, ns, 900)

    async def all_at_once() -> None:
        await asyncio.gather(*(ScalingReconciler(cell.admission).look(ns, "p") for _ in range(8)))

    cell.run(all_at_once())
    cell.run(all_at_once())
    assert list(instances(web, ns)) == ["s/c/web-1"]
    assert len(shown(web, ns)["actions"]) == 1


def test_what_somebody_has_made_theirs_meanwhile_is_left(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    put(web, ns, policy(place))
    tell(web, ns, 50)
    follow(cell, ns)
    tell(web, ns, 0)
    with pytest.raises(Died):
        cell.run(ScalingReconciler(Mortal(cell.executor, False)).look(ns, "p"))  # it was about to be deleted
    answer = web.post(f"/v1/resources{place}/web-1?action=update", json={"spec": {"command": ["mine"]}})
    assert answer.status_code == 202
    follow(cell, ns, lambda: time.time() + TAKEOVER_SECONDS + 1)
    assert shown(web, ns)["instances"] == [{"path": f"{place}/web-1", "state": "Ready", "own": False}]


def test_a_refusal_is_told_and_tried_again(cell: Cell, web: httpx.Client, ns: str, place: str) -> None:
    text = f'forbid (principal, action == Action::"create", resource in Resource::"{place}");'
    cell.run(cell.store.access.put_policy(f"freeze-{ns}", text, "ann"))
    try:
        put(web, ns, policy(place))
        tell(web, ns, 50)
        follow(cell, ns)
        found = shown(web, ns)
        assert (found["code"], found["instances"]) == ("refused", [])
        assert f"create of {place}/web-1 is not for you: refused by the policy freeze-{ns}" in found["message"]
        cell.numbered()
        lines = web.get("/v1/journal", params={"path": f"{place}/web-1"}).json()["items"]
        assert [(line["principal"], line["rejections"]) for line in lines] == [(f"policy:{ns}/p", 1)]
    finally:
        cell.run(cell.store.access.remove_policy(f"freeze-{ns}", "a test"))
    follow(cell, ns, lambda: time.time() + 40)
    assert instances(web, ns) == {"s/c/web-1": "Ready"}
