"""A driver for every test, in a region of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from stead.drivers.sim.driver import SimDriver
from tests.drivers.cloud import SimWorld
from tests.drivers.ec2 import Ec2Cloud


@pytest.fixture
async def driver(world: SimWorld) -> AsyncIterator[SimDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


@pytest.fixture(scope="session")
def ec2_cloud() -> Iterator[Ec2Cloud]:
    """One for the run. Tests keep apart by account."""
    with Ec2Cloud() as server:
        yield server
