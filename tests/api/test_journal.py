"""Operations, claims, and the journal: in pages, and as a stream that can be resumed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from stead.application import reader
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_resources import make, problem, running


def test_an_operation_from_beginning_to_end(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/m/g/1"
    id = make(web, path).json()["operation"]["id"]
    under_way = web.get(f"/v1/operations/{id}").json()
    shown = {"action": "create", "kind": "vm", "path": path, "principal": "ann", "outcome": None, "ended_at": None}
    assert (
        under_way.items() >= {**shown, "state": "Creating", "phase": "acting", "attempt": 1, "remaining": 1}.items()
    )
    cell.settle(path, Trigger.FAILED)
    ended = web.get(f"/v1/operations/{id}").json()
    assert (ended["outcome"], ended["remaining"], ended["failed"], ended["state"]) == ("failed", 0, 1, None)
    assert ended["ended_at"] > ended["created_at"]


def test_operations_the_latest_first_in_pages(
    cell: Cell, web: httpx.Client, ns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [running(cell, web, f"/{ns}/m/g/{i}") for i in range(4)]
    ids.append(web.post(f"/v1/resources/{ns}/m/g/0?action=suspend").json()["operation"]["id"])
    make(web, f"/{ns}/m/g/0")  # refused: no operation
    cell.numbered()

    def listed(**query: Any) -> list[list[str]]:
        pages = []
        query = {"below": f"/{ns}", **query}
        while True:
            page = web.get("/v1/operations", params=query).json()
            pages.append([item["id"] for item in page["items"]])
            if page["next"] is None:
                return pages
            query["cursor"] = page["next"]

    def flat(pages: list[list[str]]) -> list[str]:
        return [id for page in pages for id in page]

    assert flat(listed()) == ids[::-1]
    assert [len(page) for page in listed(limit=2) if page][:2] == [2, 2]
    assert flat(listed(limit=2)) == ids[::-1]
    assert flat(listed(running=False)) == ids[-2::-1]
    assert listed(running=True) == [ids[-1:]]
    monkeypatch.setattr(reader, "WINDOW", 3)  # as if the journal were very long
    monkeypatch.setattr(reader, "WINDOWS", 1)
    assert flat(listed(limit=2)) == ids[::-1]


def test_claims_are_held_while_an_operation_lasts(cell: Cell, web: httpx.Client, ns: str) -> None:
    id = make(web, f"/{ns}/m/g/1").json()["operation"]["id"]
    make(web, f"/{ns}/m/g/2")
    claims = web.get("/v1/claims", params={"below": f"/{ns}"}).json()
    first = claims["items"][0]
    since = first.pop("since")
    expected = {"path": f"/{ns}/m/g/1", "mode": "exclusive", "operation": id, "action": "create", "principal": "ann"}
    assert (first, bool(since), claims["more"]) == (expected, True, False)
    assert web.get("/v1/claims", params={"below": f"/{ns}", "limit": 1}).json()["more"]
    cell.settle(f"/{ns}/m/g/1")
    assert [c["path"] for c in web.get("/v1/claims", params={"below": f"/{ns}"}).json()["items"]] == [f"/{ns}/m/g/2"]


def test_the_journal_in_pages(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    make(web, f"/{ns}/m/g/1")  # refused
    end = cell.numbered()
    page = web.get("/v1/journal", params={"path": f"/{ns}/m", "limit": 2}).json()
    assert [(x["trigger"], x["detail"], x["source"], x["target"]) for x in page["items"]] == [
        ("request", "create", "Absent", "Creating"),
        ("succeeded", "create", "Creating", "Running"),
    ]
    assert page["items"][1]["change"] == {"facts": {"id": "i-1"}}
    assert (page["next"], page["end"] >= end) == (page["items"][-1]["position"], True)
    rest = web.get("/v1/journal", params={"path": f"/{ns}/m", "after": page["next"]}).json()
    assert [(x["trigger"], x["rejections"]) for x in rest["items"]] == [("rejected", 1)]
    assert rest["items"][0]["change"]["reasons"][0]["code"] == "wrong-state"
    assert rest["next"] >= end  # a filtered page goes on after all that was looked at, not after what was found


@pytest.mark.req("X-03")
def test_the_whole_journal_can_be_read_in_order(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    end = cell.numbered()
    positions: list[int] = []
    after = 0
    while after < end:
        page = web.get("/v1/journal", params={"after": after, "limit": 7}).json()
        positions += [x["position"] for x in page["items"]]
        after = page["next"]
    assert positions[:end] == list(range(1, end + 1))


def test_the_end_is_found_wherever_it_is(cell: Cell, web: httpx.Client, ns: str) -> None:
    for i in range(3):
        make(web, f"/{ns}/m/g/{i}")
        end = cell.numbered()
        for known in (0, end // 2, end - 1, end):
            view = reader.Reader(cell.store, cell.executor.kinds)
            view._end = known
            assert cell.run(view.end()) == end


# The stream

type Event = dict[str, str]


@contextmanager
def stream(web: httpx.Client, headers: dict[str, str] | None = None, **query: Any) -> Iterator[Iterator[Event]]:
    with web.stream("GET", "/v1/events", params=query, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield events(response.iter_lines())


def events(lines: Iterator[str]) -> Iterator[Event]:
    """Every block, signs of life included."""
    event: Event = {}
    for line in lines:
        if not line:
            yield event
            event = {}
        else:
            name, _, value = line.partition(": ")
            event[name or "comment"] = value


def moves(found: Iterator[Event], n: int) -> list[tuple[int, str]]:
    """The next so many moves and refusals."""
    seen = []
    for event in found:
        if "data" in event:
            data = json.loads(event["data"])
            assert event["id"] == str(data["position"])
            assert event["event"] == ("refusal" if data["rejections"] else "move")
            seen.append((data["position"], data["target"]))
        if len(seen) == n:
            break
    return seen


def test_a_stream_begins_now_and_tells_what_comes(cell: Cell, web: httpx.Client, ns: str) -> None:
    make(web, f"/{ns}/m/g/0")
    end = cell.numbered()
    with stream(web, path=f"/{ns}") as found:
        assert next(found) == {"retry": "1000", "id": str(end)}
        running(cell, web, f"/{ns}/m/g/1")
        assert [target for _, target in moves(found, 2)] == ["Creating", "Running"]


@pytest.mark.req("S1-13")
def test_a_stream_is_resumed_where_it_was_lost(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    cell.numbered()
    with stream(web, path=f"/{ns}", after=0) as found:
        (first,) = moves(found, 1)
    make(web, f"/{ns}/m/g/1")  # while nobody listens
    cell.numbered()
    with stream(web, {"Last-Event-ID": str(first[0])}, path=f"/{ns}", after=0) as found:
        seen = moves(found, 2)
        assert [target for _, target in seen] == ["Running", "Running"]  # the move, then the refusal
        assert seen[0][0] > first[0]


def test_a_quiet_stream_says_that_it_lives_and_moves_on(cell: Cell, web: httpx.Client, ns: str) -> None:
    with stream(web, path=f"/{ns}") as found:
        start = next(found)
        make(web, f"/{cell.namespace()}/m/g/1")  # nothing of what is followed
        end = cell.numbered()
        assert int(start["id"]) < end
        for event in found:
            assert "data" not in event
            assert event["comment"] == "alive"
            if int(event["id"]) >= end:
                break


def test_a_full_page_of_new_lines_is_not_the_end(
    cell: Cell, web: httpx.Client, ns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.application.journal_feed.PAGE", 2)
    for i in range(5):
        make(web, f"/{ns}/m/g/{i}")
    cell.numbered()
    with stream(web, path=f"/{ns}", after=0) as found:
        assert len(moves(found, 5)) == 5


def test_a_position_beyond_the_end_is_refused(cell: Cell, web: httpx.Client) -> None:
    end = cell.numbered()
    problem(web.get("/v1/events", params={"after": end + 1000}), 422, "invalid")


def test_many_follow_one_look(cell: Cell, web: httpx.Client, ns: str) -> None:
    with stream(web, path=f"/{ns}") as one, stream(web, path=f"/{ns}") as two:
        next(one), next(two)
        make(web, f"/{ns}/m/g/1")
        assert moves(one, 1) == moves(two, 1)
