"""A cell with one edge site."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud
from tests.edge.site import Edge


@pytest.fixture
async def edge(migrated: str, nats_server: Nats, cloud: SimCloud, cell: str) -> AsyncIterator[Edge]:
    """A controller that runs, and a site with nobody there yet."""
    async with Edge(migrated, nats_server, cloud, cell) as one:
        yield one
