"""A refresh answers with what agents have just observed, and with the age of what they have not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stead.access.caller import anonymous
from stead.controller.observation.observer import UnknownReason
from stead.dev.engines import Nats
from tests.controller.test_truth import paths, several, token
from tests.drivers.cloud import SimWorld
from tests.integration.whole import ask, settled

MCI, GROUP = "/ns/m", "/ns/m/g"


@pytest.mark.req("S0-13")
async def test_refresh_answers_with_what_was_observed_and_the_age_of_the_rest(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 4) as (one, asked):
        await ask(one, world, "suspend", paths(4)[2])
        await settled(one, "Suspended", paths(4)[2])
        await ask(one, world, "terminate", paths(4)[3])
        await settled(one, "Terminated", paths(4)[3])
        groups = """INSERT INTO resources (path, kind, state, token) VALUES
                    ($1, 'mci', 'Running', gen_random_uuid()), ($2, 'subgroup', 'Running', gen_random_uuid())"""
        await one.store.pool.execute(groups, MCI, GROUP)
        before = await asked.queries(asked.authorization.view(anonymous())).overview()
        for _ in range(2):  # what was just changed, and what is as it was believed to be
            await world.drift("stop", tokens=[await token(one, paths(4)[1])])
            began = datetime.now(UTC)
            found = await asked.queries(asked.authorization.view(anonymous())).standing(MCI, refresh=True)
            assert found is not None
            assert found.summary == "Partial-Suspended:2 (R:1/4)"
            assert found.resource.members == {"Running": 1, "Suspended": 2, "Terminated": 1}
            assert found.observed is not None
            left = {(one.state, one.reason, one.members) for one in found.observed.unobserved}
            assert found.observed.members + sum(members for *_, members in left) == 4
            assert all(one.oldest is not None and one.oldest < began for one in found.observed.unobserved)
        assert found is not None
        assert found.observed is not None
        assert left == {("Suspended", UnknownReason.STILL, 2), ("Terminated", UnknownReason.FINAL, 1)}
        assert (found.observed.members, found.observed.calls, found.observed.calls_saved) == (1, 1, 3)
        after = await asked.queries(asked.authorization.view(anonymous())).overview()
        assert (after.calls_made or 0) - (before.calls_made or 0) == 2
        assert (after.calls_saved or 0) - (before.calls_saved or 0) == 3 + 3
        kept = await asked.queries(asked.authorization.view(anonymous())).standing(MCI)
        assert kept is not None
        assert kept.observed is None


@pytest.mark.req("S0-13")
async def test_refresh_without_an_agent_says_that_no_agent_answered(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with several(migrated, nats_server, cell, world, 2) as (one, asked):
        groups = "INSERT INTO resources (path, kind, state, token) VALUES ($1, 'mci', 'Running', gen_random_uuid())"
        await one.store.pool.execute(groups, MCI)
        await one.store.pool.execute("UPDATE resources SET lane = 'sim.nowhere' WHERE kind = 'vm'")
        found = await asked.queries(asked.authorization.view(anonymous())).standing(MCI, refresh=True)
        assert found is not None
        assert found.observed is not None
        assert [(left.state, left.reason, left.members) for left in found.observed.unobserved] == [
            ("Running", UnknownReason.NO_AGENT, 2)
        ]
        assert (found.observed.members, found.observed.calls_saved) == (0, 0)
