"""No kind, no field and no way of asking brings a namespace to a lane that it was not given.

What is tried is taken from the catalog and from the schemas: a new kind is tried by itself, and a new field that
looks like a lane fails here until it is said how it is guarded.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from itertools import product
from typing import Any

import msgspec
import pytest

from stead.access.lane_use import named
from stead.catalog import KINDS, infrastructure, scaling, tree
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.steps import lease_spec
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.document import load
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor
from stead.store import Store
from tests.action_requests import AuthorizedRequest, changed, requested
from tests.description import OPENAPI

OTHERS = "edge.b.berlin"
MINE = "edge.a.one"
OWN = """
kind: kiosk
description: Something of an operator's own.
states:
  - {name: Absent, class: absent, description: There is none.}
  - {name: Making, class: transitional, description: It is being made., timeout: 10m}
  - {name: Open, class: stable, description: It is open.}
  - {name: Broken, class: stable, description: It is broken., observed_as: ''}
actions:
  - {name: create, description: Make it., source: Absent, via: Making, target: Open, on_failure: Broken}
"""
ALL = {**KINDS, "kiosk": load(OWN)}
BOOKED = {"reservation"}
"""Kinds that nothing but a booking makes."""


@pytest.fixture
async def door(strict: str) -> AsyncIterator[Admission]:
    async with Store.open(strict, connections=3) as store:
        yield Admission(TransitionExecutor(store, ALL, time.time))


def beginnings(lifecycle: Lifecycle) -> Iterator[tuple[str, Actor]]:
    """The actions that make something of the kind, each with an actor that may ask for it."""
    for action in lifecycle.actions:
        if (
            lifecycle.initial.name in action.source
            and action.actors
            and not (lifecycle.presence and action.name != "create")
        ):
            yield action.name, Actor(action.actors[0])


MAKING = [(kind, action, actor) for kind in sorted(ALL) for action, actor in beginnings(ALL[kind])]


async def surrounded(door: Admission, kind: str, below: str) -> tuple[str, dict[str, Any]]:
    """The path and the spec of something whose surroundings are there."""
    path, spec, lifecycle = below, dict[str, Any](), ALL[kind]
    for place, need in enumerate(reversed(lifecycle.preconditions)):
        at = f"{below}/by{place}" if need.field else f"{path}/in{place}"
        spec |= {need.field: at} if need.field else {}
        path = path if need.field else at
        insert = "INSERT INTO resources (path, kind, state, token) VALUES ($1, $2, $3, gen_random_uuid())"
        await door.executor.store.pool.execute(insert, at, need.kind, need.states[0])
    return f"{path}/x", spec


async def asked(door: Admission, wish: AuthorizedRequest) -> Code | None:
    """Why it was rejected."""
    answer = await door.admit(*wish)
    if isinstance(answer, Accepted):
        return None
    assert isinstance(answer, Rejection), answer
    return answer.code


async def test_every_kind_is_made_on_no_lane_but_an_allowed_one(door: Admission) -> None:
    for number, (kind, action, actor) in enumerate(MAKING):
        path, spec = await surrounded(door, kind, f"/a/n{number}")
        wish = requested(kind, path, Request(action, actor), "ann", spec, OTHERS)
        assert await asked(door, wish) is Code.LANE_NOT_ALLOWED, (kind, action)
        assert await door.executor.store.resources.read(path) is None, (kind, action)
        if kind not in BOOKED:
            assert await asked(door, changed(wish, lane=MINE)) is None, (kind, action)


FIELDS: Mapping[str, Any] = {
    "lane": OTHERS,
    "lanes": [OTHERS],
    "provider": {"provider": "edge.b", "region": "berlin"},
}


async def test_every_kind_is_made_with_no_spec_that_names_another_lane(door: Admission) -> None:
    kinds = sorted({kind for kind, *_ in MAKING})
    for number, (kind, field) in enumerate(product(kinds, sorted(FIELDS))):
        action, actor = next(beginnings(ALL[kind]))
        path, spec = await surrounded(door, kind, f"/a/n{number}")
        named = FIELDS[field] if isinstance(FIELDS[field], dict) else {field: FIELDS[field]}
        wish = requested(kind, path, Request(action, actor), "ann", spec | named, MINE)
        assert await asked(door, wish) is Code.LANE_NOT_ALLOWED, (kind, field)
        assert await door.executor.store.resources.read(path) is None, (kind, field)


LIKE_A_LANE = re.compile(r"lane|region|provider|connection|place|zone|site", re.IGNORECASE)

GUARDED = {
    "tree.Leaf.lane": "test_operator_names_lane_of_another_tenants_site_is_rejected",
    "infrastructure.SharedDefaults.provider": "test_infrastructure_names_what_its_parts_are_on",
    "infrastructure.SharedDefaults.region": "the same",
    "infrastructure.Subgroup.provider": "the same",
    "infrastructure.Subgroup.region": "the same",
    "scaling.Policy.places": "its places are clusters of its own namespace, whose lanes follow from their paths",
    "scaling.Policy.minimum_at_place": "a number",
    "scaling.Policy.maximum_at_place": "a number",
}
"""Every field of a schema that looks as if it could name a lane, and what guards it."""

BODIES = {
    "ActionBody.lane": "test_every_kind_is_made_on_no_lane_but_an_allowed_one",
    "SubGroupRequest.connectionName": "test_dialects_reject_like_the_interface_itself: it is provider and region",
    "SubGroupRequest.provider": "the same",
    "SubGroupRequest.region": "the same",
    "ScalingPolicy.places": "see above",
    "ScalingPolicy.minimum_at_place": "a number",
    "ScalingPolicy.maximum_at_place": "a number",
    "DemandFigure.place": "one of the policy's",
    "HostChange.lane": "an admin's: test_booking_takes_hosts_of_allowed_lanes_alone",
    "BlazarHostRequest.lane": "the same",
    "InvitationRequest.lanes": "an admin's, who says where an agent works",
    "ProviderLimits.regions": "a number, an admin's",
}
"""The same of every body that a request may have."""


def test_every_schema_field_like_a_lane_is_guarded() -> None:
    found = set()
    for module in (infrastructure, scaling, lease_spec, tree):
        for name, struct in vars(module).items():
            made_here = isinstance(struct, type) and struct.__module__ == module.__name__
            if made_here and issubclass(struct, msgspec.Struct) and name not in ("PlannedMember", "SharedResource"):
                fields = [field.name for field in msgspec.structs.fields(struct)]
                found |= {f"{module.__name__.rpartition('.')[2]}.{name}.{f}" for f in fields if LIKE_A_LANE.search(f)}
    assert found == GUARDED.keys()


def test_every_request_body_field_like_a_lane_is_guarded() -> None:
    described = OPENAPI
    schemas, found, known = described["components"]["schemas"], set[str](), set[str]()

    def walk(node: Any, name: str) -> None:
        if isinstance(node, list):
            for each in node:
                walk(each, name)
        if not isinstance(node, Mapping):
            return
        below = str(node.get("$ref", "")).rpartition("/")[2]
        if below and below not in known:
            known.add(below)
            walk(schemas[below], below)
        found.update(f"{name}.{word}" for word in node.get("properties", {}) if LIKE_A_LANE.search(word))
        for each in node.values():
            walk(each, name)

    for methods in described["paths"].values():
        for method in methods.values():
            walk(method.get("requestBody", {}), "")
    assert found == BODIES.keys()


def test_infrastructure_names_what_its_parts_are_on() -> None:
    spec = {
        "defaults": {"provider": "aws", "region": "east", "spec": "s", "image": "i"},
        "subgroups": [
            {"name": "a"},
            {"name": "b", "region": "west"},
            {"name": "c", "provider": "gcp", "region": "x"},
        ],
    }
    parts = infrastructure.parts(infrastructure.read(spec))
    assert named("mci", spec) == {part.lane for part in parts} == {"aws.east", "aws.west", "gcp.x"}


GRANTS = """
INSERT INTO lane_grants (namespace, lane, allowed, changed_by)
SELECT 'a', 'sim.' || n, true, 'a test' FROM generate_series(1, $1) n
"""


@pytest.mark.parametrize("grants", [1, 1000])
async def test_admission_takes_two_statements_however_many_grants_there_are(strict: str, grants: int) -> None:
    async with Store.open(strict, connections=1) as store:
        await store.pool.execute(GRANTS, grants)
        door, ran = Admission(TransitionExecutor(store, KINDS, time.time)), list[str]()
        assert await asked(door, requested("vm", "/a/m/g/1", Request("create"), "ann", {}, "sim.1")) is None
        async with store.pool.acquire() as connection:
            connection.add_query_logger(lambda record: ran.append(record.query))
        assert await asked(door, requested("vm", "/a/m/g/2", Request("create"), "ann", {}, "sim.1")) is None
        assert len(ran) == 2, ran
