"""Group actions where providers do nothing: rejected, throttled, or left undone because a VM runs after all."""

from __future__ import annotations

import pytest

from stead.agent.order_results import MAX_TRIES
from stead.application.group_status import standing
from stead.application.reader import Reader
from tests.integration.grounds import Grounds
from tests.integration.test_infrastructures import Place, place
from tests.integration.whole import until


async def text(here: Place, name: str) -> str:
    group = await standing(Reader(here.one.store, here.one.executor.kinds), f"/{here.ns}/{name}")
    assert group is not None
    return group.summary


@pytest.mark.req("S0-02", "S0-07")
async def test_group_action_that_a_provider_rejects_fails_with_the_reason(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(3, 1))) == "succeeded"
        await here.worlds["aws"].reject()
        suspend = await here.ask("web", "suspend")
        assert await here.outcome(suspend) == "failed"
        assert "UnauthorizedOperation" in await here.says(suspend)
        assert "3 of 4" in await here.says(suspend)
        assert await here.vms("web") == {"Running": 3, "Suspended": 1}
        assert await text(here, "web") == "Partial-Running:3 (R:3/4)"
        await here.worlds["aws"].heal()
        assert await here.outcome(await here.ask("web", "suspend")) == "succeeded"
        assert await here.vms("web") == {"Suspended": 4}


@pytest.mark.req("S0-02")
async def test_group_action_that_a_provider_throttles_is_retried_until_it_is_done(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(2))) == "succeeded"
        world = here.worlds["aws"]
        await world.throttle(0.05)
        suspend = await here.ask("web", "suspend")

        async def outlasted() -> bool:
            return await world.calls("suspend") > MAX_TRIES

        await until(outlasted)
        await world.heal()
        assert await here.outcome(suspend) == "succeeded"
        assert await here.vms("web") == {"Suspended": 2}


@pytest.mark.req("S0-15")
async def test_refine_spares_a_vm_that_runs_and_says_so(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(2))) == "succeeded"
        world = here.worlds["aws"]
        tokens = [str(row.token) for row in await here.rows("vm", "web")]
        await world.drift("break", tokens=tokens[:1])
        assert await here.outcome(await here.ask("web", "reboot")) == "failed"
        assert await here.vms("web") == {"Running": 1, "Failed": 1}
        await world.drift("start", tokens=tokens[:1])
        refine = await here.ask("web", "refine")
        assert await here.outcome(refine) == "failed"
        assert "refine spares what is seen as Running" in await here.says(refine)
        assert await here.vms("web") == {"Running": 1, "Failed": 1}
        (spared,) = [row.path for row in await here.rows("vm", "web") if row.snapshot.state == "Failed"]
        reasons = await here.one.store.operations.read_failures([spared])
        assert "refine spares what is seen as Running" in reasons[spared]
        there = (await world.get(f"aws/{world.region}/instances"))["instances"]
        assert [instance["state"] for instance in there] == ["running", "running"]
