"""Kinds of one's own over HTTP: what is let in, what is refused and why, and what goes by them then."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack

import asyncpg
import httpx
import pytest

from stead.catalog import KINDS
from stead.client import InvalidRequest, SyncClient
from stead.dev.engines import Postgres
from stead.lifecycle.document import load
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell, http
from tests.api.test_resources import problem

NOTE = """
kind: note
description: Something that is only written down.
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Open, class: stable, description: It is open., observed_as: ''}
  - {name: Closed, class: stable, description: It is closed., observed_as: ''}
actions:
  - {name: create, description: Write it down., source: Absent, target: Open, work: none}
  - {name: close, description: Close it., source: Open, target: Closed, work: none}
  - {name: delete, description: Forget it., source: [Open, Closed], target: Absent, work: none}
"""
LATER = NOTE.replace(
    "  - {name: delete",
    "  - {name: reopen, description: Open it again., source: Closed, target: Open, work: none}\n  - {name: delete",
)
NEVER_CLOSED = "\n".join(line for line in NOTE.replace("[Open, Closed]", "Open").splitlines() if "Close" not in line)
TASK = """
kind: task
description: Something that an agent does.
drift_states: [Open, Closed, Undefined]
on_absent: Absent
on_broken: Undefined
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Opening, class: transitional, description: It is being opened., timeout: 1m}
  - {name: Open, class: stable, description: It is open.}
  - {name: Closed, class: stable, description: It is closed.}
  - {name: Undefined, class: stable, description: Nobody knows., observed_as: '', probe_first: true}
actions:
  - name: create
    description: Open it.
    source: Absent
    via: Opening
    target: Open
    on_failure: Undefined
    rollback: leave
  - {name: delete, description: Forget it., source: [Open, Closed, Undefined], target: Absent, work: none}
"""
"""Not to be explored: it is put in force behind the server's back."""
UNSAFE = """
kind: lamp
description: A lamp that somebody switches.
drift_states: [Dark, Bright]
on_absent: Absent
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Dark, class: stable, description: It is dark.}
  - {name: Switching, class: transitional, description: It is being switched., timeout: 1m}
  - {name: Bright, class: stable, description: It is bright.}
transitions:
  - {source: Absent, trigger: observed Dark, actor: agent, target: Dark}
actions:
  - name: switch-on
    description: Let there be light.
    source: [Absent, Dark]
    via: Switching
    target: Bright
    on_failure: (origin)
    rollback: leave
  - {name: delete, description: Take it away., source: [Bright, Dark], target: Absent, work: none}
"""


SHELF = """
kind: shelf
description: Notes that lie together.
members: note
aggregation: dominant
order: [Open, Closed]
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Open, class: stable, description: Most notes are open., observed_as: ''}
  - {name: Closing, class: transitional, description: Its notes are being closed., timeout: 10m, awaits: children}
  - {name: Closed, class: stable, description: Most notes are closed., observed_as: ''}
actions:
  - {name: create, description: Put it up., source: Absent, target: Open, work: none}
  - name: close
    description: Close all notes.
    source: Open
    via: Closing
    target: Closed
    on_failure: Open
    work: {member_action: close}
    rollback: leave
  - {name: delete, description: Take it down., source: [Open, Closed], target: Absent, work: none, empty_only: true}
"""


@pytest.fixture(scope="module")
def servers(postgres: Postgres, template: str) -> Iterator[tuple[Cell, Cell]]:
    """Two servers on one database."""
    name = f"own_{secrets.token_hex(4)}"
    dsn = postgres.create_database(name, template)
    with ExitStack() as stack:
        yield stack.enter_context(Cell(dsn)), stack.enter_context(Cell(dsn))
    postgres.drop_database(name)


@pytest.fixture
def cells(servers: tuple[Cell, Cell]) -> Iterator[tuple[Cell, Cell]]:
    """They have nothing of what others made."""
    yield servers
    servers[0].run(emptied(servers[0].dsn))
    for one in servers:
        one.run(one.kinds.fresh())


async def emptied(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("TRUNCATE lifecycles, resources, operations, claims, orders, journal, counts")
    await connection.close()


@pytest.fixture
def cell(cells: tuple[Cell, Cell]) -> Cell:
    """The first of them."""
    return cells[0]


def put(web: httpx.Client, kind: str, document: str) -> httpx.Response:
    return web.put(f"/v1/cells/-/lifecycles/{kind}", json={"document": document}, timeout=60)


def make(web: httpx.Client, path: str, kind: str = "note", **more: object) -> httpx.Response:
    return web.post(f"/v1/resources{path}", json={"kind": kind, **more})


def test_a_kind_is_registered_and_used(cell: Cell, web: httpx.Client) -> None:
    said = put(web, "note", NOTE).json()
    assert (said["version"], said["registered_by"], said["document"]) == (1, "ann", NOTE)
    assert said["explored"]["worlds"] == 3
    assert said["explored"]["bounds"]["crashes"] == 2
    brief = next(one for one in web.get("/v1/cells/-/lifecycles").json()["items"] if one["kind"] == "note")
    assert (brief["family"], brief["version"], brief["findings"]) == ("yours", 1, 0)
    whole = web.get("/v1/cells/-/lifecycles/note").json()
    assert whole["explored"] == {"worlds": 3, "steps": 4}
    assert whole["registered"]["registered_by"] == "ann"
    assert make(web, "/shop/n1").status_code == 202
    assert web.get("/v1/resources/shop/n1").json()["state"] == "Open"
    explained = web.get("/v1/explain", params={"path": "/shop/n1", "action": "create"}).json()
    assert (explained["allowed"], explained["allowed_actions"]) == (False, ["close", "delete"])
    refused = problem(web.post("/v1/resources/shop/n1?action=reopen"), 422, "unknown-action")
    assert "reopen" in refused["detail"]
    cell.numbered()
    lines = web.get("/v1/journal", params={"path": "/shop/n1"}).json()["items"]
    assert [line["kind"] for line in lines][:1] == ["note"]
    (shop,) = web.get("/v1/tree").json()["items"]
    assert (shop["counts"], shop["health"]) == ({"note": {"Open": 1}}, "well")
    (count,) = web.get("/v1/overview").json()["counts"]
    assert (count["kind"], count["state"], count["members"]) == ("note", "Open", 1)


def test_what_is_no_lifecycle_is_told_line_by_line(web: httpx.Client) -> None:
    said = problem(put(web, "note", NOTE.replace("target: Open", "target: Opn")), 422, "not-a-lifecycle")
    assert "did you mean Open?" in said["errors"][0]["message"]


def test_findings_refuse_it(cell: Cell, web: httpx.Client) -> None:
    said = problem(put(web, "note", NOTE.replace("source: [Open, Closed]", "source: Open")), 422, "not-sound")
    (finding,) = said["errors"]
    assert finding["location"] == "state Closed"
    assert finding["message"].endswith("[dead-end]")
    problem(web.get("/v1/cells/-/lifecycles/note"), 404, "not-found")


def test_a_violation_refuses_it_with_its_story(web: httpx.Client) -> None:
    said = problem(put(web, "lamp", UNSAFE), 422, "not-safe")
    assert "\n  1. it is Dark" in said["detail"]
    assert said["detail"].splitlines()[-1].strip().startswith("->")
    problem(web.get("/v1/cells/-/lifecycles/lamp"), 404, "not-found")


@pytest.mark.parametrize(
    ("document", "kind", "status", "code", "says"),
    [
        (NOTE.replace("kind: note", "kind: vm"), "vm", 409, "built-in", "vm is built in"),
        (NOTE, "other", 422, "invalid", "about note"),
        (NOTE.replace("description: S", "parent: shelf\ndescription: S"), "note", 422, "not-sound", "no kind shelf"),
        (NOTE.replace("description: S", "members: page\ndescription: S"), "note", 422, "not-sound", "no kind page"),
        (NOTE.replace("description: S", "presence: true\ndescription: S"), "note", 422, "not-sound", "only sites"),
        (
            NOTE.replace("target: Closed, work: none", "target: (origin), work: scoped"),
            "note",
            422,
            "not-sound",
            "only deploys of systems",
        ),
        (
            NOTE.replace(
                "description: S", "members: note\naggregation: worst\naggregation_order: [Closed]\ndescription: S"
            ),
            "note",
            422,
            "not-sound",
            "note can be Open, and nothing says how bad that is",
        ),
        (NOTE.replace("kind: note", "kind: Note"), "Note", 422, "not-sound", "small letters"),
        (NOTE.replace("name: close", "name: view"), "note", 422, "not-sound", "something else by that name"),
    ],
)
def test_what_cannot_be(web: httpx.Client, document: str, kind: str, status: int, code: str, says: str) -> None:
    assert says in problem(put(web, kind, document), status, code)["detail"]


@pytest.mark.long
def test_another_server_knows_it_at_once(cells: tuple[Cell, Cell]) -> None:
    here, there = cells
    with http(here) as one, http(there) as other:
        put(one, "note", NOTE)
        assert make(other, "/shop/n1").status_code == 202
        put(one, "memo", NOTE.replace("kind: note", "kind: memo"))
        make(one, "/shop/m1", "memo")
        assert other.get("/v1/resources/shop/m1").json()["state"] == "Open"
        put(one, "note", LATER)
        one.post("/v1/resources/shop/n1?action=close")
        assert one.post("/v1/resources/shop/n1?action=reopen").status_code == 202
        # What the other has not heard of yet it reads when it meets it.
        put(one, "note", LATER.replace("Closed", "Shut"))
        one.post("/v1/resources/shop/n1?action=close")
        assert other.get("/v1/resources/shop/n1").json()["state"] == "Shut"
        put(one, "leaf", NOTE.replace("kind: note", "kind: leaf"))
        assert other.get("/v1/cells/-/lifecycles/leaf").status_code == 200
        assert {"note", "memo", "leaf"} <= {
            item["kind"] for item in other.get("/v1/cells/-/lifecycles").json()["items"]
        }


@pytest.mark.long
def test_it_is_there_after_a_restart(cell: Cell, web: httpx.Client) -> None:
    put(web, "note", NOTE)
    make(web, "/shop/n1")
    with Cell(cell.dsn) as again, http(again) as other:
        assert other.get("/v1/resources/shop/n1").json()["state_class"] == "stable"
        assert again.kinds.registered["note"].version == 1


def test_the_same_again_changes_nothing(web: httpx.Client) -> None:
    put(web, "note", NOTE)
    assert put(web, "note", NOTE).json()["version"] == 1
    assert put(web, "note", LATER).json()["version"] == 2


def test_another_document_must_not_lack_what_is_in_use(cell: Cell, web: httpx.Client) -> None:
    put(web, "note", NOTE)
    for n in range(3):
        make(web, f"/shop/n{n}")
        web.post(f"/v1/resources/shop/n{n}?action=close")
    said = problem(put(web, "note", NEVER_CLOSED), 409, "kind-in-use")
    assert said["detail"].endswith("3 in Closed")
    for n in range(3):
        web.post(f"/v1/resources/shop/n{n}?action=delete")
    assert put(web, "note", NEVER_CLOSED).json()["version"] == 2
    # What it was is read by the documents there were, as far as they are known.
    cell.numbered()
    at = web.get("/v1/journal", params={"path": "/shop/n0"}).json()["items"][1]["at"]
    past = web.get("/v1/resources/shop/n0", params={"at": at}).json()
    assert (past["state"], past["state_class"]) == ("Closed", None)


def test_nor_change_what_is_under_way(cell: Cell, web: httpx.Client) -> None:
    force(cell, TASK)
    assert make(web, "/shop/t1", "task", lane="x.y").status_code == 202
    said = problem(put(web, "task", TASK.replace("on_failure: Undefined", "on_failure: Closed")), 409, "kind-in-use")
    assert said["detail"].endswith("1 with create")
    cell.settle("/shop/t1", Trigger.SUCCEEDED)
    assert web.get("/v1/resources/shop/t1").json()["state"] == "Open"


def force(cell: Cell, document: str) -> None:
    """Put a document in force that nobody has explored."""
    lifecycle = load(document)
    seen = {"worlds": 0, "steps": 0, "bounds": {}}
    assert cell.run(cell.store.lifecycles.register(lifecycle, 0, document, [], seen, "a test")) == []
    cell.run(cell.kinds.fresh())


@pytest.mark.long
def test_what_was_decided_by_another_document_is_not_written(cells: tuple[Cell, Cell]) -> None:
    here, there = cells
    with http(here) as one, http(there) as other:
        put(one, "note", NOTE)
        make(one, "/shop/n1")
        make(other, "/shop/n2")  # so that both know the first document
        put(one, "note", NEVER_CLOSED)
        assert not there.kinds.registered["note"].version > 1
        problem(other.post("/v1/resources/shop/n1?action=close"), 422, "unknown-action")
        assert other.get("/v1/resources/shop/n1").json()["state"] == "Open"


@pytest.mark.long
def test_a_kind_goes_when_nothing_is_left_of_it(cells: tuple[Cell, Cell]) -> None:
    here, there = cells
    with http(here) as web, http(there) as other:
        problem(web.delete("/v1/cells/-/lifecycles/vm"), 409, "built-in")
        problem(web.delete("/v1/cells/-/lifecycles/note"), 404, "not-found")
        put(web, "note", NOTE)
        put(web, "page", NOTE.replace("kind: note", "kind: page\nparent: note"))
        assert (
            "page is about note" in problem(web.delete("/v1/cells/-/lifecycles/note"), 409, "kind-in-use")["detail"]
        )
        assert web.delete("/v1/cells/-/lifecycles/page").status_code == 204
        make(other, "/shop/n1")
        assert "1 in Open" in problem(web.delete("/v1/cells/-/lifecycles/note"), 409, "kind-in-use")["detail"]
        here.numbered()
        at = web.get("/v1/journal", params={"path": "/shop/n1"}).json()["items"][0]["at"]
        web.post("/v1/resources/shop/n1?action=delete")
        here.numbered()
        assert web.delete("/v1/cells/-/lifecycles/note").status_code == 204
        problem(web.get("/v1/cells/-/lifecycles/note"), 404, "not-found")
        problem(make(other, "/shop/n3"), 404, "not-found")  # though it has not heard of it yet
        assert web.get("/v1/resources/shop/n1", params={"at": at}).json()["state_class"] == "stable"
        assert put(web, "note", NOTE).json()["version"] == 3


@pytest.mark.long
def test_a_group_asks_its_members(cell: Cell, web: httpx.Client) -> None:
    problem(put(web, "shelf", SHELF), 422, "not-sound")  # there are no notes yet
    put(web, "note", NOTE)
    made = problem(put(web, "shelf", SHELF.replace("members: close", "members: create")), 422, "not-sound")
    assert "members cannot be made by it" in made["detail"]
    assert put(web, "shelf", SHELF).json()["version"] == 1
    make(web, "/shop/s1", "shelf")
    for n in range(3):
        make(web, f"/shop/s1/n{n}")
    asked = web.post("/v1/resources/shop/s1?action=close").json()
    cell.run(cell.idle())
    ended = web.get(f"/v1/operations/{asked['operation']['id']}").json()
    assert (ended["outcome"], ended["remaining"], ended["failed"]) == ("succeeded", 0, 0)
    assert web.get("/v1/resources/shop/s1").json()["state"] == "Closed"
    assert {web.get(f"/v1/resources/shop/s1/n{n}").json()["state"] for n in range(3)} == {"Closed"}
    problem(web.post("/v1/resources/shop/s1?action=delete"), 409, "not-empty")
    assert "shelf is about note" in problem(web.delete("/v1/cells/-/lifecycles/note"), 409, "kind-in-use")["detail"]


def test_those_that_are_built_in_stay(cell: Cell, web: httpx.Client) -> None:
    put(web, "note", NOTE)
    assert [item["kind"] for item in web.get("/v1/cells/-/lifecycles").json()["items"]] == [*KINDS, "note"]


@pytest.mark.long
def test_the_client_registers_too(cell: Cell) -> None:
    with SyncClient(cell.url, timeout=60) as client:
        assert client.register_lifecycle("note", NOTE).version == 1
        assert client.lifecycle("note").registered is not None
        with pytest.raises(InvalidRequest, match="dead-end"):
            client.register_lifecycle("note", NOTE.replace("source: [Open, Closed]", "source: Open"))
        client.unregister_lifecycle("note")
