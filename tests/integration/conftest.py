"""Grounds to live on: the shared servers, a nursery, and a database with the schema to be copied."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from stead.dev.engines import Nats, Postgres
from stead.store.migrate import migrate_now
from tests.drivers.cloud import SimCloud
from tests.integration.grounds import Grounds
from tests.integration.lives import Nursery


@pytest.fixture(scope="module")
def grounds(postgres: Postgres, nats_server: Nats) -> Iterator[Grounds]:
    template = f"template_{secrets.token_hex(4)}"
    migrate_now(postgres.create_database(template))
    with SimCloud("--seed", "1") as cloud, Nursery() as nursery:
        yield Grounds(postgres, template, nats_server, cloud, nursery)
