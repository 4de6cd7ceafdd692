"""Migrations of a release to come, on top of those that there are: what an upgrade has to cope with."""

from __future__ import annotations

from pathlib import Path

import pytest

from stead.store import migrate

FOLDER = Path(__file__).with_name("next_versions")


def add_next_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a database is brought up to that release."""
    monkeypatch.setattr(migrate, "VERSIONS", [*migrate.VERSIONS, FOLDER])
