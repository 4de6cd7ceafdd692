"""Many who want the same host at the same time."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.dev.engines import Nats
from stead.lifecycle.events import Request
from stead.store.statements import statement
from tests.action_requests import requested
from tests.drivers.cloud import SimCloud
from tests.leases.lab import PACE, Lab, terms


@pytest.fixture
async def lab(migrated: str, nats_server: Nats, cloud: SimCloud, cell: str) -> AsyncIterator[Lab]:
    """With time for steps: on a busy machine, a hundred bookings at once take longer than `PACE` gives each of them.
    Two controllers would take the steps from each other over and over, and few bookings would end."""
    async with Lab(migrated, nats_server, cloud, cell, replace(PACE, step=120)) as one:
        yield one


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
        wishes = [requested("lease", f"/lab/l{n}", Request("create"), "ann", wanted) for n in range(many)]
        answers = await asyncio.gather(*(doors[n % 2].admit(*wish) for n, wish in enumerate(wishes)))
        assert all(isinstance(answer, Accepted) for answer in answers)
        ends = [await _end(lab, UUID(answer.operation)) for answer in answers if isinstance(answer, Accepted)]
    outcomes = [outcome for outcome, _ in ends]
    assert (outcomes.count("succeeded"), outcomes.count("failed")) == (1, many - 1)
    told = {re.search(r"the next time there is is (\S+)$", says)[1] for outcome, says in ends if outcome == "failed"}  # type: ignore[index]
    assert told == {wanted["end"]}
    leases = await lab.one.store.resources.list_paths("lease", "/lab/", "", 10)
    assert len(leases) == 2


LISTENS = "UPDATE pg_index SET indisready = $1 WHERE indexrelid = 'allocations_host_during_excl'::regclass"
"""Whether the constraint's index is told of new rows."""


@pytest.mark.req("S3-09")
async def test_what_the_constraints_index_has_lost_is_not_booked_again(lab: Lab) -> None:
    """An index was seen to forget a row: then the constraint does not hold, and who books has to look elsewhere."""
    await lab.hosts("h1", "h2")
    pool = lab.one.store.pool
    await pool.execute(LISTENS, False)
    assert await lab.do("create", "/lab/lost", terms(10_000, 20_000)) == ("succeeded", "")
    await pool.execute(LISTENS, True)
    found = "SELECT count(*) FROM allocations WHERE during && tstzrange(now(), 'infinity')"
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        assert await connection.fetchval(found) == 0  # by that index there is nothing
    assert (await lab.parts("/lab/lost"))["r0"]["hosts"] == ["h1"]
    assert await lab.do("create", "/lab/other", terms(15_000, 25_000)) == ("succeeded", "")
    assert (await lab.parts("/lab/other"))["r0"]["hosts"] == ["h2"]
    assert (await lab.do("create", "/lab/third", terms(15_000, 25_000)))[0] == "failed"
    assert (await lab.do("update", "/lab/other", {"reservations": [{"name": "r0", "count": 2}]}))[0] == "failed"


@pytest.mark.req("S3-09")
async def test_no_search_scans_the_constraints_index(lab: Lab) -> None:
    """One that is begun anew for every host could make it lose rows that are there."""
    await lab.hosts(*(f"h{n}" for n in range(30)))
    pool = lab.one.store.pool
    await pool.execute(
        "INSERT INTO allocations (host, reservation, during)"
        " SELECT h.id, '/lab/x/r0', tstzrange(t, t + interval '1 hour')"
        "  FROM hosts h, generate_series(now(), now() + interval '5 days', interval '2 hours') t"
    )
    async with pool.acquire() as connection:

        async def scans() -> int:
            await connection.execute("SELECT pg_stat_force_next_flush()")
            await connection.execute("SELECT pg_stat_clear_snapshot()")
            said = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'allocations_host_during_excl'"
            return int(await connection.fetchval(said))

        lane, now = await connection.fetchval("SELECT min(lane) FROM hosts"), datetime.now(UTC)
        for plan in ("SET enable_seqscan = on", "ANALYZE allocations"):
            await connection.execute(plan)
            before = await scans()
            free = (
                "SELECT find_free_hosts($1, '$.* != 0', tstzrange(now(), now() + interval '3 days'), 'me', 5, '{}')"
            )
            assert await connection.fetchval(free, lane) == []
            later = "SELECT find_next_start('true', 2, now(), interval '90 minutes')"
            assert await connection.fetchval(later) is not None
            await connection.fetch(statement("list_calendar"), now, now + timedelta(days=30), ["h1", "h2"])
            await connection.execute("UPDATE hosts SET works = name <> 'h3'")
            await connection.fetch(statement("flag_degraded"), time.time())
            assert await scans() == before, plan


async def _end(lab: Lab, operation: UUID) -> tuple[str, str]:
    async with asyncio.timeout(300):
        while (record := await lab.one.store.operations.read(operation)) is None or not record["outcome"]:
            await asyncio.sleep(0.1)
    return record["outcome"], record["says"]
