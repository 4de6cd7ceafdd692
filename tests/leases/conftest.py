"""A cell with hosts to be booked."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud
from tests.leases.lab import Lab


@pytest.fixture
async def lab(migrated: str, nats_server: Nats, cloud: SimCloud, cell: str) -> AsyncIterator[Lab]:
    """A controller and an agent that run, and no host yet."""
    async with Lab(migrated, nats_server, cloud, cell) as one:
        yield one
