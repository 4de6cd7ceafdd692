"""The journal: dense positions, and a follower that never skips a line, however late it commits."""

from __future__ import annotations

import asyncpg

from stead.store import Store

LINE = """
INSERT INTO journal (path, kind, actor, trigger, detail, source, target)
VALUES ($1, 'vm', 'user', 'request', 'x', 'a', 'b')
"""


async def test_a_follower_never_skips_a_line_that_commits_late(migrated: str) -> None:
    slow = await asyncpg.connect(migrated)
    quick = await asyncpg.connect(migrated)
    try:
        async with Store.open(migrated) as store:
            transaction = slow.transaction()
            await transaction.start()
            await slow.execute(LINE, "/slow")  # has the lower id, and is not committed yet
            await quick.execute(LINE, "/quick")
            assert (await store.journal.number())[:2] == (1, 1)
            read = await store.journal.read(0)
            assert [(x["position"], x["path"]) for x in read] == [(1, "/quick")]
            await transaction.commit()
            assert (await store.journal.number())[:2] == (2, 1)
            rest = await store.journal.read(read[-1]["position"])
            assert [(x["position"], x["path"]) for x in rest] == [(2, "/slow")]
    finally:
        await slow.close()
        await quick.close()


async def test_positions_are_dense_however_many_number(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        for round_ in range(5):
            await pool.executemany(LINE, [(f"/{round_}/{i}",) for i in range(20)])
            await store.journal.number(most=7)
            await store.journal.number(most=100)
        lines = await store.journal.read(0, limit=1000)
        assert [x["position"] for x in lines] == list(range(1, 101))


async def test_lines_of_a_path_are_its_own_and_those_below(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        await pool.executemany(LINE, [("/a/b",), ("/a/b/c",), ("/a/bc",), ("/a",)])
        await store.journal.number()
        assert {x["path"] for x in await store.journal.read(0, path="/a/b")} == {"/a/b", "/a/b/c"}


async def test_a_repeated_refusal_raises_a_count(migrated: str) -> None:
    async with Store.open(migrated) as store:
        for reason in ("one", "one", "one", "two"):
            await store.journal.append_rejection(
                "/a", "vm", "ann", "suspend", "user", "Suspended", {"reasons": [reason]}
            )
        await store.journal.number()
        lines = await store.journal.read(0)
        assert [(x["change"]["reasons"], x["rejections"]) for x in lines] == [(["one"], 3), (["two"], 1)]


async def test_partitions_are_made_ahead_and_only_once(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        made = await connection.fetchval("SELECT create_partitions(7)")
        assert made in (0, 2)  # two more where a day has ended since the schema was made
        assert await connection.fetchval("SELECT create_partitions(7)") == 0
        assert await connection.fetchval("SELECT create_partitions(9)") == 4
    finally:
        await connection.close()
