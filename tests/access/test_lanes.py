"""Lanes over the wire: a namespace uses those that it was given, and no others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from stead.cli.output import Code
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import TimerDue
from tests.access.house import VM, House, house
from tests.cli.remote import command

THEIRS = "edge.b.berlin"
"""The lane of a site of another tenant."""
JOB = {"load": {"kind": "job", "command": ["id"], "lane": THEIRS}}
CODE = "urn:stead:problem:lane-not-allowed"


@pytest.fixture
def town(strict: str) -> Iterator[House]:
    """Two tenants, each with an operator, and one site of the second's; neither was given a lane."""
    with house(strict) as one:
        for namespace in ("a", "b"):
            one.tokens[namespace] = one.token(f"operator-{namespace}", [("operator", namespace)])
        one.cell.put("/b/berlin", "cloudlet")
        yield one


def refused(answer: httpx.Response) -> str:
    """The answer to an operator whose namespace may not use a lane."""
    assert answer.status_code == 403, answer.text
    said = answer.json()
    assert said["type"] == CODE, said
    return str(said["detail"])


def allow(town: House, lane: str, namespace: str, **more: Any) -> httpx.Response:
    with town.as_("admin") as web:
        answer = web.put(f"/v1/cells/-/lane-grants/{lane}/{namespace}", json=more)
    assert answer.status_code == 200, answer.text
    return answer


def deny(town: House, lane: str, namespace: str, **more: Any) -> httpx.Response:
    with town.as_("admin") as web:
        answer = web.delete(f"/v1/cells/-/lane-grants/{lane}/{namespace}", params=more)
    assert answer.status_code == 200, answer.text
    return answer


def lanes_used(town: House) -> list[str]:
    """All lanes that anything is on, or that an order stands on."""
    rows = town.cell.run(
        town.cell._hand.fetch("SELECT lane FROM resources WHERE lane <> '' UNION SELECT lane FROM orders")
    )
    return sorted(row["lane"] for row in rows)


def test_operator_names_lane_of_another_tenants_site_is_rejected(town: House) -> None:
    with town.as_("a") as web:
        said = refused(web.post("/v1/resources/a/sys", json={"kind": "system", "spec": {"lanes": [THEIRS]}}))
        assert said.startswith(f"namespace a may not use the lane {THEIRS}")
        assert f"stead lane allow {THEIRS} a" in said
        assert said.endswith("it may use none")
        # A system that exists already: neither its own lane nor one in the definition.
        town.cell.put("/a/sys", "system", "stable", lanes=[THEIRS])
        deploy = {"action": "deploy", "kind": "system"}
        for definition in (JOB, {"load": {"kind": "job", "command": ["id"]}}):
            refused(web.post("/v1/resources/a/sys", json=deploy | {"spec": {"definition": definition}}))
            refused(web.post("/v1/plans/a/sys", json={"definition": definition}))
        assert web.get("/v1/resources/a/sys/load").status_code == 404
    assert lanes_used(town) == []


def test_operator_uses_lanes_of_own_sites_without_a_grant(town: House) -> None:
    with town.as_("b") as web:
        assert web.post("/v1/resources/b/munich", json={"kind": "cloudlet"}).status_code == 202
        answer = web.post("/v1/resources/b/sys", json={"kind": "system", "spec": {"lanes": [THEIRS]}})
        assert answer.status_code == 202, answer.text
    assert lanes_used(town) == ["edge.b.munich"]


def test_grant_before_an_agent_is_there_lets_the_namespace_in(town: House) -> None:
    with town.as_("a") as web:
        refused(web.post("/v1/resources/a/m/g/1", json=VM))
        allow(town, "sim.a", "a", reason="they pay for it")
        assert web.post("/v1/resources/a/m/g/1", json=VM).status_code == 202
        other = {**VM, "spec": {**VM["spec"], "region": "b"}}  # type: ignore[dict-item]
        assert refused(web.post("/v1/resources/a/m/g/2", json=other)).endswith("it may use sim.a")
    with town.as_("b") as web:
        assert refused(web.post("/v1/resources/b/m/g/1", json=VM)).endswith("it may use none")


def test_dry_run_and_explanation_reject_what_the_request_would_be_rejected_for(town: House) -> None:
    with town.as_("a") as web:
        refused(web.post("/v1/resources/a/m/g/1", json=VM, params={"dry_run": True}))
        asked = {"path": "/a/m/g/1", "action": "create", "kind": "vm", "lane": "sim.a"}
        found = web.get("/v1/explain", params=asked).json()
        assert not found["allowed"]
        assert [reason["code"] for reason in found["reasons"]] == ["lane-not-allowed"]
        assert [remedy["kind"] for remedy in found["remedies"]] == ["lane"]
        allow(town, "sim.a", "a")
        assert web.post("/v1/resources/a/m/g/1", json=VM, params={"dry_run": True}).status_code == 200
        assert web.get("/v1/explain", params=asked).json()["allowed"]


def test_dialects_reject_like_the_interface_itself(town: House) -> None:
    group = {"name": "g", "provider": "sim", "region": "a", "specId": "small", "imageId": "debian-12"}
    town.cell.run(town.cell.store.hosts.put("h1", "rack.a", {}, None))
    terms = {"start_date": "now", "end_date": "2100-01-01 00:00", "reservations": [HOSTS]}
    with town.as_("a") as web:
        refused(web.post("/tumblebug/ns/a/mci", json={"name": "web", "subGroups": [group]}))
        refused(web.post("/blazar/a/v1/leases", json={"name": "lab", **terms}))
        assert web.get("/v1/resources/a/lab").status_code == 404
        allow(town, "rack.a", "a")
        assert web.post("/blazar/a/v1/leases", json={"name": "lab", **terms}).status_code == 201


HOSTS = {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}


def test_booking_takes_hosts_of_allowed_lanes_alone(town: House) -> None:
    for name, lane in (("h1", "rack.a"), ("h2", "rack.b"), ("h3", "rack.b")):
        town.cell.run(town.cell.store.hosts.put(name, lane, {}, None))
    allow(town, "rack.a", "a")
    lease = {"start": "2100-01-01T00:00:00Z", "end": "2100-01-02T00:00:00Z", "before_end": 0}
    ids: dict[str, str] = {}
    with town.as_("a") as web:
        for name, count in (("one", 1), ("two", 2)):
            asked = {"kind": "lease", "spec": {**lease, "reservations": [{"count": count}]}}
            answer = web.post(f"/v1/resources/a/{name}", json=asked)
            assert answer.status_code == 202, answer.text
            ids[name] = answer.json()["operation"]["id"]
        until = time.monotonic() + 60
        while not all(web.get(f"/v1/operations/{id}").json()["outcome"] for id in ids.values()):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert web.get("/v1/resources/a/one/r0").json()["lane"] == "rack.a"
        assert web.get("/v1/resources/a/two/r0").status_code == 404
        assert "may not use the lane rack.b" in web.get(f"/v1/operations/{ids['two']}").json()["message"]


def test_denied_lane_takes_nothing_new_and_what_is_there_goes_on(town: House) -> None:
    allow(town, "sim.a", "a")
    with town.as_("a") as web:
        assert web.post("/v1/resources/a/m/g/1", json=VM).status_code == 202
        town.cell.settle("/a/m/g/1", id="i-1")
        assert deny(town, "sim.a", "a", reason="unpaid").json()["revoked"] == ["sim.a a"]
        refused(web.post("/v1/resources/a/m/g/2", json=VM))
        for action in ("suspend", "resume", "terminate"):
            answer = web.post("/v1/resources/a/m/g/1", json={"action": action})
            assert answer.status_code == 202, answer.text
            town.cell.settle("/a/m/g/1")


def test_denied_lane_takes_no_new_spec(town: House) -> None:
    town.cell.run(
        town.cell._hand.execute(
            "INSERT INTO resources (path, kind, state, lane, token) VALUES "
            "('/b/berlin/c', 'clusterinst', 'Ready', $1, gen_random_uuid())",
            THEIRS,
        )
    )
    update = {"action": "update", "spec": {"nodes": 2}}
    assert deny(town, THEIRS, "b").json()["overrides"]
    with town.as_("b") as web:
        refused(web.post("/v1/resources/b/berlin/c", json=update))
        refused(web.post("/v1/resources/b/berlin/d", json={"kind": "clusterinst"}))
        allow(town, THEIRS, "b")
        assert web.post("/v1/resources/b/berlin/c", json=update).status_code == 202


def test_grants_are_in_the_journal_with_principal_and_reason(town: House) -> None:
    allow(town, "sim.a", "a", reason="they pay")
    allow(town, "sim.a", "a", reason="again: it was so already")
    deny(town, "sim.a", "a", reason="they do not")
    town.cell.numbered()
    with town.as_("admin") as web:
        lines = web.get("/v1/journal", params={"path": "/a"}).json()["items"]
    told = [(line["detail"], line["principal"], line["change"]["lane"], line["change"]["reason"]) for line in lines]
    assert told == [("allow", "token:admin", "sim.a", "they pay"), ("deny", "token:admin", "sim.a", "they do not")]


def test_grants_are_listed_as_far_as_one_sees_their_namespace(town: House) -> None:
    allow(town, "sim.a", "a")
    allow(town, "aws.*", "b")
    allow(town, "local.one", "*")
    with town.as_("a") as web:
        found = web.get("/v1/cells/-/lane-grants").json()["items"]
        assert [(one["namespace"], one["lane"]) for one in found] == [("*", "local.one"), ("a", "sim.a")]
        assert web.get("/v1/cells/-/lane-grants", params={"namespace": "b"}).json()["items"] == []
    with town.as_("admin") as web:
        assert web.post("/v1/resources/a/m/g/1", json=VM).status_code == 202
        (lane,) = web.get("/v1/cells/-/lanes").json()["items"]
        assert (lane["lane"], lane["namespaces"]) == ("sim.a", ["a"])


def test_command_says_what_a_wildcard_stands_for_and_what_was_changed(
    town: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEAD_TOKEN", town.tokens["admin"])
    stead = command(town, monkeypatch)
    assert stead("lane", "allow", "sim.a", "a").out == "namespace a may use the lane sim.a\n"
    assert stead("lane", "allow", "sim.a", "a").out == "namespace a may use the lane sim.a, as before\n"
    assert stead("lane", "allow", "aws.*", "*").out == "every namespace may use every lane that begins with aws.\n"
    assert stead("lane", "deny", "aws.x", "a").out == "namespace a may not use the lane aws.x\n"
    assert "it stays denied to a" in stead("lane", "allow", "aws.*", "*").out
    rows = stead("lane", "grants", "--namespace", "a").rows[1:]
    assert rows == [["*", "aws.*", "yes"], ["a", "aws.x", "no"], ["a", "sim.a", "yes"]]
    for bad in ("aws*", "*.x", "aws.*.x", "**", "aws.?"):
        assert stead("lane", "allow", bad, "a").code == Code.USAGE, bad
    answer = stead("explain", "b/m/g/1", "create", "--kind", "vm", "--lane", "sim.a")
    assert (answer.code, "stead lane allow sim.a b" in answer.out) == (Code.REJECTED, True)


def test_orphan_is_adopted_where_its_lane_is_allowed_and_removed_anywhere(town: House) -> None:
    tokens = [f"0b5f1d1c-2f51-4d7e-9d5e-3f8b5f8a6c0{n}" for n in (1, 2)]
    for token in tokens * 2:
        town.cell.orphan("sim.a", token)
    with town.as_("admin") as web:
        adopt = {"action": "adopt", "path": "/a/m/g/1"}
        refused(web.post(f"/v1/cells/-/orphans/sim.a/{tokens[0]}", params=adopt))
        assert web.post(f"/v1/cells/-/orphans/sim.a/{tokens[1]}", params={"action": "remove"}).status_code == 202
        refused(web.post("/v1/resources/orphans/sim/a/x", json=VM))  # no caller may create there
        allow(town, "sim.a", "a")
        assert web.post(f"/v1/cells/-/orphans/sim.a/{tokens[0]}", params=adopt).status_code == 202


def test_queued_request_is_rejected_at_once_and_when_its_lane_is_denied_meanwhile(town: House) -> None:
    allow(town, "sim.a", "b")
    cluster = {"kind": "clusterinst", "on_conflict": "queue"}
    town.cell.put("/b/berlin", "cloudlet")
    update = {"action": "update", "spec": {"nodes": 2}, "on_conflict": "queue"}
    with town.as_("b") as web:
        assert web.post("/v1/resources/b/berlin/c", json=cluster).status_code == 202
        town.cell.settle("/b/berlin/c")
        assert web.post("/v1/resources/b/berlin/c", json=update).status_code == 202
        waits = web.post("/v1/resources/b/berlin/c", json=update | {"spec": {"nodes": 3}}).json()["operation"]["id"]
        deny(town, THEIRS, "b")
        refused(web.post("/v1/resources/b/berlin/c", json=update | {"spec": {"nodes": 4}}))
        town.cell.settle("/b/berlin/c")
        ended = web.get(f"/v1/operations/{waits}").json()
    assert (ended["outcome"], "may not use the lane" in str(ended)) == ("rejected", True)


def test_retry_is_rejected_when_its_lane_was_denied(town: House) -> None:
    allow(town, "sim.*", "shop")
    operation = town.failed("shop")
    town.cell.run(town.cell._hand.execute("DELETE FROM resources WHERE path LIKE '/shop/%'"))
    deny(town, "sim.a", "shop")
    with town.as_("operator@shop") as web:
        refused(web.post(f"/v1/operations/{operation}/retry"))


def test_held_creation_does_not_go_on_when_a_lane_of_it_was_denied(town: House) -> None:
    group = {"name": "g", "provider": "sim", "region": "a", "spec": "s", "image": "i"}
    allow(town, "sim.a", "a")
    with town.as_("a") as web:
        asked = {"kind": "mci", "spec": {"subgroups": [group]}, "hold": True}
        assert web.post("/v1/resources/a/web", json=asked).status_code == 202
        town.cell.prepared("/a/web")
        deny(town, "sim.a", "a")
        refused(web.post("/v1/resources/a/web", json={"action": "continue"}))
        assert web.post("/v1/resources/a/web", json={"action": "withdraw"}).status_code == 202


def test_subgroup_on_a_denied_lane_does_not_grow(town: House) -> None:
    allow(town, "sim.a", "a")
    town.cell.put("/a/web", "mci", "Running")
    town.cell.put("/a/web/g", "subgroup", "Running", provider="sim", region="a", spec="s", image="i")
    deny(town, "sim.a", "a")
    with town.as_("a") as web:
        refused(web.post("/v1/resources/a/web/g", json={"action": "scale-out", "spec": {"by": 1}}))


def test_group_with_a_member_lane_denied_meanwhile_makes_no_member_there(town: House) -> None:
    groups = [{"name": r, "provider": "sim", "region": r, "spec": "s", "image": "i"} for r in ("a", "b")]
    for lane in ("sim.a", "sim.b"):
        allow(town, lane, "a")
    with town.as_("a") as web:
        made = web.post("/v1/resources/a/web", json={"kind": "mci", "spec": {"subgroups": groups}})
        assert made.status_code == 202, made.text
        deny(town, "sim.b", "a")
        town.cell.prepared("/a/web")
        town.cell.run(town.cell.executor.apply([TransitionInput("/a/web", TimerDue("next"), principal="clock")]))
        town.cell.run(town.cell.idle())
        assert web.get("/v1/resources/a/web/a/1").json()["lane"] == "sim.a"
        assert web.get("/v1/resources/a/web/b/1").status_code == 404
        town.cell.settle("/a/web/a/1")
        operation = made.json()["operation"]["id"]
        (skipped,) = web.get(f"/v1/operations/{operation}/members").json()["items"]
        assert "may not use the lane sim.b" in skipped["message"]


SCALING = {
    "app": "web",
    "places": ["/b/berlin/c"],
    "up_above": 100,
    "down_below": 40,
    "maximum": 3,
    "believed_for": 1,
}


def test_policy_that_follows_demand_is_not_taken_for_a_place_on_a_denied_lane(town: House) -> None:
    with town.as_("b") as web:
        assert web.put("/v1/scaling/b/web", json=SCALING).status_code == 200
        deny(town, THEIRS, "b")
        refused(web.put("/v1/scaling/b/web", json=SCALING))


FORBID = """
@id("no-berlin") forbid (principal, action == Action::"create", resource) when { resource.lane == "edge.b.berlin" };
@id("only-sim") forbid (principal, action == Action::"deploy", resource) when { !(resource.lane like "sim.*") };
"""


def test_policy_forbids_by_lane_and_each_of_several_lanes_is_judged(town: House) -> None:
    allow(town, "*", "*")
    with town.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/lanes", json={"text": FORBID}).status_code == 204
    town.cell.run(town.cell.store.access.read_version())
    system = {"kind": "system", "spec": {"lanes": ["sim.a", THEIRS]}}
    with town.as_("operator") as web:
        answer = web.post("/v1/resources/b/sys", json=system)
        assert (answer.status_code, answer.json()["type"]) == (403, "urn:stead:problem:not-permitted")
        assert "no-berlin" in answer.json()["detail"]
        assert web.post("/v1/resources/b/sys", json=system | {"spec": {"lanes": ["sim.a"]}}).status_code == 202
        town.cell.put("/b/sys", "system", "stable", lanes=["sim.a"])
        deploy = {"action": "deploy", "kind": "system", "spec": {"definition": JOB}}
        assert "only-sim" in web.post("/v1/resources/b/sys", json=deploy).json()["detail"]
