"""One bus that lets in whom it knows, for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pki.safe import SafeNats


@pytest.fixture(scope="session")
def safe() -> Iterator[SafeNats]:
    with SafeNats() as server:
        yield server
