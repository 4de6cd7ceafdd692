"""Which agents are there, as far as a controller can hear them."""

from __future__ import annotations

import time

import asyncpg
import pytest

from stead.bus import Bus
from stead.bus.invalid_messages import InvalidMessages
from stead.bus.messages import Presence
from stead.catalog import KINDS
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.observation.presence import AgentPresence
from stead.controller.observation.trust import ReportTrust
from stead.store import Store
from stead.store.agents import PresentAgent


async def test_whoever_could_not_be_heard_is_not_taken_for_silent(
    migrated: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Store.open(migrated, connections=1) as store:
        executor = TransitionExecutor(store, KINDS, time.time)
    # From here on the database is away.
    presences = AgentPresence(
        executor, Bus("nats://127.0.0.1:1", "c"), ReportTrust(store, InvalidMessages(), time.time, known=True)
    )
    presences._since = 0.0
    for epoch in range(3):
        await presences.hear(Presence("crm", epoch, ["edge.ns.site"], "1"))
    assert time.monotonic() - presences._since < 60  # nobody is missed for a while from now
    assert [record.getMessage() for record in caplog.records] == [
        "1 words of agents were not heard; the last: pool is closed"
    ]


SITES = """
INSERT INTO resources (path, kind, state, fence, lane, token, condition, changed_at)
SELECT '/lab/' || $1 || n, 'cloudlet', $2, 1, 'edge.lab.' || $1 || n, gen_random_uuid(), $3::jsonb,
       now() - make_interval(secs => $4)
  FROM generate_series(1, 5) n
"""
CONNECTED = '{"connected": true, "notify": 1}'


@pytest.mark.req("S1-10")
@pytest.mark.parametrize(
    ("state", "condition", "ago", "met"),
    [
        ("InitOk", CONNECTED, 0, 3),  # five are being met
        ("InitOk", CONNECTED, 60, 5),  # they say nothing, and are not waited for
        ("Init", "{}", 0, 5),  # they were just made, and nobody has come yet
        ("Ready", CONNECTED, 0, 5),
    ],
)
async def test_where_all_come_at_once_some_are_met_at_a_time(
    migrated: str, state: str, condition: str, ago: float, met: int
) -> None:
    database = await asyncpg.connect(migrated)
    await database.execute(SITES, "other", state, condition, ago)
    await database.execute(SITES, "new", "Offline", "{}", 0)
    await database.close()
    async with Store.open(migrated, connections=1) as store:
        agents = [PresentAgent(f"new{n}", 1, [f"edge.lab.new{n}"]) for n in range(1, 6)]
        await store.agents.record_presence(agents, "edge.")
        assert len(await store.agents.list_unannounced(30, 8)) == met
