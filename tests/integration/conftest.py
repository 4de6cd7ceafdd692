"""Grounds to live on: the shared servers, a nursery, and a database with the schema to be copied."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stead.dev.engines import Nats, Postgres
from tests.drivers.cloud import SimCloud
from tests.integration.grounds import Grounds
from tests.integration.lives import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """One for the run: who comes from it lives and dies without it."""
    with Nursery() as one:
        yield one


@pytest.fixture(scope="module")
def grounds(postgres: Postgres, template: str, nats_server: Nats, cloud: SimCloud, nursery: Nursery) -> Grounds:
    """With databases that no other module uses."""
    return Grounds(postgres, template, nats_server, cloud, nursery)
