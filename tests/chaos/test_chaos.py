"""The brief version of the chaos run, for every push, and the short one: everything is struck at least once."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.chaos.cell import AGENTS, LANES, lanes_of
from tests.chaos.faults import KINDS
from tests.chaos.plans import BRIEF, PLANTED, SHORT
from tests.chaos.planted import BUGS
from tests.chaos.run import run
from tests.drivers import libvirt_server


def struck(kind: str) -> str:
    """What a kind of fault strikes: controllers, agents, the bus, the database, a cloud or a node."""
    return kind.partition("-")[0]


@pytest.mark.slow
async def test_brief_run_loses_nothing_when_each_part_is_killed() -> None:
    told: list[str] = []
    result = await run(BRIEF, told.append)
    assert result.verdict.lost == [], "\n".join(told)
    assert result.verdict.violations == [], "\n".join(told)
    assert result.operations >= 10  # how many it gets depends on the machine
    assert result.line.endswith("0 lost, 0 violations, 0 liveness violations")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
async def test_nothing_is_lost_whatever_is_killed() -> None:
    told: list[str] = []
    plan = SHORT
    if why := libvirt_server.missing():
        if os.environ.get("CI"):  # where everything is to be tested
            pytest.fail(why)
        plan = replace(SHORT, tenants=0, kinds=[kind for kind in KINDS if struck(kind) != "libvirt"])
    result = await run(plan, told.append)
    assert result.verdict.lost == [], "\n".join(told)
    assert result.verdict.violations == [], "\n".join(told)
    assert {struck(kind) for kind in result.kinds} == {struck(kind) for kind in plan.kinds}
    assert result.operations >= 200
    assert result.line.endswith("0 lost, 0 violations, 0 liveness violations")


def test_the_loss_of_an_agent_leaves_another() -> None:
    served = [lane for agent in range(AGENTS) for lane in lanes_of(agent)]
    assert sorted(served) == sorted(LANES * 2)


def test_every_planted_bug_has_a_run_that_is_to_catch_it() -> None:
    assert PLANTED.keys() == BUGS.keys()
