"""LXD: its driver keeps every driver's promises on a real daemon, also where a call takes several requests."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from stead.drivers import registry
from stead.drivers.base import MOVING, Permanent, Throttled, TryAgain
from stead.drivers.lxd.driver import LxdDriver
from stead.drivers.lxd.making import name_of
from stead.lifecycle.rows import ABSENT
from tests.drivers.conformance import Conformance, create, known, look, until
from tests.drivers.lxd_server import Lxd, missing
from tests.drivers.lxd_world import LxdWorld, Proxy, Request, saying, with_verb

# Where everything is to be tested, what is missing is an error.
pytestmark = pytest.mark.skipif(bool(missing()) and not os.environ.get("CI"), reason=missing())


@pytest.fixture(scope="session")
def lxd() -> Iterator[Lxd]:
    with Lxd() as server:
        yield server


@pytest.fixture
async def world(lxd: Lxd) -> AsyncIterator[LxdWorld]:
    async with Proxy(lxd.socket) as proxy:
        place = LxdWorld(lxd, proxy)
        lxd.add_project(place.project)
        yield place
        await asyncio.to_thread(lxd.empty_project, place.project)


@pytest.fixture
async def driver(world: LxdWorld) -> AsyncIterator[LxdDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


class TestConformance(Conformance):
    """On a real daemon."""
