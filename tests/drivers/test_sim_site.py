"""Sites of the simulated cloud: its driver keeps the promises of any driver of sites, and fails when told to."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from stead.drivers.base import Driver, Member, RecoveringDriver, Result
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.rows import BROKEN
from tests.drivers.cloud import SimCloud, SimWorld
from tests.drivers.conformance import known, until
from tests.drivers.edge_conformance import (
    APP,
    CLUSTER,
    READY,
    EdgeConformance,
    EdgeWorld,
    act,
    changed,
    furnished,
    make,
    tell,
)


class SimSite(SimWorld):
    """A site of the simulated cloud, from behind."""

    def __init__(self, cloud: SimCloud) -> None:
        super().__init__(cloud, f"ns.{secrets.token_hex(4)}", "edge")

    def cluster(self) -> Member:
        name = secrets.token_hex(4)
        return Member(path=f"/ns/site/{name}", token=f"token-{name}", spec={"nodes": 1}, kind=CLUSTER, revision=1)

    def app(self, cluster: Member) -> Member:
        name = secrets.token_hex(4)
        path = f"{cluster.path}/{name}"
        return Member(path=path, token=f"token-{name}", spec={"image": "any"}, kind=APP, revision=1)

    def other_spec(self) -> Mapping[str, Any]:
        return {"image": "another"}

    def bad_spec(self) -> Mapping[str, Any]:
        return {"image": "any", "breaks": "alas"}

    async def running(self, app: Member) -> list[str]:
        """Nothing really runs: it is begun anew with another spec, and where it was not there or broken."""
        there = [one for one in await self.history(app.token) if one["state"] == "running"]
        begun = [sum(deed["before"] != "running" for deed in one["history"]) for one in there]
        return [f"{one['id']} {number} {one['spec']}" for one, number in zip(there, begun, strict=True)]

    async def scrawl(self, app: Member) -> None:
        """The cloud keeps the notes; there the owner can only be lost with the app."""
        await self.drift("delete", tokens=[app.token])

    async def restart(self) -> None:
        raise NotImplementedError("it is no machine")

    async def wreck(self, app: Member) -> None:
        await self.drift("break", tokens=[app.token])


@pytest.fixture
async def world(cloud: SimCloud) -> AsyncIterator[SimSite]:
    site = SimSite(cloud)
    yield site
    await site.close()


class TestConformance(EdgeConformance):
    """On a real server."""

    async def test_what_cannot_be_is_refused(self, driver: Driver, world: EdgeWorld) -> None:
        """It lets all of that happen: whoever asks for it shows up in the ledger, which is what it is for."""
        lost = world.app(world.cluster())
        second = changed(world.app(world.cluster()), path=lost.path)
        mad = changed(world.app(world.cluster()), spec={"command": "not a list", "image": 7})
        await make(driver, lost, second, mad)
        assert [len(await world.running(app)) for app in (lost, second, mad)] == [1, 1, 1]

    async def test_recover_after_machine_restart_starts_what_should_run(
        self, driver: Driver, world: EdgeWorld
    ) -> None:
        """It is a server of its own, which loses nothing with the machine that the agent runs on."""
        assert not isinstance(driver, RecoveringDriver)


class TestFaults:
    """A site has those of a cloud, for each kind of its own."""

    async def test_each_verb_of_each_kind_has_its_faults(self, driver: SimDriver, world: SimSite) -> None:
        cluster, app = await furnished(driver, world)
        for member in (app, cluster):
            for verb, cloud in (("update", "update"), ("restore", "restore"), ("delete", "terminate")):
                fault = {"kind": "fail", "members": True, "code": "Refused", "verb": f"{cloud}-{member.kind}"}
                await world.fault(**fault, times=1)
                after = changed(member, spec={"another": "spec"}, revision=7)
                (result,) = await driver.perform(verb, [after], f"order-{verb}")
                assert (result.ok, result.error) == (False, "Refused: a fault was set")
            assert await tell(driver, member) == (READY, 1)

    @pytest.mark.parametrize("slow", [0, 0.05])
    async def test_what_is_spoiled_comes_out_broken(self, driver: SimDriver, world: SimSite, slow: float) -> None:
        if slow:
            await world.fault(kind="slow", seconds=slow)
        (cluster,) = await make(driver, world.cluster())
        await world.fault(kind="broken-result", verb="create-appinst")
        app = world.app(cluster)
        result = await self.came_out(driver, "create", app, slow)
        assert result.facts
        await world.heal()
        new = changed(app, spec=world.other_spec(), revision=2)
        known([new], await act(driver, "update", [new]))
        await world.fault(kind="broken-result", verb="update-appinst")
        await self.came_out(driver, "update", changed(new, revision=3), 0)
        await world.heal()
        known([app], await act(driver, "delete", [app]))

    async def came_out(self, driver: SimDriver, verb: str, app: Member, slow: float) -> Result:
        (result,) = await driver.perform(verb, [app], f"order-{verb}")
        assert (result.ok, result.pending) == (bool(slow), READY if slow else "")
        await until(driver, BROKEN, app)
        return result

    async def test_what_nobody_asked_for_may_be_of_any_kind(self, driver: SimDriver, world: SimSite) -> None:
        tags = {"owner": "stead", "path": "/ns/site/lost/app"}
        ids = await world.drift("create", kind="appinst", tags=tags)
        (found,) = await driver.inventory()
        assert (found.id, found.kind, found.state, found.path) == (ids[0], "appinst", READY, tags["path"])


async def test_a_cloud_has_no_clusters(cloud: SimCloud) -> None:
    elsewhere = SimWorld(cloud)
    driver = elsewhere.driver()
    assert driver.kinds == {"vm", "network", "securitygroup", "sshkey"}
    with pytest.raises(ValueError, match=CLUSTER):
        driver.batch_limit("create", CLUSTER)
    await driver.close()
    await elsewhere.close()
