"""libvirt: its driver keeps every driver's promises with two daemons, whose machines are those of its test driver."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stead.drivers import registry
from stead.drivers.base import TRANSITIONAL, RetryableError
from stead.drivers.libvirt import domains, nodes, volumes
from stead.drivers.libvirt.domains import Domain
from stead.drivers.libvirt.driver import LibvirtDriver
from stead.drivers.libvirt.errors import NoAnswer
from stead.drivers.libvirt.nodes import Call
from stead.drivers.libvirt.pool import Pool, named
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import eventually, observe
from tests.drivers.datacenter_conformance import (
    HALTED,
    PAUSED,
    RUNNING,
    DatacenterConformance,
    act,
    changed,
    deployed,
)
from tests.drivers.libvirt_server import Libvirt, missing
from tests.drivers.libvirt_world import NODES, LibvirtWorld
from tests.tiers import brief


@pytest.fixture(scope="session")
def daemons() -> Iterator[Mapping[str, Libvirt]]:
    if why := missing():
        # Where everything is to be tested, that is an error.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    there = {name: Libvirt(name, uuid) for name, uuid in NODES.items()}
    try:
        for daemon in there.values():
            daemon.start()
        yield there
    finally:
        for daemon in there.values():
            daemon.close()


SILENT = {"test_no_answer_is_no_absence", "test_the_loop_goes_on_while_a_daemon_says_nothing"}
"""Tests in which a daemon does not answer."""


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that does not answer is noticed soon; in the other tests it may be slow, as on a busy machine."""
    silent = request.node.originalname in SILENT
    monkeypatch.setattr(nodes, "ALIVE", (1, 1) if silent else (20, 3))
    monkeypatch.setattr(nodes, "OPENING", 0.5 if silent else 60.0)


@pytest.fixture
def world(daemons: Mapping[str, Libvirt], tmp_path: Path) -> Iterator[LibvirtWorld]:
    place = LibvirtWorld(daemons, tmp_path / "pool")
    yield place
    place.clean()


@pytest.fixture
async def driver(world: LibvirtWorld) -> AsyncIterator[LibvirtDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


@brief(
    "test_a_token_makes_one_machine_with_one_spec",
    "test_a_machine_is_led_through_its_states",
    "test_what_is_deleted_lies_there_until_it_is_restored_or_destroyed",
    "test_a_disk_is_attached_and_detached",
    "test_disks_lie_in_the_bin_alone_or_with_their_machine",
    "test_a_cloudspace_is_a_network_on_every_node",
    "test_a_node_is_there_while_it_answers",
    "test_a_machine_has_a_copy_of_its_image",
    "test_what_cannot_be_is_refused",
)
class TestConformance(DatacenterConformance):
    """On libvirt's test driver."""


class Crash(BaseException):
    """Somebody ends in the middle of something, without a chance to tidy up."""


STEPS = ["define", "save", "undefine", "wake", "write"]


class TestMoves:
    """Whoever crashes while a machine is moving: the next one leads it to an end, and at no time it runs twice."""

    @pytest.mark.parametrize("state", [RUNNING, PAUSED, HALTED])
    @pytest.mark.parametrize("before", [True, False])
    @pytest.mark.parametrize("step", STEPS)
    async def test_a_crash_at_any_step_is_taken_up(
        self, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch, step: str, before: bool, state: str
    ) -> None:
        driver = world.driver(grace=0)
        machine = await deployed(driver, world)
        if state != RUNNING:
            await act(driver, "pause" if state == PAUSED else "stop", machine)
        await driver.close()
        first, crashed = world.driver(grace=0), crash_at(monkeypatch, step, before)
        moving = changed(machine, spec={**machine.spec, "node": "n2"})
        with contextlib.suppress(Crash):
            await first.perform("migrate", [moving], "order")
        assert crashed() or (state == HALTED and step in ("save", "wake"))
        monkeypatch.undo()
        await first.close()
        running = [word for word in (await world.there(machine)).values() if word != HALTED]
        assert len(running) <= 1
        second = world.driver(grace=0)
        assert await observe(second, machine) == [state]  # whoever looks, brings it to an end
        there = await world.there(machine)
        assert list(there.values()) == [state]
        assert [(f.state, f.facts["node"]) for f in await second.inventory()] == [(state, *there)]
        assert (await act(second, "migrate", moving)).facts["node"] == "n2"
        assert await world.there(machine) == {"n2": state}
        assert [*(world.folder / "memory").iterdir()] == []
        await second.close()

    async def test_who_stops_what_was_left_on_its_way_stops_it_where_it_is(
        self, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = world.driver()
        machine = await deployed(first, world)
        crash_at(monkeypatch, "undefine", False)
        with pytest.raises(Crash):
            await first.perform("migrate", [changed(machine, spec={**machine.spec, "node": "n2"})], "order")
        monkeypatch.undo()
        second = world.driver()
        assert (await act(second, "stop", machine)).facts["node"] == "n2"
        assert await world.there(machine) == {"n2": HALTED}
        for driver in (first, second):
            await driver.close()

    @pytest.mark.parametrize("on", [True, False])
    async def test_what_is_left_on_a_node_where_it_is_not_is_removed(
        self, driver: LibvirtDriver, world: LibvirtWorld, on: bool
    ) -> None:
        machine, other = await deployed(driver, world), await deployed(driver, world)
        for each in (machine, other):
            words = world.connection("n1").lookupByName(named(each.token)).XMLDesc(0)
            left = world.connection("n2").defineXML(words)
            if on:
                left.create()
                left.suspend()
        assert {f.facts["node"] for f in await driver.inventory()} == {"n1"}
        await act(driver, "destroy", other)
        assert await world.there(other) == {}
        await act(driver, "migrate", changed(machine, spec={**machine.spec, "node": "n2"}))
        assert await world.there(machine) == {"n2": RUNNING}

    async def test_who_ends_on_the_way_is_told(
        self, driver: LibvirtDriver, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = await deployed(driver, world)

        def wake(domain: Domain, call: Call, file: str) -> None:
            """It comes to itself, and ends."""

        monkeypatch.setattr(Domain, "wake", wake)
        moving = changed(machine, spec={**machine.spec, "node": "n2"})
        (result,) = await driver.perform("migrate", [moving], "order")
        assert (result.ok, result.error) == (False, "it is no longer on: it ended while it was moved")
        assert (result.facts["node"], await observe(driver, machine)) == ("n2", [HALTED])

    async def test_a_node_that_does_not_answer_gets_nothing(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        machine = await deployed(driver, world)
        await asyncio.to_thread(world.daemons["n2"].crash)
        moving = changed(machine, spec={**machine.spec, "node": "n2"})
        with pytest.raises(RetryableError, match="n2 does not answer") as error:
            await driver.perform("migrate", [moving], "order")
        assert not error.value.unknown
        assert await observe(driver, machine) == [RUNNING]
        await world.heal()
        assert (await act(driver, "migrate", moving)).facts["node"] == "n2"


def crash_at(monkeypatch: pytest.MonkeyPatch, step: str, before: bool) -> Callable[[], bool]:
    """The next time that somebody takes the step they end, before it or after it; whether that has happened."""
    crashed = []

    def crashing(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not before:
                real(*args, **kwargs)
            crashed.append(step)
            raise Crash

        return call

    if step == "write":
        monkeypatch.setattr(Pool, "write", crashing(Pool.write))
    elif step == "define":
        monkeypatch.setattr(domains, "define", crashing(domains.define))
    else:
        monkeypatch.setattr(Domain, step, crashing(getattr(Domain, step)))
    return lambda: bool(crashed)


class TestDaemons:
    """A daemon that is killed, or says nothing."""

    async def test_a_killed_daemon_is_no_absence_and_is_found_again(
        self, driver: LibvirtDriver, world: LibvirtWorld
    ) -> None:
        machine = await deployed(driver, world)
        await asyncio.to_thread(world.daemons["n1"].crash)
        for _ in range(2):
            with pytest.raises(RetryableError, match="answer"):
                await driver.describe([machine])
        with pytest.raises(RetryableError):
            await driver.inventory()
        for verb in ("pause", "reboot", "destroy"):
            with pytest.raises(RetryableError) as error:
                await driver.perform(verb, [machine], "order")
            assert not error.value.unknown
        await world.heal()
        # What libvirt's test driver has is gone with its daemon: now that is an answer.
        assert await eventually(lambda: observe(driver, machine), bool) == [ABSENT]
        await act(driver, "destroy", machine)
        with pytest.raises(AssertionError, match="destroyed"):
            await act(driver, "deploy", machine)

    async def test_a_deploy_that_was_cut_off_is_finished_by_the_next(
        self, driver: LibvirtDriver, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = world.member("machine")
        monkeypatch.setattr(Domain, "start", cut(world.daemons["n1"]))
        with pytest.raises(RetryableError) as error:
            await driver.perform("deploy", [machine], "order")
        assert error.value.unknown  # it was defined before
        monkeypatch.undo()
        assert await observe(driver, machine) == [TRANSITIONAL]
        assert (await act(driver, "deploy", machine)).facts["node"] == "n1"
        assert await world.there(machine) == {"n1": RUNNING}

    async def test_what_could_not_be_started_is_made_on_the_node_that_is_chosen_next(
        self, driver: LibvirtDriver, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        machine = world.member("machine")
        monkeypatch.setattr(Domain, "start", cut(world.daemons["n1"]))
        with pytest.raises(RetryableError):
            await driver.perform("deploy", [machine], "order")
        monkeypatch.undo()
        assert await world.there(machine) == {"n1": HALTED}
        elsewhere = changed(machine, spec={**machine.spec, "node": "n2"})
        assert (await act(driver, "deploy", elsewhere)).facts["node"] == "n2"
        assert await world.there(machine) == {"n2": RUNNING}

    async def test_a_silent_daemon_keeps_nobody_longer_than_a_call(
        self, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(nodes, "ALIVE", (60, 60))  # as if nobody ever noticed
        driver = world.driver(timeout=5, grace=0)
        machine = await deployed(driver, world)
        await world.silence("n1")
        began = time.monotonic()
        with pytest.raises(RetryableError) as error:
            await driver.perform("pause", [machine], "order")
        assert 4 < time.monotonic() - began < 30
        assert not error.value.unknown  # it was still looking
        await world.heal()
        assert await eventually(lambda: observe(driver, machine), lambda states: states != [TRANSITIONAL]) == [
            RUNNING
        ]
        await driver.close()

    async def test_the_loop_goes_on_while_a_daemon_says_nothing(
        self, driver: LibvirtDriver, world: LibvirtWorld
    ) -> None:
        machine = await deployed(driver, world)
        await world.silence("n1")
        looking, turns = asyncio.create_task(driver.describe([machine])), 0
        while not looking.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert isinstance(looking.exception(), RetryableError)
        assert turns > 20

    async def test_a_node_that_nobody_told_of_is_no_absence(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        machine, other = await deployed(driver, world), await deployed(driver, world, node="n2")
        partial = world.driver(nodes={"n2": world.daemons["n2"].address("test")})
        with pytest.raises(RetryableError, match="node n1"):
            await partial.describe([machine])
        with pytest.raises(RetryableError, match="node n1"):
            await partial.perform("stop", [machine], "order")
        assert await observe(partial, machine, other) == [TRANSITIONAL, RUNNING]
        await partial.close()

    async def test_a_pool_that_is_away_is_no_absence(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        machine = await deployed(driver, world)
        disk = await act(driver, "create", world.member("disk", size=1))
        away = world.folder.rename(world.folder.with_name("away"))
        for member in (machine, disk):
            with pytest.raises(RetryableError, match="pool"):
                await driver.describe([member])
        with pytest.raises(RetryableError, match="pool"):
            await driver.inventory()
        away.rename(world.folder)
        assert await observe(driver, machine) == [RUNNING]


def cut(daemon: Libvirt) -> Callable[..., None]:
    """Instead of a step: nobody answers."""

    def step(_domain: Domain, call: Call, **_: Any) -> None:
        raise NoAnswer("libvirt's answer did not come", unknown=call.acted, detail=daemon.node)

    return step


class TestBorders:
    """What is not ours, what was changed by hand, and what is written down."""

    async def test_what_is_not_ours_is_never_touched(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        machine = world.member("machine")
        name = named(machine.token)
        stranger = f"<domain type='test'><name>{name}</name><memory>1024</memory><os><type>hvm</type></os></domain>"
        world.connection("n1").defineXML(stranger)
        assert await observe(driver, machine) == [ABSENT]
        assert await driver.inventory() == []
        for verb in ("stop", "delete", "destroy"):
            await act(driver, verb, machine)
        assert await world.there(machine) == {"n1": HALTED}

    async def test_what_was_started_by_hand_is_seen(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        machine = await deployed(driver, world)
        domain = world.connection("n1").lookupByName(named(machine.token))
        domain.destroy()
        assert await observe(driver, machine) == [HALTED]
        domain.create()
        domain.suspend()
        assert await observe(driver, machine) == [PAUSED]
        await act(driver, "start", machine)
        assert await observe(driver, machine) == [RUNNING]
        domain.destroy()
        domain.undefine()
        assert await observe(driver, machine) == [ABSENT]

    async def test_a_note_that_cannot_be_read_hides_nothing_else(
        self, driver: LibvirtDriver, world: LibvirtWorld
    ) -> None:
        scrawled, disk = [world.member("disk", size=1) for _ in range(2)]
        names = [(await act(driver, "create", m)).facts["id"] for m in (scrawled, disk)]
        note = world.folder / "disks" / f"{names[0]}.json"
        note.write_text('{"token": 7}')
        assert [found.token for found in await driver.inventory()] == [disk.token]

    async def test_a_disk_whose_file_is_gone_is_broken(self, driver: LibvirtDriver, world: LibvirtWorld) -> None:
        disk = await act(driver, "create", world.member("disk", size=3))
        file = world.folder / "disks" / f"{named(disk.token)}.img"
        assert (file.stat().st_size, file.stat().st_blocks) == (3 * 2**20, 0)  # it takes no room
        file.unlink()
        (seen,) = await driver.describe([disk])
        assert (seen.state, seen.error) == (BROKEN, "its file is gone")

    async def test_a_large_image_is_copied_in_several_calls(
        self, driver: LibvirtDriver, world: LibvirtWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        source = tmp_path / "large"
        source.write_bytes(b"QFI\xfb" + os.urandom(5000) + bytes(8000) + os.urandom(3000))
        monkeypatch.setattr(volumes, "PIECE", 1000)
        image = world.member("image", file=str(source))
        pool, name = Pool(world.folder), named(image.token)
        for _ in range(3):  # each has time for one piece and no more
            with pytest.raises(RetryableError, match="still being copied"):
                volumes.copy(source, pool.file("images", name, ".img"), OnePiece(0))
        monkeypatch.undo()
        assert not world.volume(image)
        (part,) = (world.folder / "images").glob("*.part")
        assert part.stat().st_size == 3000
        await act(driver, "create", image)
        assert (world.folder / "images" / f"{name}.img").read_bytes() == source.read_bytes()
        assert [*(world.folder / "images").glob("*.part")] == []
        machine = world.member("machine", image=image.path, disk=64)
        (result,) = await driver.perform("deploy", [machine], "order")
        assert (result.permanent, "raw" in result.error) == (True, True)


class OnePiece(Call):
    """A call whose time is over after the first piece."""

    asked = 0

    @property
    def left(self) -> float:
        self.asked += 1
        return float(self.asked == 1)


WRONG = [
    ({"nodes": {}}, "addresses of its nodes"),
    ({"nodes": {"n/1": "test:///default"}}, "no name for a node"),
    ({"pool": "here"}, "from the root on"),
    ({"peers": {"n9": "qemu:///system"}}, "n9 is no node"),
    ({"grace": 8}, "longer than the grace"),
    ({"timeout": 2}, "timeout"),
    ({"timeout": 1, "grace": 0}, "timeout"),
    ({"hypervisor": "xen"}, "hypervisor"),
    ({"colour": "red"}, "colour"),
]


class TestSettings:
    """What an agent is told."""

    @pytest.mark.parametrize(("config", "why"), WRONG)
    def test_what_cannot_work_is_refused(self, config: Mapping[str, Any], why: str) -> None:
        place = {"nodes": {"n1": "test:///default"}, "pool": "/tmp", "hypervisor": "test"}
        with pytest.raises(ValueError, match=f"libvirt is wrong.*{why}"):
            registry.make("libvirt", {**place, **config})

    async def test_without_a_grace_calls_may_be_short(self, world: LibvirtWorld) -> None:
        driver = world.driver(timeout=2.5, grace=0)
        await act(driver, "stop", await deployed(driver, world))
        assert driver.longest_call == 2.5
        await driver.close()

    async def test_nodes_may_be_said_in_one_word(self, world: LibvirtWorld) -> None:
        words = ",".join(f"{name}={address}" for name, address in world.config()["nodes"].items())
        driver = registry.make("libvirt", {**world.config(), "nodes": words, "provider": "libvirt", "region": "dc"})
        machine = await act(driver, "deploy", world.member("machine", node="n2"))
        assert await world.there(machine) == {"n2": RUNNING}
        assert driver.kinds == {"machine", "disk", "cloudspace", "image", "node"}
        await driver.close()
