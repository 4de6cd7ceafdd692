"""A cell that is disturbed is restored from a backup that was taken meanwhile."""

from __future__ import annotations

import pytest

from tests.chaos.plans import RESTORED
from tests.chaos.restored import run


@pytest.mark.long
@pytest.mark.alone
async def test_restored_cell_changes_no_machine_before_its_release_and_does_nothing_twice() -> None:
    result = await run(RESTORED, print)
    assert result.problems == [], result.line
    assert result.operations > 50, result.line
    assert result.machines > 10, result.line
    assert result.left > 0, result.line
    assert len(result.faults) > 3, result.line
