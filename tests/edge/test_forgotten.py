"""A site whose agent will not come back is forgotten; an agent that comes back all the same is told so."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from stead.agent import Agent
from stead.agent.supersession import SiteForgotten
from stead.bus import Bus
from stead.lifecycle.rows import Actor
from tests.edge.site import APP, PACE, Edge

FORGET: dict[str, Any] = {"actor": Actor.ADMIN, "reason": "the machine burnt down"}


async def furnished(edge: Edge) -> None:
    """A site with two clusters and an app, whose agent is gone."""
    async with edge.agent():
        assert await edge.do("create", edge.site) == "succeeded"
        for cluster in ("c", "d"):
            assert await edge.do("create", f"{edge.site}/{cluster}", {"nodes": 1}) == "succeeded"
        assert await edge.do("create", f"{edge.site}/c/web", APP) == "succeeded"


async def orphans(edge: Edge) -> list[tuple[str, str]]:
    found = await edge.one.store.orphans.read_page(edge.lane, 100)
    return sorted((one["path"].removeprefix(edge.site), one["facts"]["kind"]) for one in found)


async def returned(edge: Edge, bus: Bus) -> None:
    """A run of the site's agent, until it ends by itself."""
    driver = edge.world.driver(timeout=PACE.call)
    try:
        async with asyncio.timeout(60):
            await Agent(bus, "crm", {edge.lane: driver}).run()
    finally:
        await driver.close()


@pytest.mark.long
@pytest.mark.req("S1-10")
async def test_site_of_a_lost_agent_is_forgotten_and_what_may_run_there_is_listed(edge: Edge) -> None:
    await furnished(edge)
    under_way = await edge.ask("update", f"{edge.site}/d", {"nodes": 2})  # its agent has not been missed yet
    await edge.until(edge.site, "Offline")
    forgotten = await edge.ask("forget", edge.site, **FORGET)
    assert await edge.end(forgotten) == "succeeded"
    assert await edge.end(under_way) in ("preempted", "cancelled")
    for path in (edge.site, f"{edge.site}/c", f"{edge.site}/d", f"{edge.site}/c/web"):
        assert await edge.row(path) is None
    assert await orphans(edge) == [("/c", "clusterinst"), ("/c/web", "appinst"), ("/d", "clusterinst")]
    assert (await edge.moves(f"{edge.site}/c/web"))[-1] == "controller request NotPresent"
    connection = await asyncpg.connect(edge.dsn)
    try:
        change = await connection.fetchval(
            "SELECT change ->> 'left_behind' FROM journal WHERE path = $1 AND target = 'NotPresent'", edge.site
        )
        claims = await connection.fetchval("SELECT count(*) FROM claims WHERE starts_with(path, $1)", edge.site)
    finally:
        await connection.close()
    assert (change, claims) == ('{"appinst": 1, "clusterinst": 2}', 0)


@pytest.mark.req("S1-10")
async def test_agent_that_comes_back_for_a_forgotten_site_ends_and_says_so(edge: Edge) -> None:
    async with edge.agent():
        assert await edge.do("create", edge.site) == "succeeded"
    await edge.until(edge.site, "Offline")
    assert await edge.do("forget", edge.site, **FORGET) == "succeeded"
    async with Bus(edge.nats.url, edge.cell, agent="crm") as bus:
        await bus.connect(60)
        with pytest.raises(SiteForgotten, match=f"the site of lane {edge.lane} was forgotten; the agent crm ends"):
            await returned(edge, bus)
    created = await edge.ask("create", edge.site)  # the name is free
    async with edge.agent():
        assert await edge.end(created) == "succeeded"


@pytest.mark.req("S1-10")
async def test_agent_that_was_silent_while_its_site_was_forgotten_ends(edge: Edge) -> None:
    """It greets no controller anew, for its run goes on; it is told in answer to its presence."""
    async with Bus(edge.nats.url, edge.cell, agent="crm") as bus:
        await bus.connect(60)
        run = asyncio.create_task(returned(edge, bus))
        assert await edge.do("create", edge.site) == "succeeded"
        announce, silent = bus.announce, asyncio.Event()

        async def mute(*_: Any, **__: Any) -> None:
            silent.set()

        bus.announce = mute  # type: ignore[method-assign]
        await edge.until(edge.site, "Offline")
        assert silent.is_set()
        assert await edge.do("forget", edge.site, **FORGET) == "succeeded"
        bus.announce = announce  # type: ignore[method-assign]
        with pytest.raises(BaseExceptionGroup) as ended:
            await run
        (why,) = ended.value.exceptions
        assert isinstance(why, SiteForgotten)


@pytest.mark.req("S1-10")
async def test_site_whose_agent_is_connected_is_not_forgotten(edge: Edge) -> None:
    async with edge.agent():
        assert await edge.do("create", edge.site) == "succeeded"
        assert "its agent is connected" in await edge.refused("forget", edge.site, **FORGET)
    await edge.until(edge.site, "Offline")
    assert "forget needs a reason" in await edge.refused("forget", edge.site, actor=Actor.ADMIN)
    assert "forget is for admin, not for user" in await edge.refused("forget", edge.site, reason="gone")
