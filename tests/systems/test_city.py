"""A system of many services on three agents, through what can go wrong."""

from __future__ import annotations

import pytest

from tests.systems.city import run


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S4-02", "S4-04", "S4-05")
@pytest.mark.parametrize("services", [30, 200])
def test_a_system_is_deployed_changed_broken_mended_and_taken_down(services: int) -> None:
    assert len(run(services, print).lines) == 7
