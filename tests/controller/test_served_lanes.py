"""No kind, no field and no way of asking brings a request to a lane that no agent has ever served, unless it says so.

Kinds and fields are those of the tests of lanes that a namespace may not use: a new one is tried here by itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product

import pytest

from stead.access.caller import Caller
from stead.application import Accepted, ActionRequest, Rejection
from stead.application.authorized_commands import dry_run_action, plan_deploy, request_action
from stead.application.commands import Application
from stead.application.explanation import DryRun, Explanation
from stead.lifecycle.decision import Code
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor
from stead.store import Store
from stead.store.agents import PresentAgent
from tests.action_requests import AuthorizedRequest, changed, requested
from tests.controller.test_lanes import ALL, BOOKED, FIELDS, MAKING, OTHERS, beginnings, surrounded
from tests.engine import engine_without_bus

SERVED = ["aws.us-east-1", "aws.us-west-2", "gcp.asia-east1"]
ANN = Caller("ann")


@pytest.fixture
async def service(migrated: str) -> AsyncIterator[Application]:
    async with Store.open(migrated, connections=3) as store:
        await store.agents.record_presence([PresentAgent("worker", 1, SERVED, "1", False)], "edge.")
        yield engine_without_bus(store, ALL).application


def at_site(kind: str) -> bool:
    """Whether the lane of a kind follows from a site, whose agent comes when the site was made."""
    lifecycle = ALL[kind]
    return lifecycle.presence or any(ALL[need.kind].presence for need in lifecycle.preconditions)


async def rejected(service: Application, wish: AuthorizedRequest) -> Code | None:
    """Why a request would be rejected for its lanes."""
    assert service.served is not None
    request, authorized = changed(wish, row=await service.reader.store.resources.read(wish[0].path))
    answer = await service.served.rejection(request, authorized.actor)
    return answer.code if answer is not None else None


async def test_every_kind_on_lane_never_served_is_rejected_unless_agent_is_expected(service: Application) -> None:
    for number, (kind, action, actor) in enumerate(MAKING):
        path, spec = await surrounded(service.admission, kind, f"/a/n{number}")
        wish = requested(kind, path, Request(action, actor), "ann", spec, "aws.us-east-9")
        free = at_site(kind) or kind in BOOKED or actor is Actor.CONTROLLER
        assert await rejected(service, wish) is (None if free else Code.LANE_NOT_SERVED), (kind, action)
        assert await rejected(service, changed(wish, expect_agent=True)) is None, (kind, action)
        assert await rejected(service, changed(wish, lane=SERVED[0])) is None, (kind, action)


async def test_every_field_that_names_lane_never_served_is_rejected(service: Application) -> None:
    kinds = sorted({kind for kind, _, actor in MAKING if not at_site(kind) and actor is not Actor.CONTROLLER})
    for number, (kind, field) in enumerate(product(kinds, sorted(FIELDS))):
        action, actor = next(made for made in beginnings(ALL[kind]) if made[1] is not Actor.CONTROLLER)
        path, spec = await surrounded(service.admission, kind, f"/a/n{number}")
        named = FIELDS[field] if isinstance(FIELDS[field], dict) else {field: FIELDS[field]}
        wish = requested(kind, path, Request(action, actor), "ann", spec | named, SERVED[0])
        assert await rejected(service, wish) is Code.LANE_NOT_SERVED, (kind, field)


VM = ActionRequest("/shop/web/front/1", "create", "vm", {"provider": "aws", "region": "us-east-9"})
SUBGROUP = {"name": "front", "provider": "aws", "region": "us-east-9", "spec": "small", "image": "debian-12"}
MCI = ActionRequest("/shop/web", "create", "mci", {"subgroups": [SUBGROUP]})
SYSTEM = ActionRequest("/shop/sys", "create", "system", {"lanes": ["aws.us-east-9"]})
NETWORK = ActionRequest(
    "/shop/networks/aws.us-east-9.main", "create", "network", {"provider": "aws", "region": "us-east-9"}
)
HINT = "no agent has ever served the lane aws.us-east-9; did you mean aws.us-east-1?"


@pytest.mark.parametrize("asked", [VM, MCI, SYSTEM, NETWORK], ids=lambda asked: asked.kind)
async def test_request_dry_run_and_explanation_name_nearest_lane(service: Application, asked: ActionRequest) -> None:
    answers = [await request_action(service, asked, ANN), await dry_run_action(service, asked, ANN)]
    for answer in answers:
        assert isinstance(answer, Rejection), answer
        assert answer.code is Code.LANE_NOT_SERVED
        assert answer.reasons[0].message.startswith(HINT)
        assert "--expect-agent" in answer.reasons[0].message
    explained = await service.explain(asked, service.authorization.view(ANN))
    assert isinstance(explained, Explanation)
    assert not explained.allowed
    assert [remedy.kind for remedy in explained.remedies] == ["lane"]
    assert await service.reader.store.resources.read(asked.path) is None
    assert isinstance(await dry_run_action(service, replace(asked, expect_agent=True), ANN), DryRun)
    assert isinstance(await request_action(service, replace(asked, expect_agent=True), ANN), Accepted)


async def test_deploy_onto_lane_never_served_is_rejected_also_as_plan(service: Application) -> None:
    insert = "INSERT INTO resources (path, kind, state, token, spec) VALUES ($1, $2, $3, gen_random_uuid(), $4)"
    pool = service.reader.store.pool
    await pool.execute(insert, "/shop/sys", "system", "stable", {"lanes": SERVED[:1]})
    spec = {"definition": {"load": {"kind": "job", "command": ["id"], "lane": "aws.us-east-9"}}}
    asked = ActionRequest("/shop/sys", "deploy", "system", spec)
    for answer in (
        await request_action(service, asked, ANN),
        await dry_run_action(service, asked, ANN),
        await plan_deploy(service, asked, ANN),
    ):
        assert isinstance(answer, Rejection), answer
        assert answer.reasons[0].message.startswith(HINT)
    assert isinstance(await request_action(service, replace(asked, expect_agent=True), ANN), Accepted)


async def test_what_was_accepted_with_its_lane_is_changed_without_saying_so_again(service: Application) -> None:
    assert isinstance(await request_action(service, replace(VM, expect_agent=True), ANN), Accepted)
    for action in ("create", "terminate"):
        answer = await request_action(service, replace(VM, action=action), ANN)
        assert not isinstance(answer, Rejection) or answer.code is not Code.LANE_NOT_SERVED, answer


async def test_lane_is_accepted_once_an_agent_has_served_it_and_while_it_is_away(service: Application) -> None:
    store = service.reader.store
    await store.agents.record_presence([PresentAgent("late", 1, ["aws.us-east-9"], "1", False)], "edge.")
    await store.pool.execute("UPDATE agents SET last_seen = now() - interval '1 day'")
    assert isinstance(await request_action(service, VM, ANN), Accepted)


async def test_namespace_without_the_lane_is_told_no_name_of_it(strict: str) -> None:
    async with Store.open(strict, connections=2) as store:
        await store.agents.record_presence([PresentAgent("worker", 1, [*SERVED, OTHERS], "1", False)], "edge.")
        await store.lanes.allow("gcp.*", "shop", "ann")
        service = engine_without_bus(store).application
        answer = await request_action(service, VM, ANN)
        assert isinstance(answer, Rejection)
        assert answer.code is Code.LANE_NOT_ALLOWED
        there = {"provider": "gcp", "region": "asia-east2"}
        answer = await request_action(service, replace(VM, spec=there), ANN)
        assert isinstance(answer, Rejection)
        assert "did you mean gcp.asia-east1?" in answer.reasons[0].message
        answer = await request_action(service, replace(VM, spec={"provider": "gcp", "region": "x"}), ANN)
        assert isinstance(answer, Rejection)
        assert "aws" not in answer.reasons[0].message
        assert "the namespace may use gcp.asia-east1" in answer.reasons[0].message
