"""Every endpoint, by every role and by nobody: from the description itself, so a new one without a rule fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from stead.access.access import InvalidAccessRequest
from stead.api.blazar import actions
from stead.lifecycle.document import load
from tests.access.house import NOBODY, ORPHAN, ROLES, House
from tests.description import ENDPOINTS

ALL = {f"{method} {path}" for method, path in ENDPOINTS}
EVERYBODY = frozenset({NOBODY, *ROLES})
KNOWN = frozenset(ROLES)
CELL = frozenset({"viewer", "operator", "admin"})
SEE = CELL | {"viewer@shop", "operator@shop", "admin@shop"}
ACT = frozenset({"operator@shop", "admin@shop", "operator", "admin"})
FORCE = frozenset({"admin@shop", "admin"})
ADMIN = frozenset({"admin"})


@dataclass(frozen=True)
class Rule:
    """Who is let in, and how one would ask."""

    allowed: frozenset[str]
    hidden: bool = True
    """Whoever may not see it is told that it is not there; otherwise, that it is not for them."""
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    seen_by: frozenset[str] = SEE
    """Those who are told no, and not that it is not there."""
    fills: Mapping[str, Callable[[House], str]] = field(default_factory=dict)
    """What the path says."""
    before: Callable[[House], Any] | None = None
    """So that there is something to ask for."""


ARCHIVE = {
    "first": 7,
    "last": 9,
    "until": "2020-01-01T00:00:00Z",
    "file": "f",
    **dict.fromkeys(("previous", "hash", "digest", "sha256"), "0" * 64),
}
POLICY = 'forbid (principal, action == Action::"terminate", resource == Resource::"/none");'


def spare(house: House) -> str:
    """A token that may go."""
    with suppress(InvalidAccessRequest):
        house.token("spare", [("viewer", "shop")])
    return "spare"


def queue(house: House) -> None:
    house.cell.run(house.cell.store.queues.open("/shop/web"))


def orphan(house: House) -> None:
    for _ in range(2):
        house.cell.orphan("sim.a", ORPHAN)


def grant(house: House) -> None:
    house.cell.run(house.cell.store.access.add_grant("user:eve", "viewer", "shop", "a test"))


def policy(house: House) -> None:
    house.cell.run(house.cell.store.access.put_policy("none", POLICY, "a test"))


def scaling(house: House) -> None:
    house.cell.run(house.cell.store.scaling.put("shop", "web", SCALING, SCALING["places"], [""], "a test"))


def booked(house: House) -> None:
    """There is a lease at rest."""
    terms = {"start": "2100-01-01T00:00:00Z", "end": "2100-01-02T00:00:00Z", "reservations": [{"name": "r0"}]}
    house.cell.put(BOOKED, "lease", "PENDING", **terms)


def a_system(house: House) -> str:
    """The path of a system."""
    house.cell.put("/shop/town", "system", "stable", lanes=["sim.a"])
    return "shop/town"


async def token(house: House, path: str) -> str:
    """The id of what is at a path."""
    row = await house.cell.store.resources.read(path)
    assert row is not None
    return str(row.token)


def lease(house: House) -> str:
    """The path of a lease, for which there is a host."""
    house.cell.run(house.cell.store.hosts.put("h2", "rack.a", {}, None))
    terms = {"start": "2100-01-01T00:00:00Z", "end": "2100-01-02T00:00:00Z", "reservations": [{}]}
    with house.as_("admin") as web:
        web.post("/v1/resources/shop/lease", json={"kind": "lease", "spec": terms})
    return "shop/lease"


def host(house: House) -> None:
    house.cell.run(house.cell.store.hosts.put("h1", "rack.a", {}, None))


def own_kind(house: House) -> None:
    """There is a kind of the operator's own."""
    lifecycle, cell = load(NOTE), house.cell
    cell.run(cell.kinds.fresh())
    was = cell.kinds.versions.get("note", 0)
    cell.run(cell.store.lifecycles.register(lifecycle, was, NOTE, [], {"worlds": 3, "steps": 4}, "a test"))


NOTE = """
kind: note
description: Something that is only written down.
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Open, class: stable, description: It is open., observed_as: ''}
actions:
  - {name: create, description: Write it down., source: Absent, target: Open, work: none}
  - {name: delete, description: Forget it., source: Open, target: Absent, work: none}
"""
KIND = {"kind": lambda _: "note"}
GRANTED: dict[str, Callable[[House], str]] = {"lane": lambda _: "none.x", "namespace": lambda _: "none"}
BOOKED = "/shop/booked"
HOST: dict[str, Callable[[House], str]] = {"name": lambda _: "h1"}
SCALING: dict[str, Any] = {
    **{"app": "web", "places": ["/shop/s/c"], "up_above": 100, "down_below": 40},
    **{"maximum": 3, "believed_for": 1},
}
FAILED = {"namespace": lambda _: "shop", "id": lambda house: house.failed("shop").rpartition("/")[2]}
POLICY_OF_SHOP = {"namespace": lambda _: "shop", "name": lambda _: "web"}
MCI = {"nsId": lambda _: "shop", "mciId": lambda _: "web"}
GROUP = {**MCI, "subgroupId": lambda _: "g"}
VM = {**MCI, "vmId": lambda _: "g-1"}
WEB = {"path": lambda _: "shop/web"}
BLAZAR: dict[str, Callable[[House], str]] = {"ns": lambda _: "shop"}
BLAZAR_BOOKED = {**BLAZAR, "id": lambda house: house.cell.run(token(house, BOOKED))}
BLAZAR_HOST = {**BLAZAR, "id": lambda _: "h1"}
BLAZAR_LEASE = {
    **{"name": "other", "start_date": "2100-01-01 00:00", "end_date": "2100-01-02 00:00"},
    "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1}],
}
TOKEN = {"name": "t", "roles": [{"role": "viewer", "namespace": "shop"}]}
NEW = {
    "name": "new",
    "subGroups": [{"name": "g", "specId": "sim+a+small", "imageId": "debian-12", "subGroupSize": 1}],
}
MORE = {"name": "more", "specId": "sim+a+small", "imageId": "debian-12"}
RULES = {
    "GET /livez": Rule(EVERYBODY),
    "GET /readyz": Rule(EVERYBODY),
    "GET /metrics": Rule(CELL, hidden=False),
    "GET /v1/cells/{cell}/doctor": Rule(ADMIN, hidden=False),
    "GET /v1/login": Rule(EVERYBODY),
    "POST /v1/session": Rule(frozenset(), body={"token": "x"}),  # shows something itself: below
    "DELETE /v1/session": Rule(EVERYBODY),
    "GET /v1/session/login": Rule(EVERYBODY),
    "GET /v1/session/back": Rule(EVERYBODY),
    "GET /v1/whoami": Rule(KNOWN),
    "GET /v1/cells/{cell}/lifecycles": Rule(KNOWN),
    "GET /v1/cells/{cell}/lifecycles/{kind}": Rule(KNOWN, fills={"kind": lambda _: "vm"}),
    "PUT /v1/cells/{cell}/lifecycles/{kind}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"document": NOTE}, fills=KIND
    ),
    "DELETE /v1/cells/{cell}/lifecycles/{kind}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, fills=KIND, before=own_kind
    ),
    "GET /v1/resources": Rule(KNOWN),
    "GET /v1/resources/{path}": Rule(SEE, fills=WEB),
    "POST /v1/resources/{path}": Rule(ACT, query={"action": "suspend"}, body={}, fills=WEB),
    "GET /v1/status/{path}": Rule(SEE, fills=WEB),
    "GET /v1/logs/{path}": Rule(SEE, fills=WEB),
    "GET /v1/explain": Rule(SEE, query={"path": "/shop/web", "action": "suspend"}),
    "GET /v1/operations": Rule(KNOWN),
    "GET /v1/operations/{namespace}/{id}": Rule(SEE, fills=FAILED),
    "GET /v1/operations/{namespace}/{id}/members": Rule(SEE, fills=FAILED),
    "GET /v1/operations/{namespace}/{id}/timeline": Rule(SEE, fills=FAILED),
    "GET /v1/operations/{namespace}/{id}/events": Rule(SEE, fills=FAILED),
    "POST /v1/operations/{namespace}/{id}/cancel": Rule(ACT, fills=FAILED),
    "POST /v1/operations/{namespace}/{id}/promote": Rule(ACT, fills=FAILED),
    "POST /v1/operations/{namespace}/{id}/retry": Rule(ACT, body={}, fills=FAILED),
    "GET /v1/stuck": Rule(KNOWN),
    "GET /v1/claims": Rule(KNOWN),
    "GET /v1/queues": Rule(KNOWN),
    "DELETE /v1/cells/{cell}/queues": Rule(frozenset({"operator", "admin"}), hidden=False, seen_by=KNOWN),
    "GET /v1/queues/{path}": Rule(SEE, fills=WEB, before=queue),
    "PUT /v1/queues/{path}": Rule(ACT, fills=WEB),
    "DELETE /v1/queues/{path}": Rule(ACT, fills=WEB, before=queue),
    "GET /v1/quotas/{path}": Rule(SEE, fills=WEB),
    "PUT /v1/quotas/{path}": Rule(ADMIN, fills=WEB, body={"machines": 9}),
    "GET /v1/systems/{path}": Rule(SEE, fills={"path": a_system}),
    "POST /v1/plans/{path}": Rule(SEE, body={"definition": {}}, fills={"path": a_system}),
    "GET /v1/leases": Rule(KNOWN),
    "GET /v1/leases/{path}": Rule(SEE, fills={"path": lease}),
    "GET /v1/lateness": Rule(KNOWN),
    "GET /v1/calendar": Rule(KNOWN),  # when hosts are free; whose they are, for those who see that
    "GET /v1/cells/{cell}/hosts": Rule(KNOWN),
    "PUT /v1/cells/{cell}/hosts/{name}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"lane": "rack.a"}, fills=HOST
    ),
    "DELETE /v1/cells/{cell}/hosts/{name}": Rule(ADMIN, hidden=False, seen_by=KNOWN, fills=HOST, before=host),
    "PUT /v1/cells/{cell}/hosts/{name}/works": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"healthy": False, "reason": "x"}, fills=HOST, before=host
    ),
    "GET /v1/scaling": Rule(KNOWN),
    "PUT /v1/scaling/{namespace}/{name}": Rule(ACT, body=SCALING, fills=POLICY_OF_SHOP),
    "GET /v1/scaling/{namespace}/{name}": Rule(SEE, fills=POLICY_OF_SHOP, before=scaling),
    "DELETE /v1/scaling/{namespace}/{name}": Rule(ACT, fills=POLICY_OF_SHOP, before=scaling),
    "POST /v1/scaling/{namespace}/{name}/demand": Rule(
        ACT, body={"figures": [{"value": 1}]}, fills=POLICY_OF_SHOP, before=scaling
    ),
    "GET /v1/journal": Rule(KNOWN),
    "GET /v1/cells/{cell}/journal/head": Rule(CELL, hidden=False, seen_by=KNOWN),
    "GET /v1/cells/{cell}/journal/archives/next": Rule(
        ADMIN, hidden=False, query={"before": "2020-01-01T00:00:00Z"}, seen_by=KNOWN
    ),
    "POST /v1/cells/{cell}/journal/archives": Rule(ADMIN, hidden=False, body=ARCHIVE, seen_by=KNOWN),
    "GET /v1/cells/{cell}/journal/export": Rule(CELL, hidden=False, seen_by=KNOWN),
    "GET /v1/events": Rule(KNOWN),
    "GET /v1/drift": Rule(KNOWN, query={"refresh": False}),
    "GET /v1/overview": Rule(KNOWN),
    "GET /v1/tree": Rule(KNOWN),
    "GET /v1/cells/{cell}/lanes": Rule(CELL, hidden=False, seen_by=KNOWN),
    "GET /v1/cells/{cell}/orphans": Rule(CELL, hidden=False, seen_by=KNOWN),
    "POST /v1/cells/{cell}/orphans/{lane}/{token}": Rule(
        ADMIN,
        hidden=False,
        seen_by=KNOWN,
        query={"action": "adopt", "path": "/shop/found"},
        fills={"lane": lambda _: "sim.a", "token": lambda _: ORPHAN},
        before=orphan,
    ),
    "GET /v1/cells/{cell}/lane-grants": Rule(KNOWN),
    "PUT /v1/cells/{cell}/lane-grants/{lane}/{namespace}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={}, fills=GRANTED
    ),
    "DELETE /v1/cells/{cell}/lane-grants/{lane}/{namespace}": Rule(ADMIN, hidden=False, seen_by=KNOWN, fills=GRANTED),
    "POST /v1/cells/{cell}/lanes/{lane}/survey": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, fills={"lane": lambda _: "sim.a"}
    ),
    "GET /v1/cells/{cell}/recovery": Rule(ADMIN, hidden=False, seen_by=KNOWN),
    "POST /v1/cells/{cell}/recovery/release": Rule(ADMIN, hidden=False, seen_by=KNOWN),
    "PUT /v1/cells/{cell}/lanes/{lane}/limit": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"members": 9}, fills={"lane": lambda _: "sim.a"}
    ),
    "PUT /v1/cells/{cell}/providers/{provider}/limits": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"members": 9}, fills={"provider": lambda _: "sim"}
    ),
    "GET /v1/cells/{cell}/agents": Rule(CELL, hidden=False, seen_by=KNOWN),
    "POST /v1/cells/{cell}/agents/invitations": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"name": "a", "lanes": ["sim.a"]}
    ),
    "POST /v1/cells/{cell}/agents/join": Rule(
        EVERYBODY, body={"token": "x", "user_key": "x", "request": "x", "proof": "x"}
    ),
    "POST /v1/cells/{cell}/agents/{name}/revoke": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, fills={"name": lambda _: "a"}
    ),
    "GET /v1/cells/{cell}/tokens": Rule(KNOWN),
    "POST /v1/cells/{cell}/tokens": Rule(FORCE, hidden=False, seen_by=KNOWN, body=TOKEN),
    "DELETE /v1/cells/{cell}/tokens/{name}": Rule(FORCE, seen_by=frozenset(), fills={"name": spare}),
    "GET /v1/cells/{cell}/grants": Rule(KNOWN),
    "PUT /v1/cells/{cell}/grants": Rule(
        FORCE, hidden=False, seen_by=KNOWN, query={"subject": "user:eve", "role": "viewer", "namespace": "shop"}
    ),
    "DELETE /v1/cells/{cell}/grants": Rule(
        FORCE,
        hidden=False,
        seen_by=KNOWN,
        query={"subject": "user:eve", "role": "viewer", "namespace": "shop"},
        before=grant,
    ),
    "GET /v1/cells/{cell}/policies": Rule(ADMIN, hidden=False, seen_by=KNOWN),
    "PUT /v1/cells/{cell}/policies/{name}": Rule(
        ADMIN,
        hidden=False,
        seen_by=KNOWN,
        body={"text": POLICY},
        fills={"name": lambda _: "none"},
    ),
    "DELETE /v1/cells/{cell}/policies/{name}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, fills={"name": lambda _: "none"}, before=policy
    ),
    "GET /tumblebug/ns": Rule(KNOWN),
    "GET /tumblebug/ns/{nsId}": Rule(SEE, fills=MCI),
    "GET /tumblebug/ns/{nsId}/control/mci/{mciId}": Rule(ACT, query={"action": "suspend"}, fills=MCI),
    "GET /tumblebug/ns/{nsId}/control/mci/{mciId}/vm/{vmId}": Rule(ACT, query={"action": "reboot"}, fills=VM),
    "GET /tumblebug/ns/{nsId}/mci/{mciId}/vm": Rule(SEE, fills=MCI),
    "DELETE /tumblebug/ns/{nsId}/mci/{mciId}/vm/{vmId}": Rule(ACT, fills=VM),
    "GET /tumblebug/ns/{nsId}/mci": Rule(KNOWN, fills=MCI),
    "POST /tumblebug/ns/{nsId}/mci": Rule(ACT, body=NEW, fills=MCI),
    "POST /tumblebug/ns/{nsId}/mciDynamic": Rule(ACT, body=NEW, fills=MCI),
    "GET /tumblebug/ns/{nsId}/mci/{mciId}": Rule(SEE, fills=MCI),
    "POST /tumblebug/ns/{nsId}/mci/{mciId}": Rule(ACT, query={"action": "suspend"}, fills=MCI),
    "DELETE /tumblebug/ns/{nsId}/mci/{mciId}": Rule(
        ACT, query={"option": "terminate"}, fills={"nsId": lambda _: "shop", "mciId": lambda _: "web"}
    ),
    "GET /tumblebug/ns/{nsId}/mci/{mciId}/subgroup": Rule(SEE, fills=MCI),
    "GET /tumblebug/ns/{nsId}/mci/{mciId}/subgroup/{subgroupId}": Rule(SEE, fills=GROUP),
    **{
        f"POST /tumblebug/ns/{{nsId}}/mci/{{mciId}}/{word}": Rule(ACT, body=MORE, fills=MCI)
        for word in ("subgroup", "subgroupDynamic", "vm", "vmDynamic")
    },
    "POST /tumblebug/ns/{nsId}/mci/{mciId}/subgroup/{subgroupId}": Rule(ACT, body={"numVMsToAdd": 1}, fills=GROUP),
    "GET /tumblebug/ns/{nsId}/mci/{mciId}/vm/{vmId}": Rule(SEE, fills=VM),
    "POST /tumblebug/ns/{nsId}/mci/{mciId}/vm/{vmId}": Rule(ACT, query={"action": "reboot"}, fills=VM),
    "GET /blazar/{ns}/v1/leases": Rule(KNOWN, fills=BLAZAR),
    "POST /blazar/{ns}/v1/leases": Rule(ACT, body=BLAZAR_LEASE, fills=BLAZAR),
    "GET /blazar/{ns}/v1/leases/{id}": Rule(SEE, fills=BLAZAR_BOOKED, before=booked),
    "PUT /blazar/{ns}/v1/leases/{id}": Rule(
        ACT, body={"end_date": "2100-01-03 00:00"}, fills=BLAZAR_BOOKED, before=booked
    ),
    "DELETE /blazar/{ns}/v1/leases/{id}": Rule(ACT, fills=BLAZAR_BOOKED, before=booked),
    "GET /blazar/{ns}/v1/os-hosts": Rule(KNOWN, fills=BLAZAR),
    "POST /blazar/{ns}/v1/os-hosts": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"name": "h9", "lane": "rack.a"}, fills=BLAZAR
    ),
    "GET /blazar/{ns}/v1/os-hosts/properties": Rule(KNOWN, fills=BLAZAR),
    "GET /blazar/{ns}/v1/os-hosts/allocations": Rule(KNOWN, fills=BLAZAR),
    "GET /blazar/{ns}/v1/os-hosts/{id}/allocation": Rule(KNOWN, fills=BLAZAR_HOST, before=host),
    "GET /blazar/{ns}/v1/os-hosts/{id}": Rule(KNOWN, fills=BLAZAR_HOST, before=host),
    "PUT /blazar/{ns}/v1/os-hosts/{id}": Rule(
        ADMIN, hidden=False, seen_by=KNOWN, body={"gpu": True}, fills=BLAZAR_HOST, before=host
    ),
    "DELETE /blazar/{ns}/v1/os-hosts/{id}": Rule(ADMIN, hidden=False, seen_by=KNOWN, fills=BLAZAR_HOST, before=host),
}
LATER = (409, 412, 422)
"""Somebody is let in, and something else is in the way: what state it is in is not the question here."""
UNTOLD = {"GET /v1/session/login", "GET /v1/session/back", "DELETE /v1/session", "POST /v1/session"}
"""Those of the way in, which say in other ways that there is none."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody books anything here, and nobody waits for it."""
    monkeypatch.setattr(actions, "MAX_WAIT", 0.05)


def test_every_endpoint_has_a_rule() -> None:
    assert set(RULES) == ALL


def ask(house: House, role: str, endpoint: str, rule: Rule) -> httpx.Response:
    if rule.before is not None:
        rule.before(house)
    method, path = endpoint.split(" ")
    for name, fill in {"cell": lambda _: "-", **rule.fills}.items():
        path = path.replace("{" + name + "}", fill(house))
    assert not re.search(r"[{}]", path), path
    with house.as_(role) as web:
        if path.endswith("/events"):
            with web.stream("GET", path) as answer:
                return answer
        return web.request(method, path, params=dict(rule.query), json=rule.body)


@pytest.mark.parametrize("endpoint", sorted(ALL))
def test_who_is_let_in(furnished: House, endpoint: str) -> None:
    rule = RULES[endpoint]
    if endpoint in UNTOLD:
        with furnished.as_(NOBODY) as web:
            method, path = endpoint.split(" ")
            assert web.request(method, path, json=rule.body).status_code in (204, 401, 403, 422)
        return
    found = {role: ask(furnished, role, endpoint, rule) for role in (NOBODY, *ROLES)}
    for role, answer in found.items():
        said = f"{role}: {answer.status_code}"
        if role in rule.allowed:
            assert answer.status_code < 300 or answer.status_code in LATER, said
        elif role == NOBODY:
            assert answer.status_code == 401, said
            assert answer.headers["WWW-Authenticate"].startswith("Bearer"), said
        elif rule.hidden and role not in rule.seen_by:
            assert answer.status_code == 404, said
        else:
            assert answer.status_code == 403, said


def test_force_is_a_permission(furnished: House) -> None:
    found = {}
    for role in ROLES:
        with furnished.as_(role) as web:
            answer = web.post(
                "/v1/resources/shop/web/g/1?action=terminate&dry_run=true", json={"force": True, "reason": "a test"}
            )
            real = web.get(
                "/v1/explain", params={"path": "/shop/web/g/1", "action": "terminate", "force": True, "reason": "x"}
            )
            found[role] = (answer.status_code, real.status_code)
            if role in ("viewer", "operator@shop"):
                assert "not-permitted" in [reason["code"] for reason in real.json()["reasons"]]
    assert found["stranger"] == (404, 404)
    for role in ("admin", "admin@shop"):
        assert found[role][0] in (200, 409)
    assert found["viewer@shop"][0] in (200, 409)  # a viewer may rehearse anything
    assert found["operator@shop"][0] == 403
