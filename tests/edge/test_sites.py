"""Sites come, go and come back; what is on them is made, changed and deleted as the tables say."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

import pytest

from stead.agent.site import LANES, SiteStateUnavailable
from stead.application.drift import truth
from stead.application.reader import Reader
from stead.bus.endpoints import AgentRequests
from stead.catalog import KINDS
from stead.catalog.edge import LANE
from tests.edge.site import APP, Edge


async def ready(edge: Edge) -> None:
    """The site is there, and its agent."""
    assert await edge.do("create", edge.site) == "succeeded"


@pytest.mark.req("S1-10")
async def test_a_site_waits_for_its_agent_and_is_ready_when_it_has_gathered_what_there_is(edge: Edge) -> None:
    operation = await edge.ask("create", edge.site)
    await asyncio.sleep(0.2)
    assert await edge.state(edge.site) == "Init"
    async with edge.agent():
        assert await edge.end(operation) == "succeeded"
        row = await edge.row(edge.site)
        assert row is not None
        assert row.snapshot.state == "Ready"
        assert row.snapshot.connected
        assert row.facts is not None
        assert row.facts["kinds"] == ["appinst", "clusterinst"]
        assert await edge.moves(edge.site) == ["user request Init", "controller next InitOk", "agent succeeded Ready"]


@pytest.mark.req("S1-10")
async def test_an_agent_may_be_there_before_its_site(edge: Edge) -> None:
    async with edge.agent():
        await asyncio.sleep(0.2)
        await ready(edge)


@pytest.mark.long
@pytest.mark.req("S1-10")
async def test_a_silent_agent_is_missed_and_comes_back_under_a_new_id(edge: Edge) -> None:
    async with edge.agent():
        await ready(edge)
        first = await edge.row(edge.site)
    await edge.until(edge.site, "Offline")
    assert "its cloudlet is Offline" in await edge.refused("create", f"{edge.site}/c", {"nodes": 1})
    async with edge.agent():
        await edge.until(edge.site, "Ready")
        second = await edge.row(edge.site)
    assert first is not None
    assert second is not None
    assert second.snapshot.notify > first.snapshot.notify


@pytest.mark.long
@pytest.mark.req("S1-10")
async def test_a_new_run_supersedes_the_old_one_whose_silence_then_says_nothing(edge: Edge) -> None:
    async with edge.agent():
        await ready(edge)
        before = await edge.row(edge.site)
        assert before is not None
    async with edge.agent():  # at once, long before the first is missed
        await edge.until(edge.site, "Ready")
        async with asyncio.timeout(60):
            while (now := await edge.row(edge.site)) is None or now.snapshot.notify == before.snapshot.notify:
                await asyncio.sleep(0.05)
        await edge.until(edge.site, "Ready")
        await asyncio.sleep(5)  # sleep: longer than until the first would be missed
        assert await edge.state(edge.site) == "Ready"
        assert "controller disconnected Offline" not in await edge.moves(edge.site)


@pytest.mark.req("S1-10")
async def test_an_agent_whose_clock_is_behind_is_let_in_all_the_same(edge: Edge) -> None:
    async with edge.agent():
        await ready(edge)
    with mock.patch("stead.agent.session.time.time_ns", return_value=1_000_000_000):
        async with edge.agent() as late:
            async with asyncio.timeout(60):
                while late.session.epoch <= 1000 or (await edge.notify(edge.site)) < late.session.epoch:
                    await asyncio.sleep(0.05)
            await edge.until(edge.site, "Ready")


@pytest.mark.req("S1-10")
async def test_an_agent_that_cannot_say_what_its_site_has_ends(edge: Edge) -> None:
    await edge.world.fault(kind="drop")
    operation = await edge.ask("create", edge.site)
    with mock.patch("stead.agent.site.PAUSE", 0.01), mock.patch("stead.agent.site.MAX_TRIES", 2):
        async with edge.agent() as agent:
            (lane,) = agent.lanes.values()
            with pytest.raises(SiteStateUnavailable):
                await asyncio.wait_for(asyncio.shield(lane.failure), 60)
    assert await edge.end(operation) == "failed"
    assert await edge.state(edge.site) == "Offline"
    await edge.world.heal()
    async with edge.agent():
        await edge.until(edge.site, "Ready")


@pytest.mark.req("S1-01", "S1-04")
async def test_clusters_and_apps_are_made_changed_and_deleted(edge: Edge) -> None:
    cluster, app = f"{edge.site}/c", f"{edge.site}/c/web"
    async with edge.agent():
        await ready(edge)
        assert "its clusterinst is not there" in await edge.refused("create", app, APP)
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
        assert await edge.do("create", app, APP) == "succeeded"
        assert await edge.moves(app) == [
            "user request CreateRequested",
            "agent started Creating",
            "agent succeeded Ready",
        ]
        assert await edge.do("update", app, {"command": ["serve", "more"]}) == "succeeded"
        row = await edge.row(app)
        assert row is not None
        assert row.spec == {"command": ["serve", "more"]}
        assert row.next_spec is None
        assert "remain below it" in await edge.refused("delete", edge.site)
        assert await edge.do("delete", cluster) == "succeeded"
        assert await edge.state(app) == await edge.state(cluster) == ""
        assert (await edge.moves(app))[-3:] == [
            "controller children DeleteRequested",
            "agent started Deleting",
            "agent succeeded NotPresent",
        ]
        assert await edge.do("delete", edge.site) == "succeeded"
        assert await edge.state(edge.site) == ""


@pytest.mark.req("S1-05")
async def test_a_failed_update_is_undone_with_the_spec_there_was(edge: Edge) -> None:
    cluster, app = f"{edge.site}/c", f"{edge.site}/c/web"
    async with edge.agent():
        await ready(edge)
        await edge.do("create", cluster, {"nodes": 1})
        await edge.do("create", app, APP)
        await edge.world.fault(kind="fail", status=400, verb="update-appinst", times=1)
        assert await edge.do("update", app, {"command": ["bad"]}) == "rolled_back"
        row = await edge.row(app)
        assert row is not None
        assert (row.snapshot.state, row.spec) == ("Ready", APP)
        (there,) = await edge.world.history(str(row.token))
        assert there["spec"] == APP
        await edge.world.fault(kind="fail", status=400, verb="update-appinst", times=1)
        assert await edge.do("update", app, {"command": ["bad"]}, on_failure="keep") == "failed"
        assert await edge.state(app) == "UpdateError"
        assert await edge.do("undo", app) == "rolled_back"
        assert await edge.state(app) == "Ready"


@pytest.mark.req("S1-05")
async def test_a_failed_creation_leaves_nothing(edge: Edge) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent():
        await ready(edge)
        await edge.world.fault(kind="fail", status=400, verb="create-clusterinst", times=1)
        assert await edge.do("create", cluster, {"nodes": 1}) == "rolled_back"
        assert await edge.state(cluster) == ""
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"


@pytest.mark.long
@pytest.mark.req("S1-08", "S1-09")
async def test_what_was_asked_for_while_nobody_was_there_is_done_when_it_is_back(edge: Edge) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent():
        await ready(edge)
    operation = await edge.ask("create", cluster, {"nodes": 1})  # it has not been missed yet
    await edge.until(edge.site, "Offline")
    async with edge.agent():
        assert await edge.end(operation) == "succeeded"
        row = await edge.row(cluster)
        assert row is not None
        assert await edge.world.made(str(row.token)) == 1


@pytest.mark.long
@pytest.mark.req("S1-08")
async def test_what_changed_at_the_site_behind_a_cut_is_told_when_it_is_back(edge: Edge) -> None:
    cluster, app = f"{edge.site}/c", f"{edge.site}/c/web"
    async with edge.agent():
        await ready(edge)
        await edge.do("create", cluster, {"nodes": 1})
        await edge.do("create", app, APP)
    row = await edge.row(app)
    assert row is not None
    await edge.world.drift("delete", tokens=[str(row.token)])
    async with edge.agent():
        await edge.until(app, "UpdateError")


async def test_what_lies_on_a_site_cannot_be_begun_after_the_cluster_has_gone(edge: Edge) -> None:
    """It was decided on when the cluster was there; what is written looks again."""
    cluster, app = f"{edge.site}/c", f"{edge.site}/c/web"
    async with edge.agent():
        await ready(edge)
        await edge.do("create", cluster, {"nodes": 1})
        store = edge.one.store
        states, first = store.resources.read_states, edge.door

        async def stale(paths: list[str]) -> dict[str, tuple[str, str]]:
            seen = await states(paths)
            if edge.door is first:
                edge.door = other.admission
                assert await edge.do("delete", cluster) == "succeeded"
            return seen

        async with edge.controller() as other:
            with mock.patch.object(store.resources, "read_states", stale):
                says = await edge.refused("create", app, APP)
            assert "its clusterinst is not there" in says
        assert await edge.state(app) == ""


def test_agents_know_the_lanes_of_sites() -> None:
    assert f"{LANE}." == LANES


@pytest.mark.req("S1-04")
async def test_what_is_there_as_its_spec_says_agrees_with_what_is_believed(edge: Edge) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent():
        await ready(edge)
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
        assert await edge.do("update", cluster, {"nodes": 2}) == "succeeded"
        (beside,) = (await truth(Reader(edge.one.store, KINDS), edge.one.observer, None, cluster, "", 10)).items
        assert (beside.recorded, beside.observed, beside.matches) == ("Ready", "Ready", True)


@pytest.mark.req("S1-08", "S1-10")
@pytest.mark.parametrize("state", ["UpdateError", "UpdateRequested", "Updating", "DeletePrepare"])
async def test_agent_that_reconnects_tells_its_whole_state_in_every_state_of_the_site(edge: Edge, state: str) -> None:
    cluster = f"{edge.site}/c"
    async with edge.agent():
        await ready(edge)
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    row = await edge.row(cluster)
    assert row is not None
    await edge.world.drift("delete", tokens=[str(row.token)])
    async with edge.frozen(edge.site, state):
        async with edge.agent():
            await edge.until(cluster, "UpdateError")
        assert await edge.state(edge.site) == state


@pytest.mark.long
@pytest.mark.req("S1-10", "S1-11")
async def test_site_after_failed_upgrade_shows_the_agent_that_runs_and_whether_it_is_away(edge: Edge) -> None:
    async with edge.agent():
        await ready(edge)
    async with edge.frozen(edge.site, "UpdateError"):
        await edge.until_fact(edge.site, "connected", False)
        with mock.patch("stead.agent.session.__version__", "9.9"):
            async with edge.agent():
                await edge.until_fact(edge.site, "connected", True)
                await edge.until_fact(edge.site, "version", "9.9")
        await edge.until_fact(edge.site, "connected", False)


@pytest.mark.req("S1-08")
async def test_agent_that_starts_tells_its_state_before_it_takes_orders(edge: Edge) -> None:
    cluster, other = f"{edge.site}/c", f"{edge.site}/d"
    async with edge.agent():
        await ready(edge)
        assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    operation = await edge.ask("create", other, {"nodes": 1})  # it has not been missed yet
    row = await edge.row(cluster)
    assert row is not None
    await edge.world.drift("delete", tokens=[str(row.token)])
    ask, asked, blocked = AgentRequests.__call__, asyncio.Event(), asyncio.Event()

    async def slow(requests: AgentRequests[Any, Any], *args: Any) -> Any:
        if requests.kind == "inventory":
            asked.set()
            await blocked.wait()
        return await ask(requests, *args)

    with mock.patch.object(AgentRequests, "__call__", slow):
        async with edge.agent():
            await asked.wait()
            await edge.until_fact(edge.site, "connected", True)
            await asyncio.sleep(2)  # sleep: orders that are held come again several times
            assert await edge.state(other) == "CreateRequested"
            blocked.set()
            await edge.until(cluster, "UpdateError")
            assert await edge.end(operation) == "succeeded"
