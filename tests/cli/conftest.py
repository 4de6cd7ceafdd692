"""A server for these tests, and the command that speaks to it."""

from __future__ import annotations

import pytest

from tests.api.cell import Cell
from tests.api.fixtures import cell, ns, web
from tests.cli.remote import Stead, command

__all__ = ["cell", "ns", "web"]


@pytest.fixture
def stead(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Stead:
    return command(cell, monkeypatch)
