"""The limits that docs/reference/limits.md states: enforced at admission, and pages bounded in bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from stead.controller.admission.limits import MAX_DEPTH, MAX_LABELS, MAX_SPEC_BYTES
from stead.store.pages import MAX_PAGE_BYTES
from tests.api.cell import Cell

PLACE = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
LARGE = 500_000
"""Bytes of a spec of which a few make a page."""


def vm(**spec: Any) -> dict[str, Any]:
    return {"kind": "vm", "spec": {**PLACE, **spec}}


def rejected(answer: httpx.Response, where: str) -> str:
    """What is said of the field that exceeds a limit."""
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert problem["code"] == "invalid"
    assert [error["location"] for error in problem["errors"]] == [where]
    return str(problem["errors"][0]["message"])


def test_spec_of_more_bytes_than_stated_is_rejected(web: httpx.Client, ns: str) -> None:
    rest = len(json.dumps({**PLACE, "pad": ""}, separators=(",", ":")))
    fits = vm(pad="x" * (MAX_SPEC_BYTES - rest))
    for dry in (True, False):
        body = vm(pad="x" * (MAX_SPEC_BYTES - rest + 1))
        answer = web.post(f"/v1/resources/{ns}/m/g/1", json=body, params={"dry_run": dry})
        assert "524,289 bytes of JSON are more than the 524,288" in rejected(answer, "spec")
    assert web.post(f"/v1/resources/{ns}/m/g/1", json=fits).status_code == 202


def test_spec_that_grows_beyond_the_stated_bytes_is_rejected(web: httpx.Client, cell: Cell, ns: str) -> None:
    cell.put(f"/{ns}/a/s/d", "disk", "CREATED", pad="x" * 300_000)
    more = {"action": "attach", "spec": {"machine": f"/{ns}/a/s/m", "more": "x" * 300_000}}
    assert "more than" in rejected(web.post(f"/v1/resources/{ns}/a/s/d", json=more), "spec")


def test_path_of_more_names_than_stated_is_rejected(web: httpx.Client, ns: str) -> None:
    path = "/".join([ns, *(f"n{n}" for n in range(MAX_DEPTH - 1))])
    assert "33 names are more than the 32" in rejected(web.post(f"/v1/resources/{path}/x", json=vm()), "path")
    assert web.post(f"/v1/resources/{path}", json=vm()).status_code == 202


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        ({f"l{n}": "x" for n in range(MAX_LABELS + 1)}, "labels"),
        ({"x" * 64: "x"}, f"labels.{'x' * 63}"),
        ({"": "x"}, "labels."),
        ({"x": "y" * 201}, "labels.x"),
        ({"x": {"y": "z"}}, "labels.x"),
        (["x"], "labels"),
    ],
    ids=["many", "long-name", "no-name", "long-value", "nested", "list"],
)
def test_labels_beyond_what_is_stated_are_rejected(web: httpx.Client, ns: str, labels: Any, where: str) -> None:
    rejected(web.post(f"/v1/resources/{ns}/m/g/1", json=vm(labels=labels)), f"spec.{where}")


def test_labels_as_many_and_as_long_as_stated_are_accepted(web: httpx.Client, ns: str) -> None:
    labels = {f"{n:02}".ljust(63, "x"): "y" * 200 for n in range(MAX_LABELS)}
    assert web.post(f"/v1/resources/{ns}/m/g/1", json=vm(labels=labels)).status_code == 202


def test_part_of_a_deploy_beyond_what_is_stated_is_rejected(web: httpx.Client, cell: Cell, ns: str) -> None:
    cell.put(f"/{ns}/sys", "system", "stable", lanes=["sim.a"])
    leaf: dict[str, Any] = {"command": ["x"]}
    deep: dict[str, Any] = leaf
    for n in range(MAX_DEPTH - 1):
        deep = {f"n{n}": deep}
    many = {"web": {**leaf, "labels": {f"l{n}": "x" for n in range(MAX_LABELS + 1)}}}
    large = {"web": {**leaf, "env": {"X": "x" * MAX_SPEC_BYTES}}}
    for definition, says in ((deep, "33 names"), (many, "51 labels"), (large, "bytes of JSON")):
        for path, body in (
            (f"/v1/resources/{ns}/sys", {"action": "deploy", "spec": {"definition": definition}}),
            (f"/v1/plans/{ns}/sys", {"definition": definition}),
        ):
            answer = web.post(path, json=body)
            assert answer.status_code == 422, answer.text
            assert says in answer.json()["errors"][0]["message"]


@pytest.fixture(scope="module")
def large(cell: Cell) -> str:
    """A namespace with twelve large resources, each with an operation in progress, and a queue of large requests."""
    ns = cell.namespace()
    with httpx.Client(base_url=cell.url, trust_env=False, timeout=60) as web:
        for n in range(10, 22):
            answer = web.post(f"/v1/resources/{ns}/m/g/{n}", json=vm(pad="x" * LARGE))
            assert answer.status_code == 202, answer.text
        cell.put(f"/{ns}/berlin", "cloudlet")
        cluster = {"kind": "clusterinst", "on_conflict": "queue"}
        assert web.post(f"/v1/resources/{ns}/berlin/c", json=cluster).status_code == 202
        cell.settle(f"/{ns}/berlin/c")
        for _ in range(6):
            body = {"action": "update", "spec": {"pad": "x" * LARGE}, "on_conflict": "queue"}
            assert web.post(f"/v1/resources/{ns}/berlin/c", json=body).status_code == 202
    cell.numbered()
    return ns


def cursors(web: httpx.Client, path: str, below: str) -> Iterator[dict[str, Any]]:
    """All pages of a list that goes on by a cursor, each within the bytes that are stated."""
    params: dict[str, Any] = {"limit": 1000, "below": below, "specs": True}
    while True:
        answer = web.get(path, params=params)
        assert answer.status_code == 200, answer.text
        assert len(answer.content) <= MAX_PAGE_BYTES + LARGE + 20_000
        yield answer.json()
        if answer.json()["next"] is None:
            return
        params["cursor"] = answer.json()["next"]


def test_resources_are_paged_by_bytes(web: httpx.Client, large: str) -> None:
    pages = list(cursors(web, "/v1/resources", f"/{large}/m"))
    paths = [item["path"] for page in pages for item in page["items"]]
    assert paths == [f"/{large}/m/g/{n}" for n in range(10, 22)]
    assert max(len(page["items"]) for page in pages) == 3


def test_operations_are_paged_by_bytes(web: httpx.Client, large: str) -> None:
    pages = list(cursors(web, "/v1/operations", f"/{large}/m"))
    paths = [item["path"] for page in pages for item in page["items"]]
    assert paths == [f"/{large}/m/g/{n}" for n in range(21, 9, -1)]
    running = web.get("/v1/operations", params={"below": f"/{large}/m", "running": True, "limit": 1000})
    assert len(running.content) <= MAX_PAGE_BYTES + 8 * LARGE
    assert running.json()["items"]


def test_journal_is_paged_by_bytes(web: httpx.Client, large: str) -> None:
    found: list[str] = []
    after, end = 0, 1
    while after < end:
        answer = web.get("/v1/journal", params={"path": f"/{large}/m", "limit": 1000, "after": after})
        assert len(answer.content) <= MAX_PAGE_BYTES + LARGE + 20_000
        page = answer.json()
        found += [line["path"] for line in page["items"]]
        after, end = page["next"], page["end"]
    assert found == [f"/{large}/m/g/{n}" for n in range(10, 22)]


def test_queue_is_paged_by_bytes(web: httpx.Client, large: str) -> None:
    (queue,) = web.get("/v1/queues", params={"below": f"/{large}"}).json()["items"]
    answer = web.get(f"/v1/queues{queue['path']}", params={"limit": 1000})
    assert answer.status_code == 200, answer.text
    assert answer.json()["more"]
    assert len(answer.content) <= MAX_PAGE_BYTES + LARGE + 20_000


def test_path_of_more_characters_than_stated_is_rejected(web: httpx.Client, ns: str) -> None:
    path = "/".join([ns, *(f"{n}".ljust(99, "n") for n in range(10))])
    assert web.post(f"/v1/resources/{path}", json=vm()).status_code == 422
    assert web.post(f"/v1/resources/{path[:999]}", json=vm()).status_code == 202


def test_infrastructure_of_more_vms_than_stated_is_rejected(web: httpx.Client, ns: str) -> None:
    groups = [{"name": name, **PLACE, "size": 50_000} for name in ("f", "g")]
    body: dict[str, Any] = {"kind": "mci", "spec": {"subgroups": groups}}
    assert web.post(f"/v1/resources/{ns}/web", json=body, params={"dry_run": True}).status_code == 200
    groups.append({"name": "h", **PLACE})
    assert "100,000" in rejected(web.post(f"/v1/resources/{ns}/web", json=body), "spec.subgroups")


def test_service_of_more_copies_than_stated_is_rejected(web: httpx.Client, cell: Cell, ns: str) -> None:
    cell.put(f"/{ns}/sys", "system", "stable", lanes=["sim.a"])
    for count, expected in ((1001, 422), (1000, 200)):
        body = {"definition": {"web": {"command": ["x"], "count": count}}}
        assert web.post(f"/v1/plans/{ns}/sys", json=body).status_code == expected


@pytest.mark.parametrize("path", ["resources", "operations", "journal", "claims", "queues"])
def test_page_of_more_items_than_stated_is_rejected(web: httpx.Client, path: str) -> None:
    assert web.get(f"/v1/{path}", params={"limit": 1001}).status_code == 422
    assert web.get(f"/v1/{path}", params={"limit": 1000}).status_code == 200
