"""Two runs of one agent at once: the newest connection of the name wins, and the older one stops."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest import mock

import pytest

from stead.agent import Agent, build
from stead.agent.build import UnknownCell
from stead.agent.lane_worker import LaneWorker
from stead.agent.supersession import SupersededRun
from stead.bus import Bus
from stead.bus.messages import FullState, Hello, Presence, RenewCustody, Report, ReportResult, StateLine, TakeCustody
from stead.store import Row
from stead.store.agents import PresentAgent
from tests.edge.site import PACE, Edge
from tests.integration import whole

LATER = 1000
"""By how much the epoch of the newer run is higher."""


@asynccontextmanager
async def run(edge: Edge) -> AsyncIterator[tuple[Agent, asyncio.Task[None]]]:
    """A run of the site's agent that may end by itself."""
    driver = edge.world.driver(timeout=PACE.call)
    async with Bus(edge.nats.url, edge.cell, agent="crm") as bus:
        await bus.connect(60)
        agent = Agent(bus, "crm", {edge.lane: driver})
        task = asyncio.create_task(agent.run())
        try:
            yield agent, task
        finally:
            task.cancel()
            await asyncio.wait([task])
    await driver.close()


@asynccontextmanager
async def older(edge: Edge) -> AsyncIterator[Bus]:
    """The connection of a run that speaks for itself."""
    async with Bus(edge.nats.url, edge.cell, agent="crm") as bus:
        await bus.connect(60)
        yield bus


async def row(edge: Edge, path: str) -> Row:
    found = await edge.row(path)
    assert found is not None
    return found


def lane(agent: Agent) -> LaneWorker:
    (found,) = agent.lanes.values()
    return found


@pytest.mark.req("S1-10", "S1-11")
async def test_older_run_stops_when_a_newer_one_connects_and_the_newer_does_all_orders(edge: Edge) -> None:
    async with run(edge) as (_, first):
        assert await edge.do("create", edge.site) == "succeeded"
        async with run(edge) as (newest, second):
            with pytest.raises(BaseExceptionGroup) as ended:
                await asyncio.wait_for(asyncio.shield(first), 60)
            (why,) = ended.value.exceptions
            assert isinstance(why, SupersededRun)
            assert "crm" in str(why)
            async with asyncio.timeout(60):
                while await edge.notify(edge.site) != newest.session.epoch:
                    await asyncio.sleep(0.05)
            await edge.until(edge.site, "Ready")
            before = len(lane(newest).recent)
            clusters = [f"{edge.site}/c{n}" for n in range(3)]
            operations = [await edge.ask("create", cluster, {"nodes": 1}) for cluster in clusters]
            assert [await edge.end(operation) for operation in operations] == ["succeeded"] * 3
            assert len(lane(newest).recent) - before == 3
            assert not second.done()


@pytest.mark.req("S1-11")
async def test_older_run_that_asks_for_an_order_gets_none_and_is_told_why(edge: Edge) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent() as agent:
        assert await edge.do("create", edge.site) == "succeeded"
    await edge.ask("create", cluster, {"nodes": 1})
    members = [(cluster, (await row(edge, cluster)).snapshot.fence)]
    async with older(edge) as bus:
        refused = await bus.take_custody(TakeCustody(agent="crm", epoch=agent.session.epoch - 1, members=members))
        assert (refused.ok, refused.superseded, refused.fences) == (False, True, {})
        given = await bus.take_custody(TakeCustody(agent="crm", epoch=agent.session.epoch, members=members))
        assert given.ok
        renew = RenewCustody(order=1, agent="crm", epoch=agent.session.epoch, fences=given.fences)
        assert (await bus.renew_custody(renew)).ok
        await bus.publish_report(Hello("crm", agent.session.epoch + LATER, [edge.lane], "2"))

        async def lost() -> bool:
            return not (await bus.renew_custody(renew)).ok

        await whole.until(lost)
        assert (await row(edge, cluster)).snapshot.fence == given.fences[cluster]


@pytest.mark.req("S1-11")
async def test_what_an_older_run_reports_changes_nothing(edge: Edge) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent() as agent, older(edge) as bus:
        assert await edge.do("create", edge.site) == "succeeded"
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
        fence = (await row(edge, cluster)).snapshot.fence
        gone = [StateLine(fence, "absent", cluster)]
        await bus.publish_report(FullState("crm", agent.session.epoch - 1, edge.lane, gone, end=True, began=1.0))
        seen = [ReportResult(cluster, fence, "observed", observed="absent")]
        before = agent.session.epoch - 1
        await bus.publish_report(Report(agent="crm", epoch=before, order=1, lane=edge.lane, results=seen))
        await edge.world.fault(kind="fail", status=400, verb="update-clusterinst", times=1)
        assert await edge.do("update", cluster, {"nodes": 2}) == "rolled_back"  # heard after what the older one said
        assert "agent seen UpdateError" not in await edge.moves(cluster)
        fence = (await row(edge, cluster)).snapshot.fence
        gone = [StateLine(fence, "absent", cluster)]
        await bus.publish_report(FullState("crm", agent.session.epoch, edge.lane, gone, end=True, began=1.0))
        await edge.until(cluster, "UpdateError")  # the same word of the newest run counts


@pytest.mark.req("S1-11")
async def test_older_run_of_other_lanes_goes_on(edge: Edge) -> None:
    store = edge.one.store
    mine, other = edge.lane, f"{edge.lane}x"
    async with older(edge) as bus:
        heard = asyncio.Event()
        await bus.on_superseded(lambda _: heard.set())
        await store.agents.record_presence([PresentAgent("crm", 1, [mine]), PresentAgent("crm", 2, [other])], "edge.")
        await bus.announce(Presence("crm", 1, [mine], "1"))
        await bus.announce(Presence("crm", 1, [other], "1"))
        async with asyncio.timeout(60):
            await heard.wait()
        assert await store.agents.find_superseded([("crm", 1), ("crm", 2)]) == {("crm", 1): frozenset({other})}


@pytest.mark.long
@pytest.mark.req("S1-11")
async def test_superseded_process_ends_with_exit_code_3_and_says_why(edge: Edge) -> None:
    words = ["agent", "run", "--lane", edge.lane, "--name", "crm", "--nats", edge.nats.url, "--cell", edge.cell]
    words += ["--set", f"url={edge.cloud.url}", "--set", "timeout=2"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "stead", *words, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert await edge.do("create", edge.site) == "succeeded"
        async with edge.agent():
            _, said = await asyncio.wait_for(process.communicate(), 60)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 3
    assert "a newer run of the agent crm has connected" in said.decode()


@pytest.mark.req("S1-10")
async def test_agent_of_a_cell_that_the_bus_does_not_have_ends_and_names_those_it_has(edge: Edge) -> None:
    lanes = {edge.lane: {"driver": "sim", "url": edge.cloud.url, "provider": "edge", "region": f"ns.{edge.name}"}}
    with mock.patch("stead.agent.build.CELL_TIMEOUT", 0.1), pytest.raises(UnknownCell) as wrong:
        await asyncio.wait_for(build.run(edge.nats.url, "no-such-cell", "crm", lanes), 60)
    assert "cell no-such-cell: the bus has no cell of that name" in str(wrong.value)
    assert edge.cell in str(wrong.value)
