"""Policies: what the roles may, what an operator's own policies add and forbid, and which of them decided."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from stead.access.access import REFRESH_SECONDS
from stead.access.caller import Caller, anonymous
from stead.access.policies import NO_POLICY, InvalidPolicy, Policies, PolicyResource
from stead.catalog import KINDS
from tests.access.house import VM, House, made
from tests.cli.remote import NOWHERE, command

ACTIONS = sorted({action.name for kind in KINDS.values() for action in kind.actions})
WEB = PolicyResource("/shop/web", "mci")
ROOT = PolicyResource("/", "cell")


def caller(*roles: str, name: str = "user:ann", groups: tuple[str, ...] = ()) -> Caller:
    pairs = (role.partition("@")[::2] for role in roles)
    return Caller(name, groups=groups, roles=frozenset((role, where or "*") for role, where in pairs))


@pytest.mark.parametrize(
    ("role", "view", "act", "force", "admin", "cell"),
    [
        ("viewer@shop", True, False, False, False, False),
        ("operator@shop", True, True, False, False, False),
        ("admin@shop", True, True, True, True, False),
        ("viewer@bank", False, False, False, False, False),
        ("viewer", True, False, False, False, True),
        ("operator", True, True, False, False, True),
        ("admin", True, True, True, True, True),
    ],
)
def test_what_the_roles_may(role: str, view: bool, act: bool, force: bool, admin: bool, cell: bool) -> None:
    policies, who = Policies(), caller(role)
    assert policies.evaluate(who, "view", WEB).allowed is view
    assert policies.evaluate(who, "suspend", WEB).allowed is act
    assert policies.evaluate(who, "suspend", WEB, force=True).allowed is force
    assert policies.evaluate(who, "pause", WEB, admin=True).allowed is admin
    assert policies.evaluate(who, "view", ROOT).allowed is cell
    assert policies.evaluate(who, "suspend", WEB, dry_run=True).allowed is view


@pytest.mark.req("S0-02")
def test_observed_state_is_accepted_by_admins_and_whomever_a_policy_permits_it() -> None:
    policies = Policies()
    assert not policies.evaluate(caller("operator@shop"), "accept-observed", WEB).allowed
    assert policies.evaluate(caller("operator@shop"), "refresh", WEB).allowed
    assert policies.evaluate(caller("admin@shop"), "accept-observed", WEB).allowed
    text = 'permit (principal, action == Action::"accept-observed", resource in Resource::"/shop");'
    given = Policies({"repair": text}, ["accept-observed", "refresh"])
    assert given.evaluate(caller("operator@shop"), "accept-observed", WEB).allowed


def test_the_roles_look_at_namespaces_alone() -> None:
    assert Policies().looks_at == {"namespace"}


def test_whoever_is_let_in_unasked_may_everything() -> None:
    assert Policies({"none": "forbid (principal, action, resource);"}).evaluate(anonymous(), "delete", WEB).allowed


OWN: list[tuple[str, str, set[str]]] = [
    ('forbid (principal, action, resource) when { resource.kind == "sshkey" };', "kind", {"namespace", "kind"}),
    ('forbid (principal, action, resource) when { resource.path like "/shop/*" };', "path", {"namespace", "path"}),
    ('forbid (principal, action, resource in Resource::"/shop");', "in", {"namespace", "path"}),
    (
        'forbid (principal, action, resource) when { resource.hasTag("env") && resource.getTag("env") == "prod" };',
        "labels",
        {"namespace", "labels"},
    ),
    ("forbid (principal, action, resource) when { context.force };", "force", {"namespace"}),
]


@pytest.mark.parametrize(("text", "name", "looks"), OWN, ids=[name for _, name, _ in OWN])
def test_an_answer_is_remembered_by_what_the_policies_look_at(text: str, name: str, looks: set[str]) -> None:
    policies = Policies({name: text}, ACTIONS)
    assert policies.looks_at == looks
    who = caller("admin")
    other = PolicyResource("/bank/x", "vm")
    same = {
        "kind": PolicyResource("/bank/x", "sshkey"),
        "path": PolicyResource("/shop/x", "vm"),
        "in": PolicyResource("/shop/x/y", "vm"),
        "labels": PolicyResource("/bank/x", "vm", {"env": "prod"}),
        "force": other,
    }[name]
    for _ in range(2):  # asked, and remembered
        assert policies.evaluate(who, "view", other).allowed
        verdict = policies.evaluate(who, "view", same, force=name == "force")
        assert not verdict.allowed
        assert verdict.policies == (name,)
        assert verdict.says == f"refused by the policy {name}"


def test_a_policy_permits_what_no_role_does() -> None:
    policies = Policies(
        {
            "helpers": 'permit (principal in Group::"help", action == Action::"reboot", resource) when { '
            'resource.kind == "vm" };'
        },
        ACTIONS,
    )
    helper = caller(groups=("help",))
    assert policies.evaluate(helper, "reboot", PolicyResource("/shop/web/g/1", "vm")).allowed
    assert not policies.evaluate(helper, "reboot", WEB).allowed
    assert policies.evaluate(helper, "suspend", PolicyResource("/shop/web/g/1", "vm")).says == NO_POLICY
    assert not policies.evaluate(caller(name="token:help"), "reboot", PolicyResource("/shop/web/g/1", "vm")).allowed


def test_a_program_is_no_person_of_its_name() -> None:
    policies = Policies({"ann": 'permit (principal == User::"user:ann", action, resource);'})
    assert policies.evaluate(caller(), "view", WEB).allowed
    assert not policies.evaluate(caller(name="token:ann"), "view", WEB).allowed


def test_a_policy_that_cannot_be_evaluated_refuses() -> None:
    policies = Policies({"odd": 'forbid (principal, action, resource) when { resource.owner == "x" };'})
    verdict = policies.evaluate(caller("admin"), "view", WEB)
    assert not verdict.allowed
    assert verdict.policies == ("odd",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// \0\npermit (principal, action, resource);",
        "permit",
        "permit (principal, action, resource)",
        'permit (principal, action == Action::"suspnd", resource);',
        'permit (principal == Robot::"x", action, resource);',
        'permit (principal, action, resource) when { resource.owner == "x" };',
        "permit (principal == ?principal, action, resource);",
        "permit (principal, action, resource) when { context.fore };",
        '@id("admin") permit (principal, action, resource);',
    ],
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidPolicy, match="mine: "):
        Policies({"mine": text}, ACTIONS)


def test_labels_in_a_spec_decide(empty: House) -> None:
    policy = 'forbid (principal, action == Action::"terminate", resource) when { resource.hasTag("keep") };'
    with empty.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/keep", json={"text": policy}).status_code == 204
        time.sleep(REFRESH_SECONDS + 0.2)
        labelled: dict[str, Any] = {**VM, "spec": {**VM["spec"], "labels": {"keep": "yes"}}}  # type: ignore[dict-item]
        made(web, "/v1/resources/shop/a/b/1", labelled)
        made(web, "/v1/resources/shop/a/b/2", VM)
        for n in (1, 2):
            empty.cell.settle(f"/shop/a/b/{n}")
        refused = web.post("/v1/resources/shop/a/b/1?action=terminate")
        assert refused.status_code == 403
        assert "refused by the policy keep" in refused.json()["detail"]
        assert web.post("/v1/resources/shop/a/b/2?action=terminate").status_code == 202
        said = web.get("/v1/explain", params={"path": "/shop/a/b/1", "action": "terminate"}).json()
        assert said["allowed"] is False
        assert said["reasons"][0]["code"] == "not-permitted"
        assert "keep" in said["reasons"][0]["message"]
        assert "terminate" not in said["allowed_actions"]
        assert web.delete("/v1/cells/-/policies/keep").status_code == 204
        time.sleep(REFRESH_SECONDS + 0.2)
        assert web.post("/v1/resources/shop/a/b/1?action=terminate").status_code == 202


def test_a_group_is_no_way_round(empty: House) -> None:
    """What is not for somebody to do to a member is not for them to do to all of a group."""
    gone = 'action in [Action::"terminate", Action::"remove"]'
    policy = f'forbid (principal, {gone}, resource) when {{ resource.hasTag("keep") }};'
    empty.furnish()
    with empty.as_("admin") as web:
        labelled: dict[str, Any] = {**VM, "spec": {**VM["spec"], "labels": {"keep": "yes"}}}  # type: ignore[dict-item]
        made(web, "/v1/resources/shop/web/g/3", labelled)
        empty.cell.settle("/shop/web/g/3")
        assert web.put("/v1/cells/-/policies/keep", json={"text": policy}).status_code == 204
        time.sleep(REFRESH_SECONDS + 0.2)
        for action, word in (("terminate", "terminate"), ("delete", "remove")):
            refused = web.post(f"/v1/resources/shop/web?action={action}")
            assert refused.status_code == 403, refused.text
            assert f"{word} of /shop/web/g/3 is not for you: refused by the policy keep" in refused.json()["detail"]
        said = web.get("/v1/explain", params={"path": "/shop/web", "action": "terminate"}).json()
        assert said["allowed"] is False
        assert said["reasons"][0]["code"] == "not-permitted"
        assert web.post("/v1/resources/shop/web?action=suspend").status_code == 202
        assert web.post("/v1/resources/bank/web?action=terminate").status_code == 202


def test_who_may_for_a_group_need_not_for_each_member(empty: House) -> None:
    policy = (
        'permit (principal, action in [Action::"view", Action::"suspend"], resource) when { resource.kind == "mci" };'
    )
    empty.furnish()
    nobody = empty.token("suspender", [("viewer", "bank")])
    with empty.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/groups", json={"text": policy}).status_code == 204
    time.sleep(REFRESH_SECONDS + 0.2)
    with empty.showing({"Authorization": f"Bearer {nobody}"}) as web:
        assert web.post("/v1/resources/shop/web?action=suspend").status_code == 202
        assert web.post("/v1/resources/shop/web/g/1?action=suspend").status_code == 404


def test_a_kind_of_members_is_no_way_round(empty: House) -> None:
    policy = 'forbid (principal, action == Action::"terminate", resource) when { resource.kind == "vm" };'
    empty.furnish()
    with empty.as_("admin") as web:
        assert web.put("/v1/cells/-/policies/vms", json={"text": policy}).status_code == 204
        time.sleep(REFRESH_SECONDS + 0.2)
        assert web.post("/v1/resources/shop/web?action=terminate").status_code == 403
        assert web.post("/v1/resources/shop/web?action=suspend").status_code == 202


def test_a_bad_policy_changes_nothing(furnished: House) -> None:
    with furnished.as_("admin") as web:
        answer = web.put("/v1/cells/-/policies/odd", json={"text": "permit (all);"})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["location"] == "body.text"
        assert web.get("/v1/cells/-/policies").json()["items"] == []


CASES = """
policies: [freeze.cedar]
cases:
  - {who: "user:ann", roles: [operator@shop], action: suspend, path: /shop/web, expect: allow, by: operator}
  - {who: "user:ann", roles: [operator@shop], action: terminate, path: /shop/web, expect: refuse, by: freeze}
  - {who: "user:ann", roles: [operator@shop], action: suspend, path: /shop/web, force: true, expect: refuse}
"""


def test_policies_are_tried_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stead = command(NOWHERE, monkeypatch)
    (tmp_path / "freeze.cedar").write_text('forbid (principal, action == Action::"terminate", resource);')
    file = tmp_path / "cases.yaml"
    file.write_text(CASES)
    answer = stead("policy", "test", str(file))
    assert answer.code == 0, answer
    assert answer.err == "3 cases, 0 wrong\n"
    file.write_text(CASES.replace("expect: refuse, by: freeze", "expect: allow"))
    answer = stead("policy", "test", str(file))
    assert answer.code == 3
    assert "WRONG user:ann terminate /shop/web: refuse (refused by the policy freeze)" in answer.out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cases: []", "`cases` is missing or empty"),
        ("cases: [1]", "case 1 is no mapping"),
        ("cases: [{who: ann, action: a, path: /x, expect: allow}]", "who is user:NAME"),
        ('cases: [{who: "user:a", action: a, path: x, expect: allow}]', "a path begins with /"),
        ('cases: [{who: "user:a", action: a, path: /x, expect: yes}]', "expect is to be a str"),
        ('cases: [{who: "user:a", action: a, path: /x, expect: allow, groups: [{a: b}]}]', "a group is to be a str"),
        ('cases: [{who: "user:a", action: a, path: /x, expect: maybe}]', "allow or refuse"),
        ('cases: [{who: "user:a", action: a, path: /x, expect: allow, role: viewer}]', "no field role"),
        ('cases: [{who: "user:a", action: a, path: /x, expect: allow, roles: [king]}]', "no role king"),
        ("policies: [none.cedar]\ncases: [{}]", "none.cedar"),
        ("[", "cases.yaml"),
    ],
)
def test_cases_that_make_no_sense_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "cases.yaml"
    file.write_text(text)
    answer = command(NOWHERE, monkeypatch)("policy", "test", str(file))
    assert answer.code == 2
    assert says in answer.err
