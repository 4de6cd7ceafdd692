"""A driver for every test, in a region of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from stead.drivers.sim.driver import SimDriver
from tests.drivers.cloud import SimWorld

# It is no test module by name, and its assertions are to explain themselves all the same.
pytest.register_assert_rewrite("tests.drivers.conformance")


@pytest.fixture
async def driver(world: SimWorld) -> AsyncIterator[SimDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()
