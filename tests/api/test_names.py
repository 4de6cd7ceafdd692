"""Names: free once the object is gone for good, for any kind; what was there before is in the journal."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from stead.catalog import KINDS
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import Actor, StateClass
from tests.api.cell import Cell
from tests.api.test_resources import problem

ADMIN = {"x-actor": "admin"}
ENDS = [
    (kind.kind, state.name)
    for kind in KINDS.values()
    for state in kind.states
    if kind.frees(state.name) and kind.kind not in ("reservation", "event")
]
"""Kinds whose objects are gone for good, and the state that says so; parts of leases are made by their lease."""


def making(lifecycle: Lifecycle) -> str:
    """The first action that makes one."""
    names = (a.name for a in lifecycle.actions if lifecycle.initial.name in a.source)
    return next(name for name in names if name != "assign")


def make(web: httpx.Client, path: str, kind: str, **spec: Any) -> httpx.Response:
    body = {"kind": kind, "lane": "dc.1", "spec": spec}
    return web.post(f"/v1/resources{path}?action={making(KINDS[kind])}", json=body, headers=ADMIN)


def test_objects_of_the_datacenter_are_gone_for_good() -> None:
    assert {kind for kind, _ in ENDS} == {"machine", "cloudspace", "account", "disk", "image", "node"}
    for lifecycle in KINDS.values():
        for state in lifecycle.states:
            if lifecycle.frees(state.name):
                assert state.cls is StateClass.FINAL


@pytest.mark.req("S2-01")
@pytest.mark.parametrize(("kind", "state"), ENDS)
def test_name_of_object_that_is_gone_is_free_again(
    cell: Cell, web: httpx.Client, ns: str, kind: str, state: str
) -> None:
    path = f"/{ns}" if kind == "account" else f"/{ns}/x"
    cell.put(path, kind, state, old=True)
    before = cell.run(cell.store.resources.read(path))
    dry = web.post(
        f"/v1/resources{path}?action={making(KINDS[kind])}&dry_run=true",
        json={"kind": kind, "lane": "dc.1"},
        headers=ADMIN,
    )
    assert (dry.status_code, dry.json()["state"]) == (200, KINDS[kind].initial.name), dry.text
    made = make(web, path, kind, new=True)
    assert made.status_code in (200, 202), made.text
    now = cell.run(cell.store.resources.read(path))
    assert before is not None
    assert now is not None
    spec = {name: value for name, value in now.spec.items() if name != "node"}  # which may be chosen for it
    assert (spec, now.facts, now.token != before.token, now.id != before.id) == ({"new": True}, {}, True, True)
    assert now.snapshot.fence > before.snapshot.fence
    cell.numbered()
    lines = web.get("/v1/journal", params={"path": path}, headers=ADMIN).json()["items"]
    assert [line["detail"] for line in lines if line["path"] == path] == [making(KINDS[kind])]
    problem(make(web, path, kind, again=True), 409, "in-progress" if now.snapshot.operation else "wrong-state")


@pytest.mark.parametrize(("kind", "state"), ENDS)
def test_request_without_a_kind_is_about_the_object_that_is_gone(
    cell: Cell, web: httpx.Client, ns: str, kind: str, state: str
) -> None:
    path = f"/{ns}" if kind == "account" else f"/{ns}/x"
    cell.put(path, kind, state, old=True)
    before = cell.run(cell.store.resources.read(path))
    answer = web.post(f"/v1/resources{path}?action={making(KINDS[kind])}", json={}, headers=ADMIN)
    assert problem(answer, 409, "wrong-state")["allowed_actions"] == []
    assert cell.run(cell.store.resources.read(path)) == before


def test_name_of_one_kind_is_free_for_another(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/x"
    cell.put(path, "machine", "DESTROYED")
    assert make(web, path, "disk", size=1).status_code == 202
    assert web.get(f"/v1/resources{path}").json()["kind"] == "disk"


def test_name_of_machine_waits_for_its_disks(cell: Cell, web: httpx.Client, ns: str) -> None:
    path, disk = f"/{ns}/x", f"/{ns}/d"
    cell.put(path, "machine", "DESTROYED")
    cell.put(disk, "disk", "ASSIGNED", machine=path)
    problem(make(web, path, "machine"), 409, "wrong-state")
    cell.put(disk, "disk", "DELETED", machine=path)
    assert make(web, path, "machine").status_code == 202


def test_of_two_who_take_a_name_one_gets_it(cell: Cell, web: httpx.Client, ns: str) -> None:
    path = f"/{ns}/x"
    cell.put(path, "image", "DESTROYED")
    assert [make(web, path, "image", n=n).status_code for n in (1, 2)] == [202, 409]
    assert Actor.USER in (KINDS["image"].action("create") or KINDS["image"].actions[0]).actors
