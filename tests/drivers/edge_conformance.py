"""What every driver of clusters and apps must pass, whatever it runs them with.

A driver's tests derive a class from `EdgeConformance` and bring two fixtures: `driver`, which speaks to an empty
place, and `world`, the hand that breaks things at that place and the eye that sees what is really there. What a place
cannot promise is left out by overriding its test, with the reason.

An app may take a real process to start, so a test goes a long way with the few that it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import msgspec
import pytest

from stead.drivers.base import PROBE, TRANSITIONAL, Driver, Member, RecoveringDriver, Result, batches
from stead.drivers.guard import guarded
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import eventually, known, observe, until

CLUSTER, APP = "clusterinst", "appinst"
READY = "Ready"


class EdgeWorld(Protocol):
    """The site, from behind."""

    def cluster(self) -> Member:
        """A new cluster that can be made, with a token of its own, at revision 1."""

    def app(self, cluster: Member) -> Member:
        """The same, of an app in it."""

    def other_spec(self) -> Mapping[str, Any]:
        """A spec that is as good as the apps' one, and differs from it."""

    def bad_spec(self) -> Mapping[str, Any]:
        """One with which an app never comes up; it writes `alas` before it ends."""

    async def running(self, app: Member) -> list[str]:
        """What really runs of an app: something that tells one run of it from the next."""

    async def scrawl(self, app: Member) -> None:
        """What is noted of it at the place can no longer be read, or says nothing of whose it is."""

    async def wreck(self, app: Member) -> None:
        """It is there no longer as it should be, without anybody having asked for that: broken, or gone."""

    async def restart(self) -> None:
        """The machine restarts: its processes and what it keeps in memory are gone, its disk stays."""

    def driver(self) -> Driver:
        """Another one, as another agent would have it."""


def changed(member: Member, **changes: Any) -> Member:
    return msgspec.structs.replace(member, **changes)


async def act(driver: Driver, verb: str, members: Sequence[Member], order: str = "") -> list[Result]:
    """As an agent does it: in as few calls as the driver's limit allows, again where the driver says so, and to the
    end of what is only accepted."""
    results: list[Result] = []
    for batch in batches(members, driver.batch_limit(verb, members[0].kind)):
        results += await eventually(
            partial(driver.perform, verb, batch, order or f"order-{verb}"),
            lambda results: all(not r.again and (r.ok or r.permanent) for r in results),
        )
    return [await settle(driver, m, r) for m, r in zip(members, results, strict=True)]


async def settle(driver: Driver, member: Member, result: Result) -> Result:
    """What was accepted is looked at until it is over."""
    if not (result.ok and result.pending):
        return result
    (seen,) = await eventually(lambda: driver.describe([member]), lambda seen: seen[0].state != TRANSITIONAL)
    if seen.state == result.pending:
        return changed_result(result, pending="")
    return changed_result(result, ok=False, pending="", error=seen.error or seen.state)


def changed_result(result: Result, **changes: Any) -> Result:
    return msgspec.structs.replace(result, **changes)


async def tell(driver: Driver, member: Member) -> tuple[str, int | None]:
    """Its state, and the revision of the spec in force there."""
    (seen,) = await driver.describe([member])
    return seen.state, seen.revision


async def make(driver: Driver, *members: Member) -> list[Member]:
    """Members that exist, with their facts."""
    made = known(list(members), await act(driver, "create", members))
    await until(driver, READY, *made)
    return made


async def furnished(driver: Driver, world: EdgeWorld, count: int = 1) -> list[Member]:
    """A cluster, and so many apps in it."""
    (cluster,) = await make(driver, world.cluster())
    return [cluster, *(await make(driver, *(world.app(cluster) for _ in range(count))))]


@pytest.mark.req("S1-01")
class EdgeConformance:
    """The promises of `stead.drivers.base`, for what a site has."""

    async def test_inventory_has_the_others_where_one_cannot_be_read(self, driver: Driver, world: EdgeWorld) -> None:
        cluster, scrawled, app = await furnished(driver, world, 2)
        await world.scrawl(scrawled)
        tokens = [found.token for found in await driver.inventory()]
        assert {cluster.token, app.token} <= {*tokens}
        assert scrawled.token not in tokens

    async def test_what_is_created_runs_once_and_brings_facts(self, driver: Driver, world: EdgeWorld) -> None:
        cluster, *apps = await furnished(driver, world, 2)
        assert all(member.facts for member in (cluster, *apps))
        assert [await tell(driver, member) for member in (cluster, *apps)] == [(READY, 1)] * 3
        assert [len(await world.running(app)) for app in apps] == [1, 1]

    async def test_recover_after_machine_restart_starts_what_should_run(
        self, driver: Driver, world: EdgeWorld
    ) -> None:
        cluster, app = await furnished(driver, world)
        (before,) = await world.running(app)
        await driver.close()
        await world.restart()
        assert await world.running(app) == []
        again = guarded(world.driver())  # as an agent has it
        try:
            assert isinstance(again, RecoveringDriver)
            assert await again.recover() == [app.path]
            await until(again, READY, cluster)
            await until(again, READY, app)
            (now,) = await world.running(app)
            assert now != before
            assert await again.recover() == []
            assert await world.running(app) == [now]
        finally:
            await again.close()

    async def test_a_token_makes_one_thing_with_one_spec(self, driver: Driver, world: EdgeWorld) -> None:
        made = await furnished(driver, world)
        before = await world.running(made[1])
        for member in made:
            (again,) = await act(driver, "create", [changed(member, facts={})], "order-other")
            assert (again.ok, again.facts) == (True, member.facts)
        (refused,) = await driver.perform("create", [changed(made[1], spec=world.other_spec(), facts={})], "order")
        assert (refused.ok, refused.permanent) == (False, True)
        assert refused.error
        assert await world.running(made[1]) == before

    async def test_many_creates_at_once_make_one(self, driver: Driver, world: EdgeWorld) -> None:
        cluster = world.cluster()
        made = await asyncio.gather(*(act(driver, "create", [cluster], f"order-{i}") for i in range(8)))
        assert len({str(result.facts) for (result,) in made if result.ok}) == 1
        app, others = world.app(cluster), world.driver()
        made = await asyncio.gather(
            *(act(speaker, "create", [app], f"order-{i}") for i in range(4) for speaker in (driver, others))
        )
        await others.close()
        assert [result.ok for (result,) in made] == [True] * 8
        assert len({str(result.facts) for (result,) in made}) == 1
        assert len(await world.running(app)) == 1

    async def test_what_was_removed_is_not_made_again_under_its_token(self, driver: Driver, world: EdgeWorld) -> None:
        cluster, app = await furnished(driver, world)
        await act(driver, "delete", [app])
        (result,) = await driver.perform("create", [changed(app, facts={})], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert await world.running(app) == []
        (new,) = await make(driver, changed(world.app(cluster), path=app.path))  # another may have its path
        assert new.facts != app.facts
        assert await observe(driver, app) == [ABSENT]
        await act(driver, "delete", [new])
        await act(driver, "delete", [cluster])
        (result,) = await driver.perform("create", [changed(cluster, facts={})], "order-create")
        assert (result.ok, result.permanent) == (False, True)

    async def test_looks_find_what_is_there_and_nothing_else(self, driver: Driver, world: EdgeWorld) -> None:
        assert await driver.inventory() == []
        cluster, app, gone = await furnished(driver, world, 2)
        await act(driver, "delete", [gone])
        assert await observe(driver, gone, app, world.app(cluster)) == [ABSENT, READY, ABSENT]
        assert await observe(driver, cluster, world.cluster()) == [READY, ABSENT]
        for made in (cluster, app):
            by_id, by_token = changed(made, token="another"), changed(made, facts={})
            seen = await driver.describe([by_id, by_token])
            assert [(s.state, s.facts) for s in seen] == [(READY, made.facts)] * 2
        found = await driver.inventory()
        assert sorted((f.kind, f.token, f.path, f.state) for f in found) == [
            (APP, app.token, app.path, READY),
            (CLUSTER, cluster.token, cluster.path, READY),
        ]
        assert {f.token: f.facts for f in found} == {m.token: m.facts for m in (cluster, app)}
        assert all(f.id for f in found)

    async def test_an_app_is_updated_and_restored(self, driver: Driver, world: EdgeWorld) -> None:
        _, app = await furnished(driver, world)
        before = await world.running(app)
        new = changed(app, spec=world.other_spec(), revision=2)
        known([new], await act(driver, "update", [new], "one"))
        (after,) = await world.running(app)
        assert [after] != before
        for order in ("one", "other"):  # it may be repeated
            known([new], await act(driver, "update", [new], order))
            assert await tell(driver, new) == (READY, 2)
        known([new], await act(driver, "update", [changed(new, revision=7)], "order-again"))
        assert await tell(driver, new) == (READY, 7)
        known([app], await act(driver, "create", [app]))  # a late one takes no update back
        assert await tell(driver, app) == (READY, 7)
        assert await world.running(app) == [after]
        known([app], await act(driver, "restore", [app]))
        assert await tell(driver, app) == (READY, 1)
        (restored,) = await world.running(app)
        assert restored != after

    async def test_a_cluster_is_updated_and_restored_and_keeps_its_apps(
        self, driver: Driver, world: EdgeWorld
    ) -> None:
        cluster, app = await furnished(driver, world)
        before = await world.running(app)
        new = changed(cluster, spec={**cluster.spec, "note": "another"}, revision=3)
        for order in ("one", "one", "other"):
            known([new], await act(driver, "update", [new], order))
            assert await tell(driver, new) == (READY, 3)
        known([cluster], await act(driver, "restore", [cluster]))
        assert await tell(driver, cluster) == (READY, 1)
        assert await world.running(app) == before

    async def test_a_failed_update_says_why_and_is_restored(self, driver: Driver, world: EdgeWorld) -> None:
        _, app = await furnished(driver, world)
        (failed,) = await act(driver, "update", [changed(app, spec=world.bad_spec(), revision=2)])
        assert not failed.ok
        assert "alas" in failed.error
        assert await observe(driver, app) == [BROKEN]
        assert await world.running(app) == []
        known([app], await act(driver, "restore", [app]))
        assert await tell(driver, app) == (READY, app.revision)
        assert len(await world.running(app)) == 1

    async def test_a_failed_creation_says_why_and_can_be_deleted(self, driver: Driver, world: EdgeWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        bad = changed(world.app(cluster), spec=world.bad_spec())
        for _ in range(2):
            (failed,) = await act(driver, "create", [bad])
            assert not failed.ok
            assert "alas" in failed.error
        (seen,) = await driver.describe([bad])
        assert (seen.state, "alas" in seen.error) == (BROKEN, True)
        (deleted,) = await act(driver, "delete", [bad])
        assert deleted.ok
        assert await observe(driver, bad) == [ABSENT]

    async def test_what_is_gone_or_wrecked_is_restored(self, driver: Driver, world: EdgeWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        app = changed(world.app(cluster), revision=4)
        known([app], await act(driver, "restore", [app], "order-never-made"))
        assert (await tell(driver, app), len(await world.running(app))) == ((READY, 4), 1)
        await act(driver, "delete", [app])
        known([app], await act(driver, "restore", [app], "order-deleted"))
        assert (await tell(driver, app), len(await world.running(app))) == ((READY, 4), 1)
        await world.wreck(app)
        await eventually(lambda: observe(driver, app), lambda states: states in ([BROKEN], [ABSENT]))
        known([app], await act(driver, "restore", [app], "order-wrecked"))
        assert (await tell(driver, app), len(await world.running(app))) == ((READY, 4), 1)

    async def test_an_update_of_what_is_not_there_says_so_or_makes_it(self, driver: Driver, world: EdgeWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        app = world.app(cluster)
        (result,) = await act(driver, "update", [app])
        assert bool(result.error) != result.ok
        assert await observe(driver, app) == [READY if result.ok else ABSENT]
        assert len(await world.running(app)) == int(result.ok)

    async def test_delete_may_be_repeated_and_leaves_nothing(self, driver: Driver, world: EdgeWorld) -> None:
        cluster, *apps = await furnished(driver, world, 2)
        bare = [apps[0], changed(apps[1], facts={})]  # what is known by token alone can be deleted, too
        for order in ("one", "one", "other"):
            known(apps, await act(driver, "delete", bare, order))
            assert [await world.running(app) for app in apps] == [[], []]
            assert await observe(driver, *apps) == [ABSENT, ABSENT]
        for order in ("one", "one", "other"):
            known([cluster], await act(driver, "delete", [changed(cluster, facts={})], order))
            assert await observe(driver, cluster) == [ABSENT]
        for never in (world.app(cluster), world.cluster()):
            (result,) = await driver.perform("delete", [never], "order-delete")
            assert result.ok
        assert await driver.inventory() == []

    async def test_a_cluster_is_deleted_after_its_apps(self, driver: Driver, world: EdgeWorld) -> None:
        cluster, app = await furnished(driver, world)
        (like,) = await make(driver, changed(world.cluster(), path=cluster.path[:-1]))
        known([like], await act(driver, "delete", [like]))  # what is in the other is not in this one
        (refused,) = await driver.perform("delete", [cluster], "order-early")
        assert (refused.ok, refused.permanent) == (False, True)
        assert "apps" in refused.error
        assert await observe(driver, cluster) == await observe(driver, app) == [READY]
        assert len(await world.running(app)) == 1
        for member in (app, cluster):
            known([member], await act(driver, "delete", [member]))

    async def test_what_cannot_be_is_refused(self, driver: Driver, world: EdgeWorld) -> None:
        lost = world.app(world.cluster())
        (refused,) = await driver.perform("create", [lost], "order-create")
        assert (refused.ok, refused.permanent, "cluster" in refused.error) == (False, True, True)
        assert await observe(driver, lost) == [ABSENT]
        cluster, app = await furnished(driver, world)
        mad = changed(world.app(cluster), spec={"command": "not a list", "image": 7})
        (refused,) = await driver.perform("create", [mad], "order-create")
        assert (refused.ok, refused.permanent, "spec" in refused.error) == (False, True, True)
        assert await observe(driver, mad) == [ABSENT]
        second = changed(world.app(cluster), path=app.path)
        (refused,) = await driver.perform("create", [second], "order-create")
        assert (refused.ok, refused.permanent) == (False, True)
        assert await observe(driver, second) == [ABSENT]
        assert len(await world.running(app)) == 1

    async def test_members_of_one_call_are_told_apart(self, driver: Driver, world: EdgeWorld) -> None:
        (cluster,) = await make(driver, world.cluster())
        good, last = world.app(cluster), world.app(cluster)
        bad = changed(world.app(cluster), spec=world.bad_spec())
        results = await act(driver, "create", [good, bad, last])
        assert [(r.path, r.ok) for r in results] == [(good.path, True), (bad.path, False), (last.path, True)]

    async def test_another_agent_finds_all_of_it_and_goes_on(self, driver: Driver, world: EdgeWorld) -> None:
        made = await furnished(driver, world)
        before = await world.running(made[1])
        await driver.close()
        other = world.driver()
        found = await other.inventory()
        assert sorted((f.token, f.path, f.kind, f.state) for f in found) == sorted(
            (member.token, member.path, member.kind, READY) for member in made
        )
        bare = [changed(member, facts={}) for member in made]
        assert [await tell(other, member) for member in bare] == [(READY, 1)] * 2
        known(bare[1:], await act(other, "create", bare[1:]))
        assert await world.running(made[1]) == before
        for member in reversed(bare):
            known([member], await act(other, "delete", [member]))
        assert await other.inventory() == []
        assert await world.running(made[1]) == []
        await other.close()

    async def test_on_the_way_there_is_nothing_but_words_that_are_known(
        self, driver: Driver, world: EdgeWorld
    ) -> None:
        cluster = world.cluster()
        for member in (cluster, world.app(cluster)):
            making = asyncio.create_task(driver.perform("create", [member], "order-create"))
            states: list[str] = []

            async def watch(member: Member = member, states: list[str] = states) -> list[str]:
                states += await observe(driver, member)
                return states

            await eventually(watch, lambda states: states[-1] == READY)
            await making
            assert {*states} <= {ABSENT, TRANSITIONAL, READY}

    async def test_too_large_a_batch_is_never_begun(self, driver: Driver, world: EdgeWorld) -> None:
        cluster = world.cluster()
        for verb in ("create", "update", "restore", "delete"):
            members = [world.app(cluster) for _ in range(driver.batch_limit(verb, APP) + 1)]
            with pytest.raises(ValueError, match="at most"):
                await driver.perform(verb, members, "order")
        with pytest.raises(ValueError, match="at most"):
            await driver.describe([world.app(cluster) for _ in range(driver.batch_limit(PROBE, APP) + 1)])
        assert await driver.inventory() == []

    async def test_what_is_no_verb_or_no_kind_is_never_begun(self, driver: Driver, world: EdgeWorld) -> None:
        for verb in ("paint", "reboot", PROBE):
            with pytest.raises(ValueError, match=verb):
                await driver.perform(verb, [world.cluster()], "order")
        with pytest.raises(ValueError, match="vm"):
            await driver.perform("create", [changed(world.cluster(), kind="vm")], "order")
        assert driver.kinds >= {CLUSTER, APP}
        assert await driver.inventory() == []

    async def test_nobody_asked_for_is_no_work(self, driver: Driver) -> None:
        assert await driver.perform("create", [], "order") == []
        assert await driver.describe([]) == []

    async def test_calls_end_in_time(self, driver: Driver) -> None:
        assert 0 < driver.longest_call < 3600

    async def test_close_may_be_repeated(self, driver: Driver) -> None:
        await driver.close()
        await driver.close()
