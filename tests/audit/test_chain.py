"""The chain goes on, whoever numbers, and begins with the first line that is numbered by somebody who knows of it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.client import BrokenChain, ChainedLine, JournalChain
from stead.client.journal_chain import genesis, link
from stead.store import Store
from stead.store.statements import statement
from tests.audit.conftest import LINES

OLD = """
WITH last AS (SELECT last_position FROM cell),
     fresh AS (SELECT at, id, row_number() OVER (ORDER BY id) AS n FROM journal WHERE position IS NULL),
     numbered AS (
        UPDATE journal SET position = last.last_position + fresh.n FROM fresh, last
         WHERE journal.at = fresh.at AND journal.id = fresh.id RETURNING 1)
UPDATE cell SET last_position = last_position + (SELECT count(*) FROM numbered)
"""
"""How controllers number that know of no hashes."""


async def gone_over(store: Store, after: int = 0, hash: bytes | None = None) -> JournalChain:
    """The whole journal, verified."""
    head = await store.journal.read_head()
    chain = JournalChain(after, hash, {head["position"]: head["hash"]})
    for line in await store.journal.read_chain(after, 100_000):
        chain.add(ChainedLine(line.position, "", line.hash, line.text.encode()))
    chain.end()
    return chain


async def test_an_old_controller_beside_a_new_one_leaves_no_hole(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        for turn in range(4):
            await pool.execute(LINES, 11)
            if turn % 2:
                await pool.execute(OLD)
            else:
                await store.journal.number(most=7)
                await store.journal.number(most=7)
        assert (await store.journal.read_head())["position"] == 33  # the last eleven wait
        await store.journal.number(most=3)
        chain = await gone_over(store)
        assert (chain.lines, chain.without) == (44, 0)


async def test_lines_from_before_the_chain_stay_as_they_are(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        await pool.execute(LINES, 5)
        await pool.execute(OLD)
        await pool.execute("UPDATE journal_head SET after = 5, position = 5, hash = journal_genesis(5)")
        await pool.execute(LINES, 5)
        await store.journal.number()
        assert await pool.fetchval("SELECT count(*) FROM journal WHERE hash IS NULL") == 5
        chain = await gone_over(store)
        assert (chain.lines, chain.without) == (10, 5)


async def test_the_chain_goes_on_where_positions_leap(migrated: str) -> None:
    """After a restore they do, and the line that tells of it is the first after the leap."""
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        await pool.execute(LINES, 5)
        await store.journal.number()
        await store.cell.raise_incarnation()
        assert (await gone_over(store)).lines == 5  # nobody has numbered the line yet
        await store.journal.number()
        await pool.execute(LINES, 5)
        await store.journal.number()
        chain = await gone_over(store)
        assert (chain.lines, chain.without) == (11, 0)
        assert chain.position > 100_000
        await pool.execute("DELETE FROM journal WHERE position = 5")
        with pytest.raises(BrokenChain, match="missing: removed"):
            await gone_over(store)


async def test_what_was_cut_off_is_not_hidden_by_a_leap(migrated: str) -> None:
    """Whoever has the database can take the newest lines away and go on behind them: whoever kept a head sees it."""
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        await pool.execute(LINES, 3)
        await store.journal.number()
        before = await store.journal.read_head()
        await pool.execute(LINES, 2)
        await store.journal.number()
        kept = await store.journal.read_head()
        await pool.execute("DELETE FROM journal WHERE position > 3")
        await pool.execute("UPDATE journal_head SET position = 3, hash = $1", before["hash"])
        await store.cell.raise_incarnation()
        await store.journal.number()
        await gone_over(store)  # in itself it is whole
        chain = JournalChain(0, None, {kept["position"]: kept["hash"]})
        lines = [
            ChainedLine(line.position, "", line.hash, line.text.encode())
            for line in await store.journal.read_chain(0, 10)
        ]
        for line in lines[:3]:
            chain.add(line)
        with pytest.raises(BrokenChain, match="the lines 4 to 5 are missing: removed, or a backup") as raised:
            chain.add(lines[3])
        assert raised.value.position == 4


async def test_two_that_number_at_once_make_one_chain(migrated: str) -> None:
    async with Store.open(migrated) as one, Store.open(migrated) as two, asyncpg.create_pool(migrated) as pool:
        for _ in range(5):
            await pool.execute(LINES, 50)
            await asyncio.gather(*(store.journal.number(most=9) for store in (one, two) for _ in range(4)))
        while (await one.journal.number())[1]:
            pass
        assert (await gone_over(one)).lines == 250


@pytest.mark.long
async def test_a_numberer_that_dies_leaves_nothing_half_done(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        await pool.execute(LINES, 20)
        await store.journal.number(most=10)
        dying = await asyncpg.connect(migrated)
        transaction = dying.transaction()
        await transaction.start()
        await dying.execute(statement("lock_cell"))
        await dying.fetch(statement("number_journal"), 10)
        await dying.fetchval("SELECT 1")
        dying.terminate()
        await store.journal.number()
        assert (await gone_over(store)).lines == 20


async def test_a_chain_goes_over_the_borders_of_partitions(migrated: str) -> None:
    async with Store.open(migrated) as store, asyncpg.create_pool(migrated) as pool:
        for day in (3, 1, 2, 0):  # lines come in any order
            await pool.execute(
                "INSERT INTO journal (at, path, kind, actor, trigger, detail, source, target)"
                " SELECT now() + $1 * interval '1 day', '/x', 'vm', 'user', 'request', 'x', 'a', 'b'"
                " FROM generate_series(1, 3)",
                day,
            )
        await store.journal.number(most=5)
        await store.journal.number()
        assert await pool.fetchval("SELECT count(DISTINCT tableoid) FROM journal") == 4
        assert (await gone_over(store)).lines == 12


async def test_how_often_something_was_refused_may_rise_later_on(migrated: str) -> None:
    async with Store.open(migrated) as store:
        for _ in range(3):
            await store.journal.append_rejection(
                "/a", "vm", "ann", "suspend", "user", "Suspended", {"reasons": ["one"]}
            )
            await store.journal.number()
        assert [line.times for line in await store.journal.read_chain(0, 10)] == [3]
        await gone_over(store)


def chained(texts: Sequence[bytes], after: int = 0) -> list[ChainedLine]:
    hash, lines = genesis(after), []
    for position, text in enumerate(texts, after + 1):
        hash = link(hash, text)
        lines.append(ChainedLine(position, "", hash, text))
    return lines


def verified(lines: Sequence[ChainedLine], head: ChainedLine) -> None:
    assert head.hash is not None
    chain = JournalChain(0, None, {head.position: head.hash})
    for line in lines:
        chain.add(line)
    chain.end()


@given(st.lists(st.binary(max_size=8), min_size=1, max_size=12, unique=True), st.data())
def test_no_other_lines_pass_for_those_that_were_written(texts: list[bytes], data: st.DataObject) -> None:
    lines = chained(texts)
    verified(lines, lines[-1])
    others = data.draw(
        st.lists(
            st.builds(
                ChainedLine,
                st.integers(1, len(lines) + 2),
                st.just(""),
                st.sampled_from([None, *(line.hash for line in lines)]),
                st.sampled_from([*texts, b"another"]),
            )
            | st.sampled_from(lines),
            max_size=len(lines) + 2,
        )
    )
    if others == lines:
        return
    if len(others) > len(lines) and others[: len(lines)] == lines:
        return  # what comes after the head is not known by it
    with pytest.raises(BrokenChain):
        verified(others, lines[-1])


@given(st.lists(st.binary(max_size=8), min_size=2, max_size=12, unique=True), st.data())
def test_one_thing_that_is_otherwise_is_enough(texts: list[bytes], data: st.DataObject) -> None:
    lines = chained(texts)
    at = data.draw(st.integers(0, len(lines) - 1))
    one, others = lines[at], list(lines)
    match data.draw(st.sampled_from(["changed", "removed", "put in", "without a hash"])):
        case "changed":
            others[at] = ChainedLine(one.position, "", one.hash, one.text + b"!")
        case "removed":
            del others[at]
        case "put in":
            others.insert(at, one)
        case _:
            others[at] = ChainedLine(one.position, "", None, one.text)
    with pytest.raises(BrokenChain):
        verified(others, lines[-1])


def test_a_hash_is_what_the_page_says() -> None:
    first = hashlib.sha256(hashlib.sha256(b"stead journal after 0").digest() + b"{}").digest()
    assert chained([b"{}"])[0].hash == first
