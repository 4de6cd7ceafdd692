"""Services and jobs as processes: copies come and go one by one, and nothing runs twice or is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.agent.lane_driver import LaneDriver
from stead.agent.order_results import MAX_TRIES
from stead.agent.order_work import OrderWork
from stead.bus.messages import Order, OrderMember
from stead.dev.children import free_port
from stead.drivers.base import TRANSITIONAL, Member, Result
from stead.drivers.process import cgroups
from stead.drivers.process.driver import ProcessDriver
from stead.drivers.process.keeper.program import UP
from stead.drivers.process.processes import read
from stead.lifecycle.rows import BROKEN
from stead.lifecycle.snapshot import Fence
from tests.drivers.conformance import eventually, known, observe, until
from tests.drivers.edge_conformance import act, changed, tell
from tests.drivers.process_world import ProcessWorld
from tests.drivers.system_conformance import STABLE, SUCCEEDED, SystemConformance, fewest, make, respecified, written
from tests.drivers.test_process import holds, in_group, shell

FENCE = Fence(0, 7)

TICK = 0.02
"""Seconds within which two files may seem to have been written at the same time."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ProcessWorld]:
    place = ProcessWorld(tmp_path / "site")
    yield place
    place.clean()


@pytest.fixture
async def driver(world: ProcessWorld) -> AsyncIterator[ProcessDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


class TestConformance(SystemConformance):
    """With real processes."""


def pids(world: ProcessWorld, service: Member, *copies: int) -> list[list[str]]:
    return [world.processes(service, copy) for copy in copies]


def end(found: list[str]) -> None:
    (one,) = found
    os.kill(int(one.split(":")[0]), signal.SIGKILL)


class TestCopies:
    """Each copy is an app of its own, and known by its number."""

    async def test_a_killed_copy_comes_back_by_itself(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make(driver, world.service(3, backoff={"first": 0.05}))
        before = pids(world, service, 1, 2, 3)
        end(before[1])
        await holds(lambda: world.processes(service, 2) not in ([], before[1]))
        await until(driver, STABLE, service)
        assert pids(world, service, 1, 3) == [before[0], before[2]]

    async def test_one_that_is_started_again_is_on_its_way(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make(driver, world.service(2, backoff={"first": 60}))
        end(world.processes(service, 2))
        await until(driver, TRANSITIONAL, service)
        known([service], await act(driver, "restore", [changed(service, spec={**service.spec, "count": 1})]))
        assert await observe(driver, service) == [STABLE]

    async def test_a_killed_keeper_breaks_it_and_restore_heals_it(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (service,) = await make(driver, world.service(3))
        before = pids(world, service, 1, 2, 3)
        os.kill(world.keeper(service, 2), signal.SIGKILL)
        (seen,) = await until(driver, BROKEN, service)
        assert seen.error.startswith("2 of 3 copies are up; copy 2: its keeper is gone")
        assert [f.state for f in await driver.inventory()] == [BROKEN]
        known([service], await act(driver, "restore", [service]))
        assert await tell(driver, service) == (STABLE, 1)
        assert pids(world, service, 1, 3) == [before[0], before[2]]
        assert len(world.processes(service)) == len(world.keepers()) == 3

    async def test_each_copy_has_a_port_of_its_own(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        port = free_port(2)
        serves = ["busybox", "httpd", "-f", "-p", "127.0.0.1:${PORT}", "-h", "."]
        health = {"tcp": {"port": 0}, "every": 0.1}
        env = {"TEST_SITE": world.root.mark, "NAME": "copy-${COPY}-at-${PORT}"}
        service = world.service(2, command=serves, port=port, health=health, env=env)
        (service,) = await make(driver, service)
        for copy in (1, 2):
            one, *_ = world.processes(service, copy)  # a server begins another for each check of its health
            said = Path(f"/proc/{one.split(':')[0]}/environ").read_text().split("\0")
            assert {f"PORT={port + copy - 1}", f"NAME=copy-{copy}-at-{port + copy - 1}"} <= {*said}
        without = world.service(2, command=serves, health=health)
        (refused,) = await driver.perform("create", [without], "order")
        assert (refused.ok, "port" in refused.error) == (False, True)

    async def test_limits_are_held_for_each_copy(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make(driver, world.service(2, memory="32M", pids=9))
        trees = cgroups.found()
        assert trees is not None
        for copy in (1, 2):
            group = f"stead/{world.root.mark}/services@{world.place(service).above.name}/{copy}"
            assert int(in_group(trees, group, "pids", "pids.max", "pids.max")) == 9
            (one,) = world.processes(service, copy)
            assert f"/{group}" in Path(f"/proc/{one.split(':')[0]}/cgroup").read_text()
        job = world.job("cat /proc/self/cgroup", pids=9)
        known([job], await act(driver, "run", [job]))
        assert any(f"/stead/{world.root.mark}/jobs@" in line for line in await written(driver, job))
        for member in (service, job):
            known([member], await act(driver, "delete", [member]))
        assert not any(g.exists() for g in trees.group(f"stead/{world.root.mark}"))
        assert [*(world.folder / "services").iterdir(), *(world.folder / "jobs").iterdir()] == []

    async def test_a_path_may_be_long(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        deep = "/lab/shop/" + "/".join(["part-" * 5] * 30)
        (one, other) = await make(
            driver, *(changed(world.service(1), path=f"{deep}/{name}", token=name) for name in ("one", "two"))
        )
        assert sorted(f.path for f in await driver.inventory()) == sorted((one.path, other.path))
        known([one], await act(driver, "delete", [one]))
        assert await observe(driver, one, other) == ["absent", STABLE]


class TestRolling:
    """From one version to the next, however long it takes and whoever is killed on the way."""

    async def test_the_next_copy_is_touched_when_the_one_before_is_up(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (service,) = await make(driver, world.service(3))
        new = respecified(service, 2, **{**world.other_spec(), "settle": 0.4})
        change = asyncio.create_task(act(driver, "update", [new]))
        counts = []
        while not change.done():
            phases = [said.phase for copy in (1, 2, 3) if (said := read(world.place(service, copy))) is not None]
            counts.append(phases.count(UP))
            await asyncio.sleep(0.01)
        known([new], await change)
        assert min(counts) == 2

    @pytest.mark.long
    async def test_what_takes_longer_than_a_call_goes_on(self, world: ProcessWorld) -> None:
        driver = world.driver(timeout=4)
        (service,) = await make(driver, world.service(4))
        new = respecified(service, 2, **{**world.other_spec(), "settle": 0.8})
        (result,) = await driver.perform("update", [new], "order")
        assert (result.ok, result.again, result.pending) == (True, True, "")
        (seen,) = await driver.describe([new])
        assert seen.state in (TRANSITIONAL, BROKEN)  # whether the copy that was begun last is up by now
        worst = await fewest(world, service, asyncio.create_task(act(driver, "update", [new], "order")))
        assert (worst >= 3, await tell(driver, new)) == (True, (STABLE, 2))
        await driver.close()

    @pytest.mark.long
    async def test_an_order_takes_as_many_calls_as_it_needs(self, world: ProcessWorld) -> None:
        driver = Counting(world.driver(patience=0))
        made = known([service := world.service(MAX_TRIES + 2)], await act(driver, "create", [service]))
        driver.calls = 0
        new = respecified(made[0], 2, **world.other_spec())
        member = OrderMember(new.path, FENCE, new.token, dict(new.spec), dict(new.facts), "service", 2)
        order = Order(1, "lab.a", "service", "update", "t.1", "op", 1, [member], 0.0)
        (said,) = await OrderWork(LaneDriver(driver)).execute(order, {new.path: FENCE}, lambda: None)
        assert (said.kind, said.facts["up"]) == ("succeeded", MAX_TRIES + 2)
        assert driver.calls > MAX_TRIES
        assert await tell(driver, new) == (STABLE, 2)
        await driver.close()

    async def test_a_version_that_fails_between_two_calls_is_not_tried_for_ever(self, world: ProcessWorld) -> None:
        driver = world.driver(patience=0.1)
        (service,) = await make(driver, world.service(2))
        before = pids(world, service, 2)
        slow = shell("sleep 0.5; echo alas; exit 3")
        bad = respecified(service, 2, **{**world.app_spec(), "command": slow, "settle": 30})
        (failed,) = await act(driver, "update", [bad])
        assert (failed.ok, "copy 1: it ended with exit code 3" in failed.error) == (False, True)
        assert (await written(driver, service)).count("1: alas") == 1
        assert pids(world, service, 2) == before
        await driver.close()

    async def test_another_order_gives_what_failed_another_chance(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (service,) = await make(driver, world.service(2))
        picky = respecified(service, 2, **{**world.app_spec(), "command": shell("test -e well && exec sleep 1000")})
        (failed,) = await act(driver, "update", [picky], "one")
        assert not failed.ok
        for copy in (1, 2):
            (world.place(service, copy).work / "well").touch()
        (again,) = await act(driver, "update", [picky], "one")
        assert (again.ok, again.error) == (False, failed.error)
        known([picky], await act(driver, "update", [picky], "other"))
        assert await tell(driver, picky) == (STABLE, 2)

    async def test_a_late_word_of_one_service_keeps_no_other_waiting(self, world: ProcessWorld) -> None:
        """Each has a lock of its own, and none is left of it."""
        driver = world.driver(timeout=4)
        services = [world.service(0) for _ in range(20)]
        with contextlib.ExitStack() as held:
            for service in services[1:]:
                held.enter_context(world.root.alone("service", service.path, 0))
            (result,) = await driver.perform("create", services[:1], "order")
            (late,) = await driver.perform("create", services[1:2], "order")
        assert (result.ok, late.ok, late.permanent) == (True, False, False)
        known(services, await act(driver, "create", services))
        assert [*(world.folder / "locks").iterdir()] == []
        await driver.close()

    async def test_who_is_on_the_way_is_waited_for(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        """A copy that is down while it waits to be started again is replaced before any that is up."""
        (service,) = await make(driver, world.service(3, backoff={"first": 60}))
        end(world.processes(service, 3))
        await until(driver, TRANSITIONAL, service)
        new = respecified(service, 2, **world.other_spec())
        worst = await fewest(world, service, asyncio.create_task(act(driver, "update", [new])))
        assert (worst, await tell(driver, new)) == (2, (STABLE, 2))

    async def test_more_copies_of_a_bad_version_cost_none(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        (service,) = await make(driver, world.service(2))
        before = world.processes(service)
        bad = changed(service, spec={**world.bad_spec(), "count": 4}, revision=2)
        (failed,) = await act(driver, "update", [bad])
        assert (failed.ok, "2 of 4 copies are up" in failed.error) == (False, True)
        assert world.processes(service) == before
        known([service], await act(driver, "restore", [service]))
        assert (world.processes(service), len(world.keepers())) == (before, 2)

    @pytest.mark.long
    async def test_a_killed_agent_leaves_a_change_that_the_next_one_finishes(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        (service,) = await make(driver, world.service(4))
        before = world.processes(service)
        new = respecified(service, 2, **{**world.other_spec(), "settle": 0.3})
        agent = agent_of(world, "update", new)
        await holds(lambda: len({*before} & {*world.processes(service)}) == 2)
        assert await observe(driver, new) == [TRANSITIONAL]
        os.killpg(agent.pid, signal.SIGKILL)
        agent.wait()
        (seen,) = await until(driver, BROKEN, new)  # what was begun came up, and nobody goes on
        assert "4 of 4 copies are up; 2 are not as they should be" in seen.error
        half = {*world.processes(service)}
        worst = await fewest(world, service, asyncio.create_task(act(driver, "update", [new])))
        assert (worst >= 3, await tell(driver, new)) == (True, (STABLE, 2))
        assert len(half & {*world.processes(service)}) == 2  # those that were as they should be were left alone
        assert len(world.keepers()) == 4

    @pytest.mark.long
    async def test_an_agent_that_died_before_a_keeper_was_told(
        self, driver: ProcessDriver, world: ProcessWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stead.drivers.process.leading.OVERDUE", 0.2)
        (service,) = await make(driver, world.service(1, stop={"grace": 0.1}))
        job = world.job("exec sleep 1000", stop={"grace": 0.1})
        await driver.perform("run", [job], "order")
        new, anew = respecified(service, 2, **world.other_spec()), changed(world.job("true"), revision=2)
        anew = changed(anew, path=job.path, token=job.token)
        for verb, member in (("update", new), ("run", anew), ("delete", new), ("delete", anew)):
            with monkeypatch.context() as patched:
                patched.setattr("stead.drivers.process.processes.Processes.heed", killed)
                with pytest.raises(Killed):
                    await driver.perform(verb, [member], "order")
            (seen,) = await until(driver, BROKEN, member)
            assert ("keeper" in seen.error, "deleted" in seen.error) in ((True, False), (False, True))
        for member in (new, anew):
            known([member], await act(driver, "delete", [member]))
        assert (world.processes(), world.keepers(), await driver.inventory()) == ([], [], [])

    async def test_a_killed_agent_leaves_a_deletion_that_the_next_one_finishes(
        self, driver: ProcessDriver, world: ProcessWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (service,) = await make(driver, world.service(3))
        with monkeypatch.context() as patched:
            patched.setattr("stead.drivers.process.copies.Copies.take_down", killed)
            with pytest.raises(Killed):
                await driver.perform("delete", [service], "order")
        (seen,) = await until(driver, BROKEN, service)
        assert "deleted" in seen.error
        known([service], await act(driver, "delete", [service]))
        assert (world.processes(), world.keepers(), await driver.inventory()) == ([], [], [])

    async def test_a_deletion_that_takes_long_goes_on(self, world: ProcessWorld) -> None:
        driver = world.driver(patience=0.2)
        deaf = shell("trap '' TERM; echo deaf; exec sleep 1000")
        (service,) = await make(driver, world.service(2, command=deaf, stop={"grace": 1}))
        await eventually(lambda: written(driver, service), lambda told: len(told) == 2)
        (result,) = await driver.perform("delete", [service], "order")
        assert (result.ok, result.again) == (True, True)
        assert await observe(driver, service) == [TRANSITIONAL]
        assert await until(driver, "absent", service)  # a look finds the end of it
        assert (world.processes(), world.keepers()) == ([], [])
        assert not world.place(service).above.exists()
        await driver.close()

    async def test_what_is_leaving_and_wanted_again_begins_anew(self, world: ProcessWorld) -> None:
        driver = world.driver(patience=0.1)
        deaf = shell("trap '' TERM; echo deaf; exec sleep 1000")
        (service,) = await make(driver, world.service(2, command=deaf, stop={"grace": 1}))
        await eventually(lambda: written(driver, service), lambda told: len(told) == 2)
        before = pids(world, service, 1)
        fewer = changed(service, spec={**service.spec, "count": 1}, revision=2)
        (result,) = await driver.perform("scale", [fewer], "order-fewer")
        assert result.again
        known([service], await act(driver, "scale", [changed(service, revision=3)], "order-more"))
        assert await tell(driver, service) == (STABLE, 3)
        assert pids(world, service, 1) == before
        await holds(lambda: len(world.keepers()) == 2)
        await driver.close()


class TestJobs:
    """Once to the end."""

    async def test_a_killed_agent_leaves_a_job_running(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        job = world.job("echo ran; mkfifo go; read x < go")
        agent = agent_of(world, "run", job)
        await holds((world.place(job).work / "go").exists)
        os.killpg(agent.pid, signal.SIGKILL)
        agent.wait()
        assert await tell(driver, job) == (TRANSITIONAL, 1)
        (result,) = await driver.perform("run", [job], "order-run")
        assert (result.ok, result.pending) == (True, SUCCEEDED)
        (world.place(job).work / "go").write_text("x\n")
        await until(driver, SUCCEEDED, job)
        assert await written(driver, job) == ["ran"]

    async def test_an_agent_that_died_before_the_run_began(
        self, driver: ProcessDriver, world: ProcessWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = world.job("echo ran")
        with monkeypatch.context() as patched:
            patched.setattr("stead.drivers.process.processes.Processes.start", killed)
            with pytest.raises(Killed):
                await driver.perform("run", [job], "order")
        assert await observe(driver, job) == [BROKEN]
        known([job], await act(driver, "run", [job]))
        assert (await tell(driver, job), await written(driver, job)) == ((SUCCEEDED, 1), ["ran"])

    async def test_restart_and_health_mean_nothing_to_a_job(self, driver: ProcessDriver, world: ProcessWorld) -> None:
        job = world.job("echo ran; sleep 0.5; exit 1", restart="always", health={"command": ["false"], "grace": 0.1})
        (failed,) = await act(driver, "run", [job])
        assert (failed.ok, "exit code 1" in failed.error) == (False, True)
        assert await written(driver, job) == ["ran"]


class TestLogs:
    """What several copies write is told as one."""

    async def test_who_wrote_last_comes_last_and_a_follower_loses_nothing(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        says = shell("mkfifo go; exec 3<> go; > ready; while read word <&3; do echo $word; done")
        health = {"command": ["test", "-e", "ready"]}
        (service,) = await make(driver, world.service(3, command=says, health=health))

        async def say(copy: int, word: str) -> None:
            (world.place(service, copy).work / "go").write_text(f"{word}\n")
            await eventually(lambda: written(driver, service), lambda told: told[-1:] == [f"{copy}: {word}"])
            await asyncio.sleep(TICK)

        for copy, word in ((3, "one"), (1, "two"), (2, "three")):
            await say(copy, word)
        tail = await driver.logs(service, 1000)
        for copy, word in ((2, "four"), (3, "five")):
            await say(copy, word)
        more = await driver.logs(service, 1000, tail.position)
        assert more.lines == ["2: four", "3: five"]
        assert (await driver.logs(service, 1000, more.position)).lines == []
        assert (await driver.logs(service, 1)).lines == ["3: five"]

    async def test_one_that_writes_much_does_not_hide_the_others(
        self, driver: ProcessDriver, world: ProcessWorld
    ) -> None:
        says = shell("test $COPY = 1 && seq 1 100 || echo little; exec sleep 1000")
        (service,) = await make(driver, world.service(2, command=says))
        told = await eventually(lambda: written(driver, service), lambda told: len(told) == 101)
        assert "2: little" in told
        few = (await driver.logs(service, 10)).lines
        assert (len(few), "2: little" in few, "1: 100" in few) == (10, True, True)


class Counting:
    """A driver, and how often it was told to do something."""

    def __init__(self, driver: ProcessDriver) -> None:
        self._driver = driver
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)

    async def perform(self, verb: str, members: Any, token: str) -> list[Result]:
        self.calls += 1
        return await self._driver.perform(verb, members, token)


class Killed(BaseException):
    """Somebody ended the agent."""


def killed(*_: object) -> None:
    raise Killed


def agent_of(world: ProcessWorld, verb: str, member: Member) -> subprocess.Popen[bytes]:
    """Another agent, which does something and can be killed."""
    agent = f"""
import asyncio, msgspec, sys
from stead.drivers import registry
from stead.drivers.base import Member
driver = registry.make("process", {{"root": {str(world.folder)!r}}})
member = msgspec.json.decode(sys.stdin.readline(), type=Member)
asyncio.run(driver.perform({verb!r}, [member], "order-{verb}"))
"""
    process = subprocess.Popen([sys.executable, "-c", agent], stdin=subprocess.PIPE, process_group=0)
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(member) + b"\n")
    process.stdin.close()
    return process
