"""One server for all tests of a folder: a namespace each keeps them apart."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import httpx
import pytest

from stead.dev.engines import Postgres
from tests.api.cell import Cell, http
from tests.lanes import every_lane


@pytest.fixture(scope="session")
def cell(postgres: Postgres) -> Iterator[Cell]:
    dsn = postgres.create_database(f"cell_{secrets.token_hex(4)}")
    every_lane(dsn)
    with Cell(dsn) as cell:
        yield cell


@pytest.fixture
def ns(cell: Cell) -> str:
    """A namespace of one's own."""
    return cell.namespace()


@pytest.fixture
def web(cell: Cell) -> Iterator[httpx.Client]:
    """What goes over the wire, and nothing else."""
    with http(cell) as client:
        yield client
