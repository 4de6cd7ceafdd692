"""Two versions at once, under load: whatever was let in comes to its end, whoever is replaced meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stead.store.migrate import newest
from tests.chaos.rolling import OLDER, NoHistory, before, goes_back, roll


@pytest.mark.long
@pytest.mark.alone
async def test_one_after_another_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    """`STEAD_OLD` names another commit to come from."""
    try:
        commit = os.environ.get("STEAD_OLD") or before()
    except NoHistory as none:
        pytest.skip(str(none))
    try:
        result = await roll(commit, tmp_path, print)
    except NoHistory as none:
        pytest.skip(str(none))
    assert result.verdict.clean, (result.line, result.verdict)
    assert result.faults == [], result.line
    assert result.operations > 50
    assert result.after == newest()
    assert any(len(versions) > 1 and OLDER in versions for versions in result.mixed)


def test_this_version_starts_on_a_database_that_is_newer() -> None:
    assert goes_back(Path(__file__).parents[2])
