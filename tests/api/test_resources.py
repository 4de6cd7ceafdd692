"""Resources over HTTP: made, looked at, listed, changed once, as they were."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell

SPEC = {"provider": "sim", "region": "a", "size": 1}


def make(web: httpx.Client, path: str, **headers: str) -> httpx.Response:
    return web.post(f"/v1/resources{path}", json={"kind": "vm", "spec": SPEC}, headers=headers)


def running(cell: Cell, web: httpx.Client, path: str) -> str:
    """A VM that runs; the operation that made it."""
    made = make(web, path)
    cell.settle(path, id="i-1")
    return str(made.json()["operation"]["id"])


@contextmanager
def meanwhile(cell: Cell, statement: str, *values: Any) -> Iterator[None]:
    """A statement of another session, which is committed at the end."""

    async def begin() -> tuple[Any, Any]:
        connection = await asyncpg.connect(cell.dsn)
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(statement, *values)
        return connection, transaction

    async def end() -> None:
        await transaction.commit()
        await connection.close()

    connection, transaction = cell.run(begin())
    try:
        yield
    finally:
        cell.run(end())


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    said: dict[str, Any] = answer.json()
    assert (said["status"], said["code"], said["type"]) == (status, code, f"urn:stead:problem:{code}")
    assert said["title"]
    assert said["detail"]
    assert said["request_id"] == answer.headers["x-request-id"]
    return said


# Make and look


def test_what_is_made_is_there_with_its_operation(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    made = make(web, path)
    said = made.json()
    id = said["operation"]["id"]
    assert made.status_code == 202
    assert made.headers["location"] == f"/v1/operations/{id}"
    assert said == {
        "operation": {"id": id, "action": "create", "kind": "vm", "path": path},
        "joined": False,
        "no_change": False,
        "repeated": False,
        "queued": False,
        "position": None,
    }
    seen = web.get(f"/v1/resources{path}").json()
    assert (seen["kind"], seen["state"], seen["state_class"]) == ("vm", "Creating", "transitional")
    assert (seen["spec"], seen["lane"]) == (SPEC, "sim.a")
    assert (
        seen["operation"].items() >= {"id": id, "action": "create", "target": "Running", "principal": "ann"}.items()
    )
    assert set(seen["timers"]) == {"deadline", "resend"}
    cell.settle(path, id="i-1")
    seen = web.get(f"/v1/resources{path}").json()
    assert (seen["state"], seen["facts"], seen["operation"], seen["timers"]) == ("Running", {"id": "i-1"}, None, {})


def test_a_lane_may_be_said_and_is_needed_where_the_spec_names_no_place(web: httpx.Client, ns: str) -> None:
    body: dict[str, Any] = {"kind": "vm", "spec": {"size": 1}}
    said = problem(web.post(f"/v1/resources/{ns}/m/g/1", json=body), 422, "invalid")
    assert said["errors"][0]["location"] == "lane"
    body["lane"] = "edge.site-17"
    assert web.post(f"/v1/resources/{ns}/m/g/1", json=body).status_code == 202
    assert web.get(f"/v1/resources/{ns}/m/g/1").json()["lane"] == "edge.site-17"
    body["lane"] = "no lane"
    assert (
        problem(web.post(f"/v1/resources/{ns}/m/g/2", json=body), 422, "invalid")["errors"][0]["location"] == "lane"
    )


def test_an_action_follows_the_query_and_needs_no_body(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    answer = web.post(f"/v1/resources{path}?action=suspend")
    assert answer.status_code == 202
    assert answer.json()["operation"]["action"] == "suspend"
    assert cell.sent[-1]["verb"] == "suspend"
    cell.settle(path)
    assert web.get(f"/v1/resources{path}").json()["state"] == "Suspended"


def test_joined_and_idle_are_told(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    first = web.post(f"/v1/resources{path}?action=terminate").json()
    again = web.post(f"/v1/resources{path}?action=terminate")
    assert (again.status_code, again.json()["joined"]) == (202, True)
    assert again.json()["operation"] == first["operation"]
    cell.settle(path)
    idle = web.post(f"/v1/resources{path}?action=terminate")
    assert (idle.status_code, "location" in idle.headers) == (200, False)
    plain = {"joined": False, "no_change": True, "repeated": False, "queued": False, "position": None}
    assert idle.json() == {"operation": None, **plain}


def test_force_needs_a_reason_which_stays_with_the_operation(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    make(web, path)
    cell.settle(path, Trigger.FAILED)
    url = f"/v1/resources{path}?action=terminate"
    problem(web.post(url, json={"force": True}), 422, "needs-reason")
    forced = web.post(url, json={"force": True, "reason": "rack is gone"}).json()
    operation = web.get(f"/v1/operations/{forced['operation']['id']}").json()
    assert (operation["reason"], operation["request"]) == ("rack is gone", {"force": True})


# Lists


def test_pages_go_on_where_the_last_one_ended(cell: Cell, web: httpx.Client, ns: str) -> None:
    for i in range(5):
        make(web, f"/{ns}/m/g/{i}")
    make(web, f"/{ns}/m/g-x/0")  # sorts between the group and its members, and is neither
    query: dict[str, Any] = {"kind": "vm", "below": f"/{ns}/m/g", "limit": 2}
    paths: list[str] = []
    sizes = []
    while True:
        page = web.get("/v1/resources", params=query).json()
        paths += [item["path"] for item in page["items"]]
        sizes.append(len(page["items"]))
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert paths == [f"/{ns}/m/g/{i}" for i in range(5)]
    assert sizes == [2, 2, 1]
    assert web.get("/v1/resources", params={"kind": "disk", "below": f"/{ns}"}).json()["items"] == []
    problem(web.get("/v1/resources", params={"cursor": "nonsense"}), 422, "invalid")
    cursor_of_numbers = web.get("/v1/operations", params={"limit": 1}).json()["next"]
    problem(web.get("/v1/resources", params={"cursor": cursor_of_numbers or "WzFd"}), 422, "invalid")


def test_list_has_specs_only_where_they_are_asked_for(cell: Cell, web: httpx.Client, ns: str) -> None:
    make(web, f"/{ns}/m/g/1")
    whole = web.get(f"/v1/resources/{ns}/m/g/1").json()
    assert whole["spec"]
    for query, spec in (({}, {}), ({"specs": False}, {}), ({"specs": True}, whole["spec"])):
        page = web.get("/v1/resources", params={"below": f"/{ns}", **query}).json()
        (listed,) = page["items"]
        assert (page["specs"], listed["spec"], listed["next_spec"]) == (bool(spec), spec, None)
        assert {**listed, "spec": whole["spec"]} == whole


def test_a_list_says_from_where_to_follow_it(cell: Cell, web: httpx.Client, ns: str) -> None:
    make(web, f"/{ns}/m/g/1")
    end = cell.numbered()
    assert web.get("/v1/resources", params={"below": f"/{ns}"}).json()["position"] >= end


# Only once, and only if


@pytest.mark.req("X-10")
def test_the_same_key_is_let_in_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    key = {"Idempotency-Key": f"{ns}-1"}
    first = make(web, path, **key)
    again = make(web, path, **key)
    assert again.status_code == 202
    assert again.json() == {**first.json(), "repeated": True}
    problem(make(web, f"/{ns}/m/g/2", **key), 422, "key-reused")
    cell.settle(path)
    key = {"Idempotency-Key": f"{ns}-2"}
    url = f"/v1/resources{path}?action=suspend"
    first = web.post(url, headers=key)
    cell.settle(path)
    again = web.post(url, headers=key)  # a new one would be refused in this state
    assert (again.json()["operation"], again.json()["repeated"]) == (first.json()["operation"], True)


@pytest.mark.req("X-10")
def test_the_same_key_at_the_same_time_is_let_in_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    """Another server has let the key in, and not yet said so, when this one looks whether it is known."""
    key, kept = f"{ns}-1", "INSERT INTO idempotency_keys VALUES ('ann', $1, 'of another', $2)"
    with ThreadPoolExecutor(4) as pool:
        with meanwhile(cell, kept, hashlib.sha256(key.encode()).hexdigest(), uuid4()):
            late = pool.submit(make, web, f"/{ns}/m/g/1", **{"Idempotency-Key": key})
            beside = pool.submit(make, web, f"/{ns}/m/g/2")
            time.sleep(0.2)
            assert not late.done(), late.result().text
        problem(late.result(), 422, "key-reused")
        assert beside.result().status_code == 202
    problem(web.get(f"/v1/resources/{ns}/m/g/1"), 404, "not-found")


@pytest.mark.req("X-10")
def test_a_key_is_known_after_what_it_was_used_on_is_gone(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/site/c1/a"
    cell.put(f"/{ns}/site", "cloudlet")
    cell.put(f"/{ns}/site/c1", "clusterinst")
    web.post(f"/v1/resources{path}", json={"kind": "appinst"})
    cell.settle(path)
    url, key = f"/v1/resources{path}?action=delete", {"Idempotency-Key": f"{ns}-1"}
    first = web.post(url, headers=key)
    assert first.status_code == 202
    cell.settle(path)
    problem(web.get(f"/v1/resources{path}"), 404, "not-found")
    again = web.post(url, headers=key)
    assert (again.status_code, again.json()["operation"]) == (202, first.json()["operation"])
    problem(web.post(url), 404, "not-found")


def test_a_version_that_is_no_more_is_412(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    tag = web.get(f"/v1/resources{path}").headers["etag"]
    url = f"/v1/resources{path}?action=reboot"
    said = web.post(url, headers={"If-Match": '"0-0"'})
    assert problem(said, 412, "changed")["current_state"] == "Running"
    assert said.headers["etag"] == tag
    problem(web.post(url, headers={"If-Match": f"W/{tag}"}), 412, "changed")
    key = {"Idempotency-Key": f"{ns}-1"}
    assert web.post(url, headers={"If-Match": f'"0-0", {tag}', **key}).status_code == 202
    assert web.post(url, headers={"If-Match": tag, **key}).json()["repeated"]  # let in before it changed
    assert web.get(f"/v1/resources{path}").headers["etag"] != tag
    cell.settle(path)
    assert web.post(url, headers={"If-Match": "*"}).status_code == 202


# As it was


@pytest.mark.req("X-03")
def test_a_resource_as_it_was(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    before = datetime.now(UTC)
    id = running(cell, web, path)
    made = datetime.now(UTC)
    web.post(f"/v1/resources{path}?action=suspend")
    cell.settle(path, id="i-2", note="stopped")
    cell.numbered()

    def at(when: datetime) -> httpx.Response:
        return web.get(f"/v1/resources{path}", params={"at": when.isoformat()})

    was = at(made).json()
    assert (was["state"], was["state_class"], was["facts"], was["spec"]) == (
        "Running",
        "stable",
        {"id": "i-1"},
        SPEC,
    )
    assert (was["operation"], was["principal"]) == (id, "agent")
    assert was["since"] < was["at"]
    now = at(datetime.now(UTC) + timedelta(hours=1)).json()
    assert (now["state"], now["facts"]) == ("Suspended", {"id": "i-2", "note": "stopped"})
    problem(at(before), 404, "not-found")
    problem(web.get(f"/v1/resources{path}", params={"at": "2026-01-01T00:00:00"}), 422, "invalid")


@pytest.mark.req("X-03")
def test_what_is_gone_can_still_be_looked_at(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/site/c1/a"
    cell.put(f"/{ns}/site", "cloudlet")
    cell.put(f"/{ns}/site/c1", "clusterinst")
    web.post(f"/v1/resources{path}", json={"kind": "appinst", "spec": {"flavor": "m"}})
    cell.settle(path, id="c-1")
    there = datetime.now(UTC)
    web.post(f"/v1/resources{path}?action=delete")
    cell.settle(path)
    cell.numbered()
    was = web.get(f"/v1/resources{path}", params={"at": there.isoformat()}).json()
    assert (was["kind"], was["state"], was["facts"]) == ("appinst", "Ready", {"id": "c-1"})
    assert was["spec"] == {"flavor": "m"}
    problem(web.get(f"/v1/resources{path}", params={"at": datetime.now(UTC).isoformat()}), 404, "not-found")
    web.post(f"/v1/resources{path}", json={"kind": "appinst"})  # another one, of the same path
    is_ = web.get(f"/v1/resources{path}", params={"at": datetime.now(UTC).isoformat()}).json()
    assert (is_["state"], is_["spec"], is_["facts"]) == ("CreateRequested", {}, {})


@pytest.mark.req("X-03")
def test_specs_that_come_and_go_are_on_record(cell: Cell, web: httpx.Client, ns: str) -> None:
    """An update under way, one that was undone, and one that is done, each as it was then."""
    path = f"/{ns}/site/c1"
    cell.put(f"/{ns}/site", "cloudlet")
    body: dict[str, Any] = {"kind": "clusterinst", "spec": {"nodes": 1}}
    times: dict[str, datetime] = {}

    def now(name: str) -> None:
        times[name] = datetime.now(UTC)

    web.post(f"/v1/resources{path}", json=body)
    cell.settle(path, id="c-1")
    now("made")
    web.post(f"/v1/resources{path}?action=update", json={"spec": {"nodes": 2}})
    now("updating")
    cell.settle(path, Trigger.FAILED)
    now("failed")
    cell.settle(path)  # the undo
    now("rolled_back")
    web.post(f"/v1/resources{path}?action=update", json={"spec": {"nodes": 3}})
    cell.settle(path, id="c-2")
    now("updated")

    def was(name: str) -> tuple[Any, ...]:
        said = web.get(f"/v1/resources{path}", params={"at": times[name].isoformat()}).json()
        return said["state"], said["spec"], said["next_spec"], said["facts"]["id"]

    assert was("made") == ("Ready", {"nodes": 1}, None, "c-1")
    assert was("updating") == ("UpdateRequested", {"nodes": 1}, {"nodes": 2}, "c-1")
    assert was("failed") == ("UpdateError", {"nodes": 1}, {"nodes": 2}, "c-1")
    assert was("rolled_back") == ("Ready", {"nodes": 1}, None, "c-1")
    assert was("updated") == ("Ready", {"nodes": 3}, None, "c-2")


@pytest.mark.req("X-03")
def test_facts_that_come_without_a_move_are_on_record(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    before = datetime.now(UTC)
    cell.told(path, "Running", id="i-1", address="10.0.0.7")
    now = datetime.now(UTC)
    cell.told(path, "Running", id="i-1", address="10.0.0.7")  # nothing new

    def facts(when: datetime) -> Any:
        return web.get(f"/v1/resources{path}", params={"at": when.isoformat()}).json()["facts"]

    assert (facts(before), facts(now)) == ({"id": "i-1"}, {"id": "i-1", "address": "10.0.0.7"})
    cell.numbered()
    lines = web.get("/v1/journal", params={"path": path}).json()["items"]
    notes = [x for x in lines if x["source"] == x["target"]]
    assert [(x["trigger"], x["detail"], x["actor"], x["source"], x["change"]) for x in notes] == [
        ("observed", "Running", "agent", "Running", {"facts": {"address": "10.0.0.7"}})
    ]
