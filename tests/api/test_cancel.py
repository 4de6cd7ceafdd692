"""Operations over HTTP that are ended early, or tried once more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest

from stead.lifecycle.rows import Trigger
from tests.api.cell import MCI, Cell
from tests.api.test_journal import stream
from tests.api.test_resources import make, problem, running


def suspending(cell: Cell, web: httpx.Client, path: str) -> str:
    """A suspend under way; its id."""
    running(cell, web, path)
    body = {"reason": "night"}
    return str(web.post(f"/v1/resources{path}?action=suspend", json=body).json()["operation"]["id"])


def cancelled(cell: Cell, web: httpx.Client, path: str) -> str:
    """A suspend that was cancelled; its id."""
    id = suspending(cell, web, path)
    assert web.post(f"/v1/operations/{id}/cancel").status_code == 202
    cell.look(path, "Running")
    return id


def test_a_cancel_is_answered_with_the_operation(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = suspending(cell, web, path)
    answer = web.post(f"/v1/operations/{id}/cancel")
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/operations/{id}")
    said = answer.json()
    shown = {"id": id, "action": "suspend", "path": path, "outcome": None, "state": "Suspending", "phase": "probing"}
    assert said.items() >= {**shown, "cancelled": True}.items()
    assert web.post(f"/v1/operations/{id}/cancel").json() == said  # as often as one likes
    assert web.get(f"/v1/resources{path}").json()["operation"]["cancelled"] is True
    assert cell.sent[-1]["verb"] == "probe"
    cell.look(path, "Running")
    ended = web.get(f"/v1/operations/{id}").json()
    assert (ended["outcome"], ended["cancelled"], ended["failed"]) == ("cancelled", True, 1)
    assert web.get(f"/v1/resources{path}").json()["state"] == "Running"


def test_an_operation_that_nobody_cancelled_says_so(cell: Cell, web: httpx.Client, ns: str) -> None:
    id = suspending(cell, web, f"/{ns}/m/g/1")
    assert web.get(f"/v1/operations/{id}").json()["cancelled"] is False
    cell.settle(f"/{ns}/m/g/1")
    assert web.get(f"/v1/operations/{id}").json()["cancelled"] is False


def test_what_has_ended_or_never_was_is_not_cancelled(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = running(cell, web, path)
    said = problem(web.post(f"/v1/operations/{id}/cancel"), 409, "ended")
    assert said["current_state"] == "Running"
    assert "ended succeeded" in said["detail"]
    problem(web.post(f"/v1/operations/{ns}/{uuid4()}/cancel"), 404, "not-found")
    problem(web.post("/v1/operations/shop/nonsense/cancel"), 422, "invalid")


def test_who_may_cancel(cell: Cell, web: httpx.Client, ns: str) -> None:
    path, admin = f"/{ns}/space", {"X-Actor": "admin", "X-Name": "root"}
    web.post(f"/v1/resources{path}?action=deploy", json={"kind": "cloudspace", "lane": "dc.1"})
    cell.settle(path)
    id = web.post(f"/v1/resources{path}?action=pause", headers=admin).json()["operation"]["id"]
    problem(web.post(f"/v1/operations/{id}/cancel"), 403, "not-the-actor")
    assert web.post(f"/v1/operations/{id}/cancel", headers=admin).status_code == 202


def test_the_journal_and_its_stream_say_who_cancelled(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = suspending(cell, web, path)
    cell.numbered()
    with stream(web, path=path) as found:
        next(found)
        web.post(f"/v1/operations/{id}/cancel", headers={"X-Name": "bob"})
        event = next(e for e in found if "data" in e)
        assert event["event"] == "note"
    cell.numbered()
    last = web.get("/v1/journal", params={"path": path}).json()["items"][-1]
    assert (last["trigger"], last["detail"], last["principal"], last["actor"]) == ("cancel", "suspend", "bob", "user")
    assert (last["source"], last["target"], last["operation"]) == ("Suspending", "Suspending", id)


@pytest.mark.req("X-03")
def test_a_cancel_does_not_change_since_when_it_is_what_it_is(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = suspending(cell, web, path)
    before = datetime.now(UTC)
    changed = web.get(f"/v1/resources{path}").json()["changed_at"]
    web.post(f"/v1/operations/{id}/cancel", headers={"X-Name": "bob"})
    assert web.get(f"/v1/resources{path}").json()["changed_at"] == changed

    def was(when: datetime) -> Any:
        said = web.get(f"/v1/resources{path}", params={"at": when.isoformat()}).json()
        return said["state"], said["since"], said["principal"], said["operation"]

    assert was(before) == was(datetime.now(UTC))
    assert was(before)[2:] == ("ann", id)


# Retry


def test_what_was_cancelled_is_tried_once_more(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = cancelled(cell, web, path)
    answer = web.post(f"/v1/operations/{id}/retry", headers={"X-Name": "bob"})
    said = answer.json()
    new = said["operation"]["id"]
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/operations/{new}")
    assert said == {
        "operation": {"id": new, "action": "suspend", "kind": "vm", "path": path},
        "joined": False,
        "no_change": False,
        "repeated": False,
        "queued": False,
        "position": None,
    }
    assert new != id
    operation = web.get(f"/v1/operations/{new}").json()
    assert (operation["principal"], operation["reason"]) == ("bob", "night")
    assert operation["request"] == {"retries": id}
    joined = web.post(f"/v1/operations/{id}/retry").json()
    assert (joined["joined"], joined["operation"]["id"]) == (True, new)


@pytest.mark.req("X-10")
def test_a_retry_under_the_same_key_is_let_in_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path, key = f"/{ns}/m/g/1", {"Idempotency-Key": f"{ns}-1"}
    id = cancelled(cell, web, path)
    first = web.post(f"/v1/operations/{id}/retry", headers=key)
    cell.settle(path)
    again = web.post(f"/v1/operations/{id}/retry", headers=key)
    assert (again.status_code, again.json()) == (202, {**first.json(), "repeated": True})
    problem(web.post(f"/v1/resources{path}?action=resume", headers=key), 422, "key-reused")


def test_what_is_not_to_be_retried(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = make(web, path).json()["operation"]["id"]
    assert "still under way" in problem(web.post(f"/v1/operations/{id}/retry"), 409, "not-retryable")["detail"]
    cell.settle(path)
    assert "nothing to retry" in problem(web.post(f"/v1/operations/{id}/retry"), 409, "not-retryable")["detail"]
    problem(web.post(f"/v1/operations/{ns}/{uuid4()}/retry"), 404, "not-found")


def test_a_failed_vm_says_what_it_takes(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = suspending(cell, web, path)
    cell.settle(path, Trigger.FAILED)
    said = problem(web.post(f"/v1/operations/{id}/retry"), 409, "wrong-state")
    assert (said["current_state"], said["detail"]) == ("Failed", "suspend cannot start in Failed")


def test_what_is_reached_by_now_is_idle(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    running(cell, web, path)
    id = web.post(f"/v1/resources{path}?action=terminate").json()["operation"]["id"]
    web.post(f"/v1/operations/{id}/cancel")
    cell.look(path, "Running")
    web.post(f"/v1/resources{path}?action=terminate")
    cell.settle(path)
    answer = web.post(f"/v1/operations/{id}/retry")
    assert (answer.status_code, answer.json()["no_change"], answer.json()["operation"]) == (200, True, None)


# Keys on what begins no operation of its own


@pytest.mark.req("X-10")
def test_a_word_to_what_is_held_is_let_in_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path, key = f"/{ns}/m", {"Idempotency-Key": f"{ns}-1"}
    id = web.post(f"/v1/resources{path}", json={**MCI, "hold": True}).json()["operation"]["id"]
    cell.prepared(path)
    assert web.get(f"/v1/resources{path}").json()["state"] == "Prepared"
    first = web.post(f"/v1/resources{path}?action=withdraw", headers=key)
    assert (first.status_code, first.json()["operation"]["id"]) == (202, id)
    cell.run(cell.idle())
    problem(web.get(f"/v1/resources{path}"), 404, "not-found")
    again = web.post(f"/v1/resources{path}?action=withdraw", headers=key)
    assert (again.json()["operation"]["id"], again.json()["repeated"]) == (id, True)


@pytest.mark.req("X-10")
def test_what_is_done_at_once_is_an_operation_and_let_in_once(cell: Cell, web: httpx.Client, ns: str) -> None:
    path, headers = f"/{ns}/site", {"Idempotency-Key": f"{ns}-1", "X-Actor": "admin"}
    web.post(f"/v1/resources{path}", json={"kind": "cloudlet"})
    cell.rest(path, "UpdateError")
    first = web.post(f"/v1/resources{path}?action=resolve", headers=headers)
    assert first.status_code == 202
    id = first.json()["operation"]["id"]
    assert web.get(f"/v1/operations/{id}").json()["outcome"] == "succeeded"
    cell.rest(path, "UpdateError")
    again = web.post(f"/v1/resources{path}?action=resolve", headers=headers)
    assert (again.json()["operation"]["id"], again.json()["repeated"]) == (id, True)
    assert web.get(f"/v1/resources{path}").json()["state"] == "UpdateError"
