"""A few days of what `make leases` does for a year."""

from __future__ import annotations

import pytest

from tests.leases.year import Plan, run


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.req("S3-04", "S3-06", "S3-09")
async def test_no_moment_is_lost_or_comes_twice_and_no_host_is_booked_twice() -> None:
    said: list[str] = []
    result = await run(Plan(leases=80, hosts=14, days=10, seed=3), said.append)
    assert result.wrong == []
    assert result.kills > 0
    assert result.failures > 0
    assert result.fired > 20
    assert result.looks == result.plan.days
