"""The chaos run on a database and a bus of three nodes each: whoever is lost, nothing that was accepted is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos import replicated
from tests.chaos.faults import ALONE, KINDS, OF_NODES
from tests.chaos.plans import REPLICATED
from tests.chaos.run import gaps, run
from tests.chaos.storm import Fault


@pytest.mark.long
@pytest.mark.alone
async def test_nothing_is_lost_though_the_primary_is() -> None:
    if why := replicated.missing():
        pytest.skip(why)
    told: list[str] = []
    plan = replace(REPLICATED, seconds=150, seed=7, every=8, vms=60, rate=8, fleet=60, people=1, tenants=0)
    plan = replace(plan, kinds=["primary-lost", "primary-crashed", "busnode-killed", "controller-killed"])
    result = await run(plan, told.append)
    assert result.verdict.lost == [], "\n".join(told)
    assert result.verdict.violations == [], "\n".join(told)
    assert result.kinds >= {"primary-lost", "busnode-killed"}


def test_a_run_on_nodes_has_every_fault_but_those_of_single_servers() -> None:
    assert set(REPLICATED.kinds) == (KINDS.keys() | OF_NODES.keys()) - set(ALONE)


def test_the_gap_after_a_fault_is_the_longest_in_which_nobody_was_let_in() -> None:
    faults = [Fault(10.0, "primary-lost", "", 5.0), Fault(40.0, "busnode-killed", "", 1.0)]
    times = [1.0, 9.0, 9.9, 12.0, 31.0, 39.0, 39.9, 40.2, 41.5]
    assert gaps(faults, times) == pytest.approx({"primary-lost": 19.0, "busnode-killed": 1.3})
