"""The cell at a glance: counted by sums, with what is in trouble and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import asyncpg
import httpx
import pytest

from stead.application.health import Health, HealthTable, bad_states
from stead.catalog import KINDS
from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from stead.store.statements import statement
from tests.api.cell import Cell, http
from tests.api.test_groups import ask, group
from tests.api.test_resources import make, running
from tests.databases import Databases


@pytest.fixture(scope="module")
def cell(databases: Databases) -> Iterator[Cell]:
    """One of its own, since all of it is counted."""
    with databases.migrated() as dsn, Cell(dsn) as cell:
        yield cell


@pytest.fixture
def empty(databases: Databases) -> Iterator[Cell]:
    """One in which no other test makes anything."""
    with databases.migrated() as dsn, Cell(dsn) as cell:
        yield cell


@pytest.fixture
def web(cell: Cell) -> Iterator[httpx.Client]:
    with http(cell) as client:
        yield client


def counts(said: dict[str, Any], kind: str) -> dict[str, int]:
    return {one["state"]: one["members"] for one in said["counts"] if one["kind"] == kind}


def test_an_empty_cell_has_nothing_in_it(empty: Cell) -> None:
    with http(empty) as web:
        said = web.get("/v1/overview").json()
    assert (said["counts"], said["unhealthy"], said["in_progress"], said["waiting"]) == ([], [], 0, 0)
    assert said["classes"] == {"stable": 0, "transitional": 0, "final": 0}
    assert len(said["transitions"]) == 60


def test_namespaces_are_summed_and_trouble_is_named_with_its_reason(empty: Cell) -> None:
    with http(empty) as web:
        sums_and_trouble(empty, web)


def sums_and_trouble(cell: Cell, web: httpx.Client) -> None:
    for ns in ("a", "a-b", "a.c", "b"):  # two of them sort between a and what is below it
        running(cell, web, f"/{ns}/m/g/1")
    make(web, "/b/m/g/2")
    cell.settle("/b/m/g/2", Trigger.FAILED, error="no room left")
    make(web, "/b/m/g/3")
    cell.numbered()
    said = web.get("/v1/overview").json()
    assert counts(said, "vm") == {"Running": 4, "Failed": 1, "Creating": 1}
    assert said["classes"] == {"stable": 4, "transitional": 1, "final": 1}
    assert {one["state"]: one["health"] for one in said["counts"]} == {
        "Running": "well",
        "Failed": "trouble",
        "Creating": "moving",
    }
    assert said["in_progress"] == 1
    (first,) = said["unhealthy"]
    assert (first["path"], first["state"], first["state_class"]) == ("/b/m/g/2", "Failed", "final")
    assert first["reason"]
    assert said["position"] == cell.numbered()
    cell.settle("/b/m/g/3")


def test_what_takes_long_is_named_after_what_failed(cell: Cell, web: httpx.Client) -> None:
    make(web, "/slow/m/g/1")
    deadline = KINDS["vm"].state("Creating").timeout
    assert deadline is not None
    later = "UPDATE resources SET timers = jsonb_build_object('deadline', extract(epoch FROM now()) + $1::int) "
    cell.run(_execute(cell.dsn, later + "WHERE path = '/slow/m/g/1'", deadline // 4))
    named = {one["path"]: one for one in web.get("/v1/overview").json()["unhealthy"]}
    assert list(named)[-1] == "/slow/m/g/1"
    assert named["/slow/m/g/1"]["reason"].startswith("Creating for ")
    cell.run(_execute(cell.dsn, later + "WHERE path = '/slow/m/g/1'", deadline))
    assert "/slow/m/g/1" not in {one["path"] for one in web.get("/v1/overview").json()["unhealthy"]}


def test_calls_saved_are_those_of_group_operations(cell: Cell, web: httpx.Client) -> None:
    path = group(cell, web, "calls", 4)
    id = ask(cell, web, path, "suspend")
    for i in range(4):
        cell.settle(f"{path}/g/{i}")
    op = web.get(f"/v1/operations/{id}").json()
    assert op["outcome"] == "succeeded"
    said = web.get("/v1/overview").json()
    assert (said["calls_made"], said["calls_saved"]) == (op["orders"], op["total"] - op["orders"])
    assert said["calls_saved"] > 0


def test_what_is_under_way_is_listed_though_many_use_what_they_share(cell: Cell, web: httpx.Client) -> None:
    use = "INSERT INTO claims (path, mode, operation, used_by)"
    use += " SELECT '/aaa/networks/n', 'i', gen_random_uuid(), '/aaa/m/g/' || i FROM generate_series(1, $1) i"
    cell.run(_execute(cell.dsn, use, 50))
    id = make(web, "/zzz/m/g/1").json()["operation"]["id"]
    listed = web.get("/v1/operations", params={"running": True, "limit": 10, "below": "/zzz"}).json()
    assert ([op["id"] for op in listed["items"]], listed["more"]) == ([id], False)
    assert id in [op["id"] for op in web.get("/v1/operations", params={"running": True, "limit": 10}).json()["items"]]


def test_the_client_sees_it_too(cell: Cell, web: httpx.Client) -> None:
    running(cell, web, "/seen/m/g/1")
    cell.numbered()
    with SyncClient(cell.url) as client:
        assert {one.kind for one in client.overview().counts} >= {"vm"}


def test_each_state_has_a_health() -> None:
    healths = HealthTable(KINDS)
    assert healths.of("vm", "Failed") is Health.TROUBLE
    assert healths.of("vm", "Undefined") is Health.TROUBLE
    assert healths.of("vm", "Terminated") is Health.ENDED
    assert healths.of("vm", "Suspended") is Health.WELL
    assert healths.worst([("vm", "Running", 9), ("vm", "Creating", 2), ("mci", "Failed", 1)]) == (
        Health.TROUBLE,
        "Failed",
    )


def test_the_states_that_are_looked_for_are_all_the_bad_ones() -> None:
    bad = {state for lifecycle in KINDS.values() for state in bad_states(lifecycle)}
    assert set(re.findall(r"'(\w\w+)'", statement("list_unhealthy"))) == bad


@pytest.mark.parametrize(
    ("name", "values", "index"),
    [
        ("list_unhealthy", (20, [""]), "resources_unhealthy"),
        ("list_unhealthy", (20, ["/n", "/o"]), "resources_unhealthy"),
        ("list_in_progress", (100, None), "resources_(due|in_progress)"),  # both hold what is under way alone
        ("count_by_state", (None,), "counts_pkey"),
        ("count_by_state", (["/n"],), "counts_pkey"),
        ("list_namespaces", (), "counts_pkey"),
    ],
)
async def test_it_costs_the_same_however_much_there_is(
    migrated: str, name: str, values: tuple[object, ...], index: str
) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        await connection.execute(
            "INSERT INTO resources (path, kind, state, token)"
            " SELECT '/n/m/g/' || i, 'vm', 'Running', gen_random_uuid()"
            " FROM generate_series(1, 20000) i"
        )
        await connection.execute(
            "INSERT INTO counts SELECT '/n/m' || i, 'vm', 'Running', 1 FROM generate_series(1, 20000) i"
        )
        await connection.execute("ANALYZE")
        plan = "\n".join(r[0] for r in await connection.fetch("EXPLAIN " + statement(name), *values))
    finally:
        await connection.close()
    assert re.search(index, plan)
    assert "Seq Scan on resources" not in plan
    assert "Seq Scan on counts" not in plan


async def _execute(dsn: str, statement: str, *values: object) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement, *values)
    finally:
        await connection.close()
