"""A simulated cloud for the run, and a region of its own with a driver for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from stead.drivers.sim.driver import SimDriver
from tests.drivers.cloud import SimCloud, SimWorld

# It is no test module by name, and its assertions are to explain themselves all the same.
pytest.register_assert_rewrite("tests.drivers.conformance")


@pytest.fixture(scope="session")
def cloud() -> Iterator[SimCloud]:
    with SimCloud("--seed", "1") as server:
        yield server


@pytest.fixture
async def world(cloud: SimCloud) -> AsyncIterator[SimWorld]:
    region = SimWorld(cloud)
    yield region
    await region.close()


@pytest.fixture
async def driver(world: SimWorld) -> AsyncIterator[SimDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()
