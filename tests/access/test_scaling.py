"""A policy that follows demand may do no more than whoever put it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.access.house import House
from tests.access.test_every_endpoint import SCALING

FENCE = """
forbid (principal == Token::"token:operator-in-shop", action == Action::"delete", resource in Resource::"/shop/b");
"""
METER = """
permit (principal == Token::"token:stranger", action in [Action::"demand", Action::"view"], resource)
when { resource.namespace == "shop" };
"""


@pytest.mark.req("S1-12")
def test_whoever_puts_it_has_to_be_permitted_what_it_will_do(empty: House) -> None:
    both: dict[str, Any] = {**SCALING, "places": ["/shop/a/c", "/shop/b/c"]}
    with empty.as_("admin") as admin, empty.as_("operator@shop") as web:
        assert admin.put("/v1/cells/-/policies/fence", json={"text": FENCE}).status_code == 204
        answer = web.put("/v1/scaling/shop/web", json=both)
        assert (answer.status_code, answer.json()["code"]) == (403, "not-permitted")
        assert "delete of /shop/b/c/web-1 is not for you: refused by the policy fence" in answer.json()["detail"]
        assert web.put("/v1/scaling/shop/web", json={**both, "places": ["/shop/a/c"]}).status_code == 200
        assert admin.put("/v1/scaling/shop/web", json=both).status_code == 200


@pytest.mark.parametrize(
    "when",
    [
        'action == Action::"create" && resource.path == "/shop/a/c/web-3"',
        'action == Action::"delete" && resource.hasTag("keep")',
    ],
    ids=["path", "label"],
)
def test_policy_of_which_one_instance_is_forbidden_is_rejected(empty: House, when: str) -> None:
    text = f'forbid (principal == Token::"token:operator-in-shop", action, resource) when {{ {when} }};'
    scaled: dict[str, Any] = {**SCALING, "places": ["/shop/a/c"], "maximum": 3}
    empty.cell.put("/shop/a/c/web-1", "appinst", labels={"made-by": "policy:shop/web", "keep": "yes"})
    with empty.as_("admin") as admin, empty.as_("operator@shop") as web:
        assert admin.put("/v1/cells/-/policies/fence", json={"text": text}).status_code == 204
        assert web.put("/v1/scaling/shop/web", json=scaled).status_code == 403
        assert web.put("/v1/scaling/shop/other", json={**scaled, "app": "other"}).status_code == 200
        assert admin.put("/v1/scaling/shop/web", json=scaled).status_code == 200


@pytest.mark.req("S1-12")
def test_a_program_may_tell_the_demand_and_nothing_else(empty: House) -> None:
    figures = {"figures": [{"value": 1}]}
    with empty.as_("admin") as admin, empty.as_("stranger") as web:
        assert admin.put("/v1/scaling/shop/web", json=SCALING).status_code == 200
        assert web.post("/v1/scaling/shop/web/demand", json=figures).status_code == 404
        assert web.get("/v1/scaling").json()["items"] == []
        assert admin.put("/v1/cells/-/policies/meter", json={"text": METER}).status_code == 204
        assert web.post("/v1/scaling/shop/web/demand", json=figures).status_code == 200
        assert len(web.get("/v1/scaling").json()["items"]) == 1
        assert web.delete("/v1/scaling/shop/web").status_code == 403
        assert web.put("/v1/scaling/shop/web", json=SCALING).status_code == 403
