"""The life of a guest on libvirt's test driver: the same script as with real guests, in seconds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stead.dev.engines import Nats
from tests.drivers import libvirt_server
from tests.drivers.libvirt_world import LibvirtWorld
from tests.integration.datacenter import datacenter, libvirts
from tests.integration.guest_life import Life


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.req("S2-06", "S2-07", "S2-08", "S2-11")
async def test_the_life_of_a_guest(migrated: str, nats_server: Nats, tmp_path: Path) -> None:
    if why := libvirt_server.missing():
        # Where everything is to be tested, that is an error.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    with libvirts() as daemons:
        world = LibvirtWorld(daemons, tmp_path / "pool")
        async with datacenter(migrated, nats_server, world) as place:
            await Life(place, {"cpu": 1, "memory": 64}).live()
