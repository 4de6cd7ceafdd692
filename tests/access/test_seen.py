"""What one sees: everything that is for one, and nothing else, in every list."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from stead.access.access import REFRESH_SECONDS
from tests.access.house import ROLES, VM, House, made

LISTS = (
    "/v1/resources",
    "/v1/operations",
    "/v1/operations?running=true",
    "/v1/claims",
    "/v1/queues",
    "/v1/journal",
    "/v1/drift?refresh=false",
    "/v1/tree",
    "/v1/tree?below=/shop",
    "/v1/tree?below=/bank",
    "/v1/overview",
)


@pytest.fixture(scope="module")
def lived_in(furnished: House) -> House:
    """With something under way in both namespaces, and something in trouble."""
    with furnished.as_("admin") as web:
        for namespace in ("shop", "bank"):
            made(web, f"/v1/resources/{namespace}/web/g/1?action=suspend", {})
            made(web, f"/v1/resources/{namespace}/lost/g/1", VM)
            furnished.cell.rest(f"/{namespace}/lost/g/1", "Failed")
    furnished.cell.numbered()
    return furnished


@pytest.mark.parametrize("where", LISTS)
def test_a_list_has_what_is_for_one_and_nothing_else(lived_in: House, where: str) -> None:
    for role, roles in ROLES.items():
        spaces = {namespace for _, namespace in roles}
        with lived_in.as_(role) as web:
            text = web.get(where).raise_for_status().text
        for namespace in ("shop", "bank"):
            theirs = bool(spaces & {namespace, "*"})
            named = f'"/{namespace}' in text
            expected = theirs and ("below" not in where or f"below=/{namespace}" in where)
            assert named is expected, f"{role} {namespace}"


def test_the_overview_counts_what_one_sees(lived_in: House) -> None:
    def vms(role: str) -> int:
        with lived_in.as_(role) as web:
            counts = web.get("/v1/overview").json()["counts"]
        return sum(int(count["members"]) for count in counts if count["kind"] == "vm")

    assert vms("viewer@shop") + vms("stranger") == vms("viewer")
    assert vms("viewer@shop") == vms("stranger") == 3
    with lived_in.as_("viewer@shop") as web:
        said = web.get("/v1/overview").json()
    assert said["transitions"] is None
    assert said["agents_connected"] is None
    with lived_in.as_("stranger") as web, lived_in.as_("viewer") as all_:
        theirs, whole = (each.get("/v1/overview").json()["in_progress"] for each in (web, all_))
    assert said["in_progress"] > 0
    assert said["in_progress"] + theirs == whole
    assert [one["path"] for one in said["unhealthy"]] == ["/shop/lost/g/1"]


def lines(events: Iterator[str]) -> Iterator[dict[str, object]]:
    for line in events:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_the_stream_tells_what_is_for_one_and_goes_on(lived_in: House) -> None:
    with lived_in.as_("viewer@shop") as web, web.stream("GET", "/v1/events?after=0") as stream:
        events = stream.iter_lines()
        seen = lines(events)
        first = [next(seen) for _ in range(3)]
        with lived_in.as_("admin") as admin:
            made(admin, "/v1/resources/bank/web/g/2?action=suspend", {})
            made(admin, "/v1/resources/shop/web/g/2?action=suspend", {})
        while (last := next(seen))["path"] != "/shop/web/g/2" or last["detail"] != "suspend":
            first.append(last)
        assert {str(line["path"]).split("/")[1] for line in [*first, last]} == {"shop"}


def test_a_policy_hides_a_kind_in_every_list(lived_in: House) -> None:
    policy = (
        'forbid (principal, action, resource) when { resource.kind == "vm" } unless { principal.name == "admin" };'
    )
    with lived_in.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/no-vms", json={"text": policy}).status_code == 204
    try:
        time.sleep(REFRESH_SECONDS + 0.2)
        for where in LISTS:
            with lived_in.as_("viewer") as web:
                text = web.get(where).raise_for_status().text
            assert "/g/1" not in text, where
        with lived_in.as_("viewer") as web:
            assert web.get("/v1/resources/shop/web/g/1").status_code == 404
            assert web.get("/v1/resources/shop/web").status_code == 200
    finally:
        with lived_in.as_("admin") as web:
            assert web.delete("/v1/cells/-/policies/no-vms").status_code == 204


def test_what_one_may_not_see_is_told_as_what_is_not_there(lived_in: House) -> None:
    with lived_in.as_("stranger") as web:
        for words in ("", "?at=2026-01-01T00:00:00Z"):
            there, not_there = (web.get(f"/v1/resources/shop/{name}{words}").json() for name in ("web", "none"))
            assert there["detail"].replace("/web", "/none") == not_there["detail"]
        there, not_there = (web.post(f"/v1/resources/shop/{name}?action=suspend").json() for name in ("web", "none"))
        assert there["detail"].replace("/web", "/none") == not_there["detail"]
        there, not_there = (
            web.get("/v1/explain", params={"path": f"/shop/{name}", "action": "suspend"}).json()
            for name in ("web", "none")
        )
        assert there["detail"].replace("/web", "/none") == not_there["detail"]


SECRET = {"kind": "network", "lane": "sim.a", "spec": {"labels": {"secret": "yes"}, "cidr": "10.66.0.0/16"}}
PLAIN = {"kind": "network", "lane": "sim.a", "spec": {"cidr": "10.0.0.0/16"}}
HIDE = 'forbid (principal, action == Action::"view", resource) when { resource.hasTag("secret") } unless { %s };'


def test_resource_that_was_hidden_stays_hidden_after_its_deletion(empty: House) -> None:
    path = "/v1/resources/shop/net"
    with empty.as_("admin") as web, empty.as_("viewer@shop") as theirs:
        policy = HIDE % 'principal.admin.contains("*")'
        assert web.put("/v1/cells/-/policies/hide", json={"text": policy}).status_code == 204
        ids = [made(web, path, SECRET)["operation"]["id"]]
        empty.cell.settle("/shop/net")

        def hidden() -> None:
            empty.cell.numbered()
            for where in ("/v1/journal", "/v1/journal?path=/shop/net", "/v1/operations"):
                text = theirs.get(where).raise_for_status().text
                assert "10.66" not in text, where
                assert not any(id in text for id in ids), where
            for id in ids:
                assert theirs.get(f"/v1/operations/{id}").status_code == 404
                assert theirs.get(f"/v1/operations/{id}/timeline").status_code == 404

        hidden()
        ids.append(made(web, f"{path}?action=delete", {})["operation"]["id"])
        hidden()
        empty.cell.settle("/shop/net")
        assert web.get(path).status_code == 404
        hidden()
        # Another one takes its place, which is for everybody.
        new = made(web, path, PLAIN)["operation"]["id"]
        hidden()
        assert theirs.get(path).status_code == 200
        assert theirs.get(f"/v1/operations/{new}").status_code == 200
        assert new in theirs.get("/v1/journal").text
        assert all(id in web.get("/v1/journal").text for id in (*ids, new))


def test_resource_that_was_never_hidden_is_seen_after_its_deletion(empty: House) -> None:
    path = "/v1/resources/shop/net"
    with empty.as_("admin") as web, empty.as_("viewer@shop") as theirs:
        assert web.put("/v1/cells/-/policies/hide", json={"text": HIDE % "false"}).status_code == 204
        id = made(web, path, PLAIN)["operation"]["id"]
        empty.cell.settle("/shop/net")
        made(web, f"{path}?action=delete", {})
        empty.cell.settle("/shop/net")
        web.post("/v1/resources/shop/none?action=delete", json={})
        empty.cell.numbered()
        assert theirs.get(path).status_code == 404
        assert theirs.get(f"/v1/operations/{id}").json()["path"] == "/shop/net"
        assert id in theirs.get("/v1/journal").text


def test_what_is_not_known_of_a_resource_that_is_gone_hides_it(empty: House) -> None:
    """Its labels were told in a part of the journal that is archived by now."""
    path = "/v1/resources/shop/net"
    with empty.as_("admin") as web, empty.as_("viewer@shop") as theirs:
        made(web, path, PLAIN)
        empty.cell.settle("/shop/net")
        id = made(web, f"{path}?action=delete", {})["operation"]["id"]
        empty.cell.settle("/shop/net")
        empty.cell.run(empty.cell._hand.execute("DELETE FROM journal WHERE change ? 'spec'"))
        assert theirs.get(f"/v1/operations/{id}").status_code == 200
        assert web.put("/v1/cells/-/policies/hide", json={"text": HIDE % "false"}).status_code == 204
        assert theirs.get(f"/v1/operations/{id}").status_code == 404
