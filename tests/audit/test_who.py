"""The journal says who, what, from where, and whether it was let in: also of what policies and logins refuse."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.access.house import House, house
from tests.api.cell import Cell

VM = {"kind": "vm", "spec": {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}}


@pytest.fixture
def empty(migrated: str) -> Iterator[House]:
    with house(migrated) as one:
        yield one


def lines(of: House, **wanted: Any) -> list[Any]:
    """Lines of the journal that say this."""
    of.cell.numbered()
    with of.as_("admin") as web:
        found = web.get("/v1/journal", params={"limit": 1000}).json()["items"]
    return [line for line in found if all(line[name] == value for name, value in wanted.items())]


def test_a_line_says_from_where_it_was_asked_and_under_which_id(empty: House) -> None:
    with empty.as_("operator@shop") as web:
        answer = web.post("/v1/resources/shop/a", json=VM, headers={"X-Request-Id": "first"})
        assert answer.status_code == 202
        assert web.post("/v1/resources/shop/a", json=VM, headers={"X-Request-Id": "second"}).status_code == 409
    made, refused = lines(empty, path="/shop/a")
    assert (made["origin"], made["request"], made["principal"]) == ("127.0.0.1", "first", "token:operator-in-shop")
    assert (refused["origin"], refused["request"], refused["rejections"]) == ("127.0.0.1", "second", 1)
    empty.cell.settle("/shop/a")
    (done,) = lines(empty, path="/shop/a")[2:]
    assert (done["origin"], done["request"]) == (None, None)  # that was an agent


def test_a_proxy_that_is_trusted_says_whose_request_it_is(empty: House) -> None:
    with empty.as_("operator@shop") as web:
        web.post("/v1/resources/shop/a", json=VM, headers={"X-Forwarded-For": "203.0.113.9"})
    (made,) = lines(empty, path="/shop/a")
    assert made["origin"] == "203.0.113.9"


def test_what_waits_and_is_cancelled_says_from_where(empty: House) -> None:
    with empty.as_("operator@shop") as web:
        assert web.post("/v1/resources/shop/a", json=VM).status_code == 202
        waits = {"action": "suspend", "on_conflict": "queue"}
        ids = {}
        for name in ("one", "two"):
            answer = web.post("/v1/resources/shop/a", json=waits, headers={"X-Request-Id": name})
            assert answer.status_code == 202, answer.text
            ids[name] = answer.json()["operation"]["id"]
        promoted = web.post(f"/v1/operations/{ids['two']}/promote", headers={"X-Request-Id": "three"})
        assert promoted.status_code == 200, promoted.text
        assert web.post(f"/v1/operations/{ids['two']}/cancel", headers={"X-Request-Id": "four"}).status_code == 202
    said = {(line["trigger"], line["request"]) for line in lines(empty, path="/shop/a")[1:]}
    assert said == {("queued", "one"), ("queued", "two"), ("promote", "three"), ("cancel", "four")}


def test_what_a_policy_refuses_is_in_the_journal(empty: House) -> None:
    with empty.as_("viewer@shop") as web:
        assert web.post("/v1/resources/shop/a", json=VM).status_code == 403  # an action
        assert web.post("/v1/resources/bank/a", json=VM).status_code == 404  # what is not there for them
        assert web.get("/v1/cells/-/policies").status_code == 403  # what is no lifecycle's
        assert web.get("/v1/cells/-/policies").status_code == 403
    told = [(x["path"], x["detail"], x["rejections"]) for x in lines(empty, principal="token:viewer-in-shop")]
    assert told == [("/shop/a", "create", 1), ("/bank/a", "create", 1), ("/", "access", 2)]
    with empty.as_("viewer@shop") as web:
        seen = {line["path"] for line in web.get("/v1/journal").json()["items"]}
    assert seen == {"/shop/a"}


def test_a_login_that_fails_is_in_the_journal(empty: House) -> None:
    before = len(lines(empty, detail="login"))
    for _ in range(3):
        with empty.showing({"Authorization": "Bearer nobody"}) as web:
            assert web.get("/v1/resources").status_code == 401
    with empty.showing({"Origin": empty.url}) as web:
        assert web.post("/v1/session", json={"token": "wrong"}).status_code == 401
    with empty.showing({}) as web:
        assert web.get("/v1/resources").status_code == 401  # nothing was shown, so nothing failed
    found = lines(empty, detail="login")[before:]
    assert [(x["path"], x["principal"], x["origin"], x["rejections"]) for x in found] == [("/", "", "127.0.0.1", 4)]


def test_a_login_is_in_the_journal(empty: House) -> None:
    with empty.showing({"Origin": empty.url}) as web:
        assert web.post("/v1/session", json={"token": empty.tokens["viewer"]}).status_code == 200
    (line,) = lines(empty, detail="login")
    assert (line["principal"], line["origin"], line["rejections"]) == ("token:viewer", "127.0.0.1", 0)


def test_nobody_can_fill_the_journal_with_refusals(empty: House) -> None:
    with empty.as_("viewer@shop") as web:
        for n in range(60):
            assert web.post(f"/v1/resources/shop/a{n}", json=VM).status_code == 403
    found = lines(empty, principal="token:viewer-in-shop")
    assert len(found) == 31
    assert (found[-1]["path"], found[-1]["detail"], found[-1]["rejections"]) == ("/", "many", 30)
    with httpx.Client(base_url=empty.url, trust_env=False) as web:
        for n in range(60):
            shown = {"Authorization": "Bearer no", "X-Forwarded-For": f"203.0.113.{n}"}
            assert web.get("/v1/resources", headers=shown).status_code == 401
    found = lines(empty, detail="login")
    assert len(found) == 31
    assert (found[-1]["origin"], found[-1]["rejections"]) == ("many", 30)


def test_who_may_what_is_in_the_journal_when_it_changes(empty: House) -> None:
    policy = "forbid (principal, action, resource) when { resource.path == '/shop/x' };".replace("'", '"')
    with empty.as_("admin") as web:
        web.headers["X-Request-Id"] = "mine"
        asked = {"name": "ci", "roles": [{"role": "viewer", "namespace": "shop"}]}
        secret = web.post("/v1/cells/-/tokens", json=asked).json()["token"]
        assert web.delete("/v1/cells/-/tokens/ci").status_code == 204
        grant = {"subject": "user:ann", "role": "viewer", "namespace": "shop"}
        assert web.put("/v1/cells/-/grants", params=grant).status_code == 204
        assert web.put("/v1/cells/-/grants", params=grant).status_code == 204  # it is there already
        assert web.delete("/v1/cells/-/grants", params=grant).status_code == 204
        assert web.put("/v1/cells/-/policies/no", json={"text": policy}).status_code == 204
        assert web.delete("/v1/cells/-/policies/no").status_code == 204
    found = lines(empty, request="mine")
    assert [(x["kind"], x["detail"]) for x in found] == [
        ("token", "create"), ("token", "revoke"), ("grant", "give"), ("grant", "take"), ("policy", "put"),
        ("policy", "remove"),
    ]  # fmt: skip
    assert {(x["principal"], x["origin"], x["trigger"], x["path"]) for x in found} == {
        ("token:admin", "127.0.0.1", "access", "/")
    }
    assert found[0]["change"]["roles"] == [["viewer", "shop"]]
    assert found[2]["change"] == grant
    assert secret not in str(found)


def test_a_quota_is_in_the_journal_when_it_changes(cell: Cell) -> None:
    cell.put("/acme", "account")
    cell.run(cell.store.quotas.set("/acme", {"machines": 3}, "ann"))
    cell.numbered()
    (line,) = cell.run(cell.store.journal.read(0, path="/acme"))
    assert (line["kind"], line["detail"], line["principal"], line["change"]) == (
        "quota",
        "set",
        "ann",
        {"machines": 3},
    )


def test_no_request_is_taken_for_another_that_is_answered_at_the_same_time(cell: Cell) -> None:
    with httpx.Client(base_url=cell.url, trust_env=False) as web:

        def ask(n: int) -> int:
            return web.post(
                f"/v1/resources/shop/{n}", json={**VM, "lane": "sim.a"}, headers={"X-Request-Id": f"r{n}"}
            ).status_code

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert set(pool.map(ask, range(100))) == {202}
    cell.numbered()
    told = {line["path"]: line["request"] for line in cell.run(cell.store.journal.read(0, limit=1000))}
    assert told == {f"/shop/{n}": f"r{n}" for n in range(100)}
