"""Deploys: beside each other where it is safe, each with its place, its members and its end."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import OnFailure
from tests.action_requests import cancel, retry
from tests.systems.town import SYSTEM, Town, service, town


def tree(**nodes: Any) -> dict[str, Any]:
    return nodes


async def held(one: Town, action: str, **spec: Any) -> set[str]:
    """Refused for claims: those that are in the way, by path."""
    answer = await one.want(action, **spec)
    assert isinstance(answer, Rejection), answer
    assert answer.code is Code.HELD
    return {holder.path.removeprefix(SYSTEM) or "/" for holder in answer.holders}


@pytest.mark.req("S4-05")
async def test_what_is_defined_is_made_changed_and_removed(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        assert await one.state(SYSTEM) == "stable"
        first = await one.deploy(tree(api=service(), data=tree(db=service(count=2), load=service(kind="job"))))
        assert await one.states() == {"/api": "pending", "/data/db": "pending", "/data/load": "running"}
        assert await one.state(SYSTEM) == "updating"
        assert (await one.operation(first))["remaining"] == 3
        await one.serve()
        assert await one.states() == {"/api": "stable", "/data/db": "stable", "/data/load": "succeeded"}
        assert (await one.state(SYSTEM), await one.outcome(first)) == ("stable", "succeeded")
        second = await one.deploy(tree(db=service(count=3), cache=service("cache")), at="/data")
        assert await one.states() == {
            "/api": "stable",
            "/data/cache": "pending",
            "/data/db": "scaling",
            "/data/load": "deleting",
        }
        await one.serve()
        assert await one.states() == {"/api": "stable", "/data/cache": "stable", "/data/db": "stable"}
        assert await one.outcome(second) == "succeeded"
        row = await one.store.resources.read(f"{SYSTEM}/data/db")
        assert row is not None
        assert row.spec["count"] == 3
        same = await one.deploy(tree(api=service()), at="/")
        await one.serve()
        assert (await one.states(), await one.outcome(same)) == ({"/api": "stable"}, "succeeded")
        lines = [
            line for line in await one.lines(SYSTEM) if (str(line["operation"]), line["path"]) == (second, SYSTEM)
        ]
        assert [(line["detail"], line["change"].get("outcome")) for line in lines] == [
            ("deploy", None),
            ("deploy", "succeeded"),
        ]


@pytest.mark.req("S4-04")
async def test_siblings_run_in_parallel_and_nobody_else(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        left = await one.deploy(tree(x=service()), at="/a/left")
        right = await one.deploy(tree(x=service()), at="/a/right")
        assert await held(one, "deploy", definition={}, path="/a") == {"/a/left", "/a/right"}
        assert await held(one, "deploy", definition={}, path="/a/left/x") == {"/a/left"}
        assert await held(one, "deploy", definition={}, path="/a/left") == {"/a/left"}
        assert await held(one, "deploy", definition={}, path="/") == {"/a/left", "/a/right"}
        assert await held(one, "teardown") == {"/a/left", "/a/right"}
        other = await one.deploy(tree(y=service()), at="/b")
        await one.serve()
        assert [await one.outcome(id) for id in (left, right, other)] == ["succeeded"] * 3
        down = one.let_in(await one.want("teardown"))
        assert await held(one, "deploy", definition={}, path="/b") == {"/"}
        assert await held(one, "teardown") == {"/"}
        await one.serve()
        assert (await one.outcome(down), await one.states(), await one.state(SYSTEM)) == ("succeeded", {}, "stable")


@pytest.mark.req("S4-05")
async def test_a_deploy_is_judged_by_its_own_subtree(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        bad = await one.deploy(tree(x=service()), at="/bad")
        good = await one.deploy(tree(x=service()), at="/good")
        await one.serve("/bad/x")
        assert (await one.outcome(bad), await one.outcome(good)) == ("failed", "succeeded")
        assert await one.states() == {"/bad/x": "failed", "/good/x": "stable"}
        assert await one.state(SYSTEM) == "degraded"
        again = await one.deploy(tree(x=service()), at="/bad")  # the same once more: what has failed is restarted
        assert await one.states("/shop/web/bad") == {"/bad/x": "updating"}
        await one.serve()
        assert (await one.outcome(again), await one.state(SYSTEM)) == ("succeeded", "stable")


async def test_a_version_that_does_not_come_up_is_taken_back(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(api=service("v1"), web=service("v1")))
        await one.serve()
        new = await one.deploy(tree(api=service("v2"), web=service("v2")))
        await one.serve("/api")
        assert (await one.outcome(new), await one.states()) == ("failed", {"/api": "stable", "/web": "stable"})
        specs = {path.removeprefix(SYSTEM): row.spec["command"] for path, row in (await one.parts()).items()}
        assert specs == {"/api": ["v1"], "/web": ["v2"]}
        members = await one.store.groups.list_failed_members(new, "", 10)
        assert members == [f"{SYSTEM}/api"]
        kept = await one.deploy(tree(api=service("v3"), web=service("v2")), on_failure=OnFailure.KEEP)
        await one.serve("/api")
        assert (await one.outcome(kept), await one.states()) == ("failed", {"/api": "failed", "/web": "stable"})
        assert await one.state(SYSTEM) == "degraded"


@pytest.mark.req("S4-06")
async def test_a_deletion_cancels_deploys_and_takes_the_root(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(old=service(), job=service(kind="job")))
        await one.serve()
        one.let_in(await one.admission.admit(*one.wish("job", f"{SYSTEM}/job", "run")))
        deploys = [await one.deploy(tree(x=service()), at=at) for at in ("/a", "/b")]
        gone = one.let_in(await one.want("delete"))
        assert [await one.outcome(id) for id in deploys] == ["cancelled"] * 2
        refused = await one.want("deploy", definition={}, path="/a")
        assert isinstance(refused, Rejection)
        assert (refused.code, refused.state) == (Code.HELD, "deleting")
        await one.expire()
        assert await one.outcome(gone) == "succeeded"
        assert (await one.states(), await one.store.resources.read(SYSTEM)) == ({}, None)
        assert await one.store.claims.find_holders(SYSTEM) == []


@pytest.mark.req("S4-06")
async def test_a_deletion_cancels_what_has_the_root_itself(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        whole = await one.deploy(tree(x=service(), y=service()))
        gone = one.let_in(await one.want("delete"))
        assert await one.outcome(whole) == "cancelled"
        await one.expire()
        assert (await one.outcome(gone), await one.store.resources.read(SYSTEM)) == ("succeeded", None)


async def test_a_deploy_can_be_cancelled(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        id = await one.deploy(tree(x=service(), y=service()))
        await one.report(f"{SYSTEM}/x")
        record = await one.operation(id)
        answer = await cancel(one.admission, record["id"], "ann")
        assert isinstance(answer, Accepted)
        again = await cancel(one.admission, record["id"], "ann")
        assert isinstance(again, Accepted)
        assert again.joined
        await one.rest()
        await one.expire()
        assert await one.outcome(id) == "cancelled"
        assert (await one.states())["/x"] == "stable"
        assert await one.store.claims.find_holders(SYSTEM) == []


async def test_a_plan_holds_only_for_what_it_was_made_for(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        mark = await one.store.systems.read_revision(f"{SYSTEM}/a")
        await one.deploy(tree(x=service()), at="/b")  # elsewhere
        await one.serve()
        one.let_in(await one.want("deploy", definition=tree(x=service()), path="/a", mark=mark))
        await one.serve()
        answer = await one.want("deploy", definition={}, path="/a", mark=mark)
        assert isinstance(answer, Rejection)
        assert answer.code is Code.CHANGED
        assert await one.states() == {"/a/x": "stable", "/b/x": "stable"}


async def test_a_deploy_that_failed_can_be_tried_again(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(x=service("v1"), y=service("v1")), at="/a")
        await one.serve()
        mark = await one.store.systems.read_revision(f"{SYSTEM}/a")
        bad = await one.deploy(tree(x=service("v2"), y=service("v2")), at="/a", mark=mark)
        await one.serve("/a/x")
        assert await one.outcome(bad) == "failed"
        again = one.let_in(await retry(one.admission, (await one.operation(bad))["id"], "ann", Actor.USER))
        await one.rest()
        assert await one.states() == {"/a/x": "updating", "/a/y": "stable"}
        await one.serve()
        assert await one.outcome(again) == "succeeded"
        assert (await one.operation(again))["request"]["place"] == f"{SYSTEM}/a"


async def test_a_deploy_that_cannot_be_any_more_ends(migrated: str) -> None:
    """Tried again after somebody has put a job where it has a service: it holds nothing, and says why."""
    async with town(migrated) as one:
        await one.found()
        bad = await one.deploy(tree(x=service(), y=service()), at="/a")
        await one.serve("/a/x")
        await one.deploy({}, at="/a")
        await one.serve()
        await one.deploy(tree(x=service(kind="job")), at="/a")
        await one.serve()
        again = one.let_in(await retry(one.admission, (await one.operation(bad))["id"], "ann", Actor.USER))
        await one.rest()
        assert (await one.outcome(again), await one.states()) == ("failed", {"/a/x": "succeeded"})
        (member,) = await one.store.statements.fetch("list_operation_members", UUID(again), "", 10)
        assert (member["path"], member["outcome"]) == (f"{SYSTEM}/a/x", "skipped")
        assert "it is a job" in member["says"]
        assert await one.store.claims.find_holders(SYSTEM) == []


@pytest.mark.req("S4-07")
async def test_a_job_runs_to_its_end_and_is_not_asked_how_its_system_is(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        id = await one.deploy(tree(x=service(), load=service(kind="job")))
        await one.report(f"{SYSTEM}/x")
        await one.rest()
        assert (await one.states(), await one.state(SYSTEM)) == ({"/load": "running", "/x": "stable"}, "stable")
        await one.serve("/load")
        assert (await one.states(), await one.state(SYSTEM)) == ({"/load": "failed", "/x": "stable"}, "stable")
        assert await one.outcome(id) == "failed"  # the deploy had asked for it
        one.let_in(await one.admission.admit(*one.wish("job", f"{SYSTEM}/load", "run")))
        assert await held(one, "deploy", definition={}, path="/") == {"/load"}
        await one.serve()
        assert (await one.states(), await one.state(SYSTEM)) == ({"/load": "succeeded", "/x": "stable"}, "stable")


async def test_a_system_on_a_lane_that_nobody_knows_fails(migrated: str) -> None:
    async with town(migrated) as one:
        answer = await one.admission.admit(*one.wish("system", SYSTEM, "create", lanes=["no.where"]))
        id = one.let_in(answer)
        await one.rest()
        assert await one.state(SYSTEM) == "failed"
        assert "no agent has ever served no.where" in (await one.operation(id))["says"]
        one.let_in(await one.want("delete"))
        await one.rest()
        assert await one.store.resources.read(SYSTEM) is None


@pytest.mark.req("S4-02")
async def test_a_service_is_updated_from_the_moment_its_definition_is_newer(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(x=service("v1")))
        await one.serve()
        await one.deploy(tree(x=service("v2")))
        newer = "SELECT count(*) FROM resources WHERE kind = 'service' AND next_spec IS NOT NULL AND state <> $1"
        assert await one.store.pool.fetchval(newer, "updating") == 0
        assert (await one.states(), await one.state(SYSTEM)) == ({"/x": "updating"}, "updating")


@pytest.mark.req("S4-01", "S4-06")
async def test_system_delete_waits_for_services_of_running_teardown(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(x=service(), y=service(), load=service(kind="job")))
        await one.serve()
        teardown = one.let_in(await one.want("teardown"))
        deletion = one.let_in(await one.want("delete"))
        assert (await one.outcome(teardown), await one.outcome(deletion)) == ("cancelled", "")
        assert (await one.operation(deletion))["remaining"] == 3
        await one.report(f"{SYSTEM}/x")
        await one.rest()
        assert (await one.state(SYSTEM), await one.states()) == ("deleting", {"/load": "deleting", "/y": "deleting"})
        await one.serve()
        assert (await one.outcome(deletion), await one.state(SYSTEM), await one.states()) == ("succeeded", None, {})


@pytest.mark.req("S4-01")
async def test_system_delete_fails_where_service_of_running_teardown_fails(migrated: str) -> None:
    async with town(migrated) as one:
        await one.found()
        await one.deploy(tree(x=service(), y=service()))
        await one.serve()
        one.let_in(await one.want("teardown"))
        deletion = one.let_in(await one.want("delete"))
        for _ in range(9):
            if (await one.states())["/x"] == "deleting":
                await one.serve("/x")
        assert (await one.outcome(deletion), await one.states()) == ("failed", {"/x": "failed"})
        assert await one.state(SYSTEM) == "failed"
