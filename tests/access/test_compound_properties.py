"""Compound actions against every policy: rejected exactly where one of their effects would be rejected by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import cedarpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stead.access.access import Access
from stead.access.caller import Caller
from stead.access.policies import Policies
from stead.application import ActionRequest
from stead.application.authorized_commands import dry_run_action
from stead.application.compound import levels
from stead.build import Authenticator
from stead.catalog import KINDS
from stead.lifecycle.decision import Code, Rejection
from tests.api.cell import EVENTS, Cell
from tests.databases import Databases
from tests.tiers import is_full

ACTIONS = sorted({action.name for kind in KINDS.values() for action in kind.actions})
PLACE = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
WHO = Caller("user:ann", groups=("ops",), roles=frozenset({("admin", "*")}))


class Thing(NamedTuple):
    """A resource of a tree."""

    path: str
    kind: str
    state: str
    labels: dict[str, str]
    spec: dict[str, Any]
    lane: str = ""


class Case(NamedTuple):
    """A tree, what is requested, and what that does to which resource."""

    tree: list[Thing]
    asked: ActionRequest
    effects: list[tuple[set[str], Thing]]


labels = st.dictionaries(st.sampled_from(["keep", "env"]), st.sampled_from(["yes", "prod"]), max_size=2)
lanes = st.sampled_from(["sim.a", "lab.one"])


@st.composite
def infrastructures(draw: st.DrawFn) -> Case:
    tree = [Thing("/s/web", "mci", "Running", draw(labels), {})]
    for group in ("f", "g")[: draw(st.integers(1, 2))]:
        spec = {**PLACE, "region": draw(st.sampled_from(["a", "b"]))}
        lane = f"sim.{spec['region']}"
        tree.append(Thing(f"/s/web/{group}", "subgroup", "Running", draw(labels), spec, lane))
        for n in range(1, draw(st.integers(2, 4))):
            tree.append(Thing(f"/s/web/{group}/{n}", "vm", "Running", draw(labels), spec, lane))
    action = draw(st.sampled_from(["suspend", "reboot", "terminate", "delete"]))
    asks = {action, "remove" if action == "delete" else action}
    if draw(st.booleans()):
        return Case(tree, ActionRequest("/s/web", action), [(asks, one) for one in tree[1:]])
    group = tree[1].path
    members = [one for one in tree if one.kind == "vm" and one.path.startswith(f"{group}/")]
    if draw(st.booleans()):
        action = "terminate" if action == "delete" else action
        return Case(tree, ActionRequest(group, action), [({action}, one) for one in members])
    size = draw(st.integers(0, len(members) - 1))
    effects = [({"scale-in", "remove"}, one) for one in members[size:]]
    return Case(tree, ActionRequest(group, "scale-in", spec={"size": size}), effects)


@st.composite
def created(draw: st.DrawFn) -> Case:
    common = draw(labels)
    groups, effects = [], []
    for name in ("f", "g")[: draw(st.integers(1, 2))]:
        region, size, own = draw(st.sampled_from(["a", "b"])), draw(st.integers(1, 2)), draw(labels)
        groups.append({"name": name, **PLACE, "region": region, "size": size, "labels": own})
        made = [Thing(f"/s/web/{name}", "subgroup", "", {**common, **own}, {}, f"sim.{region}")]
        made += [
            Thing(f"/s/web/{name}/{n}", "vm", "", {**common, **own}, {}, f"sim.{region}") for n in range(1, size + 1)
        ]
        shared = {"network": f"networks/sim.{region}.default"}
        shared["securitygroup"] = f"securitygroups/sim.{region}.default.default"
        made += [Thing(f"/s/{path}", kind, "", {}, {}, f"sim.{region}") for kind, path in shared.items()]
        effects += [({"create"}, one) for one in made]
    return Case([], ActionRequest("/s/web", "create", "mci", {"subgroups": groups, "labels": common}), effects)


@st.composite
def systems(draw: st.DrawFn) -> Case:
    tree = [Thing("/s/sys", "system", "stable", draw(labels), {"lanes": ["sim.a"]})]
    names = ["a", "b", "c/d", "c/e"]
    for name in names[: draw(st.integers(0, 4))]:
        kind, state = draw(st.sampled_from([("service", "stable"), ("job", "succeeded")]))
        marks = draw(labels)
        spec = {"command": [name]}
        tree.append(Thing(f"/s/sys/{name}", kind, state, marks, spec, draw(lanes)))
    action = draw(st.sampled_from(["deploy", "teardown", "delete"]))
    if action != "deploy":
        return Case(tree, ActionRequest("/s/sys", action), [({action, "delete"}, one) for one in tree[1:]])
    definition: dict[str, Any] = {}
    effects = [({"deploy", "delete"}, one) for one in tree[1:]]
    there = {one.path: one for one in tree[1:]}
    for name in names:
        old = there.get(f"/s/sys/{name}")
        what = draw(st.sampled_from(["none", "same", "other"]))
        if what == "none":
            continue
        leaf: dict[str, Any] = {"command": [name if what == "same" else "other"]}
        marks = draw(labels) if old is None or what == "other" else old.labels
        leaf |= {"labels": marks} if marks else {}
        if old is not None and old.kind == "job":
            leaf["kind"] = "job"
        branch, _, last = name.rpartition("/")
        (definition.setdefault(branch, {}) if branch else definition)[last or name] = leaf
        new = Thing(f"/s/sys/{name}", old.kind if old else "service", "", marks, {}, old.lane if old else "sim.a")
        effects = [effect for effect in effects if effect[1].path != new.path]
        if old is None:
            effects.append(({"deploy", "create"}, new))
        elif what == "other":
            word = "run" if old.kind == "job" else "update"
            effects += [({"deploy", word}, old), ({"deploy", word}, new)]
    return Case(tree, ActionRequest("/s/sys", "deploy", spec={"definition": definition}), effects)


SPACE = {
    "disable": {"machine": {"stop"}},
    "delete": {"machine": {"delete"}, "disk": {"delete", "delete-with-machine"}},
}
ACCOUNT = {
    "disable": {"cloudspace": {"disable"}, **SPACE["disable"]},
    "delete": {"cloudspace": {"delete"}, **SPACE["delete"]},
    "destroy": {
        "cloudspace": {"delete", "destroy"},
        "machine": {"delete", "destroy"},
        "disk": {"delete", "delete-with-machine", "destroy"},
    },
}


@st.composite
def accounts(draw: st.DrawFn) -> Case:
    tree = [Thing("/s/acme", "account", "CONFIRMED", draw(labels), {})]
    for space in ("one", "two")[: draw(st.integers(1, 2))]:
        tree.append(Thing(f"/s/acme/{space}", "cloudspace", "DEPLOYED", draw(labels), {}, draw(lanes)))
        for n in range(draw(st.integers(0, 2))):
            state = draw(st.sampled_from(["RUNNING", "HALTED", "DELETED"]))
            tree.append(Thing(f"/s/acme/{space}/m{n}", "machine", state, draw(labels), {}, "sim.a"))
            disk = {"machine": f"/s/acme/{space}/m{n}"}
            tree.append(Thing(f"/s/acme/{space}/d{n}", "disk", "ASSIGNED", draw(labels), disk, "sim.a"))
    whole = draw(st.sampled_from(["account", "cloudspace"]))
    top = "/s/acme" if whole == "account" else "/s/acme/one"
    plan = ACCOUNT if whole == "account" else SPACE
    action = draw(st.sampled_from(sorted(plan)))
    below = [one for one in tree if one.path.startswith(f"{top}/")]
    effects = [({action, *plan[action][one.kind]}, one) for one in below if one.kind in plan[action]]
    return Case(tree, ActionRequest(top, action), effects)


@st.composite
def others(draw: st.DrawFn) -> Case:
    """A site, a cluster, a machine with its disks, a node with its machines, a lease with its hosts."""
    which = draw(st.sampled_from(["site", "cluster", "machine", "node", "lease"]))
    many = draw(st.integers(0, 3))
    if which == "cluster":
        tree = [Thing("/s/berlin", "cloudlet", "Ready", {}, {}, "edge.s.berlin")]
        tree.append(Thing("/s/berlin/c", "clusterinst", "Ready", draw(labels), {}, "edge.s.berlin"))
        parts = [
            Thing(f"/s/berlin/c/{n}", "appinst", "Ready", draw(labels), {}, "edge.s.berlin") for n in range(many)
        ]
        return Case(tree + parts, ActionRequest("/s/berlin/c", "delete"), [({"delete"}, one) for one in parts])
    if which == "site":
        tree = [Thing("/s/berlin", "cloudlet", "Offline", draw(labels), {}, "edge.s.berlin")]
        parts = [Thing("/s/berlin/c", "clusterinst", "Ready", draw(labels), {}, "edge.s.berlin")]
        parts += [
            Thing(f"/s/berlin/c/{n}", "appinst", "Ready", draw(labels), {}, "edge.s.berlin") for n in range(many)
        ]
        asked = ActionRequest("/s/berlin", "forget", reason="the machine burnt down")
        return Case(tree + parts, asked, [({"forget"}, one) for one in parts])
    if which == "lease":
        tree = [Thing("/s/lab", "lease", "ERROR", draw(labels), {})]
        parts = [Thing(f"/s/lab/r{n}", "reservation", "error", draw(labels), {}, draw(lanes)) for n in range(many)]
        return Case(tree + parts, ActionRequest("/s/lab", "delete"), [({"delete", "release"}, one) for one in parts])
    if which == "node":
        tree = [Thing("/s/rack", "node", "ENABLED", draw(labels), {}, "sim.a")]
        on = {"node": "/s/rack"}
        parts = [Thing(f"/t/x/y/m{n}", "machine", "RUNNING", draw(labels), on, "sim.a") for n in range(many)]
        return Case(
            tree + parts, ActionRequest("/s/rack", "maintain"), [({"maintain", "migrate"}, one) for one in parts]
        )
    tree = [Thing("/s/x", "account", "CONFIRMED", {}, {}), Thing("/s/x/y", "cloudspace", "DEPLOYED", {}, {}, "sim.a")]
    tree.append(Thing("/s/x/y/m", "machine", "HALTED", draw(labels), {}, "sim.a"))
    on = {"machine": "/s/x/y/m"}
    parts = [Thing(f"/s/x/y/d{n}", "disk", "ASSIGNED", draw(labels), on, "sim.a") for n in range(many)]
    action = draw(st.sampled_from(["delete", "destroy"]))
    return Case(
        tree + parts, ActionRequest("/s/x/y/m", action), [({action, "delete-with-machine"}, one) for one in parts]
    )


CASES = st.one_of(infrastructures(), created(), systems(), accounts(), others())
CONDITIONS = [
    'resource.hasTag("keep")',
    'resource.hasTag("env") && resource.getTag("env") == "prod"',
    'resource.hasTag("keep") && !resource.hasTag("env")',
    "resource.hasTag(resource.kind) || resource.hasTag(principal.name)",
    '(if context.dry_run then resource else resource).hasTag("keep")',
    'resource.lane like "lab.*"',
    'resource.lane == "sim.b"',
    'resource.kind in_set ["vm", "disk", "job"]',
    'resource.path like "*/2"',
    'resource.path like "/s/*/one/*" && resource.hasTag("env")',
    'resource in Resource::"/s/web/g"',
    'resource has lane && resource.namespace == "t"',
]


@st.composite
def policies(draw: st.DrawFn) -> dict[str, str]:
    found = {}
    for n in range(draw(st.integers(1, 3))):
        who = draw(
            st.sampled_from(["principal", "principal", 'principal in Group::"ops"', 'principal in Group::"x"'])
        )
        words = draw(st.lists(st.sampled_from(ACTIONS), max_size=8, unique=True))
        one = [f'Action::"{word}"' for word in words]
        what = "action" if not one else f"action == {one[0]}" if len(one) == 1 else f"action in [{', '.join(one)}]"
        scope = draw(
            st.sampled_from(["resource", "resource", 'resource in Resource::"/s/web"', "resource is Resource"])
        )
        condition = draw(st.sampled_from(CONDITIONS))
        if "in_set" in condition:
            condition = '["vm", "disk", "job"].contains(resource.kind)'
        effect = draw(st.sampled_from(["forbid", "forbid", "permit"]))
        # Otherwise the caller does not see the one that is named, and is told that it is not there.
        unless = 'unless { action == Action::"view" }' if effect == "forbid" else ""
        found[f"p{n}"] = f"{effect} ({who}, {what}, {scope}) when {{ {condition} }} {unless};"
    return found


def forbids(texts: dict[str, str], action: str, thing: Thing) -> bool:
    """Whether a policy forbids it: asked of Cedar itself, with all that there is to know."""
    parts = thing.path.strip("/").split("/")
    above = ["/", *("/" + "/".join(parts[:depth]) for depth in range(1, len(parts)))]
    roles: dict[str, list[str]] = {"viewer": [], "operator": [], "admin": ["*"]}
    who = {"type": "User", "id": WHO.name}
    attrs = {"namespace": parts[0], "kind": thing.kind, "path": thing.path, "lane": thing.lane}
    entities: list[dict[str, Any]] = [
        {"uid": who, "attrs": {"name": "ann", **roles}, "parents": [{"type": "Group", "id": "ops"}]},
        {
            "uid": {"type": "Resource", "id": thing.path},
            "attrs": attrs,
            "tags": thing.labels,
            "parents": [{"type": "Resource", "id": path} for path in above],
        },
    ]
    request = {
        "principal": who,
        "action": {"type": "Action", "id": action},
        "resource": {"type": "Resource", "id": thing.path},
        "context": {"force": False, "dry_run": True, "admin": False},
    }
    answer = cedarpy.is_authorized(request, "\n".join(t for t in texts.values() if t.startswith("forbid")), entities)
    return bool(answer.diagnostics.reasons or answer.diagnostics.errors)


class World:
    """A database, and the engine over it."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        access = Access(cell.store, ACTIONS)
        access._looked = float("inf")
        self.access = access
        self.service = replace(cell.service, access=access)

    async def answer(self, case: Case, texts: dict[str, str]) -> object:
        rows = []
        for one in case.tree:
            spec = one.spec | ({"labels": one.labels} if one.labels else {})
            rows.append((one.path, one.kind, one.state, one.lane, json.dumps(spec)))
        insert = (
            "INSERT INTO resources (path, kind, state, lane, token, spec) "
            "VALUES ($1, $2, $3, $4, gen_random_uuid(), $5)"
        )
        event = "INSERT INTO lease_events (lease, kind, at, status) VALUES ($1, $2, now() + '1 day', $3)"
        booked = {one.path.rpartition("/")[0] for one in case.tree if one.kind == "reservation"}
        async with self.cell._hand.acquire() as hand, hand.transaction():
            await hand.execute("DELETE FROM lease_events")
            await hand.execute("DELETE FROM resources")
            await hand.executemany(insert, rows)
            for lease in booked:
                for name, status in zip(("start_lease", "end_lease"), EVENTS["error"], strict=True):
                    await hand.execute(event, lease, name, status)
        self.access.policies = Policies(texts, ACTIONS)
        return await dry_run_action(self.service, case.asked, WHO)


@pytest.fixture(scope="module")
def world(databases: Databases) -> Iterator[World]:
    with databases.migrated() as dsn, Cell(dsn, Authenticator()) as cell:
        yield World(cell)


@settings(max_examples=2000 if is_full() else 100, deadline=None)
@given(data=st.data())
def test_compound_action_is_rejected_exactly_where_an_effect_is_forbidden(world: World, data: st.DataObject) -> None:
    case, texts = data.draw(CASES), data.draw(policies())
    asked = case.asked
    row = next((one for one in case.tree if one.path == asked.path), None)
    named = asked.spec.get("labels", {})
    top = row or Thing(asked.path, asked.kind, "", named, {})
    lanes = {one.lane for _, one in case.effects if one.lane} if asked.kind == "mci" else set()
    if (asked.action == "deploy" and row is not None) or (row is not None and row.kind == "system"):
        lanes = {"sim.a"}
    own = [top._replace(lane=lane) for lane in sorted(lanes)] or [top]
    direct = [one.path for one in own if forbids(texts, asked.action, one)]
    effects = [
        (word, one.path)
        for words, one in case.effects
        for word in {*words, asked.action}
        if forbids(texts, word, one)
    ]
    answer = world.cell.run(world.answer(case, texts))
    rejected = isinstance(answer, Rejection) and answer.code is Code.NOT_PERMITTED
    assert rejected == bool(direct or effects), (answer, direct, effects)


def test_every_compound_action_of_the_catalog_is_generated() -> None:
    """A new kind with effects on others belongs in the property."""
    found = {
        (kind.kind, action.name)
        for kind in KINDS.values()
        for action in kind.actions
        if any(levels(KINDS, kind.kind, action.name))
    }
    assert {kind for kind, _ in found} == {
        "mci",
        "subgroup",
        "cloudspace",
        "account",
        "cloudlet",
        "clusterinst",
        "lease",
        "system",
    }
