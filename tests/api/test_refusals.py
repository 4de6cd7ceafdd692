"""When the answer is no: what was wrong, who is in the way, what could be asked instead."""

from __future__ import annotations

from typing import Any

import asyncpg
import httpx
import pytest

from stead.api.problem_codes import TITLES
from stead.dev.engines import Postgres
from stead.lifecycle.decision import Code
from tests.api.cell import MCI, Cell, http
from tests.api.test_resources import make, problem, running
from tests.lanes import every_lane

ASKABLE = {"stale", "taken", "not-due", "not-expected", "orphan"}
"""Codes that answer agents and timers, never a request."""


def test_a_refusal_says_all_there_is_to_know(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = make(web, path).json()["operation"]["id"]
    answer = web.post(f"/v1/resources{path}?action=suspend", headers={"X-Request-Id": "mine-1"})
    said = problem(answer, 409, "in-progress")
    assert (said["request_id"], answer.headers["retry-after"], said["retry_after"]) == ("mine-1", "15", 15)
    assert (said["current_state"], said["allowed_actions"]) == ("Creating", [])
    holder = said["holder"]
    assert (holder["operation"], holder["action"], holder["path"], holder["principal"]) == (id, "create", path, "ann")
    assert holder["since"]
    assert said["reasons"][0]["code"] == "in-progress"


def test_a_wrong_state_names_what_could_be_asked(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    answer = web.post(f"/v1/resources{path}?action=resume")
    said = problem(answer, 409, "wrong-state")
    assert said["allowed_actions"] == ["suspend", "reboot", "terminate", "refresh"]
    assert "retry-after" not in answer.headers
    assert "holder" not in said


def test_a_claim_below_is_in_the_way_and_its_holder_is_named(web: httpx.Client, ns: str) -> None:
    make(web, f"/{ns}/m/g/1")
    answer = web.post(f"/v1/resources/{ns}/m", json=MCI)
    said = problem(answer, 409, "held")
    assert (said["holder"]["path"], said["holder"]["principal"]) == (f"/{ns}/m/g/1", "ann")
    assert answer.headers["retry-after"]


def test_what_is_somebody_elses_is_403(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    problem(web.post(f"/v1/resources{path}?action=refine"), 403, "not-the-actor")


def test_an_admin_may_do_what_a_user_may_not(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/space"
    made = web.post(f"/v1/resources{path}?action=deploy", json={"kind": "cloudspace", "lane": "dc.1"})
    assert made.status_code == 202
    cell.settle(path)
    problem(web.post(f"/v1/resources{path}?action=pause"), 403, "not-the-actor")
    answer = web.post(f"/v1/resources{path}?action=pause", headers={"X-Actor": "admin", "X-Name": "root"})
    assert answer.status_code == 202
    assert web.get(f"/v1/operations/{answer.json()['operation']['id']}").json()["principal"] == "root"


@pytest.mark.parametrize(
    ("action", "body", "code"),
    [
        ("explode", {}, "unknown-action"),
        ("suspend", {"force": True}, "needs-reason"),
        ("create", {"force": True, "reason": "so"}, "not-forceable"),
    ],
)
def test_what_makes_no_sense_in_any_state_is_422(
    cell: Cell, web: httpx.Client, ns: str, action: str, body: dict[str, Any], code: str
) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    problem(web.post(f"/v1/resources{path}?action={action}", json=body), 422, code)


def test_what_is_not_there_is_404(web: httpx.Client, ns: str) -> None:
    for answer in (
        web.get(f"/v1/resources/{ns}/m/g/1"),
        web.post(f"/v1/resources/{ns}/m/g/1?action=suspend"),
        web.post(f"/v1/resources/{ns}/m/g/1?action=suspend", json={"kind": "vm"}),
        web.post(f"/v1/resources/{ns}/m/g/1", json={"kind": "unicorn", "lane": "a"}),
        web.get("/v1/operations/shop/00000000-0000-0000-0000-000000000000"),
        web.get("/v1/explain", params={"path": f"/{ns}/m/g/1", "action": "suspend"}),
    ):
        problem(answer, 404, "not-found")


def test_a_path_of_another_kind_is_not_what_was_meant(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    said = problem(web.post(f"/v1/resources{path}?action=delete", json={"kind": "disk"}), 404, "not-found")
    assert "there is a vm" in said["detail"]
    assert web.get(f"/v1/resources{path}").json()["state"] == "Running"


@pytest.mark.parametrize(
    ("method", "url", "body", "where"),
    [
        ("POST", "/v1/resources/n/m?action=x", {"forse": True}, "body.forse"),
        ("POST", "/v1/resources/n/m", {"kind": "vm", "spec": []}, "body.spec"),
        ("POST", "/v1/resources/n/m?action=a", {"action": "b"}, "body.action"),
        ("POST", "/v1/resources/n/m?action=a", {"on_failure": "panic"}, "body.on_failure"),
        ("GET", "/v1/resources/n//m", None, "path.path"),
        ("GET", "/v1/resources/n/m/", None, "path.path"),
        ("GET", "/v1/resources/.hidden", None, "path.path"),
        ("GET", "/v1/resources/n/%2e%2e/m", None, "path.path"),
        ("GET", "/v1/resources?below=n", None, "query.below"),
        ("GET", "/v1/resources?limit=0", None, "query.limit"),
        ("GET", "/v1/operations/shop/nonsense", None, "path.id"),
        ("GET", "/v1/journal?after=-1", None, "query.after"),
        ("GET", "/v1/explain?path=/n", None, "query.action"),
    ],
)
def test_bad_input_is_a_problem_that_says_where(
    web: httpx.Client, method: str, url: str, body: Any, where: str
) -> None:
    said = problem(web.request(method, url, json=body), 422, "invalid")
    assert [error["location"] for error in said["errors"]] == [where]


@pytest.mark.parametrize(
    "spec", ['{"a": "\\u0000"}', '{"a": ["\\ud800"]}', '{"\\u0000": 1}', '{"a": NaN}', '{"a": 1e999}', '{"a": 9e30}']
)
def test_what_the_database_cannot_keep_is_not_let_in(web: httpx.Client, ns: str, spec: str) -> None:
    body = f'{{"kind": "vm", "lane": "a", "spec": {spec}}}'
    headers = {"Content-Type": "application/json"}
    problem(web.post(f"/v1/resources/{ns}/m/g/1", content=body, headers=headers), 422, "invalid")


@pytest.mark.parametrize(("depth", "code"), [(60, "invalid"), (100_000, "too-deep")])
def test_what_is_nested_too_deep_is_not_let_in(web: httpx.Client, ns: str, depth: int, code: str) -> None:
    body = f'{{"kind": "vm", "lane": "a", "spec": {{"a": {"[" * depth}{"]" * depth}}}}}'
    headers = {"Content-Type": "application/json"}
    problem(web.post(f"/v1/resources/{ns}/m/g/1", content=body, headers=headers), 422, code)


def test_addresses_and_methods_that_are_not_there_are_problems_too(web: httpx.Client) -> None:
    problem(web.get("/nowhere"), 404, "no-such-address")
    answer = web.delete("/v1/claims")
    problem(answer, 405, "no-such-method")
    assert answer.headers["allow"] == "GET"


def test_a_request_id_is_sent_back_if_it_is_fit_to_be_one(web: httpx.Client) -> None:
    assert web.get("/livez", headers={"X-Request-Id": "a-1.b_2"}).headers["x-request-id"] == "a-1.b_2"
    made = [web.get("/livez", headers={"X-Request-Id": bad}).headers["x-request-id"] for bad in ("a b", "x" * 200)]
    assert all(len(id) == 32 for id in made)
    assert len(set(made)) == 2


def test_a_fault_shows_nothing_of_the_inside(cell: Cell, web: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(cell.view, "claims", broken)
    answer = web.get("/v1/claims", headers={"X-Request-Id": "mine-2"})
    said = problem(answer, 500, "internal-error")
    assert said["request_id"] == "mine-2"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.ConnectionDoesNotExistError("x"),
        asyncpg.AdminShutdownError("x"),
        ConnectionRefusedError(),
        TimeoutError(),
    ],
)
def test_when_the_database_is_away_it_is_503_and_worth_another_try(
    cell: Cell, web: httpx.Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cell.store.resources, "read", away)
    answer = web.get("/v1/resources/a")
    problem(answer, 503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


def test_a_database_that_goes_away_and_comes_back() -> None:
    with Postgres(fsync=False) as postgres:
        dsn = postgres.create_database("own")
        every_lane(dsn)
        with Cell(dsn) as cell, http(cell) as web:
            assert make(web, "/n/m/g/1").status_code == 202
            assert web.get("/readyz").status_code == 200
            postgres.stop()
            problem(web.get("/v1/resources/n/m/g/1"), 503, "unavailable")
            problem(make(web, "/n/m/g/2"), 503, "unavailable")
            assert web.get("/readyz").status_code == 503
            assert web.get("/livez").status_code == 200
            postgres.start()
            assert web.get("/v1/resources/n/m/g/1").json()["state"] == "Creating"
            assert web.get("/readyz").status_code == 200


def test_every_refusal_has_a_status_of_its_own() -> None:
    assert {str(code) for code in Code} - ASKABLE <= set(TITLES)
