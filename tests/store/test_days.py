"""Days that are long over: their operations and keys are forgotten, but for what somebody still asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from stead.controller.reconcilers.partitions import PartitionReconciler
from stead.lifecycle.rows import DAY
from stead.store import Store

KEPT = 90.0 * DAY

type Connection = asyncpg.Connection[asyncpg.Record]


@pytest.fixture
async def database(migrated: str) -> AsyncIterator[Connection]:
    connection = await asyncpg.connect(migrated)
    yield connection
    await connection.close()


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[Store]:
    async with Store.open(migrated, connections=2) as opened:
        yield opened


def day(ago: int) -> datetime:
    """Noon of a day."""
    return datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=ago)


async def partition(database: Connection, ago: int) -> str:
    """A partition for a day, as there was one when it was today."""
    first = day(ago).date()
    name = f"ended_operations_{first:%Y%m%d}"
    await database.execute(
        f"CREATE TABLE {name} PARTITION OF ended_operations "
        f"FOR VALUES FROM ('{first} 00:00+00') TO ('{first + timedelta(days=1)} 00:00+00')"
    )
    return name


async def ended(
    database: Connection, ago: int, path: str = "/shop/a", outcome: str = "succeeded", under: bool = False
) -> UUID:
    """An operation that ended so many days ago, with a member that it failed for."""
    id = uuid4()
    await database.execute(
        "INSERT INTO ended_operations (id, action, kind, path, principal, remaining, request, outcome, ended_at) "
        "VALUES ($1, 'stop', 'machine', $2, 'ann', 0, $3::jsonb, $4, $5)",
        id,
        path,
        '{"under": "/shop"}' if under else "{}",
        outcome,
        day(ago),
    )
    await database.execute("INSERT INTO operation_members (operation, path, outcome) VALUES ($1, '/x', 'failed')", id)
    return id


async def there(database: Connection, *paths: str) -> None:
    """Machines that are stopped."""
    for path in paths:
        await database.execute(
            "INSERT INTO resources (path, kind, state, token, lane) "
            "VALUES ($1, 'machine', 'HALTED', gen_random_uuid(), 'sim.a')",
            path,
        )


async def known(store: Store, *ids: UUID) -> list[bool]:
    return [bool(await store.statements.fetch("read_operation", id)) for id in ids]


async def brought(store: Store) -> list[str]:
    """What was stopped in the course of something above it."""
    return [part["path"] for part in await store.groups.read_parts("/shop", "machine", ["HALTED"], back=True)]


async def test_operations_of_days_long_over_are_forgotten_and_no_others(database: Connection, store: Store) -> None:
    parts = [await partition(database, ago) for ago in (92, 91, 90, 1)]
    long_over = [await ended(database, ago) for ago in (95, 92, 91)]  # the first of them in no partition of its own
    not_yet = [await ended(database, ago) for ago in (90, 1, 0)]
    assert [await store.partitions.drop_operations(KEPT) for _ in range(3)] == [*parts[:2], None]
    assert await known(store, *long_over, *not_yet) == [False] * 3 + [True] * 3
    members = {row["operation"] for row in await database.fetch("SELECT operation FROM operation_members")}
    assert members == set(not_yet)
    left = {
        row["name"]
        for row in await database.fetch("SELECT relname AS name FROM pg_class WHERE relname = ANY ($1)", parts)
    }
    assert left == set(parts[2:])


async def test_who_is_to_bring_something_back_is_remembered_until_that_is_done(
    database: Connection, store: Store
) -> None:
    await there(database, "/shop/a", "/shop/b", "/shop/c")
    for ago in (100, 99, 98):
        await partition(database, ago)
    first = await ended(database, 100, "/shop/a", under=True)
    again = await ended(database, 99, "/shop/b", under=True)
    by_hand = [await ended(database, ago, "/shop/c", under=under) for ago, under in ((100, True), (99, False))]
    gone = await ended(database, 100, "/shop/not-there", under=True)
    failed = await ended(database, 100, "/shop/b", outcome="failed", under=True)
    assert await brought(store) == ["/shop/a", "/shop/b"]
    assert await store.partitions.drop_operations(KEPT) is not None
    assert await known(store, first, again, *by_hand, gone, failed) == [True, True, False, True, False, False]
    assert await store.partitions.drop_operations(KEPT) is not None
    assert await known(store, first, again, *by_hand) == [True, True, False, False]
    assert await brought(store) == ["/shop/a", "/shop/b"]
    await ended(database, 98, "/shop/a")
    assert await brought(store) == ["/shop/b"]
    assert await store.partitions.drop_operations(KEPT) is not None
    assert await known(store, first, again) == [False, True]
    assert await brought(store) == ["/shop/b"]


async def test_who_reads_operations_is_not_waited_for_long(database: Connection, store: Store) -> None:
    await partition(database, 100)
    id = await ended(database, 100)
    async with database.transaction():
        await database.fetch("SELECT FROM ended_operations")
        began = asyncio.get_running_loop().time()
        assert await store.partitions.drop_operations(KEPT) is None
        await PartitionReconciler(store, KEPT)()
        assert asyncio.get_running_loop().time() - began < 30
        assert await known(store, id) == [True]
    await PartitionReconciler(store, KEPT)()
    assert await known(store, id) == [False]


async def test_partition_of_a_new_day_is_made_later_where_a_statement_reads_for_long(
    database: Connection, store: Store
) -> None:
    name = f"ended_operations_{day(-7):%Y%m%d}"
    await database.execute(f"DROP TABLE {name}")  # as if the day had just begun
    async with database.transaction():
        await database.fetch("SELECT FROM ended_operations")
        async with asyncio.timeout(30):  # deadline: it waits for a lock, of which the limit is half a second
            assert await store.partitions.create(7) == 0
    assert await store.partitions.create(7) == 1
    assert await database.fetchval("SELECT to_regclass($1) IS NOT NULL", name)


async def test_of_two_that_forget_one_has_nothing_to_do(database: Connection, store: Store) -> None:
    name = await partition(database, 100)
    async with database.transaction():
        assert await database.fetchval("SELECT drop_operations(now())") == name
        assert await store.partitions.drop_operations(KEPT) is None
    assert await store.partitions.drop_operations(KEPT) is None


async def test_keys_go_with_their_time_the_oldest_first(database: Connection, store: Store) -> None:
    for ago in (1, 89, 91, 200, 300):
        await database.execute(
            "INSERT INTO idempotency_keys (principal, key, fingerprint, operation, created_at) "
            "VALUES ('ann', $1, '', gen_random_uuid(), now() - make_interval(days => $2))",
            f"key-{ago}",
            ago,
        )
    assert await store.operations.delete_keys(KEPT, 2) == 2
    assert await _keys(database) == {"key-1", "key-89", "key-91"}
    await PartitionReconciler(store, KEPT)()
    assert await _keys(database) == {"key-1", "key-89"}


async def _keys(database: Connection) -> set[str]:
    return {row["key"] for row in await database.fetch("SELECT key FROM idempotency_keys")}
