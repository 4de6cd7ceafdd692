"""The life of a real guest, over a whole cell: it boots, and says itself what is done to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stead.dev.engines import Nats
from tests.drivers import libvirt_server
from tests.drivers.libvirt_world import LibvirtWorld
from tests.heavy import libvirt_guest
from tests.integration import guest_life
from tests.integration.datacenter import datacenter, libvirts
from tests.integration.guest_life import Guest, Life

pytestmark = pytest.mark.heavy

PATIENCE = 90.0
"""Seconds. A guest boots in three of them on a machine that does nothing else."""


class Emulated(LibvirtWorld):
    """Whose machines are real."""

    hypervisor = "qemu"


class Console(Guest):
    """What a guest writes: that it is up, once a second a number, and its disks when they change."""

    def __init__(self, file: Path) -> None:
        self.file = file

    async def has_booted(self, times: int) -> None:
        await self.until(lambda: len(self.said("GUEST-UP")) >= times)
        await self.goes_on()  # from here on it hears its power button
        assert len(self.said("GUEST-UP")) == times

    async def is_frozen(self) -> None:
        before = len(self.said("GUEST-COUNT"))
        await asyncio.sleep(3)  # sleep: a guest that ran would count meanwhile
        assert len(self.said("GUEST-COUNT")) <= before + 1

    async def goes_on(self) -> None:
        before = len(self.said("GUEST-COUNT"))
        await self.until(lambda: len(self.said("GUEST-COUNT")) >= before + 2)

    async def has_disks(self, count: int) -> None:
        await self.until(lambda: [len(line.split()) - 1 for line in self.said("GUEST-DISKS")][-1:] == [count])

    def said(self, word: str) -> list[str]:
        lines = self.file.read_text(errors="replace").splitlines() if self.file.exists() else []
        return [line for line in lines if line.startswith(word)]

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.1)


@pytest.mark.req("S2-06", "S2-07", "S2-08", "S2-11")
async def test_the_life_of_a_real_guest(
    migrated: str, nats_server: Nats, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := libvirt_server.missing() or libvirt_guest.missing():
        # Where everything is to be tested, that is an error.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    monkeypatch.setattr(guest_life, "PATIENCE", PATIENCE)
    spec = {
        "cpu": 1,
        "memory": 96,
        "kernel": str(libvirt_guest.kernel()),
        "initrd": str(libvirt_guest.initrd(tmp_path)),
        "cmdline": "console=ttyS0 quiet panic=1",
    }
    with libvirts() as daemons:
        world = Emulated(daemons, tmp_path / "pool")
        async with datacenter(migrated, nats_server, world) as place:
            consoles = world.folder / "consoles"
            await Life(place, spec, lambda name: Console(consoles / name)).live()
