"""What every driver of services and jobs must pass, whatever it runs them with.

A driver's tests derive a class from `SystemConformance` and bring two fixtures: `driver`, which speaks to an empty
place, and `world`, the hand that breaks things at that place and the eye that sees what is really there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import pytest

from stead.drivers.base import PROBE, TRANSITIONAL, Driver, LogDriver, Member
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import eventually, known, observe, until
from tests.drivers.edge_conformance import act, changed, tell

SERVICE, JOB = "service", "job"
STABLE, SUCCEEDED = "stable", "succeeded"


class SystemWorld(Protocol):
    """The machine, from behind."""

    def service(self, count: int = 2, **spec: Any) -> Member:
        """A new service that can be made, with a token of its own, at revision 1."""

    def job(self, script: str, **spec: Any) -> Member:
        """The same, of a job that runs a script in a shell."""

    def other_spec(self) -> Mapping[str, Any]:
        """The spec of an app that is as good as the services' one, and differs from it."""

    def bad_spec(self) -> Mapping[str, Any]:
        """One with which an app never comes up; it writes `alas` before it ends."""

    async def running(self, member: Member) -> list[str]:
        """What really runs of it: for each copy something that tells one run of it from the next."""

    async def wreck(self, member: Member) -> None:
        """One copy is there no longer as it should be, without anybody having asked for that."""

    def driver(self) -> Driver:
        """Another one, as another agent would have it."""


async def make(driver: Driver, *services: Member) -> list[Member]:
    """Services that exist, with their facts."""
    made = known(list(services), await act(driver, "create", services))
    await until(driver, STABLE, *made)
    return made


def respecified(service: Member, revision: int, **spec: Any) -> Member:
    return changed(service, spec={"count": service.spec["count"], **spec}, revision=revision)


async def written(driver: Driver, member: Member) -> list[str]:
    """What it wrote, without words of the driver's own."""
    assert isinstance(driver, LogDriver)
    return [line for line in (await driver.logs(member, 1000)).lines if "stead: " not in line]


async def fewest(world: SystemWorld, service: Member, change: asyncio.Task[Any]) -> int:
    """How many copies ran at the worst moment of a change."""
    counts = [len(await world.running(service))]
    while not change.done():
        counts.append(len(await world.running(service)))
        await asyncio.sleep(0)
    await change
    return min(counts)


class SystemConformance:
    """The promises of `stead.drivers.base`, for what systems are made of."""

    async def test_what_is_created_runs_in_as_many_copies(self, driver: Driver, world: SystemWorld) -> None:
        two, one, none = await make(driver, world.service(2), world.service(1), world.service(0))
        assert [await tell(driver, service) for service in (two, one, none)] == [(STABLE, 1)] * 3
        assert [len(await world.running(service)) for service in (two, one, none)] == [2, 1, 0]
        assert [s.facts["copies"] for s in (two, one, none)] == [2, 1, 0]
        seen = await driver.describe([two, one, none])
        assert [(s.facts["id"], s.facts["up"]) for s in seen] == [
            (two.facts["id"], 2),
            (one.facts["id"], 1),
            (none.facts["id"], 0),
        ]

    async def test_a_token_makes_one_thing_with_one_spec(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service())
        before = await world.running(service)
        (again,) = await act(driver, "create", [changed(service, facts={})], "order-other")
        assert (again.ok, again.facts["id"]) == (True, service.facts["id"])
        other = respecified(service, 1, **world.other_spec())
        (refused,) = await driver.perform("create", [changed(other, facts={})], "order")
        assert (refused.ok, refused.permanent, bool(refused.error)) == (False, True, True)
        assert await world.running(service) == before

    async def test_many_creates_at_once_make_one(self, driver: Driver, world: SystemWorld) -> None:
        service, others = world.service(), world.driver()
        made = await asyncio.gather(
            *(act(speaker, "create", [service], f"order-{i}") for i in range(3) for speaker in (driver, others))
        )
        await others.close()
        assert [result.ok for (result,) in made] == [True] * 6
        assert len(await world.running(service)) == 2

    async def test_what_was_removed_is_not_made_again_under_its_token(
        self, driver: Driver, world: SystemWorld
    ) -> None:
        (service,) = await make(driver, world.service())
        known([service], await act(driver, "delete", [service]))
        (result,) = await driver.perform("create", [changed(service, facts={})], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert await world.running(service) == []
        (new,) = await make(driver, changed(world.service(), path=service.path))  # another may have its path
        assert await observe(driver, service) == [ABSENT]
        second = changed(world.service(), path=new.path)
        (refused,) = await driver.perform("create", [second], "order-create")
        assert (refused.ok, refused.permanent) == (False, True)
        assert await observe(driver, second) == [ABSENT]
        assert await observe(driver, new) == [STABLE]

    async def test_looks_find_what_is_there_and_nothing_else(self, driver: Driver, world: SystemWorld) -> None:
        service, gone = await make(driver, world.service(), world.service())
        job = world.job("echo done")
        known([job], await act(driver, "run", [job]))
        known([gone], await act(driver, "delete", [gone]))
        assert await observe(driver, gone, service, world.service()) == [ABSENT, STABLE, ABSENT]
        assert await observe(driver, job, world.job("true")) == [SUCCEEDED, ABSENT]
        by_id, by_token = changed(service, token="another"), changed(service, facts={})
        assert await observe(driver, by_id, by_token) == [STABLE, STABLE]
        found = await driver.inventory()
        assert sorted((f.kind, f.token, f.path, f.state) for f in found) == [
            (JOB, job.token, job.path, SUCCEEDED),
            (SERVICE, service.token, service.path, STABLE),
        ]

    async def test_a_service_is_updated_and_restored(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service())
        before = set(await world.running(service))
        new = respecified(service, 2, **world.other_spec())
        known([new], await act(driver, "update", [new], "one"))
        after = set(await world.running(service))
        assert (len(after), before & after) == (2, set())
        for order in ("one", "other"):  # it may be repeated
            known([new], await act(driver, "update", [new], order))
            assert await tell(driver, new) == (STABLE, 2)
        later = changed(new, spec={**new.spec, "note": "nothing that it knows"}, revision=7)
        known([new], await act(driver, "update", [later], "order-again"))
        assert await tell(driver, new) == (STABLE, 7)
        known([service], await act(driver, "create", [service]))  # a late one takes no update back
        assert await tell(driver, service) == (STABLE, 7)
        assert set(await world.running(service)) == after
        known([service], await act(driver, "restore", [service]))
        assert await tell(driver, service) == (STABLE, 1)
        assert set(await world.running(service)) & after == set()

    async def test_copies_are_replaced_one_by_one(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service(3))
        new = respecified(service, 2, **world.other_spec())
        worst = await fewest(world, service, asyncio.create_task(act(driver, "update", [new])))
        assert worst in (2, 3)
        assert (await tell(driver, new), len(await world.running(new))) == ((STABLE, 2), 3)

    async def test_scaling_leaves_those_that_stay_alone(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service(1))
        seen = [set(await world.running(service))]
        for revision, count in ((2, 3), (3, 2), (4, 2), (5, 0), (6, 1)):
            new = changed(service, spec={**service.spec, "count": count}, revision=revision)
            (result,) = await act(driver, "scale", [new], f"order-{revision}")
            assert (result.ok, result.facts["copies"]) == (True, count)
            assert await tell(driver, new) == (STABLE, revision)
            seen.append(set(await world.running(service)))
        assert [len(now) for now in seen] == [1, 3, 2, 2, 0, 1]
        assert seen[0] < seen[2] < seen[1]
        assert seen[2] == seen[3]
        assert not seen[5] & seen[1]

    async def test_a_bad_version_costs_one_copy_and_is_restored(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service(3))
        before = set(await world.running(service))
        bad = respecified(service, 2, **world.bad_spec())
        for order in ("one", "one", "other"):
            (failed,) = await act(driver, "update", [bad], order)
            assert not failed.ok
            assert "2 of 3 copies are up; copy 1:" in failed.error
            assert "alas" in failed.error
            (seen,) = await driver.describe([service])
            assert (seen.state, seen.facts["up"], "copy 1:" in seen.error) == (BROKEN, 2, True)
        kept = set(await world.running(service))
        assert (len(kept), kept < before) == (2, True)
        known([service], await act(driver, "restore", [service]))
        assert await tell(driver, service) == (STABLE, 1)
        assert kept < set(await world.running(service))
        assert len(await world.running(service)) == 3

    async def test_a_failed_creation_says_why_and_can_be_deleted(self, driver: Driver, world: SystemWorld) -> None:
        bad = respecified(world.service(), 1, **world.bad_spec())
        for _ in range(2):
            (failed,) = await act(driver, "create", [bad])
            assert (failed.ok, "alas" in failed.error) == (False, True)
        seen = await eventually(lambda: driver.describe([bad]), lambda seen: seen[0].state != TRANSITIONAL)
        assert (seen[0].state, "0 of 2" in seen[0].error, "alas" in seen[0].error) == (BROKEN, True, True)
        known([bad], await act(driver, "delete", [bad]))
        assert await observe(driver, bad) == [ABSENT]
        assert await driver.inventory() == []

    async def test_what_is_gone_or_wrecked_is_restored(self, driver: Driver, world: SystemWorld) -> None:
        service = world.service()
        known([service], await act(driver, "restore", [service], "order-never-made"))
        known([service], await act(driver, "delete", [service]))
        known([service], await act(driver, "restore", [service], "order-deleted"))
        assert (await tell(driver, service), len(await world.running(service))) == ((STABLE, 1), 2)
        await world.wreck(service)
        (seen,) = await until(driver, BROKEN, service)
        assert (seen.facts["up"], "1 of 2 copies are up; copy " in seen.error) == (1, True)
        (kept,) = await eventually(lambda: world.running(service), lambda running: len(running) == 1)
        known([service], await act(driver, "restore", [service], "order-wrecked"))
        assert await tell(driver, service) == (STABLE, 1)
        assert (kept in await world.running(service), len(await world.running(service))) == (True, 2)

    async def test_delete_may_be_repeated_and_leaves_nothing(self, driver: Driver, world: SystemWorld) -> None:
        services = await make(driver, world.service(), world.service(3))
        job = world.job("sleep 1000")
        (result,) = await driver.perform("run", [job], "order-run")
        assert (result.ok, result.pending) == (True, SUCCEEDED)
        bare = [services[0], changed(services[1], facts={})]
        for order in ("one", "one", "other"):
            known(services, await act(driver, "delete", bare, order))
            known([job], await act(driver, "delete", [job], order))
            assert [await world.running(member) for member in (*services, job)] == [[], [], []]
            assert await observe(driver, *services) == [ABSENT, ABSENT]
            assert await observe(driver, job) == [ABSENT]
        for never in (world.service(), world.job("true")):
            (result,) = await driver.perform("delete", [never], "order-delete")
            assert result.ok
        assert await driver.inventory() == []

    async def test_what_cannot_be_is_refused(self, driver: Driver, world: SystemWorld) -> None:
        for wrong in ({"count": -1}, {"count": "many"}, {"count": 2, "port": 65535}, {"command": "word", "image": 7}):
            mad = changed(world.service(), spec={**world.service().spec, **wrong})
            (refused,) = await driver.perform("create", [mad], "order-create")
            assert (refused.ok, refused.permanent, "spec" in refused.error) == (False, True, True)
            assert await observe(driver, mad) == [ABSENT]
        assert await driver.inventory() == []

    async def test_members_of_one_call_are_told_apart(self, driver: Driver, world: SystemWorld) -> None:
        good, last = world.service(1), world.service(1)
        bad = respecified(world.service(1), 1, **world.bad_spec())
        results = await act(driver, "create", [good, bad, last])
        assert [(r.path, r.ok) for r in results] == [(good.path, True), (bad.path, False), (last.path, True)]

    async def test_another_agent_finds_all_of_it_and_goes_on(self, driver: Driver, world: SystemWorld) -> None:
        (service,) = await make(driver, world.service())
        before = await world.running(service)
        await driver.close()
        other = world.driver()
        bare = changed(service, facts={})
        assert [(f.token, f.kind, f.state) for f in await other.inventory()] == [(service.token, SERVICE, STABLE)]
        known([bare], await act(other, "create", [bare]))
        assert sorted(await world.running(service)) == sorted(before)
        known([bare], await act(other, "delete", [bare]))
        assert await world.running(service) == []
        await other.close()

    async def test_on_the_way_there_is_nothing_but_words_that_are_known(
        self, driver: Driver, world: SystemWorld
    ) -> None:
        service = world.service()
        for verb, member in (("create", service), ("update", respecified(service, 2, **world.other_spec()))):
            making = asyncio.create_task(act(driver, verb, [member]))
            states = set()
            while not making.done():
                states |= {*(await observe(driver, member))}
            known([member], await making)
            assert states <= {ABSENT, TRANSITIONAL, STABLE}

    async def test_what_copies_write(self, driver: Driver, world: SystemWorld) -> None:
        says = ["sh", "-c", "echo this is $COPY of $SERVICE_PATH; exec sleep 1000"]
        two, one = await make(driver, world.service(2, command=says), world.service(1, command=says))
        told = await eventually(lambda: written(driver, two), lambda told: len(told) == 2)
        assert sorted(told) == [f"{n}: this is {n} of {two.path}" for n in (1, 2)]
        assert await eventually(lambda: written(driver, one), bool) == [f"this is 1 of {one.path}"]
        assert isinstance(driver, LogDriver)
        tail = await driver.logs(two, 10)
        assert (await driver.logs(two, 10, tail.position)).lines == []
        assert len((await driver.logs(two, 1)).lines) == 1

    async def test_a_job_runs_once_to_its_end(self, driver: Driver, world: SystemWorld) -> None:
        job, others = world.job("echo ran; sleep 0.3"), world.driver()
        results = await asyncio.gather(*(act(speaker, "run", [job]) for speaker in (driver, others, driver)))
        await others.close()
        assert [result.ok for (result,) in results] == [True] * 3
        known([job], await act(driver, "run", [job], "order-later"))
        assert await tell(driver, job) == (SUCCEEDED, 1)
        assert await written(driver, job) == ["ran"]
        assert await world.running(job) == []

    async def test_a_job_that_fails_says_why_and_is_not_run_again(self, driver: Driver, world: SystemWorld) -> None:
        job = world.job("echo alas; exit 3")
        for order in ("one", "other"):
            (failed,) = await act(driver, "run", [job], order)
            assert (failed.ok, failed.permanent, "code 3" in failed.error, "alas" in failed.error) == (
                *(False, True),
                *(True, True),
            )
            (seen,) = await driver.describe([job])
            assert (seen.state, seen.revision, "alas" in seen.error) == (BROKEN, 1, True)
        assert await written(driver, job) == ["alas"]

    async def test_a_job_is_run_anew_with_a_newer_spec(self, driver: Driver, world: SystemWorld) -> None:
        job = world.job("echo first; exec sleep 1000", stop={"grace": 0})
        (result,) = await driver.perform("run", [job], "order-first")
        assert (result.ok, result.pending) == (True, SUCCEEDED)
        assert await tell(driver, job) == (TRANSITIONAL, 1)
        assert len(await world.running(job)) == 1
        says = "read x < /proc/sys/kernel/random/uuid; echo second $x; sleep 0.2"  # something else every time
        new = changed(world.job(says), path=job.path, token=job.token, revision=2)
        known([new], await act(driver, "run", [new]))
        assert await tell(driver, new) == (SUCCEEDED, 2)
        assert await world.running(job) == []
        second = (await written(driver, job))[-1]
        assert second.startswith("second ")
        (refused,) = await driver.perform("run", [job], "order-late")  # the older one comes too late
        assert (refused.ok, refused.permanent) == (False, True)
        same = changed(new, revision=3)
        known([same], await act(driver, "run", [same]))
        assert await tell(driver, new) == (SUCCEEDED, 3)
        assert (await written(driver, job))[-1] != second
        (refused,) = await driver.perform("run", [changed(job, revision=3)], "order-other")
        assert (refused.ok, refused.permanent) == (False, True)

    async def test_a_job_whose_run_was_lost_is_not_run_again(self, driver: Driver, world: SystemWorld) -> None:
        job = world.job("echo ran; exec sleep 1000")
        await driver.perform("run", [job], "order-run")
        await world.wreck(job)
        await until(driver, BROKEN, job)
        (failed,) = await act(driver, "run", [job])
        assert (failed.ok, bool(failed.error)) == (False, True)
        assert await world.running(job) == []
        known([job], await act(driver, "delete", [job]))
        (refused,) = await driver.perform("run", [job], "order-run")
        assert (refused.ok, refused.permanent) == (False, True)
        assert await world.running(job) == []

    async def test_what_is_no_verb_or_too_many_is_never_begun(self, driver: Driver, world: SystemWorld) -> None:
        for verb in ("run", "reboot", PROBE):
            with pytest.raises(ValueError, match=verb):
                await driver.perform(verb, [world.service()], "order")
        for verb in ("restore", "update", "scale", PROBE):
            with pytest.raises(ValueError, match=verb):
                await driver.perform(verb, [world.job("true")], "order")
        for verb in ("create", "scale", "delete"):
            members = [world.service() for _ in range(driver.batch_limit(verb, SERVICE) + 1)]
            with pytest.raises(ValueError, match="at most"):
                await driver.perform(verb, members, "order")
        assert driver.kinds >= {SERVICE, JOB}
        assert await driver.inventory() == []
