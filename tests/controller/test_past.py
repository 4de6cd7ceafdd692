"""Any resource at any past time, put together from the journal, against what was there when it was the present."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from stead.application.history import past
from stead.application.reader import Reader
from stead.controller.execution.executor import TransitionExecutor
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import StateClass
from stead.lifecycle.snapshot import Fence, Snapshot
from stead.store import Row, Store
from tests.store.test_differential import KINDS, Oracle, told, words
from tests.tiers import first_fast

DRIVEN = ("vm", "clusterinst", "machine", "service", "reservation")
AT_ONCE = 20
STEPS = 14


@dataclass(frozen=True)
class Shown:
    """What a resource was, as far as it can be told afterwards."""

    state: str
    spec: Mapping[str, Any] | None
    next_spec: Mapping[str, Any] | None
    facts: Mapping[str, Any]


def shown(row: Row | None) -> Shown | None:
    if row is None or KINDS[row.kind].state(row.snapshot.state).cls is StateClass.ABSENT:
        return None
    return Shown(row.snapshot.state, row.spec, row.next_spec, row.facts or {})


async def drive(dsn: str, steps: Sequence[Sequence[int]]) -> None:
    clock = await asyncpg.connect(dsn)
    try:
        async with Store.open(dsn, connections=2) as store:
            far_ahead = itertools.count(1e9, 1e9)  # whatever runs is due by the next step
            executor, view, run = (
                TransitionExecutor(store, KINDS, lambda: next(far_ahead)),
                Reader(store, KINDS),
                uuid4().hex,
            )
            kinds = {f"/{run}/{i:02}": DRIVEN[i % len(DRIVEN)] for i in range(AT_ONCE)}
            history: list[tuple[datetime, dict[str, Shown | None]]] = []
            for number, step in enumerate(steps):
                await one_step(store, executor, kinds, step, number)
                rows = await store.resources.read_many(list(kinds))
                now = await clock.fetchval("SELECT clock_timestamp()")
                history.append((now, {path: shown(rows.get(path)) for path in kinds}))
            for when, then in history:
                for path in kinds:
                    was = await past(view, path, when)
                    found = None if was is None else Shown(was.state, was.spec, was.next_spec, was.facts)
                    assert found == then[path], (path, when)
    finally:
        await clock.close()


async def one_step(
    store: Store, executor: TransitionExecutor, kinds: Mapping[str, str], step: Sequence[int], number: int
) -> None:
    """Something is said to every resource, with facts and specs that are new each time."""
    rows = await store.resources.read_many(list(kinds))
    events, new = [], {}
    for (path, kind), choice in zip(kinds.items(), step, strict=True):
        lifecycle = KINDS[kind]
        fresh = Row(path, kind, Snapshot(lifecycle.initial.name, Fence(1, 0)), "sim.a", uuid4(), {})
        row = rows.get(path, fresh)
        said = words(Oracle(lifecycle, row.snapshot))
        event = told(path, said[choice % len(said)])
        facts = {"n": number, "kind": kind} if isinstance(event.event, Report) and choice % 3 else None
        if isinstance(event.event, Request):
            new[path] = fresh
        events.append(replace(event, facts=facts, spec={"step": number}))
    await executor.apply([replace(event, new=new.get(event.path)) for event in events])


@pytest.mark.req("X-03")
@pytest.mark.parametrize("seed", first_fast(range(8), 2))
async def test_what_was_is_what_the_journal_says(migrated: str, seed: int) -> None:
    """20 resources of five kinds, each looked back at from the end at every of 14 steps."""
    chance = Random(seed)
    await drive(migrated, [[chance.randrange(997) for _ in range(AT_ONCE)] for _ in range(STEPS)])
