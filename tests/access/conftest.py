"""Servers that ask who one is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.access.house import House, house
from tests.databases import Databases


@pytest.fixture(scope="module")
def furnished(databases: Databases) -> Iterator[House]:
    """One for the module, with something in it."""
    with databases.migrated() as dsn, house(dsn) as one:
        one.furnish()
        yield one


@pytest.fixture
def empty(migrated: str) -> Iterator[House]:
    """One for the test."""
    with house(migrated) as one:
        yield one
