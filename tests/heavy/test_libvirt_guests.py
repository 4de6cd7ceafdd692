"""libvirt with real guests: QEMU emulates them, two daemons stand for two nodes, and machines move as they run."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stead.drivers.base import Member, RetryableError
from stead.drivers.libvirt.driver import LibvirtDriver
from stead.drivers.libvirt.pool import named
from tests.drivers import conformance, libvirt_server
from tests.drivers.conformance import eventually, observe
from tests.drivers.datacenter_conformance import (
    DELETED,
    HALTED,
    PAUSED,
    RUNNING,
    DatacenterConformance,
    act,
    changed,
    deployed,
)
from tests.drivers.libvirt_server import Libvirt
from tests.drivers.libvirt_world import NODES, LibvirtWorld
from tests.heavy import libvirt_guest

pytestmark = pytest.mark.heavy

PATIENCE = 90.0
"""Seconds. A guest boots in three of them on a machine that does nothing else."""


class GuestWorld(LibvirtWorld):
    """Whose machines are real."""

    hypervisor = "qemu"
    detaches_while_paused = False

    def console(self, machine: Member) -> list[str]:
        """What a guest wrote."""
        file = self.folder / "consoles" / named(machine.token)
        return file.read_text(errors="replace").splitlines() if file.exists() else []

    def said(self, machine: Member, word: str) -> int:
        """How often a guest has said it."""
        return sum(line.startswith(word) for line in self.console(machine))

    def driver(self, **config: Any) -> LibvirtDriver:
        return super().driver(**{"grace": 4, **config})


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "DEADLINE", PATIENCE)
    monkeypatch.setattr(conformance, "PAUSE", 0.1)


@pytest.fixture(scope="session")
def daemons() -> Iterator[Mapping[str, Libvirt]]:
    if why := libvirt_server.missing() or libvirt_guest.missing():
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


@pytest.fixture(scope="session")
def initrd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return libvirt_guest.initrd(tmp_path_factory.mktemp("guest"))


@pytest.fixture
def world(daemons: Mapping[str, Libvirt], initrd: Path, tmp_path: Path) -> Iterator[GuestWorld]:
    place = GuestWorld(daemons, tmp_path / "pool")
    place.machine_spec = {
        "cpu": 1,
        "memory": 96,
        "kernel": str(libvirt_guest.kernel()),
        "initrd": str(initrd),
        "cmdline": "console=ttyS0 quiet panic=1",
    }
    yield place
    place.clean()


@pytest.fixture
async def driver(world: GuestWorld) -> AsyncIterator[LibvirtDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


async def hears(world: GuestWorld, machine: Member, word: str, times: int = 1) -> None:
    """Wait until a guest has said something so often."""

    async def count() -> int:
        return world.said(machine, word)

    await eventually(count, lambda said: said >= times)


class TestConformance(DatacenterConformance):
    """With real guests, none of which waits for its system to be up."""


class TestGuest:
    """What the guest itself sees of what is done to its machine."""

    async def test_the_life_of_a_guest(self, driver: LibvirtDriver, world: GuestWorld) -> None:
        machine = await deployed(driver, world)
        await hears(world, machine, "GUEST-COUNT")
        await act(driver, "pause", machine)
        assert await world.there(machine) == {"n1": PAUSED}
        before = world.said(machine, "GUEST-COUNT")
        await asyncio.sleep(2)  # sleep: a guest that ran would count meanwhile
        assert world.said(machine, "GUEST-COUNT") <= before + 1  # it stands still
        await act(driver, "resume", machine)
        await hears(world, machine, "GUEST-COUNT", before + 2)
        disk = await act(driver, "assign", world.member("disk", size=8, machine=machine.path))
        await hears(world, machine, "GUEST-DISKS vda")
        disk = await act(driver, "detach", disk)
        await hears(world, machine, "GUEST-DISKS ", 3)
        assert [line for line in world.console(machine) if line.startswith("GUEST-DISKS")][-1].split() == [
            "GUEST-DISKS"
        ]
        for verb, times in (("reset", 2), ("reboot", 3), ("reboot", 4)):
            await act(driver, verb, machine)
            await hears(world, machine, "GUEST-UP", times)
            await hears(world, machine, "GUEST-DISKS", times + 2)
        assert world.said(machine, "GUEST-BUTTON") == 2  # once for each reboot
        await act(driver, "stop", machine)
        assert (world.said(machine, "GUEST-BUTTON"), await world.there(machine)) == (3, {"n1": HALTED})
        await act(driver, "delete", machine)
        assert await observe(driver, machine) == [DELETED]
        await act(driver, "restore", machine)
        await act(driver, "start", machine)
        await hears(world, machine, "GUEST-UP", 5)
        await act(driver, "destroy", machine)
        assert (await world.there(machine), world.console(machine)) == ({}, [])

    @pytest.mark.parametrize("way", ["live", "saved"])
    async def test_a_guest_that_moves_goes_on_counting(self, world: GuestWorld, way: str) -> None:
        driver = world.driver(migration=way)
        machine = await deployed(driver, world)
        await act(driver, "assign", world.member("disk", size=8, machine=machine.path))
        await hears(world, machine, "GUEST-COUNT", 2)
        for node in ("n2", "n1"):
            before = world.said(machine, "GUEST-COUNT")
            await act(driver, "migrate", changed(machine, spec={**machine.spec, "node": node}))
            assert await world.there(machine) == {node: RUNNING}
            await hears(world, machine, "GUEST-COUNT", before + 3)
        assert world.said(machine, "GUEST-UP") == 1  # it never booted again
        counts = [int(line.split()[1]) for line in world.console(machine) if line.startswith("GUEST-COUNT ")]
        assert counts == [*range(1, len(counts) + 1)]  # and never ran twice
        await driver.close()

    async def test_guests_outlive_their_daemon(self, driver: LibvirtDriver, world: GuestWorld) -> None:
        machine = await deployed(driver, world)
        await hears(world, machine, "GUEST-COUNT")
        world.daemons["n1"].crash()
        before = world.said(machine, "GUEST-COUNT")
        await hears(world, machine, "GUEST-COUNT", before + 2)
        world.daemons["n1"].heal()
        assert await eventually(lambda: observe(driver, machine), lambda states: states == [RUNNING])
        await act(driver, "stop", machine)
        assert (world.said(machine, "GUEST-UP"), world.said(machine, "GUEST-BUTTON")) == (1, 1)

    @pytest.mark.parametrize("after", [0.0, 0.7, 1.5])
    @pytest.mark.parametrize("node", ["n1", "n2"])
    async def test_a_daemon_that_dies_while_a_guest_moves(
        self, driver: LibvirtDriver, world: GuestWorld, node: str, after: float
    ) -> None:
        machine = await deployed(driver, world)
        await act(driver, "assign", world.member("disk", size=8, machine=machine.path))
        await hears(world, machine, "GUEST-COUNT", 2)
        moving = changed(machine, spec={**machine.spec, "node": "n2"})
        going = asyncio.create_task(driver.perform("migrate", [moving], "order"))

        async def on_its_way() -> bool:
            note = world.pool.note("machines", named(machine.token))
            return going.done() or (note is not None and note.to == "n2")

        await eventually(on_its_way, bool)
        await asyncio.sleep(after)
        await asyncio.to_thread(world.daemons[node].crash)
        with contextlib.suppress(RetryableError):
            await going
        await asyncio.to_thread(world.daemons[node].heal)
        await eventually(lambda: seen(driver, machine), lambda states: states == [RUNNING])
        before = world.said(machine, "GUEST-COUNT")
        await hears(world, machine, "GUEST-COUNT", before + 2)
        there = await world.there(machine)
        assert list(there.values()).count(RUNNING) == 1  # the target may still wait for what does not come
        await act(driver, "migrate", moving)
        assert await world.there(machine) == {"n2": RUNNING}
        await hears(world, machine, "GUEST-COUNT", before + 4)
        assert world.said(machine, "GUEST-UP") == 1
        counts = [int(line.split()[1]) for line in world.console(machine) if line.startswith("GUEST-COUNT ")]
        assert counts == [*range(1, len(counts) + 1)]


async def seen(driver: LibvirtDriver, machine: Member) -> list[str]:
    """What a look shows, if it has an answer."""
    try:
        return await observe(driver, machine)
    except RetryableError:
        return []
