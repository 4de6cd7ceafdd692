"""Many who want the same host at the same time."""

from __future__ import annotations

import asyncio
import re
from uuid import UUID

import pytest

from stead.controller.admission import Accepted, Wish
from stead.lifecycle.events import Request
from tests.leases.lab import Lab, terms


@pytest.mark.slow
@pytest.mark.req("S3-09")
@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.long)])
async def test_of_many_bookings_of_the_last_host_one_wins_and_the_others_hear_when_the_next_time_is(
    lab: Lab, many: int
) -> None:
    await lab.hosts("h1", "h2")
    await lab.do("create", "/lab/first", terms(10_000, 20_000))  # and then one host is left
    wanted = terms(12_000, 15_000)
    async with lab.controller() as other:
        doors = (lab.one.admission, other.admission)
        wishes = [Wish("lease", f"/lab/l{n}", Request("create"), "ann", wanted) for n in range(many)]
        answers = await asyncio.gather(*(doors[n % 2].ask(wish) for n, wish in enumerate(wishes)))
        assert all(isinstance(answer, Accepted) for answer in answers)
        ends = [await _end(lab, UUID(answer.operation)) for answer in answers if isinstance(answer, Accepted)]
    outcomes = [outcome for outcome, _ in ends]
    assert (outcomes.count("done"), outcomes.count("failed")) == (1, many - 1)
    told = {re.search(r"the next time there is is (\S+)$", says)[1] for outcome, says in ends if outcome == "failed"}  # type: ignore[index]
    assert told == {wanted["end"]}
    leases = await lab.one.store.paths("lease", "/lab/", "", 10)
    assert len(leases) == 2


async def _end(lab: Lab, operation: UUID) -> tuple[str, str]:
    async with asyncio.timeout(300):
        while (record := await lab.one.store.operation(operation)) is None or not record["outcome"]:
            await asyncio.sleep(0.1)
    return record["outcome"], record["says"]
