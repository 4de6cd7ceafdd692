"""A subgroup is added to an infrastructure that is there: prepared like the others, and gone where that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from stead.application.models import InvalidRequest
from stead.lifecycle.decision import Rejection
from tests.integration.grounds import Grounds
from tests.integration.test_infrastructures import Place, place
from tests.integration.whole import until


def cache(here: Place, size: int = 2, **more: Any) -> dict[str, Any]:
    """A subgroup in a region in which the infrastructure has nothing yet; spec and image are those of all."""
    return {"provider": "gcp", "region": here.worlds["gcp"].region, "size": size, **more}


@pytest.mark.req("S0-01", "S0-03")
async def test_subgroup_is_added_with_what_its_vms_share(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert (
            await here.outcome(await here.ask("web", "create", here.file(1, 1, labels={"env": "prod"})))
            == "succeeded"
        )
        added = await here.ask("web/cache", "add", cache(here))
        assert await here.outcome(added) == "succeeded", await here.says(added)
        assert (await here.state("web/cache"), await here.state("web")) == ("Running", "Running")
        assert await here.vms("web") == {"Running": 4}
        assert await here.shared() == {"network": 3, "securitygroup": 3}
        for vm in await here.rows("vm", "web/cache"):
            assert set(vm.spec["shared"]) == {"network", "securitygroup"}
            assert (vm.spec["spec"], vm.spec["image"], vm.spec["labels"]) == ("small", "debian-12", {"env": "prod"})
        assert await here.outcome(await here.ask("web/cache", "scale-out", {"by": 1})) == "succeeded"
        assert await here.outcome(await here.ask("web", "suspend")) == "succeeded"
        assert await here.vms("web") == {"Suspended": 5}
        assert await here.outcome(await here.ask("web", "delete")) == "succeeded"
        assert await here.vms("web") == {}

        async def forgotten() -> bool:
            return await here.rows("subgroup") == []

        await until(forgotten)


@pytest.mark.req("S0-03")
async def test_subgroup_that_cannot_be_prepared_leaves_nothing_but_its_reason(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(1))) == "succeeded"
        added = await here.ask("web/cache", "add", cache(here, image="debian-21"))
        assert await here.outcome(added) == "failed"
        assert "has no image debian-21; did you mean debian-12?" in await here.says(added)
        assert (await here.state("web/cache"), await here.state("web")) == ("Absent", "Running")
        assert await here.shared() == {"network": 1, "securitygroup": 1}
        assert await here.outcome(await here.ask("web/cache", "add", cache(here))) == "succeeded"  # its name is free
        again = await here.answer("web/cache", "add", cache(here))
        assert isinstance(again, Rejection)
        assert "add cannot start in Running" in again.reasons[0].message


async def test_subgroup_that_makes_no_sense_is_rejected(grounds: Grounds) -> None:
    async with place(grounds) as here:
        assert await here.outcome(await here.ask("web", "create", here.file(1))) == "succeeded"
        for name, spec, field in (
            ("web/cache", cache(here, size=0), "spec.size"),
            ("web/cache", {"size": 1}, "spec"),
            ("web/Cache", cache(here), "path"),
        ):
            answer = await here.answer(name, "add", spec)
            assert isinstance(answer, InvalidRequest), (name, answer)
            assert answer.field == field, answer
        nowhere = await here.answer("none/cache", "add", {**cache(here), "spec": "small", "image": "debian-12"})
        assert isinstance(nowhere, Rejection), nowhere
        assert nowhere.reasons[0].code == "parent"
