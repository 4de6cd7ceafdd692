"""Servers that ask who one is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stead.dev.engines import Postgres
from tests.access.house import House, house
from tests.lanes import every_lane


@pytest.fixture(scope="module")
def furnished(postgres: Postgres) -> Iterator[House]:
    """One for the module, with something in it."""
    dsn = postgres.create_database("furnished")
    every_lane(dsn)
    with house(dsn) as one:
        one.furnish()
        yield one
    postgres.drop_database("furnished")


@pytest.fixture
def empty(migrated: str) -> Iterator[House]:
    """One for the test."""
    with house(migrated) as one:
        yield one
