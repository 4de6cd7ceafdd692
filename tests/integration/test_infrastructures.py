"""An infrastructure over several clouds, from its file to its end, on a real database, bus and simulated cloud."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from stead.access.caller import Caller
from stead.application import Accepted, ActionRequest
from stead.application.authorized_commands import request_action, retry_operation
from stead.application.commands import Application
from stead.application.explanation import Explanation
from stead.application.models import InvalidRequest
from stead.build import assemble_application
from stead.controller.runtime import Controller
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.snapshot import OnPartial
from tests.action_requests import cancel
from tests.drivers.cloud import SimWorld
from tests.integration.grounds import Grounds
from tests.integration.whole import agent, controller, until

ANN = Caller("ann")
PROVIDERS = ("aws", "azure", "gcp")


@dataclass
class Place:
    """A controller, and a region of each of three clouds with an agent."""

    one: Controller
    worlds: dict[str, SimWorld]
    ns: str

    def file(self, *sizes: int, **more: Any) -> dict[str, Any]:
        """An infrastructure of one subgroup at each of the clouds."""
        names = ("front", "back", "cache")
        groups = [
            {"name": name, "provider": provider, "region": self.worlds[provider].region, "size": size}
            for name, provider, size in zip(names, PROVIDERS, sizes, strict=False)
        ]
        return {"defaults": {"spec": "small", "image": "debian-12"}, "subgroups": groups, **more}

    async def ask(self, name: str, action: str, spec: dict[str, Any] | None = None, **how: Any) -> UUID:
        answer = await self.answer(name, action, spec, **how)
        assert isinstance(answer, Accepted), answer
        return UUID(answer.operation)

    async def answer(self, name: str, action: str, spec: dict[str, Any] | None = None, **how: Any) -> object:
        kind = "mci" if name.count("/") == 0 else "subgroup"
        request = ActionRequest(f"/{self.ns}/{name}", action, kind, spec or {}, **how)
        return await request_action(self.service, request, ANN)

    @property
    def service(self) -> Application:
        return replace(assemble_application(self.one), served=None)

    async def outcome(self, operation: UUID, within: float = 60.0) -> str:
        async def over() -> bool:
            record = await self.one.store.operations.read(operation)
            return record is not None and record["outcome"] != ""

        await until(over, within)
        record = await self.one.store.operations.read(operation)
        assert record is not None
        return str(record["outcome"])

    async def says(self, operation: UUID) -> str:
        record = await self.one.store.operations.read(operation)
        assert record is not None
        return str(record["says"])

    async def state(self, name: str) -> str:
        row = await self.one.store.resources.read(f"/{self.ns}/{name}")
        return row.snapshot.state if row is not None else "Absent"

    async def vms(self, name: str) -> Counter[str]:
        rows = await self.rows("vm", name)
        return Counter(row.snapshot.state for row in rows)

    async def rows(self, kind: str, name: str = "") -> list[Any]:
        below = f"/{self.ns}/{name}/" if name else f"/{self.ns}/"
        found = await self.one.store.resources.read_many(
            await self.one.store.resources.list_paths(kind, below, "", 1000)
        )
        return list(found.values())

    async def shared(self) -> Counter[str]:
        rows = [row for kind in ("network", "securitygroup", "sshkey") for row in await self.rows(kind)]
        return Counter(row.kind for row in rows)


SOON = replace(DEFAULT, again=1, step=1, resend=1)
"""The same steps, with less time between looks for what was missed."""


@asynccontextmanager
async def place(grounds: Grounds, pace: Pace = DEFAULT) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(grounds.one())
        cell = secrets.token_hex(4)
        one = await stack.enter_async_context(controller(ground.dsn, grounds.nats, cell, pace=pace))
        worlds = {name: SimWorld(grounds.cloud, provider=name) for name in PROVIDERS}
        for name, world in worlds.items():
            stack.push_async_callback(world.close)
            await stack.enter_async_context(agent(grounds.nats, cell, world, f"agent-{name}"))
        yield Place(one, worlds, f"ns{secrets.token_hex(4)}")


@pytest.mark.req("S0-01", "S0-03")
async def test_an_infrastructure_comes_up_over_three_clouds(grounds: Grounds) -> None:
    async with place(grounds) as here:
        operation = await here.ask("web", "create", here.file(3, 2, 1))
        assert await here.outcome(operation) == "succeeded"
        assert await here.state("web") == "Running"
        assert await here.vms("web") == {"Running": 6}
        assert await here.vms("web/front") == {"Running": 3}
        assert await here.shared() == {"network": 3, "securitygroup": 3}
        assert sorted(row.path for row in await here.rows("subgroup")) == [
            f"/{here.ns}/web/{name}" for name in ("back", "cache", "front")
        ]
        vm = (await here.rows("vm", "web/front"))[0]
        assert set(vm.spec["shared"]) == {"network", "securitygroup"}
        assert vm.spec["shared"]["network"]["id"].startswith("net-")


@pytest.mark.req("S0-03")
async def test_what_a_place_does_not_have_costs_nothing_and_near_misses_are_named(grounds: Grounds) -> None:
    async with place(grounds) as here:
        file = here.file(2, 1)
        file["subgroups"][1] |= {"spec": "smal", "image": "debian-21"}
        operation = await here.ask("web", "create", file)
        assert await here.outcome(operation) == "failed"
        assert await here.state("web") == "Failed"
        says = await here.says(operation)
        assert "has no spec smal; did you mean small" in says
        assert "has no image debian-21; did you mean debian-12" in says
        assert not await here.vms("web")
        assert not await here.shared()
        for world in here.worlds.values():
            assert not [call for call in await world.recorded() if call["verb"].startswith("create")]


@pytest.mark.long
@pytest.mark.req("S0-03")
async def test_a_failure_in_preparation_takes_back_what_was_made(grounds: Grounds) -> None:
    async with place(grounds) as here:
        await here.worlds["azure"].fault(kind="fail", verb="create-securitygroup", code="Denied", status=403)
        operation = await here.ask("web", "create", here.file(2, 2))
        assert await here.outcome(operation) == "failed"
        assert await here.state("web") == "Failed"
        assert "Denied" in await here.says(operation)
        assert not await here.vms("web")
        await until(lambda: _nothing_shared(here))
        # It may be tried once more, when the cause is gone.
        await here.worlds["azure"].heal()
        assert await here.outcome(await here.ask("web", "delete")) == "succeeded"
        assert await here.outcome(await here.ask("web", "create", here.file(2, 2))) == "succeeded"
        assert await here.vms("web") == {"Running": 4}


@pytest.mark.long
async def test_twenty_ask_at_the_same_moment_and_what_they_share_is_made_once(grounds: Grounds) -> None:
    async with place(grounds, SOON) as here:
        await here.worlds["aws"].fault(kind="slow", verb="create-network", seconds=0.5)
        file = here.file(1, 1)
        asked = await asyncio.gather(*(here.ask(f"web{n}", "create", file) for n in range(20)))
        assert {await here.outcome(operation) for operation in asked} == {"succeeded"}
        assert await here.shared() == {"network": 2, "securitygroup": 2}
        for provider in ("aws", "azure"):
            calls = Counter(call["verb"] for call in await here.worlds[provider].recorded())
            assert (calls["create-network"], calls["create-securitygroup"]) == (1, 1)
        (network,) = (row for row in await here.rows("network") if row.lane.startswith("aws"))
        refused = await request_action(here.service, ActionRequest(network.path, "delete"), ANN)
        assert f"/{here.ns}/web" in str(refused), "it says who uses it"


@pytest.mark.long
@pytest.mark.req("S0-17")
async def test_a_held_creation_waits_for_a_word_and_goes_on(grounds: Grounds) -> None:
    async with place(grounds) as here:
        operation = await here.ask("web", "create", here.file(1, 1), hold=True)
        await until(lambda: _is(here, "web", "Prepared"))
        assert await here.shared() == {"network": 2, "securitygroup": 2}
        assert not await here.vms("web")
        await here.ask("web", "continue")
        assert await here.outcome(operation) == "succeeded"
        assert await here.vms("web") == {"Running": 2}


@pytest.mark.long
@pytest.mark.req("S0-17")
async def test_a_withdrawn_creation_leaves_nothing(grounds: Grounds) -> None:
    async with place(grounds) as here:
        operation = await here.ask("web", "create", here.file(1, 1), hold=True)
        await until(lambda: _is(here, "web", "Prepared"))
        await here.ask("web", "withdraw")
        assert await here.outcome(operation) == "rolled_back"
        assert await here.state("web") == "Absent"
        await until(lambda: _nothing_shared(here))
        for provider in ("aws", "azure"):
            there = await here.worlds[provider].get(f"{provider}/{here.worlds[provider].region}/networks")
            assert there["instances"] == []


@pytest.mark.req("S0-17")
async def test_creation_withdrawn_while_it_is_prepared_leaves_nothing(grounds: Grounds) -> None:
    async with place(grounds) as here:
        await here.worlds["azure"].fault(kind="slow", verb="create-network", seconds=60)
        operation = await here.ask("web", "create", here.file(1, 1))

        async def waits() -> bool:
            return "is being made" in await here.says(operation)

        await until(waits)
        await here.ask("web", "withdraw")
        assert await here.outcome(operation) == "rolled_back"
        assert await here.state("web") == "Absent"


async def _is(here: Place, name: str, state: str) -> bool:
    return await here.state(name) == state


async def _called(world: SimWorld, verb: str) -> bool:
    return await world.calls(verb) > 0


async def _nothing_shared(here: Place) -> bool:
    return not await here.shared()


@pytest.mark.req("S0-18")
@pytest.mark.parametrize(
    ("policy", "outcome", "state", "vms"),
    [
        (OnPartial.CONTINUE, "failed", "Running", {"Running": 3, "Failed": 2}),
        (OnPartial.REFINE, "succeeded", "Running", {"Running": 3}),
        (OnPartial.ROLLBACK, "rolled_back", "Absent", {}),
    ],
)
async def test_a_creation_that_partly_failed(
    grounds: Grounds, policy: OnPartial, outcome: str, state: str, vms: dict[str, int]
) -> None:
    async with place(grounds) as here:
        await here.worlds["azure"].fault(kind="fail", verb="create", members=True, code="QuotaExceeded", times=2)
        operation = await here.ask("web", "create", here.file(2, 3), on_partial=policy)
        assert await here.outcome(operation) == outcome
        assert await here.state("web") == state
        assert await here.vms("web") == vms
        running = 0
        for world in here.worlds.values():
            there = await world.get(f"{world.provider}/{world.region}/instances")
            running += len(there["instances"])
        assert running == vms.get("Running", 0)
        if policy is OnPartial.ROLLBACK:
            await until(lambda: _nothing_shared(here))


@pytest.mark.req("S0-01")
async def test_a_subgroup_is_scaled_out_and_in(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(2, 1))) == "succeeded"
        more = await here.ask("web/front", "scale-out", {"size": 5}, key="more")
        assert await here.outcome(more) == "succeeded"
        assert await here.ask("web/front", "scale-out", {"size": 5}, key="more") == more  # said again, done once
        reused = await here.answer("web/front", "scale-out", {"size": 6}, key="more")
        assert isinstance(reused, Rejection)
        assert reused.code is Code.KEY_REUSED
        assert isinstance(await here.answer("web/front", "scale-out", {"size": 5}), InvalidRequest)
        assert await here.vms("web/front") == {"Running": 5}
        less = await here.ask("web/front", "scale-in", {"by": 3})
        assert await here.outcome(less) == "succeeded"
        assert sorted(row.path for row in await here.rows("vm", "web/front")) == [
            f"/{here.ns}/web/front/1",
            f"/{here.ns}/web/front/2",
        ]
        world = here.worlds["aws"]
        assert len((await world.get(f"aws/{world.region}/instances"))["instances"]) == 2


@pytest.mark.long
async def test_more_vms_that_could_not_be_made_are_not_asked_for_blindly(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(1))) == "succeeded"
        await here.worlds["aws"].fault(kind="fail", verb="create", members=True, code="Broken", times=1)
        more = await here.ask("web/front", "scale-out", {"size": 3})
        assert await here.outcome(more) == "failed"
        refused = await retry_operation(here.service, more, ANN)
        assert isinstance(refused, Rejection)
        assert refused.code is Code.NOT_RETRYABLE
        assert "ask anew" in refused.reasons[0].message


@pytest.mark.long
async def test_of_an_empty_group_nothing_is_asked_that_leads_somewhere(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(1))) == "succeeded"
        assert await here.outcome(await here.ask("web/front", "scale-in", {"size": 0})) == "succeeded"
        for name in ("web", "web/front"):
            nothing = await here.answer(name, "refine")
            assert isinstance(nothing, Accepted)
            assert nothing.no_change
            for action in ("suspend", "resume", "reboot"):
                refused = await here.answer(name, action)
                assert isinstance(refused, Rejection), (name, action)
                assert refused.code is Code.NO_MEMBER
                said = await here.service.explain(
                    ActionRequest(f"/{here.ns}/{name}", action), here.service.authorization.view(ANN)
                )
                assert isinstance(said, Explanation)
                assert not said.allowed
                assert said.reasons == refused.reasons
        assert await here.outcome(await here.ask("web/front", "scale-out", {"size": 2})) == "succeeded"
        assert await here.vms("web") == {"Running": 2}
        assert await here.outcome(await here.ask("web/front", "scale-in", {"size": 0})) == "succeeded"
        assert await here.outcome(await here.ask("web", "delete")) == "succeeded"
        assert await here.state("web") == "Absent"


@pytest.mark.req("S0-15")
async def test_refine_leaves_no_orphan(grounds: Grounds) -> None:
    async with place(grounds) as here:
        world = here.worlds["aws"]
        assert await here.outcome(await here.ask("web", "create", here.file(3, 1))) == "succeeded"
        broken, *others = (str(row.token) for row in await here.rows("vm", "web/front"))
        await world.fault(kind="slow", verb="suspend", seconds=60)
        suspend = await here.ask("web", "suspend")
        await until(lambda: _called(world, "suspend"))
        await world.heal()
        await world.drift("break", tokens=[broken])
        await world.drift("stop", tokens=others)
        assert await here.outcome(suspend) == "failed"
        assert await here.vms("web") == {"Suspended": 3, "Failed": 1}
        assert await here.outcome(await here.ask("web", "refine")) == "succeeded"
        assert await here.vms("web") == {"Suspended": 3}
        there = (await world.get(f"aws/{world.region}/instances"))["instances"]
        assert [instance["state"] for instance in there] == ["stopped", "stopped"]


@pytest.mark.long
async def test_what_is_terminated_is_done_with_what_it_shared(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(1, 1))) == "succeeded"
        assert await here.outcome(await here.ask("other", "create", here.file(1))) == "succeeded"
        assert await here.outcome(await here.ask("web", "terminate")) == "succeeded"
        assert await here.state("web") == "Terminated"

        async def only_the_others() -> bool:
            return await here.shared() == {"network": 1, "securitygroup": 1}

        await until(only_the_others)
        assert await here.outcome(await here.ask("web", "delete")) == "succeeded"
        assert await here.state("web") == "Absent"
        assert await here.outcome(await here.ask("web", "create", here.file(2))) == "succeeded"
        assert await here.vms("web") == {"Running": 2}


@pytest.mark.long
@pytest.mark.req("S0-03")
async def test_a_creation_that_is_cancelled_while_it_is_prepared_leaves_nothing(grounds: Grounds) -> None:
    async with place(grounds) as here:
        await here.worlds["aws"].fault(kind="slow", verb="create-network", seconds=3)
        operation = await here.ask("web", "create", here.file(1, 1))

        async def waits() -> bool:
            return "is being made" in await here.says(operation)

        await until(waits)
        await cancel(here.one.admission, operation, "ann")
        assert await here.outcome(operation) == "cancelled"
        assert await here.state("web") == "Failed"
        assert not await here.vms("web")
        await until(lambda: _nothing_shared(here), 40)  # it was being made, and is found by the sweep


@pytest.mark.long
@pytest.mark.req("S0-17")
async def test_a_preparation_is_taken_up_by_another_controller(grounds: Grounds) -> None:
    async with AsyncExitStack() as stack:
        ground = await stack.enter_async_context(grounds.one())
        cell, ns = secrets.token_hex(4), f"ns{secrets.token_hex(4)}"
        worlds = {name: SimWorld(grounds.cloud, provider=name) for name in PROVIDERS}
        for world in worlds.values():
            stack.push_async_callback(world.close)
        quick = DEFAULT.scaled(0.05)
        async with controller(ground.dsn, grounds.nats, cell, pace=quick) as one:
            here = Place(one, worlds, ns)
            operation = await here.ask("web", "create", here.file(2, 1), hold=True)

            async def waits() -> bool:
                return "run an agent for it" in await here.says(operation)

            await until(waits)  # nobody serves the lanes, and that is said
        for name, world in worlds.items():
            await stack.enter_async_context(agent(grounds.nats, cell, world, f"agent-{name}", timeout=0.9))
        async with controller(ground.dsn, grounds.nats, cell, pace=quick) as two:
            here = Place(two, worlds, ns)
            await until(lambda: _is(here, "web", "Prepared"))
        async with controller(ground.dsn, grounds.nats, cell, pace=quick) as three:
            here = Place(three, worlds, ns)
            assert await here.state("web") == "Prepared"  # a hold outlives whoever held it
            await here.ask("web", "continue")
            assert await here.outcome(operation) == "succeeded"
            assert await here.vms("web") == {"Running": 3}
