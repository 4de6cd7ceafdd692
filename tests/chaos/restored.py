"""Backup and restore in a cell that is disturbed: no machine changes by the restore, and nothing is done twice.

Users ask and faults strike; a backup is taken at a random moment meanwhile. Then every process is killed in the
middle of its work, and the backup is restored into the place of the database. Faults strike while the cell is held,
and once more when an operator has released it. What was done since the backup is known to the cloud's ledger alone.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import asyncpg
import httpx

from stead import backup
from stead.client import Client, DriftReport, ProblemError, SteadError
from stead.lifecycle.pace import DEFAULT
from tests.chaos import cell
from tests.chaos.cell import NAME, Cell
from tests.chaos.faults import KINDS
from tests.chaos.history import ledger
from tests.chaos.load import Load
from tests.chaos.plans import Plan
from tests.chaos.storm import Storm
from tests.chaos.world import World

QUIET = 4.0
"""Seconds without a change after which the cloud has done all that it was asked for."""

SETTLE = 180.0
"""Seconds after the last fault by which all is settled."""

AWAY = (OSError, asyncpg.PostgresError, SteadError, httpx.HTTPError, TimeoutError)
ACTING = "SELECT count(*) FROM orders WHERE agent <> '' OR (granted AND verb = 'probe')"
LEFT = "SELECT count(*) FROM operations"

Deeds = Mapping[str, Counter[str]]
"""By token, what was ever done to its machines, and how often."""


@dataclass
class Restored:
    """What came of it."""

    operations: int = 0
    left: int = 0
    """Operations that were in progress in the backup."""
    machines: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        return (
            f"restored: {self.operations} operations, {self.left} in progress in the backup, "
            f"{self.machines} machines, {self.faults.total()} faults of {len(self.faults)} kinds, "
            f"{len(self.problems)} problems"
        )


async def run(plan: Plan, tell: Callable[[str], None]) -> Restored:
    """One life and its restore. Faults strike for the time of the plan, and for half of it in each part after it."""
    random = Random(plan.seed)
    result = Restored()
    async with cell.running(plan.seed, pace=plan.pace, faults=plan.kinds) as one:
        load = Load(one.addresses, Random(random.random()), plan.vms, plan.rate)
        world = World(one, Random(random.random()), DEFAULT.scaled(plan.pace).custody, accepted=load.accepted)

        async def rage(seconds: float) -> None:
            storm = Storm(world, plan.every, plan.quiet, plan.kinds, KINDS)
            await storm.rage(seconds)
            result.faults += storm.seen

        with tempfile.TemporaryDirectory(prefix="stead-chaos-restored-") as folder:
            file = Path(folder) / "one.stead"
            moment = random.uniform(0.4, 0.9) * plan.seconds
            await asyncio.gather(load.run(plan.seconds), rage(plan.seconds), _back_up(one, file, moment))
            result.operations = len({accepted.operation for accepted in load.accepted})
            _stop(one)
            before = await _quiet(one)
            tell(f"{result.operations} operations; all processes are killed, and the backup is restored")
            await asyncio.to_thread(one.postgres.drop_database, NAME)
            await asyncio.to_thread(one.postgres.create_database, NAME)
            await backup.restore(one.dsn, file, hold=True, custody=DEFAULT.scaled(plan.pace).custody)
        result.left = await _count(one, LEFT)
        _start(one)
        await one.until_ready()
        await rage(plan.seconds / 2)
        await _until(lambda: _none(one, ACTING), "what was in progress is observed")
        deeds = await _deeds(one)
        result.problems += [
            f"{token}: {deeds[token] - before[token]} while held" for token in _changed(before, deeds)
        ]
        shown = await _eventually(lambda: _drift(one))
        tell(f"held: {result.left} operations in progress; {len(shown)} resources are compared and released")
        await _eventually(lambda: _release(one))
        await rage(plan.seconds / 2)
        await _until(lambda: _none(one, LEFT), "all is settled")
        result.problems += _judge(before, await _deeds(one), await _tokens(one), shown)
        result.problems += await _unsettled(one)
        result.machines = len(before)
    return result


def _stop(one: Cell) -> None:
    """Kill every process, and keep the supervisor from starting it again."""
    for process in one.processes:
        if process.running:
            one.kill(process)
        process.down_until = math.inf


def _start(one: Cell) -> None:
    for process in one.processes:
        process.down_until = 0.0


async def _back_up(one: Cell, file: Path, moment: float) -> None:
    await asyncio.sleep(moment)
    await backup.take(one.dsn, file, NAME)


async def _deeds(one: Cell) -> Deeds:
    instances, _ = await ledger(one.cloud.url)
    found: dict[str, Counter[str]] = {}
    for instance in instances:
        found.setdefault(instance.token, Counter()).update(deed.verb for deed in instance.deeds)
    return found


async def _quiet(one: Cell) -> Deeds:
    """All that was done, once the cloud has nothing left to do: answers may be late, and what they are for, too."""
    before, deeds = None, await _deeds(one)
    while before != deeds:
        await asyncio.sleep(QUIET)  # sleep: nothing is to happen for so long
        before, deeds = deeds, await _deeds(one)
    return deeds


def _changed(before: Deeds, after: Deeds) -> list[str]:
    return [token for token, verbs in after.items() if verbs != before.get(token, Counter())]


def _judge(before: Deeds, after: Deeds, tokens: Mapping[str, str], shown: Mapping[str, DriftReport]) -> list[str]:
    """What was done since the restore, and was not shown before the release, or was done more than once."""
    found = []
    for token in _changed(before, after):
        done = after[token] - before.get(token, Counter())
        path = tokens.get(token, "")
        would = Counter([shown[path].next_action]) if path in shown else Counter[str]()
        if not done <= would:
            found.append(f"{path or token}: {dict(done)}, shown: {shown.get(path)}")
    return found


async def _tokens(one: Cell) -> dict[str, str]:
    """By token, the path of its resource."""
    return {r["token"]: r["path"] for r in await _fetch(one, "SELECT token::text, path FROM resources")}


async def _drift(one: Cell) -> dict[str, DriftReport]:
    async with Client(one.random.choice(one.addresses)) as client:
        return {report.path: report async for report in client.drift(below="/")}


async def _release(one: Cell) -> None:
    async with Client(one.random.choice(one.addresses)) as client:
        with suppress(ProblemError):  # a lost answer is asked for again, when it is no longer held
            await client.release_hold()


async def _unsettled(one: Cell) -> list[str]:
    """Resources of which neither what is recorded is observed, nor what is to be recorded is known."""
    reports = await _eventually(lambda: _drift(one))
    return [
        f"{path}: {report}"
        for path, report in reports.items()
        if not (report.matches or report.next_action.startswith("record") or report.reason in ("unsaid", "final"))
    ]


async def _fetch(one: Cell, query: str) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(one.dsn)
    try:
        return list(await connection.fetch(query))
    finally:
        await connection.close()


async def _count(one: Cell, query: str) -> int:
    return int((await _fetch(one, query))[0]["count"])


async def _none(one: Cell, query: str) -> bool:
    return await _count(one, query) == 0


async def _eventually[T](ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer: a process that was killed may not be back."""
    async with asyncio.timeout(SETTLE):
        while True:
            with suppress(*AWAY):
                return await ask()
            await asyncio.sleep(0.5)  # sleep: between two tries


async def _until(true: Callable[[], Awaitable[Any]], what: str) -> None:
    try:
        async with asyncio.timeout(SETTLE):
            while not await true():
                await asyncio.sleep(0.5)  # sleep: between two looks
    except TimeoutError as error:
        raise TimeoutError(f"not within {SETTLE:g} s: {what}") from error
