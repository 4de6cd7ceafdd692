"""One run from its beginning to its verdict: a cell, a load, a storm, then quiet, and a look at what is left."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random

import asyncpg
import httpx

from stead.lifecycle.pace import DEFAULT
from tests.chaos import cell, fleet, history, hypervisors, replicated
from tests.chaos.cell import Cell
from tests.chaos.checker import Verdict, judge
from tests.chaos.datacenter import LANE
from tests.chaos.faults import KINDS, OF_NODES
from tests.chaos.fleet import FleetLoad
from tests.chaos.history import History
from tests.chaos.infra import InfraLoad
from tests.chaos.liveness import Watcher
from tests.chaos.load import Load
from tests.chaos.plans import Plan
from tests.chaos.storm import Fault, Storm
from tests.chaos.tenants import TenantLoad
from tests.chaos.world import World
from tests.drivers import libvirt_server

ROOM = 0.1
"""Seconds more for each member of a fleet, which may wait for room."""

TELL = 5.0
"""Seconds between two lines of progress."""

AWAY = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, httpx.HTTPError, TimeoutError)


@dataclass
class Result:
    """What came of it."""

    plan: Plan
    operations: int = 0
    faults: int = 0
    kinds: set[str] = field(default_factory=set)
    verdict: Verdict = field(default_factory=Verdict)
    moved: tuple[int, int] = (0, 0)
    """Machines that moved to another node unseen, and those of them of which something else was asked meanwhile."""
    settled: float | None = None
    """Seconds from the last fault until all was settled."""

    @property
    def caught(self) -> bool:
        """Whether the bug that was planted was found, by what is to find it."""
        found = getattr(self.verdict, self.plan.caught) if self.plan.caught else not self.verdict.clean
        return bool(found)

    @property
    def line(self) -> str:
        """The last line of a run."""
        found = f"{len(self.verdict.lost)} lost, {len(self.verdict.violations)} violations"
        found += f", {len(self.verdict.liveness)} liveness violations"
        return f"chaos: {self.operations} operations, {self.faults} faults of {len(self.kinds)} kinds, {found}"


@dataclass
class Run:
    """A run under way."""

    plan: Plan
    cell: Cell
    load: Load
    fleet: FleetLoad
    infra: InfraLoad
    tenants: TenantLoad
    storm: Storm
    watcher: Watcher
    tell: Callable[[str], None]
    ended: int = 0
    began: float = field(default_factory=time.monotonic)

    async def go(self) -> Result:
        """Load and storm side by side, then quiet."""
        if self.plan.fleet:
            await fleet.make(self.cell, self.plan.fleet)
        if self.plan.limited:
            await fleet.limit(self.cell)
        await self.storm.world.set({"kind": "slow", "seconds": self.plan.took, "jitter": self.plan.took})
        asking = asyncio.create_task(self._ask())
        telling = asyncio.create_task(self._tell())
        watching = asyncio.create_task(self.watcher.run())
        try:
            await self.storm.rage(self.plan.seconds)
            self.tell(f"{self._seconds():5.0f} s: all faults are taken back")
            return await self._settle(time.monotonic(), asking)
        finally:
            for task in (asking, telling, watching):
                task.cancel()
            await asyncio.wait([asking, telling, watching])

    async def _ask(self) -> None:
        asking = (self.load.run, self.fleet.run, self.infra.run, self.tenants.run)
        await asyncio.gather(*(run(self.plan.seconds) for run in asking))

    async def _settle(self, quiet: float, asking: asyncio.Task[None]) -> Result:
        """Wait until nothing is under way, and judge; what has drifted may take as long as looks do."""
        result = Result(self.plan)
        end = patience = quiet + self.plan.settle + ROOM * self.plan.fleet
        while True:
            over = time.monotonic() > end
            if over or (asking.done() and await self._still()):
                past = await self._past()
                result.verdict = judge(past, self.plan.calm)
                result.moved = hypervisors.moved(past)
                result.settled = time.monotonic() - quiet
                if over or result.verdict.final:
                    break
                if (
                    self.cell.datacenter is not None
                ):  # what died with a libvirt is gone when some looks have missed it
                    await history.look_soon(self.cell.dsn, LANE)
                if not result.verdict.lost:
                    end = patience + DEFAULT.scaled(self.plan.pace).look
            await asyncio.sleep(1.0)  # sleep: between two looks of a long run
        if not asking.done():
            result.verdict.lost.append(f"{len(self.load.under_way)} requests have no answer")
        result.verdict.liveness.extend(self.watcher.watch.violations)
        result.operations = len({one.operation for one in self.load.accepted})
        result.faults, result.kinds = len(self.storm.faults), set(self.storm.seen)
        return result

    async def _past(self) -> History:
        past = await history.read(self.cell.dsn, [self.cell.cloud.url], self.cell.ec2, self.load.accepted)
        place = self.cell.datacenter
        return past if place is None else replace(past, nodes=await asyncio.to_thread(hypervisors.read, place))

    async def _still(self) -> bool:
        with suppress(*AWAY):
            return not await history.unsettled(self.cell.dsn)
        return False

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(TELL)
            with suppress(*AWAY):
                self.ended = await history.ended(self.cell.dsn)
            refused = sum(count for what, count in self.load.counts.items() if what.startswith("refused"))
            self.tell(
                f"{self._seconds():5.0f} s: {len(self.load.accepted)} accepted, {self.ended} ended, "
                f"{refused} refused, {len(self.load.under_way)} being asked, {len(self.storm.faults)} faults: "
                f"{self.storm.stands()}"
            )

    def _seconds(self) -> float:
        return time.monotonic() - self.began


async def run(plan: Plan, tell: Callable[[str], None]) -> Result:
    """Do all of it; keeps the logs where something is wrong."""
    random = Random(plan.seed)
    if plan.tenants and (why := libvirt_server.missing()):
        raise RuntimeError(why)
    if plan.replicated and (why := replicated.missing()):
        raise RuntimeError(why)
    beside = cell.running(
        plan.seed,
        planted=plan.planted,
        pace=plan.pace,
        ec2=plan.people > 0,
        libvirt=plan.tenants > 0,
        replicated=plan.replicated,
        faults=plan.kinds,
    )
    async with beside as one:
        tell(f"a cell of {len(one.controllers)} controllers and {len(one.agents)} agents is ready, seed {plan.seed}")
        load = Load(one.addresses, Random(random.random()), plan.vms, plan.rate)
        world = World(one, Random(random.random()), DEFAULT.scaled(plan.pace).custody, accepted=load.accepted)
        storm = Storm(world, plan.every, plan.quiet, plan.kinds, KINDS | OF_NODES)
        everybody = FleetLoad(load, Random(random.random()), plan.fleet)
        people = InfraLoad(load, Random(random.random()), plan.people)
        tenants = TenantLoad(load, Random(random.random()), plan.tenants)
        watcher = Watcher(one.dsn, DEFAULT.scaled(plan.pace).away, world.broken, world.undisturbed)
        under_way = Run(plan, one, load, everybody, people, tenants, storm, watcher, tell)
        try:
            result = await under_way.go()
        except Exception:
            _keep(one, tell)
            raise
        if not result.verdict.clean:
            _keep(one, tell)
        _summary(under_way, result, tell)
        return result


def gaps(faults: Sequence[Fault], times: Sequence[float]) -> dict[str, float]:
    """By kind of fault at a node, the longest time around it in which nothing was let in."""
    found: dict[str, float] = {}
    for fault in faults:
        if fault.kind in OF_NODES:
            begun = [(b - a) for a, b in pairwise(times) if b > fault.at and a < fault.at + fault.seconds]
            found[fault.kind] = max([found.get(fault.kind, 0.0), *begun])
    return found


def _keep(one: Cell, tell: Callable[[str], None]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="stead-chaos-logs-"))
    one.keep_logs(folder)
    tell(f"the logs of all processes are in {folder}")


def _summary(under_way: Run, result: Result, tell: Callable[[str], None]) -> None:
    for name, count in sorted(under_way.load.counts.items()):
        tell(f"  {count:6} {name}")
    for name, count in sorted(under_way.storm.seen.items()):
        tell(f"  {count:6} times {name}")
    for kind, longest in sorted(gaps(under_way.storm.faults, under_way.load.times).items()):
        tell(f"  {longest:6.1f} s without anything let in, at most, after {kind}")
    if result.plan.tenants:
        many, met = result.moved
        tell(f"  {many:6} machines moved unseen, {met} of them while somebody asked for something else")
    for says in under_way.cell.own_ends:
        tell(f"  ended by itself: {says}")
    watcher = under_way.watcher
    tell(f"  {watcher.taken:6} samples of liveness, {watcher.missed} more were too late")
    if result.settled is not None:
        tell(f"  all was looked at {result.settled:.0f} s after the last fault was taken back")
