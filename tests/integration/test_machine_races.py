"""Of two who ask something of one machine at once, at two controllers, one is let in, and the other hears of it.

`make races` runs ten thousand of them.
"""

from __future__ import annotations

import os
import time

import pytest

from stead.dev.engines import Nats
from tests.integration.races import grounds

COUNT = int(os.environ.get("STEAD_RACES", "500"))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.req("S2-04", "S2-05")
async def test_every_race_has_one_winner_and_the_other_hears_who(migrated: str, nats_server: Nats) -> None:
    async with grounds(migrated, nats_server, seed=COUNT) as races:
        began = time.monotonic()
        await races.all(COUNT)
        took = time.monotonic() - began
        left = await races.left(migrated)
    told = ", ".join(f"{count} by {name}" for name, count in sorted(races.wins.items()))
    print(f"races: {races.run} in {took:.0f} s, {told}; refused: {dict(races.codes)}; {len(races.wrong)} wrong")
    assert races.wrong == []
    assert races.run == COUNT
    assert len(races.wins) == 2, "they were no races"
    assert left == {
        "in_progress": 0,
        "succeeded": COUNT + races.made,
        "otherwise": 0,
        "begun": COUNT + races.made,
        "refused": COUNT,
    }
