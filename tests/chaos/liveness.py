"""Liveness: all that can go on does go on, checked all through a run and not only at its end.

A watcher reads the database every second. What waits though nothing is in its way, and has waited so for ten seconds
in which all that it needs reached each other, is a violation: an order for which its lane has a free slot, an order
that was granted and that no agent takes, a timer that is due, the head of a queue that may begin.

Free slots are counted from the members of orders, not by the functions by which the product counts them. An order
that backs off after an error of its provider has been taken by an agent, so it is not among those that wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import asyncpg

WINDOW = 10.0
"""Seconds for which something may wait though nothing is in its way."""

EVERY = 1.0
"""Seconds between two samples."""

MAX_GAP = 4.0
"""Seconds between two samples after which nothing is known of what was in between."""

TIMEOUT = 2.0
"""Seconds for one sample; a database that takes longer counts as away, or the machine has too much else to do."""

Keyed = Mapping[Hashable, str]
"""What waits, in words, each under a key that changes when anything of it goes on."""


@dataclass(frozen=True)
class Sample:
    """What waits at one moment though nothing is in its way."""

    at: float
    waiting: Keyed = field(default_factory=dict)


class Watch:
    """Keeps since when each thing waits, and what waited for too long."""

    def __init__(self, window: float = WINDOW) -> None:
        self.window = window
        self.violations: list[str] = []
        self._since: dict[Hashable, float] = {}
        self._told: set[Hashable] = set()
        self._last: float | None = None

    def add(self, sample: Sample) -> None:
        """Take one more sample into account."""
        if self._last is not None and sample.at - self._last > MAX_GAP:
            self._since = {}
        self._last = sample.at
        self._since = {key: self._since.get(key, sample.at) for key in sample.waiting}
        for key, says in sample.waiting.items():
            waited = sample.at - self._since[key]
            if waited >= self.window and key not in self._told:
                self._told.add(key)
                self.violations.append(f"{says}, for {waited:.0f} s")

    def interrupt(self) -> None:
        """Something that everything needs was away: all begins anew."""
        self._since = {}


_AGENTS = "SELECT name, lanes, extract(epoch FROM clock_timestamp() - last_seen)::float8 AS age FROM agents"
_LANES = """WITH open AS MATERIALIZED (
        SELECT o.lane, o.id, o.granted, count(r.id) AS members
          FROM orders o LEFT JOIN resources r ON r.id = ANY (o.members) AND r.order_id = o.id GROUP BY o.id
    ), lane AS (
        SELECT o.lane AS name, split_part(o.lane, '.', 1) AS provider,
               array_agg(o.id ORDER BY o.id) FILTER (WHERE NOT o.granted) AS waiting,
               array_agg(o.id ORDER BY o.id) FILTER (WHERE o.granted) AS granted,
               coalesce(sum(o.members) FILTER (WHERE o.granted), 0) AS taken,
               bool_or(o.granted AND o.members > 0) AS holds
          FROM open o GROUP BY o.lane
    )
    SELECT l.name, l.waiting, l.granted, l.taken, coalesce(limits.members, p.members) AS cap, p.regions, l.holds,
           coalesce(limits.served, 0) AS served,
           (SELECT count(*) FROM lane o WHERE o.provider = l.provider AND o.holds) AS held,
           EXISTS (SELECT FROM lane o
                    WHERE o.provider = l.provider AND NOT o.holds AND o.waiting IS NOT NULL) AS others
      FROM lane l LEFT JOIN lanes limits ON limits.name = l.name LEFT JOIN providers p ON p.name = l.provider
     WHERE l.waiting IS NOT NULL"""
_UNTAKEN = "SELECT id, lane, verb, attempt FROM orders WHERE granted AND agent = '' ORDER BY id LIMIT 500"
_DUE = """SELECT id, path, state, timers::text, extract(epoch FROM due)::float8 AS due FROM resources
     WHERE due < clock_timestamp() ORDER BY due LIMIT 500"""
_HEADS = """SELECT head.operation::text, head.queue, head.path
      FROM (SELECT DISTINCT ON (queue) queue, path, operation FROM queued ORDER BY queue, turn, operation) head
      LEFT JOIN resources r ON r.path = head.path
     WHERE NOT EXISTS (SELECT FROM queues q WHERE q.path = head.queue AND q.stopping)
       AND NOT is_queue_busy(head.queue, head.path)
       AND find_holder(jsonb_build_array(jsonb_build_object('path', head.path, 'mode', 'x')), r.hidden) IS NULL
     LIMIT 500"""


def can_be_granted(lane: Mapping[str, Any]) -> bool:
    """Whether a lane on which orders wait has a free slot, and a region for it.

    A lane that holds a region gives it up to those that wait for one, so it may wait itself until it has done so.
    """
    if lane["cap"] is not None and lane["taken"] >= lane["cap"]:
        return False
    if lane["regions"] is None or lane["held"] < lane["regions"]:
        return True
    return bool(lane["holds"]) and not lane["others"]


async def sample(
    connection: asyncpg.Connection[asyncpg.Record], at: float, well: Callable[[str, float], bool]
) -> Sample:
    """What waits just now. `well` says of an agent, last heard of so many seconds ago, whether it is connected."""
    async with asyncio.timeout(TIMEOUT), connection.transaction(isolation="repeatable_read", readonly=True):
        agents = await connection.fetch(_AGENTS)
        served = {lane for agent in agents if well(agent["name"], agent["age"]) for lane in agent["lanes"]}
        if not served:
            return Sample(at)
        lanes = await connection.fetch(_LANES)
        untaken = await connection.fetch(_UNTAKEN)
        due = await connection.fetch(_DUE)
        heads = await connection.fetch(_HEADS)
    return Sample(at, {**ungranted(lanes, served), **_untaken(untaken, served), **_late(due), **_heads(heads)})


def ungranted(lanes: list[Any], served: Set[str]) -> Keyed:
    """Lanes on which orders wait for what is free; a grant on one of them is progress for all that wait there."""
    return {
        ("slot", lane["name"], lane["served"], *lane["waiting"], "granted", *(lane["granted"] or ())): (
            f"order {lane['waiting'][0]} and {len(lane['waiting']) - 1} more wait on {lane['name']}, "
            f"which has {lane['taken']} of {lane['cap'] or 'any number of'} slots taken"
        )
        for lane in lanes
        if lane["name"] in served and can_be_granted(lane)
    }


def _untaken(orders: list[Any], served: Set[str]) -> Keyed:
    return {
        (
            "order",
            one["id"],
            one["attempt"],
        ): f"{one['verb']} {one['id']} on {one['lane']} was granted and is not taken"
        for one in orders
        if one["lane"] in served
    }


def _late(rows: list[Any]) -> Keyed:
    return {
        ("timer", row["id"], row["due"]): f"a timer of {row['path']} ({row['state']}) is due: {row['timers']}"
        for row in rows
    }


def _heads(rows: list[Any]) -> Keyed:
    return {
        ("queue", row["operation"]): f"{row['operation']} on {row['path']} is next in the queue of {row['queue']}"
        for row in rows
    }


class Watcher:
    """Takes samples of a running cell, as long as it is let."""

    def __init__(
        self, dsn: str, away: float, broken: Callable[[], bool], well: Callable[[str], float | None]
    ) -> None:
        """`broken`: whether something is away that everything needs; `well`: for how many seconds an agent runs
        undisturbed, None where it does not. An agent is heard of three times in `away` seconds."""
        self.dsn = dsn
        self.fresh = 2 / 3 * away + 1
        self.broken = broken
        self.well = well
        self.watch = Watch()
        self.taken = self.missed = 0
        """Samples, and times at which none could be taken."""
        self._whole_since = time.monotonic()
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def run(self) -> None:
        """For ever: take a sample, unless something is away."""
        try:
            while True:
                await self._look()
                await asyncio.sleep(EVERY)
        finally:
            if self._connection is not None:
                self._connection.terminate()

    async def _look(self) -> None:
        """A sample that comes too late tells nothing; after some of them all begins anew."""
        if self.broken():
            self._whole_since = time.monotonic()
            self.watch.interrupt()
            return
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await asyncpg.connect(self.dsn, timeout=TIMEOUT, server_settings={"jit": "off"})
            found = await sample(self._connection, time.monotonic(), self._connected)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
            self.missed += 1
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None
            return
        if not self.broken():
            self.taken += 1
            self.watch.add(found)

    def _connected(self, name: str, age: float) -> bool:
        """It was heard of lately, and since all that it needs is there, itself included."""
        runs = self.well(name)
        return runs is not None and age < min(runs, self.fresh, time.monotonic() - self._whole_since)
