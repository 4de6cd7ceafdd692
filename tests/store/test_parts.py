"""The store is a façade of parts, each of which is small."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import cast

import pytest

from stead import store as package
from stead.store import Store
from stead.store.connections import Connections
from stead.store.statements import StorePart

MAX_LINES = 300
"""Lines of a file of the store."""
MAX_METHODS = 20
"""Methods of one part."""

FILES = sorted(Path(package.__file__).parent.glob("*.py"))


def methods(of: type) -> list[str]:
    """The methods that callers use."""
    return [name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file_of_store_is_small(file: Path) -> None:
    assert len(file.read_text().splitlines()) < MAX_LINES


def test_parts_of_store_are_small_and_no_part_inherits_from_another() -> None:
    parts = [part for part in vars(Store(cast(Connections, None))).values() if isinstance(part, StorePart)]
    assert len(parts) > 30
    assert {type(part).__name__: type(part).__bases__ for part in parts if type(part).__bases__ != (StorePart,)} == {}
    assert {type(part).__name__: n for part in parts if (n := len(methods(type(part)))) > MAX_METHODS} == {}


def test_facade_has_no_statements_of_its_own() -> None:
    assert methods(Store) == ["connections", "open", "snapshot"]
