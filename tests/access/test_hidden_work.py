"""What a tenant reads of hidden work: nothing, from whichever endpoint, before, while and after it is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.access.house import House, house, made
from tests.databases import Databases
from tests.description import ENDPOINTS

MACHINE, FROM, TO = "/shop/space/web", "alphahost", "betahost"
PLACE = "dc.1"
READS = sorted(path for method, path in ENDPOINTS if method == "GET")
FIXED = ("/v1/cells/-/lifecycles", "/v1/session", "/metrics")
"""What is the same whatever is done, and what is no tenant's."""
QUERY: dict[str, dict[str, Any]] = {
    "/v1/explain": {"path": MACHINE, "action": "start"},
    "/v1/drift": {"refresh": False},
    "/v1/operations": {"limit": 100},
    "/v1/cells/-/journal/archives/next": {"before": "2020-01-01T00:00:00Z"},
}


@pytest.fixture(scope="module")
def place(databases: Databases) -> Iterator[House]:
    with databases.migrated() as dsn, house(dsn) as one:
        yield one


def texts(web: httpx.Client, operations: list[str]) -> Iterator[tuple[str, str]]:
    """What each endpoint answers, filled with what there is."""
    for endpoint in READS:
        if endpoint.startswith(FIXED):
            continue
        for id in operations if "{id}" in endpoint else [""]:
            url = endpoint.replace("{path}", MACHINE[1:]).replace("{namespace}/{id}", id)
            if "{" not in url:
                yield url, read(web, url, QUERY.get(endpoint, {}))


def read(web: httpx.Client, url: str, query: dict[str, Any]) -> str:
    """The whole answer; of a stream, what there is until it has nothing more to tell."""
    with web.stream("GET", url, params=query) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer.read().decode()
        lines: list[str] = []
        for line in answer.iter_lines():
            if line.startswith(":") and lines:
                break
            lines.append(line)
        return "\n".join(lines)


def told(web: httpx.Client, operations: list[str]) -> dict[str, list[str]]:
    """By word, the endpoints that tell of a migration."""
    found: dict[str, list[str]] = {}
    for url, text in texts(web, operations):
        for word in ("migrate", FROM, TO, '"phase":"waiting"', '"phase": "waiting"'):
            if word in text:
                found.setdefault(word, []).append(url)
    return found


@pytest.mark.req("S2-06")
def test_tenant_reads_nothing_of_a_migration_anywhere(place: House) -> None:
    cell = place.cell
    with place.as_("admin") as admin, place.as_("operator@shop") as tenant:
        for node in (FROM, TO):
            cell.put(f"/dc/{node}", "node", "ENABLED")
        cell.put("/shop/space", "cloudspace", "DEPLOYED")
        admin.put(f"/v1/cells/-/lane-grants/{PLACE}/shop", json={}).raise_for_status()
        body = {"kind": "machine", "lane": PLACE, "spec": {"node": f"/dc/{FROM}", "cpu": 2}}
        deploys = made(admin, f"/v1/resources{MACHINE}?action=deploy", body)["operation"]["id"]
        cell.settle(MACHINE, node=FROM)
        cell.numbered()
        assert told(tenant, [deploys]) == {}
        where = {"spec": {"node": f"/dc/{TO}"}}
        moves = made(admin, f"/v1/resources{MACHINE}?action=migrate", where)["operation"]["id"]
        cell.numbered()
        assert set(told(admin, [moves])) == {"migrate", FROM, TO}
        assert told(tenant, [deploys, moves]) == {}
        shown = tenant.get(f"/v1/resources{MACHINE}").json()
        assert (shown["hidden"], shown["next_spec"], shown["spec"]) == (None, None, {"cpu": 2})
        # A tenant's request is accepted meanwhile; a second is refused for the first.
        stops = made(tenant, f"/v1/resources{MACHINE}?action=stop", {})["operation"]["id"]
        refused = tenant.post(f"/v1/resources{MACHINE}?action=pause", json={})
        assert (refused.status_code, refused.json()["holder"]["action"]) == (409, "stop")
        cell.numbered()
        assert told(tenant, [deploys, moves, stops]) == {}
        # What would meet the migration elsewhere is refused, and not told of it.
        above = tenant.post("/v1/resources/shop/space?action=disable", json={})
        assert (above.status_code, "migrate" in above.text) == (409, False)
        why = tenant.get("/v1/explain", params={"path": "/shop/space", "action": "disable"})
        assert (why.json()["allowed"], "migrate" in why.text) == (False, False)
        cell.settle(MACHINE, node=TO)
        cell.settle(MACHINE, node=TO)
        cell.numbered()
        assert told(tenant, [deploys, moves, stops]) == {}
        assert json.loads(read(admin, f"/v1/operations/{moves}", {}))["outcome"] == "succeeded"
