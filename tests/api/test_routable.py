"""Every address that names an object has the object's namespace or its cell, so that a router needs no look-up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from stead.api.app import openapi
from tests.api.cell import Cell
from tests.api.test_resources import problem, running

ROUTABLE = re.compile(
    r"/v1/cells/\{cell\}/.+"
    r"|/v1/[a-z]+/(\{path\}|\{namespace\}/.+)"
    r"|/tumblebug/ns/\{nsId\}(/.+)?"
    r"|/blazar/\{ns\}/.+"
)
"""Addresses with a cell, with the path of a resource, which begins with its namespace, or with a namespace. The
dialects of CB-Tumblebug and Blazar fix their own addresses: both have the namespace in the same place of each."""

COLLECTIONS = {
    **dict.fromkeys(
        ("/v1/resources", "/v1/operations", "/v1/claims", "/v1/queues", "/v1/leases", "/v1/scaling", "/v1/stuck"),
        "a list below a path or of all namespaces, which a gateway merges",
    ),
    **dict.fromkeys(("/v1/drift", "/v1/tree", "/v1/overview", "/v1/journal", "/v1/events"), "the same"),
    **dict.fromkeys(("/v1/calendar", "/v1/lateness"), "hosts and leases of all namespaces"),
    "/tumblebug/ns": "the list of namespaces, as the dialect has it",
}
"""Addresses that name no object, each with the reason. All of them only read."""

QUERIED = {"/v1/explain": "the resource is in the query, as `path`"}
"""Addresses whose query has the path of the resource; it is required there."""

OF_THE_SERVER = {
    "/livez": "one process",
    "/readyz": "one process",
    "/metrics": "one process",
    "/v1/login": "how to log in at the server that answers",
    "/v1/whoami": "the caller, as the server that answers knows them",
    "/v1/session": "a login at the server that answers, kept in a cookie",
    "/v1/session/login": "the same",
    "/v1/session/back": "the same",
}
"""Addresses of the server itself, each with the reason."""


def unroutable(paths: Mapping[str, Any]) -> Iterator[str]:
    """Addresses that no router could send to the right cell."""
    for address, methods in paths.items():
        if ROUTABLE.fullmatch(address) or address in OF_THE_SERVER:
            continue
        required = [p["name"] for m in methods.values() for p in m.get("parameters", ()) if p.get("required")]
        if (address in COLLECTIONS and set(methods) == {"get"}) or (address in QUERIED and "path" in required):
            continue
        yield address


def test_every_address_names_a_namespace_or_a_cell() -> None:
    paths = openapi()["paths"]
    assert len(paths) > 80
    assert list(unroutable(paths)) == []


def test_every_exception_is_an_address() -> None:
    assert {*COLLECTIONS, *QUERIED, *OF_THE_SERVER} <= set(openapi()["paths"])


@pytest.mark.parametrize(
    "address", ["/v1/operations/{id}", "/v1/tokens/{name}", "/v1/hosts", "/v1/lanes/{lane}/limit"]
)
def test_an_address_without_namespace_and_cell_is_found(address: str) -> None:
    assert list(unroutable({address: {"get": {}}})) == [address]


def test_a_collection_that_is_changed_as_a_whole_is_found() -> None:
    assert list(unroutable({"/v1/queues": {"get": {}, "delete": {}}})) == ["/v1/queues"]


def test_a_request_for_another_cell_is_misdirected(web: httpx.Client) -> None:
    assert web.get("/v1/cells/-/lanes").status_code == 200
    assert web.get("/v1/cells/main/lanes").json() == web.get("/v1/cells/-/lanes").json()
    said = problem(web.get("/v1/cells/elsewhere/lanes"), 421, "other-cell")
    assert "elsewhere" in said["detail"]


def test_an_operation_has_its_namespace_in_its_id(cell: Cell, web: httpx.Client, ns: str) -> None:
    running(cell, web, f"/{ns}/m/g/1")
    made = web.post(f"/v1/resources/{ns}/m/g/1?action=suspend")
    id = made.json()["operation"]["id"]
    namespace, _, uuid = id.partition("/")
    assert namespace == ns
    assert made.headers["location"] == f"/v1/operations/{id}"
    assert web.get(f"/v1/operations/{id}").json()["id"] == id
    assert web.get(f"/v1/resources/{ns}/m/g/1").json()["operation"]["id"] == id
    for method, word in (
        ("GET", ""),
        ("GET", "/members"),
        ("GET", "/timeline"),
        ("GET", "/events"),
        ("POST", "/cancel"),
    ):
        problem(web.request(method, f"/v1/operations/elsewhere/{uuid}{word}"), 404, "not-found")
