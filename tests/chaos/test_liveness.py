"""The watcher watched: what waits for too long though nothing is in its way, and what may wait."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator

import asyncpg
import pytest

from tests.chaos.liveness import MAX_GAP, Sample, Watch, can_be_granted, sample, ungranted

FREE = {"name": "aws.east", "waiting": [7, 8], "granted": [5], "taken": 1, "cap": 2, "regions": 1, "holds": True}
FREE |= {"held": 1, "served": 3, "others": False}


def seconds(*waiting: dict[Hashable, str]) -> Iterator[Sample]:
    """Samples a second apart."""
    for at, found in enumerate(waiting):
        yield Sample(float(at), found)


def watched(*waiting: dict[Hashable, str]) -> list[str]:
    watch = Watch(window=10)
    for one in seconds(*waiting):
        watch.add(one)
    return watch.violations


def test_what_waits_for_ten_seconds_is_one_violation() -> None:
    waits: dict[Hashable, str] = {"order 7": "order 7 waits"}
    assert watched(*[waits] * 15) == ["order 7 waits, for 10 s"]


def test_what_waits_for_less_or_is_interrupted_is_none() -> None:
    waits: dict[Hashable, str] = {"order 7": "order 7 waits"}
    assert watched(*[waits] * 10) == []
    assert watched(*[waits] * 9, {}, *[waits] * 9) == []


def test_time_of_which_nothing_is_known_does_not_count() -> None:
    watch = Watch(window=10)
    for at in (0.0, 1.0, 1.0 + MAX_GAP + 9.0):
        watch.add(Sample(at, {"order 7": "order 7 waits"}))
    assert watch.violations == []
    for at in (11.0, 12.0, 13.0):
        watch.interrupt()
        watch.add(Sample(at + 10, {"order 7": "order 7 waits"}))
    assert watch.violations == []


@pytest.mark.parametrize(
    ("changes", "grantable"),
    [
        ({}, True),
        ({"taken": 2}, False),  # no slot
        ({"cap": None, "taken": 500}, True),
        ({"holds": False}, False),  # no region
        ({"holds": False, "held": 0}, True),
        ({"holds": False, "regions": None}, True),
        ({"others": True}, False),  # it gives its region up to those that wait for one
    ],
)
def test_an_order_waits_for_a_slot_and_a_region(changes: dict[str, object], grantable: bool) -> None:
    assert can_be_granted(FREE | changes) is grantable


def test_a_grant_on_a_lane_is_progress_for_all_that_wait_there() -> None:
    (before,) = ungranted([FREE], {"aws.east"})
    (after,) = ungranted([FREE | {"waiting": [8], "granted": [5, 7]}], {"aws.east"})
    assert before != after
    assert ungranted([FREE], {"aws.west"}) == {}, "no agent serves it"


async def test_a_sample_finds_what_waits_in_the_database(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        await connection.execute("INSERT INTO agents (name, lanes) VALUES ('one', '{aws.east}')")
        await connection.execute("UPDATE providers SET members = 2, regions = 2 WHERE name = 'aws'")
        put = """INSERT INTO resources (path, kind, state, lane, token, order_id, due)
            VALUES ($1, 'vm', 'Running', 'aws.east', gen_random_uuid(), $2::bigint, now() - make_interval(secs => $3))
            RETURNING id"""
        order = """INSERT INTO orders (id, lane, kind, verb, members, open, granted)
            VALUES ($1, $2, 'vm', 'suspend', $3, $4, $5)"""
        ids = [await connection.fetchval(put, f"/ns/vm-{n}", n, n) for n in (1, 2, 3)]
        # The first order is said to have two open members, and has one: the slot that is lost is a free one.
        await connection.execute(order, 1, "aws.east", ids[:1], 2, True)
        await connection.execute(order, 2, "aws.east", ids[1:2], 1, False)
        await connection.execute(order, 3, "aws.west", ids[2:], 1, False)
        await connection.execute(
            "INSERT INTO queued (operation, queue, path, kind, action, principal, actor) "
            "VALUES (gen_random_uuid(), '/ns/vm-3', '/ns/vm-3', 'vm', 'suspend', 'a', 'user')"
        )
        found = await sample(connection, time.monotonic(), lambda name, age: name == "one" and age < 60)
        assert sorted({str(key[0]) for key in found.waiting if isinstance(key, tuple)}) == [
            "order",
            "queue",
            "slot",
            "timer",
        ]
        assert any("which has 1 of 2 slots taken" in says for says in found.waiting.values())
        nothing = await sample(connection, time.monotonic(), lambda name, age: False)
        assert nothing.waiting == {}
    finally:
        await connection.close()
