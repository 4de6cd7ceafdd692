"""The dialect of Blazar over the wire: what is taken, what is refused and in which words, and what is waited for."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from stead.api.blazar import actions, expressions
from stead.api.problems import ProblemResponse
from stead.application.models import Operation
from stead.application.queries import Queries
from tests.leases.lab import Lab, terms
from tests.leases.served import HOSTS, LEASES, web


@pytest.fixture
async def http(lab: Lab) -> AsyncIterator[httpx.AsyncClient]:
    async with web(lab) as client:
        yield client


def minute(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M")


def moved(date: str) -> str:
    """An hour later."""
    return (datetime.fromisoformat(date) + timedelta(hours=1)).strftime("%Y-%m-%d %H:%M")


def lease(name: str = "monday", **more: Any) -> dict[str, Any]:
    """A host for an hour, in an hour."""
    wanted = {"resource_type": "physical:host", "min": 1, "max": 1}
    return {
        **{"name": name, "start_date": minute(60), "end_date": minute(120)},
        **{"reservations": [wanted | more.pop("wants", {})], "events": [], "before_end_date": None},
        **more,
    }


# Expressions


@pytest.mark.req("S3-10")
@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("", {}),
        ("[]", {}),
        ('[">=", "$vcpus", "2"]', {"vcpus": ">= 2"}),
        ('["==", "$gpu", "True"]', {"gpu": "= true"}),
        ('["=", "$room", "> 7"]', {"room": "= > 7"}),
        ('["<", "$load", 0.5]', {"load": "< 0.5"}),
        ('["and", ["=", "$a", "1"], ["and", ["!=", "$b", "x y"]]]', {"a": "= 1", "b": "!= x y"}),
        ('["and", ["=", "$a", "1"], ["=", "$a", "1"]]', {"a": "= 1"}),
    ],
)
def test_an_expression_in_our_words(text: str, ours: dict[str, str]) -> None:
    assert expressions.properties("r", ("resource_properties", text)) == ours
    back = expressions.expression(ours)
    assert expressions.properties("r", ("resource_properties", back)) == ours


def test_properties_that_were_said_in_our_words_are_shown() -> None:
    assert expressions.expression({}) == ""
    assert json.loads(expressions.expression({"cpus": ">=16"})) == [">=", "$cpus", "16"]
    assert json.loads(expressions.expression({"gpu": True, "cpus": 4})) == [
        "and",
        ["=", "$gpu", "true"],
        ["=", "$cpus", "4"],
    ]


@pytest.mark.req("S3-10")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpu=True", "it is no JSON"),
        ("[" * 9999, "it is no JSON"),
        (f'["=", "$a", "{"x" * 10_000}"]', "more than 10000 characters"),
        ('["or", ["=", "$a", "1"], ["=", "$b", "1"]]', "'or' cannot be asked for here, only 'and', '=='"),
        ('["and", ["not", ["=", "$a", "1"]]]', "'not' cannot be asked for here"),
        ('["and", [">=", "$a", "1"], ["<=", "$a", "9"]]', "a has two conditions, '>= 1' and '<= 9'"),
        ('[">", "$a", "much"]', "> compares numbers, and 'much' is none"),
        ('["=", "a", "1"]', "is no condition such as"),
        ('["=", "$a"]', "is no condition such as"),
        ('["=", "$a", []]', "compares with nothing that a property can be"),
        ('["=", "$a", " "]', "compares with nothing that a property can be"),
        ('["=", "$a", "\\u0000"]', "a character that cannot be kept"),
        ('{"gpu": true}', "is no expression such as"),
        ("7", "is no expression such as"),
        ("[[1]]", "is no expression such as"),
    ],
)
def test_what_cannot_be_told_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(ProblemResponse) as found:
        expressions.properties("reservations.0", ("resource_properties", text))
    assert found.value.detail.startswith("reservations.0.resource_properties: ")
    assert says in found.value.detail
    assert len(found.value.detail) < 300


# Leases


@pytest.mark.req("S3-10")
async def test_a_lease_field_by_field(lab: Lab, http: httpx.AsyncClient) -> None:
    await lab.hosts("h1", vcpus=8)
    asked = lease(wants={"hypervisor_properties": '[">=", "$vcpus", "8"]', "min": "1", "before_end": ""})
    answer = await http.post(LEASES, json=asked)
    assert answer.status_code == 201
    found = answer.json()["lease"]
    id, (part,) = found["id"], found["reservations"]
    assert UUID(id) != UUID(part["id"])
    assert set(found) == {
        *("id", "name", "user_id", "project_id", "trust_id", "start_date", "end_date", "status", "degraded"),
        *("created_at", "updated_at", "reservations", "events"),
    }
    assert {**part, "id": "", "resource_id": "", "created_at": ""} == {
        **{"id": "", "lease_id": id, "resource_id": "", "resource_type": "physical:host", "status": "pending"},
        **{"min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": '[">=", "$vcpus", "8"]'},
        **{"before_end": "default", "missing_resources": False, "resources_changed": False, "hosts": ["h1"]},
        **{"created_at": "", "updated_at": None},
    }
    events = {event["event_type"]: event for event in found["events"]}
    assert {(event["lease_id"], event["status"]) for event in events.values()} == {(id, "UNDONE")}
    assert (
        events["start_lease"]["time"] == found["start_date"] == f"{asked['start_date'].replace(' ', 'T')}:00.000000"
    )
    assert events["end_lease"]["time"] == found["end_date"]
    assert events["before_end_lease"]["time"] == found["start_date"]  # an hour before the end of an hour
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", found["created_at"])
    assert (await http.get(f"{LEASES}/{id}")).json() == {"lease": found}
    assert (await http.get(LEASES)).json() == {"leases": [found]}
    assert (await http.get("/v1/leases/lab/monday")).json()["id"] == id
    assert (await http.get("/blazar/other/v1/leases")).json() == {"leases": []}
    for path in (f"/blazar/other/v1/leases/{id}", f"{LEASES}/{part['id']}", f"{LEASES}/{uuid4()}"):
        gone = await http.get(path)
        assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


@pytest.mark.req("S3-10")
async def test_when_the_end_is_told(lab: Lab, http: httpx.AsyncClient) -> None:
    await lab.hosts("h1")

    def told(answer: httpx.Response) -> str:
        assert answer.status_code in (200, 201), answer.text
        (at,) = [e["time"] for e in answer.json()["lease"]["events"] if e["event_type"] == "before_end_lease"]
        return str(at)[:16].replace("T", " ")

    at = minute(110)
    answer = await http.post(LEASES, json=lease(before_end_date=at))
    assert told(answer) == at
    its = f"{LEASES}/{answer.json()['lease']['id']}"
    other = minute(90)
    event = {"event_type": "before_end_lease", "event_date": other}
    assert told(await http.put(its, json={"events": [event]})) == other
    end, later = moved(answer.json()["lease"]["end_date"]), moved(other)
    assert told(await http.put(its, json={"end_date": end})) == later
    for wrong in (
        {"before_end_date": end},
        {"before_end_date": minute(5)},
        {"before_end_date": at, "events": [event]},
    ):
        refused = await http.put(its, json=wrong)
        assert refused.status_code == 400, wrong
    assert told(await http.get(its)) == later


@pytest.mark.req("S3-10")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"start_date": "tomorrow"}, "start_date: 'tomorrow' is no date such as 2030-01-31 12:00"),
        ({"end_date": minute(30)}, "body.end_date: it ends at"),
        ({"name": "two words"}, "body.name"),
        ({"reservations": []}, "body.reservations"),
        ({"wants": {"min": 2}}, "reservations.0.min: 2 is more than max, which is 1"),
        ({"wants": {"max": 0}}, "body.reservations.0.max"),
        ({"wants": {"max": ""}}, "body.reservations.0.max"),
        ({"wants": {"resource_type": "virtual:instance"}}, "body.reservations.0.resource_type"),
        ({"wants": {"before_end": "snapshot"}}, "body.reservations.0.before_end"),
        ({"wants": {"resource_properties": '["or"]'}}, "'or' cannot be asked for here"),
        ({"events": [{"event_type": "notification", "event_date": minute(70)}]}, "body.events.0.event_type"),
        ({"tenant": "x"}, "body.tenant"),
    ],
)
async def test_what_makes_no_sense_is_told_by_field(
    http: httpx.AsyncClient, change: dict[str, Any], says: str
) -> None:
    answer = await http.post(LEASES, json=lease(**change))
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")
    problem = answer.json()
    assert says in problem["error_message"]
    assert (problem["error_message"], problem["status"], problem["code"]) == (problem["detail"], 400, "invalid")


@pytest.mark.req("S3-10")
async def test_a_change_of_what_is_not_there_is_refused(lab: Lab, http: httpx.AsyncClient) -> None:
    await lab.hosts("h1")
    id = (await http.post(LEASES, json=lease())).json()["lease"]["id"]
    other = str(uuid4())
    for change, status in (
        ({"name": "tuesday"}, 400),
        ({"reservations": [{"id": other, "max": 1}]}, 400),
        ({"reservations": [{"id": other, "amount": 1}]}, 400),
        ({"end_date": minute(-60)}, 409),
        ({"end_date": minute(30)}, 409),
    ):
        answer = await http.put(f"{LEASES}/{id}", json=change)
        assert (answer.status_code, bool(answer.json()["error_message"])) == (status, True), change
    assert (await http.put(f"{LEASES}/{other}", json={})).status_code == 404
    assert (await http.delete(f"{LEASES}/{other}")).status_code == 404
    same = await http.put(f"{LEASES}/{id}", json={"name": "monday"})
    assert (same.status_code, same.json()["lease"]["status"]) == (200, "PENDING")


@pytest.mark.req("S3-10")
async def test_what_takes_long_is_answered_as_it_stands(
    lab: Lab, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lab.hosts("h1")
    await lab.do("create", "/lab/monday", terms(0, 10_000))
    await lab.until("/lab/monday", "ACTIVE")
    ((id,),) = [[one["id"] for one in (await http.get(LEASES)).json()["leases"]]]
    await lab.world.fault(verb="terminate-reservation", kind="latency", seconds=60)
    monkeypatch.setattr(actions, "MAX_WAIT", 0.0)
    answer = await http.delete(f"{LEASES}/{id}")
    assert (answer.status_code, answer.json()["lease"]["status"]) == (202, "DELETING")
    monkeypatch.undo()
    await lab.world.heal()
    again = await http.delete(f"{LEASES}/{id}")
    assert (again.status_code, again.content) in ((204, b""), (404, again.content))
    await lab.until("/lab/monday", "")
    assert (await http.get(f"{LEASES}/{id}")).status_code == 404


async def test_what_is_gone_a_moment_after_the_last_look_was_deleted(
    lab: Lab, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await lab.hosts("h1")
    id = (await http.post(LEASES, json=lease())).json()["lease"]["id"]
    wait = actions.wait_for_end

    async def too_late(queries: Queries, operation: UUID) -> None:
        await wait(queries, operation)

    monkeypatch.setattr(actions, "wait_for_end", too_late)
    assert (await http.delete(f"{LEASES}/{id}")).status_code == 204


async def test_what_is_declined_a_moment_after_the_last_look_is_told_why(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, looks = actions.wait_for_end, list[UUID]()

    async def too_late(queries: Queries, operation: UUID) -> Operation | None:
        looks.append(operation)
        found = await wait(queries, operation)
        return found if len(looks) > 1 else None

    monkeypatch.setattr(actions, "wait_for_end", too_late)
    answer = await http.post(LEASES, json=lease())
    assert (answer.status_code, answer.json()["code"]) == (409, "declined")


@pytest.mark.req("S3-10")
async def test_a_key_books_once(lab: Lab, http: httpx.AsyncClient) -> None:
    await lab.hosts("h1")
    asked = lease()
    answers = [await http.post(LEASES, json=asked, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()


# Hosts


@pytest.mark.req("S3-10")
async def test_a_host_field_by_field(lab: Lab, http: httpx.AsyncClient) -> None:
    body = {"name": "h1", "lane": lab.lane, "vcpus": "8", "gpu": "False", "serial": "007", "speed": "2.5"}
    answer = await http.post(HOSTS, json=body)
    assert answer.status_code == 201
    host = answer.json()["host"]
    assert host == {
        **{"id": "h1", "hypervisor_hostname": "h1", "service_name": "h1", "lane": lab.lane, "reservable": True},
        **dict.fromkeys(("hypervisor_type", "hypervisor_version", "cpu_info", "memory_mb", "local_gb", "status")),
        **{"vcpus": 8, "gpu": False, "serial": "007", "speed": 2.5, "trust_id": "", "updated_at": None},
        "created_at": host["created_at"],
    }
    assert (await http.get(f"{HOSTS}/h1")).json() == {"host": host}
    assert (await http.get("/v1/cells/-/hosts")).json()["items"][0]["properties"]["vcpus"] == 8
    await lab.one.store.hosts.set_health("h1", False, "its fan stands still")
    failed = (await http.get(HOSTS)).json()["hosts"][0]
    assert (failed["reservable"], failed["status"]) == (False, "its fan stands still")
    for refused, status in (
        (await http.post(HOSTS, json=body), 400),
        (await http.post(HOSTS, json={"name": "h2"}), 400),
        (await http.put(f"{HOSTS}/h1", json={"reservable": False}), 400),
        (await http.put(f"{HOSTS}/h1", json={"gpu": ["a100"]}), 400),
        (await http.put(f"{HOSTS}/none", json={"gpu": True}), 404),
        (await http.delete(f"{HOSTS}/none"), 404),
        (await http.patch(HOSTS, json={}), 405),
        (await http.get(f"{HOSTS}/none/allocation"), 404),
    ):
        assert (refused.status_code, bool(refused.json()["error_message"])) == (status, True), refused.text
    assert (await http.get(f"{HOSTS}/properties")).json() == {
        "resource_properties": [{"property": name} for name in ("gpu", "serial", "speed", "vcpus")]
    }
    assert (await http.delete(f"{HOSTS}/h1")).status_code == 204
    assert (await http.get(HOSTS)).json() == {"hosts": []}
