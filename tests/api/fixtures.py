"""One server for all tests of a folder: a namespace each keeps them apart."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.api.cell import Cell, http
from tests.databases import Databases


@pytest.fixture(scope="session")
def cell(databases: Databases) -> Iterator[Cell]:
    with databases.migrated() as dsn, Cell(dsn) as cell:
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
