"""The database itself holds the table of what goes together, whatever code writes, row by row and side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations_with_replacement

import asyncpg
import pytest

from stead.catalog.reservation import COMBINATIONS, EVENT, LEASE, RESERVATION, disagreements

pytestmark = pytest.mark.req("S3-04")

TRY = """
CREATE FUNCTION tried(lease text, reservations text[], starts text, warns text, ends text) RETURNS boolean
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO resources (path, kind, state, token) VALUES ('/t/l', 'lease', lease, gen_random_uuid());
    INSERT INTO resources (path, kind, state, token)
    SELECT '/t/l/r' || n, 'reservation', r, gen_random_uuid() FROM unnest(reservations) WITH ORDINALITY u (r, n);
    INSERT INTO lease_events (lease, kind, at, status)
    SELECT '/t/l', k, now(), s
      FROM (VALUES ('start_lease', starts), ('before_end_lease', warns), ('end_lease', ends)) e (k, s)
     WHERE s IS NOT NULL;
    SET CONSTRAINTS ALL IMMEDIATE;
    RAISE EXCEPTION 'taken back' USING ERRCODE = 'ZZ001';
EXCEPTION
    WHEN SQLSTATE 'ZZ001' THEN
        SET CONSTRAINTS ALL DEFERRED;
        RETURN true;
    WHEN SQLSTATE 'ST003' THEN
        SET CONSTRAINTS ALL DEFERRED;
        RETURN false;
END $$
"""

ALL = """
SELECT lease, reservations, starts, warns, ends,
       tried(lease, reservations, nullif(starts, ''), nullif(warns, ''), nullif(ends, '')) AS agrees
  FROM (SELECT lease, string_to_array(nullif(r, ''), ' ') AS reservations, starts, warns, ends
          FROM unnest($1::text[]) lease, unnest($2::text[]) r, unnest($3::text[]) starts, unnest($3::text[]) warns,
               unnest($3::text[]) ends) every
"""


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.long
async def test_every_combination_is_judged_as_the_catalog_says(migrated: str) -> None:
    small = [state.name for state in RESERVATION.states]
    parts = [" ".join(some) for count in (0, 1, 2) for some in combinations_with_replacement(small, count)]
    statuses = [state.name for state in EVENT.states]
    async with connected(migrated) as connection:
        await connection.execute(TRY)
        rows = await connection.fetch(ALL, list(COMBINATIONS), parts, ["", *statuses])
    assert len(rows) == len(COMBINATIONS) * len(parts) * (len(statuses) + 1) ** 3
    wrong = []
    for row in rows:
        every = {"start_lease": row["starts"], "before_end_lease": row["warns"], "end_lease": row["ends"]}
        events = {kind: status for kind, status in every.items() if status}
        wanted = not disagreements(row["lease"], row["reservations"] or (), events)
        if row["agrees"] != wanted:
            wrong.append((*row,))
    assert wrong == []
    assert 0 < sum(row["agrees"] for row in rows) < len(rows) / 2


async def test_a_lease_that_is_not_there_has_no_parts(migrated: str) -> None:
    async with connected(migrated) as connection:
        await connection.execute(TRY)
        for state in {state.name for state in LEASE.states} - set(COMBINATIONS):
            assert not await connection.fetchval("SELECT tried($1, '{pending}', 'UNDONE', NULL, 'UNDONE')", state)
        for text in (
            "INSERT INTO lease_events (lease, kind, at) VALUES ('/t/none', 'end_lease', now())",
            "INSERT INTO resources (path, kind, state, token) "
            "VALUES ('/t/none/r0', 'reservation', 'pending', gen_random_uuid())",
        ):
            with pytest.raises(asyncpg.PostgresError) as refused:
                await connection.execute(text)
            assert refused.value.sqlstate == "ST003"


BROKEN = """
UPDATE resources SET state = 'error' WHERE path = '/t/l/r1'
UPDATE resources SET state = 'pending' WHERE path = '/t/l/r2'
DELETE FROM resources WHERE path = '/t/l/r1'; UPDATE resources SET state = 'deleted' WHERE path = '/t/l/r2'
UPDATE lease_events SET status = 'IN_PROGRESS' WHERE kind = 'start_lease'
UPDATE lease_events SET status = 'DONE' WHERE kind = 'end_lease'
INSERT INTO resources (path, kind, state, token) VALUES ('/t/l/r3', 'reservation', 'pending', gen_random_uuid())
DELETE FROM resources WHERE kind = 'reservation'
UPDATE resources SET path = '/t/other/r1' WHERE path = '/t/l/r1'
UPDATE resources SET kind = 'vm' WHERE kind = 'reservation'
UPDATE resources SET kind = 'vm' WHERE kind = 'lease'
UPDATE lease_events SET lease = '/t/other' WHERE kind = 'end_lease'
UPDATE lease_events SET kind = 'before_end_lease' WHERE kind = 'end_lease'
TRUNCATE lease_events
TRUNCATE resources
"""

# What of a lease may be missing while it is in a status: reservations, start, end.
LOSSES = {
    "its start": "DELETE FROM lease_events WHERE kind = 'start_lease'",
    "its end": "DELETE FROM lease_events WHERE kind = 'end_lease'",
    "its events": "DELETE FROM lease_events",
    "its reservations": "DELETE FROM resources WHERE kind = 'reservation'",
}
STATUSES = {
    "CREATING": ("pending", "UNDONE", "UNDONE"),
    "PENDING": ("pending", "UNDONE", "UNDONE"),
    "STARTING": ("pending", "IN_PROGRESS", "UNDONE"),
    "ACTIVE": ("active", "DONE", "UNDONE"),
    "UPDATING": ("active", "DONE", "UNDONE"),
    "TERMINATING": ("active", "DONE", "IN_PROGRESS"),
    "TERMINATED": ("deleted", "DONE", "DONE"),
    "ERROR": ("error", "ERROR", "UNDONE"),
    "DELETING": ("active", "DONE", "IN_PROGRESS"),
}


@pytest.mark.parametrize("lease", list(COMBINATIONS))
async def test_a_lease_in_any_status_cannot_lose_a_part(migrated: str, lease: str) -> None:
    part, start, end = STATUSES[lease]
    async with connected(migrated) as connection:
        await booked(connection, lease, (part, part), start, end)
        for lost, change in LOSSES.items():
            with pytest.raises(asyncpg.PostgresError) as refused:
                await connection.execute(change)
            assert refused.value.sqlstate == "ST003", lost
        every = "DELETE FROM lease_events; DELETE FROM resources WHERE kind = 'reservation'"
        if COMBINATIONS[lease].may_lack_parts:
            await connection.execute(every)
        else:
            with pytest.raises(asyncpg.PostgresError, match="has no"):
                await connection.execute(every)
            await connection.execute("DELETE FROM resources WHERE kind = 'lease'")
            assert await connection.fetchval("SELECT count(*) FROM lease_events") == 0


@pytest.mark.parametrize("change", BROKEN.strip().splitlines())
async def test_an_active_lease_cannot_be_broken_by_a_change_of_a_row(migrated: str, change: str) -> None:
    async with connected(migrated) as connection:
        await booked(connection, "ACTIVE", ("active", "active"), "DONE")
        with pytest.raises(asyncpg.PostgresError) as refused:
            await connection.execute(change)
        assert refused.value.sqlstate == "ST003"
        assert await connection.fetchval("SELECT state FROM resources WHERE path = '/t/l'") == "ACTIVE"
        await connection.execute("UPDATE resources SET state = 'UPDATING' WHERE path = '/t/l'")


async def test_two_that_are_right_alone_cannot_be_wrong_together(migrated: str) -> None:
    async with connected(migrated) as one, connected(migrated) as other:
        await booked(one, "ERROR", ("error", "error"), "ERROR")

        async def mends(connection: asyncpg.Connection[asyncpg.Record], path: str, ready: asyncio.Barrier) -> str:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute("UPDATE resources SET state = 'active' WHERE path = $1", path)
            await ready.wait()
            try:
                await transaction.commit()
            except asyncpg.PostgresError as error:
                return error.sqlstate or ""
            return "succeeded"

        ready = asyncio.Barrier(2)
        ends = await asyncio.gather(mends(one, "/t/l/r1", ready), mends(other, "/t/l/r2", ready))
        assert sorted(ends) == ["ST003", "succeeded"]


async def booked(
    connection: asyncpg.Connection[asyncpg.Record],
    lease: str,
    reservations: Sequence[str],
    start: str,
    end: str = "UNDONE",
) -> None:
    async with connection.transaction():
        parts = [("/t/l", "lease", lease)]
        parts += [(f"/t/l/r{n}", "reservation", state) for n, state in enumerate(reservations, 1)]
        for part in parts:
            await connection.execute(
                "INSERT INTO resources (path, kind, state, token) VALUES ($1, $2, $3, gen_random_uuid())", *part
            )
        for kind, status in (("start_lease", start), ("end_lease", end)):
            await connection.execute(
                "INSERT INTO lease_events (lease, kind, at, status) VALUES ('/t/l', $1, now(), $2)", kind, status
            )


async def test_a_lease_that_fails_fails_with_those_that_did_not_follow(migrated: str) -> None:
    async with connected(migrated) as connection:
        await booked(connection, "ACTIVE", ("active", "active"), "DONE")
        move = "UPDATE resources SET state = $1 WHERE path = $2"
        await connection.execute(move, "TERMINATING", "/t/l")
        await connection.execute(move, "deleted", "/t/l/r2")
        await connection.execute(move, "ERROR", "/t/l")  # nobody could take the first one back, and it is there still
        states = "SELECT state FROM resources ORDER BY path"
        assert [r["state"] for r in await connection.fetch(states)] == ["ERROR", "error", "deleted"]
        told = await connection.fetch("SELECT path, source, target FROM journal")
        assert [(*line,) for line in told] == [("/t/l/r1", "active", "error")]


@pytest.mark.req("S3-09")
async def test_no_host_is_held_twice_whatever_is_written(migrated: str) -> None:
    async with connected(migrated) as connection:
        await connection.execute("INSERT INTO hosts (name, lane) VALUES ('h1', 'rack.a')")
        take = "INSERT INTO allocations SELECT id, $1, tstzrange(to_timestamp($2), to_timestamp($3)) FROM hosts"
        await connection.execute(take, "/t/a/r0", 100.0, 200.0)
        await connection.execute(take, "/t/b/r0", 200.0, 300.0)
        for start, end in ((100.0, 101.0), (199.999, 200.0), (0.0, 1000.0), (250.0, 260.0)):
            with pytest.raises(asyncpg.ExclusionViolationError):
                await connection.execute(take, "/t/c/r0", start, end)
