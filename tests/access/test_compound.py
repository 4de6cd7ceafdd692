"""Actions with effects on other resources: a policy rejects each effect there as it would by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.access.house import VM, House, made
from tests.tiers import first_fast

KEEP: dict[str, Any] = {"labels": {"keep": "yes"}}
PLACE: dict[str, Any] = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
MANY = 10_000


def forbid(house: House, *actions: str, when: str = 'resource.hasTag("keep")') -> None:
    scope = ", ".join(f'Action::"{action}"' for action in actions)
    text = f"forbid (principal, action in [{scope}], resource) when {{ {when} }};"
    with house.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/keep", json={"text": text}).status_code == 204


def infrastructure(house: House, namespace: str = "shop") -> None:
    house.cell.put(f"/{namespace}/web", "mci", "Running")
    house.cell.put(f"/{namespace}/web/g", "subgroup", "Running", **PLACE)
    for n in (1, 2):
        house.cell.put(f"/{namespace}/web/g/{n}", "vm", "Running", **PLACE, **(KEEP if n == 2 else {}))


def space(house: House, *, disk: str = "CREATED", machine: str = "HALTED") -> None:
    house.cell.put("/shop/acme", "account", "CONFIRMED")
    house.cell.put("/shop/acme/one", "cloudspace", "DEPLOYED")
    house.cell.put("/shop/acme/one/m", "machine", machine)
    house.cell.put("/shop/acme/one/d", "disk", disk, machine="/shop/acme/one/m", **KEEP)
    house.cell.put("/shop/acme/one/n", "machine", machine, **KEEP)


def system(house: House) -> None:
    house.cell.put("/shop/sys", "system", "stable", lanes=["sim.a"])
    house.cell.put("/shop/sys/db", "service", "stable", command=["db"], **KEEP)
    house.cell.put("/shop/sys/web", "service", "stable", command=["web"])


def job(house: House) -> None:
    house.cell.put("/shop/sys", "system", "stable", lanes=["sim.a"])
    house.cell.put("/shop/sys/load", "job", "succeeded", command=["load"], **KEEP)


def cluster(house: House) -> None:
    house.cell.put("/shop/berlin", "cloudlet")
    house.cell.put("/shop/berlin/c", "clusterinst")
    house.cell.put("/shop/berlin/c/app", "appinst", **KEEP)


def node(house: House) -> None:
    house.cell.put("/shop/rack", "node", "ENABLED")
    house.cell.put("/bank/acme/one/m", "machine", "RUNNING", node="/shop/rack", **KEEP)


def lease(house: House) -> None:
    house.cell.put("/shop/lab", "lease", "ERROR")
    house.cell.put("/shop/lab/r0", "reservation", "error", **KEEP)


def nothing(house: House) -> None:
    """There is nothing yet."""


GROUP = {"name": "g", **PLACE, "size": 2}
WITHOUT_DB = {"definition": {"web": {"command": ["web"]}}}
CASES: list[tuple[str, Callable[[House], None], str, dict[str, Any], tuple[str, ...]]] = [
    ("group", infrastructure, "/shop/web", {"action": "terminate"}, ("terminate",)),
    ("group-delete", infrastructure, "/shop/web", {"action": "delete"}, ("remove",)),
    ("group-delete-word", infrastructure, "/shop/web", {"action": "delete"}, ("delete",)),
    ("scale-in", infrastructure, "/shop/web/g", {"action": "scale-in", "spec": {"size": 1}}, ("remove",)),
    (
        "create",
        nothing,
        "/shop/web",
        {"kind": "mci", "spec": {"subgroups": [GROUP | KEEP]}},
        ("create",),
    ),
    ("deploy-removes", system, "/shop/sys", {"action": "deploy", "spec": WITHOUT_DB}, ("delete",)),
    (
        "deploy-makes",
        nothing,
        "/shop/sys",
        {"action": "deploy", "spec": {"definition": {"db": {"command": ["db"], **KEEP}}}},
        ("create",),
    ),
    (
        "deploy-changes",
        system,
        "/shop/sys",
        {"action": "deploy", "spec": {"definition": {"db": {"command": ["x"]}, "web": {"command": ["web"]}}}},
        ("update",),
    ),
    ("teardown", system, "/shop/sys", {"action": "teardown"}, ("delete",)),
    ("system-delete", system, "/shop/sys", {"action": "delete"}, ("delete",)),
    ("system-delete-job", job, "/shop/sys", {"action": "delete"}, ("delete",)),
    ("cloudspace-disable", lambda h: space(h, machine="RUNNING"), "/shop/acme/one", {"action": "disable"}, ("stop",)),
    ("cloudspace-delete", space, "/shop/acme/one", {"action": "delete"}, ("delete",)),
    (
        "cloudspace-delete-attached",
        lambda h: space(h, disk="ASSIGNED"),
        "/shop/acme/one",
        {"action": "delete"},
        ("delete-with-machine",),
    ),
    ("account-disable", lambda h: space(h, machine="RUNNING"), "/shop/acme", {"action": "disable"}, ("stop",)),
    ("account-delete", space, "/shop/acme", {"action": "delete"}, ("delete",)),
    ("account-destroy", space, "/shop/acme", {"action": "destroy"}, ("destroy",)),
    (
        "machine-delete",
        lambda h: space(h, disk="ASSIGNED"),
        "/shop/acme/one/m",
        {"action": "delete"},
        ("delete-with-machine",),
    ),
    ("cluster-delete", cluster, "/shop/berlin/c", {"action": "delete"}, ("delete",)),
    ("node-maintain", node, "/shop/rack", {"action": "maintain"}, ("migrate",)),
    ("lease-delete", lease, "/shop/lab", {"action": "delete"}, ("release",)),
]


@pytest.mark.parametrize(("build", "path", "body", "actions"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_compound_action_with_a_forbidden_effect_is_rejected(
    empty: House, build: Callable[[House], None], path: str, body: dict[str, Any], actions: tuple[str, ...]
) -> None:
    build(empty)
    if body.get("action") == "deploy" and build is nothing:
        empty.cell.put("/shop/sys", "system", "stable", lanes=["sim.a"])
    forbid(empty, *actions)
    with empty.as_("admin") as web:
        for dry in (True, False):
            answer = web.post(f"/v1/resources{path}", json=body, params={"dry_run": dry})
            assert answer.status_code == 403, answer.text
            assert "refused by the policy keep" in answer.json()["detail"]
        if not body.get("spec"):
            said = web.get("/v1/explain", params={"path": path, "action": body["action"]}).json()
            assert not said["allowed"], said
        assert web.delete("/v1/cells/-/policies/keep").status_code == 204
        answer = web.post(f"/v1/resources{path}", json=body)
        assert answer.status_code == 202, answer.text


def test_system_plan_with_a_forbidden_effect_is_rejected(empty: House) -> None:
    system(empty)
    forbid(empty, "delete")
    with empty.as_("admin") as web:
        assert web.post("/v1/plans/shop/sys", json={"definition": WITHOUT_DB["definition"]}).status_code == 403


def test_effect_that_does_not_happen_is_not_judged(empty: House) -> None:
    """A service that a deploy leaves as it is, and a VM that is not among those that go."""
    system(empty)
    empty.cell.put("/shop/web", "mci", "Running")
    empty.cell.put("/shop/web/g", "subgroup", "Running", **PLACE)
    empty.cell.put("/shop/web/g/1", "vm", "Running", **PLACE, **KEEP)
    empty.cell.put("/shop/web/g/2", "vm", "Running", **PLACE)
    forbid(empty, "delete", "update", "remove")
    kept = {"db": {"command": ["db"], **KEEP}, "new": {"command": ["new"]}}
    with empty.as_("admin") as web:
        made(web, "/v1/resources/shop/sys", {"action": "deploy", "spec": {"definition": kept}})
        made(web, "/v1/resources/shop/web/g", {"action": "scale-in", "spec": {"size": 1}})


WHEN = [
    'resource.hasTag("keep")',
    'resource.hasTag("last") && resource.getTag("last") == "n9999"',
    'resource.path == "/shop/web/g/9999"',
    '(if context.force then principal.name == "x" else resource.hasTag("keep"))',
]


@pytest.mark.parametrize("when", first_fast(WHEN))
def test_one_of_ten_thousand_label_sets_is_forbidden_group_is_rejected(empty: House, when: str) -> None:
    empty.cell.put("/shop/web", "mci", "Running")
    empty.cell.put("/shop/web/g", "subgroup", "Running", **PLACE)
    insert = (
        "INSERT INTO resources (path, kind, state, token, spec) SELECT '/shop/web/g/' || n, 'vm', 'Running', "
        "gen_random_uuid(), jsonb_build_object('labels', jsonb_build_object('n' || n, 'v', 'last', 'n' || n) || "
        """CASE WHEN n = 9999 THEN '{"keep": "yes"}' ELSE '{}' END::jsonb) FROM generate_series(1, $1::int) n"""
    )
    empty.cell.run(empty.cell._hand.execute(insert, MANY))
    forbid(empty, "terminate", when=when)
    with empty.as_("admin") as web:
        answer = web.post("/v1/resources/shop/web", json={"action": "terminate"}, timeout=120)
        assert answer.status_code == 403, answer.text
        assert "terminate of /shop/web/g/9999" in answer.json()["detail"]
        empty.cell.run(empty.cell._hand.execute("DELETE FROM resources WHERE path = '/shop/web/g/9999'"))
        rest = web.post("/v1/resources/shop/web", json={"action": "terminate"}, params={"dry_run": True}, timeout=120)
        assert rest.status_code == 200, rest.text


def test_forbidden_member_that_the_caller_may_not_see_is_not_named(empty: House) -> None:
    infrastructure(empty)
    forbid(empty, "terminate", "view")
    with empty.as_("operator@shop") as web:
        answer = web.post("/v1/resources/shop/web", json={"action": "terminate"})
    assert answer.status_code == 403
    assert "/shop/web/g/2" not in json.dumps(answer.json())


def test_retry_with_an_effect_that_was_forbidden_meanwhile_is_rejected(empty: House) -> None:
    infrastructure(empty)
    id = "0b5f1d1c-2f51-4d7e-9d5e-3f8b5f8a6c02"
    failed = (
        "INSERT INTO ended_operations (id, action, kind, path, principal, outcome) "
        "VALUES ($1, 'terminate', 'mci', '/shop/web', 'token:admin', 'failed')"
    )
    empty.cell.run(empty.cell._hand.execute(failed, id))
    forbid(empty, "terminate")
    with empty.as_("admin") as web:
        answer = web.post(f"/v1/operations/shop/{id}/retry")
        assert answer.status_code == 403, answer.text
        assert web.delete("/v1/cells/-/policies/keep").status_code == 204
        answer = web.post(f"/v1/operations/shop/{id}/retry")
        assert answer.status_code == 202, answer.text


def test_direct_and_compound_agree_on_a_vm(empty: House) -> None:
    labelled: dict[str, Any] = {**VM, "spec": {**PLACE, **KEEP}}
    forbid(empty, "create")
    with empty.as_("operator@shop") as web:
        assert web.post("/v1/resources/shop/m/g/1", json=labelled).status_code == 403
        body = {"kind": "mci", "spec": {"subgroups": [GROUP | KEEP]}}
        assert web.post("/v1/resources/shop/web", json=body).status_code == 403
        made(web, "/v1/resources/shop/web", {"kind": "mci", "spec": {"subgroups": [GROUP]}})
