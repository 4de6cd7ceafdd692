"""`python -m tests.leases.year`: thousands of leases over hundreds of hosts for a year, on a clock that jumps.

Leases are made, changed, ended and deleted at random, hosts fail and come back, controllers are killed. Whenever all
is quiet, what the database has, what the rack has handed over and what the catalog allows are compared; in the end,
every moment has come once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import asyncpg

from stead.agent import Agent
from stead.build import assemble_frontend
from stead.bus import Bus
from stead.catalog.reservation import disagreements
from stead.controller.admission.frontend import RequestFrontend
from stead.controller.admission.request import Accepted
from stead.controller.steps.lease_spec import complete, said
from stead.dev.engines import Nats, Postgres
from stead.drivers.sim.driver import RACK
from stead.lifecycle.events import Request
from stead.store import Store
from tests.action_requests import requested
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration import whole
from tests.lanes import with_every_lane
from tests.leases.timed import PACE, SharedClock

CELL = "year"
REGION = "hall"
LANE = f"{RACK}.{REGION}"
CONTROLLERS = 2
HOUR, DAY = 3600.0, 86400.0
QUIET = 180.0
"""Seconds in which all has to come to rest."""

FIRED = """
CREATE TABLE fired (lease text, kind text, at timestamptz, fired_at timestamptz);
CREATE FUNCTION note_fired() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fired VALUES (NEW.lease, NEW.kind, NEW.at, NEW.fired_at);
    RETURN NULL;
END $$;
CREATE TRIGGER lease_events_note AFTER UPDATE OF fired ON lease_events FOR EACH ROW
    WHEN (NEW.fired > OLD.fired) EXECUTE FUNCTION note_fired();
"""

OVERLAPS = """
SELECT count(*) FROM allocations a JOIN allocations b
    ON a.host = b.host AND a.during && b.during AND a.ctid < b.ctid
"""

MISSED = """
SELECT e.lease || ' ' || e.kind FROM lease_events e JOIN resources l ON l.path = e.lease
 WHERE e.at <= to_timestamp($1) AND e.status = 'UNDONE'
   AND (l.state, e.kind) IN (('PENDING', 'start_lease'), ('ACTIVE', 'end_lease'), ('ERROR', 'end_lease'),
                             ('ACTIVE', 'before_end_lease'))
"""

STANDS = """
SELECT l.path, l.state, ARRAY(SELECT r.state FROM list_lease_reservations(l.path) r) AS parts,
       (SELECT jsonb_object_agg(e.kind, e.status) FROM lease_events e WHERE e.lease = l.path) AS events
  FROM resources l WHERE l.kind = 'lease'
"""


@dataclass(frozen=True)
class Plan:
    """How much of it."""

    leases: int = 10_000
    hosts: int = 500
    days: int = 365
    seed: int = 1


@dataclass
class Result:
    """What came of it."""

    plan: Plan
    asked: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    failures: int = 0
    jumps_back: int = 0
    fired: int = 0
    late: list[float] = field(default_factory=list)
    looks: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        """The last line of a run."""
        late = sorted(self.late) or [0.0]
        return (
            f"year: {self.asked['create']} leases over {self.plan.hosts} hosts in {self.plan.days} days, "
            f"{sum(self.asked.values())} requests, {self.fired} moments came, half of them within "
            f"{late[len(late) // 2]:.1f} s and 99 of 100 within {late[len(late) * 99 // 100]:.1f} s, "
            f"{self.kills} controllers killed, {self.failures} hosts failed, {self.jumps_back} jumps back, "
            f"{self.looks} looks, {len(self.wrong)} wrong"
        )


class Controllers:
    """Processes that are killed and started again."""

    def __init__(self, dsn: str, nats: str, clock: Path) -> None:
        self._words = [sys.executable, "-m", "tests.leases.timed", dsn, nats, CELL, str(clock)]
        self._all: list[asyncio.subprocess.Process] = []
        self._log = clock.with_name("controllers.log").open("ab")

    async def start(self) -> None:
        """As many as there are to be."""
        path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path}
        while len(self._all) < CONTROLLERS:
            self._all.append(
                await asyncio.create_subprocess_exec(*self._words, env=env, stdout=self._log, stderr=self._log)
            )

    async def kill(self, random: Random) -> None:
        """One of them, at once; another takes its place."""
        one = random.choice(self._all)
        if one.returncode is None:
            one.send_signal(signal.SIGKILL)
        await one.wait()
        self._all.remove(one)
        await self.start()

    async def stop(self) -> None:
        """All of them."""
        for one in self._all:
            if one.returncode is None:
                one.kill()
            await one.wait()
        self._log.close()


class Year:
    """A run under way."""

    def __init__(
        self, plan: Plan, door: RequestFrontend, world: SimWorld, clock: SharedClock, controllers: Controllers
    ) -> None:
        self.plan = plan
        self.door = door
        self.store = door.store
        self.world = world
        self.clock = clock
        self.controllers = controllers
        self.random = Random(plan.seed)
        self.result = Result(plan)
        self.jumps = [clock()]
        self.failed: list[str] = []
        self.made = 0

    async def go(self, say: Callable[[str], None]) -> Result:
        """Day by day."""
        began = time.monotonic()
        for day in range(self.plan.days):
            await self._day(day)
            if day % max(self.plan.days // 20, 1) == 0:
                say(f"{time.monotonic() - began:5.0f} s: day {day}, {self.result.line}")
            if self.result.wrong:
                break
        await self._judge()
        return self.result

    async def _day(self, day: int) -> None:
        share = self.plan.leases * (day + 1) // self.plan.days - self.made
        wishes = [self._new() for _ in range(share)]
        wishes += await self._changes(share)
        killed = self.random.random() < 0.3
        tasks = [asyncio.create_task(self._ask(*wish)) for wish in wishes]
        await self._hosts()
        if killed:
            await asyncio.sleep(self.random.random() * 0.5)
            await self._kill()
        await asyncio.gather(*tasks)
        if self.random.random() < 0.95:  # otherwise the clock jumps in the middle of it
            await self._rest()
        self._jump(DAY)
        if self.random.random() < 0.05:
            self._jump(-2 * HOUR)
            self.result.jumps_back += 1
            await asyncio.sleep(0.2)
            self._jump(2 * HOUR)
        if self.random.random() < 0.3:
            await asyncio.sleep(self.random.random())
            await self._kill()
        await self._rest()
        await self._look()

    def _jump(self, seconds: float) -> None:
        self.clock.jump(seconds)
        self.jumps.append(self.clock())

    async def _kill(self) -> None:
        await self.controllers.kill(self.random)
        self.result.kills += 1

    # What is asked

    def _new(self) -> tuple[str, str, dict[str, Any]]:
        self.made += 1
        start = self.clock() + self.random.choice([0, self.random.uniform(0, 20 * DAY)])
        end = start + self.random.uniform(HOUR, 6 * DAY)
        spec = {
            "start": _at(start),
            "end": _at(end),
            "before_end": self.random.choice([0, 3600, 86400]),
            "reservations": [
                {"count": self.random.randint(1, 4), "properties": self.random.choice([{}, {"cpus": ">= 16"}])}
                for _ in range(self.random.choice([1, 1, 1, 2]))
            ],
        }
        return "create", f"/lab/l{self.made}", complete(spec, self.clock())

    async def _changes(self, share: int) -> list[tuple[str, str, dict[str, Any]]]:
        """Of some leases that there are: longer, shorter, more hosts; ended; deleted."""
        there = await self.store.statements.fetch("list_resources", "lease", "/lab/", "", 100_000, None)
        wishes: list[tuple[str, str, dict[str, Any]]] = []
        some = self.random.sample(there, min(len(there), max(share * 3 // 5, 1)))
        rows = await self.store.resources.read_many([one["path"] for one in some])
        for path, row in rows.items():
            kind = self.random.random()
            if kind < 0.5 and row.snapshot.state in ("PENDING", "ACTIVE", "ERROR"):
                wishes.append(("update", path, self._update(row.spec)))
            elif kind < 0.6 and row.snapshot.state in ("ACTIVE", "ERROR"):
                wishes.append(("terminate", path, {}))
            elif kind > 0.7:
                wishes.append(("delete", path, {}))
        return wishes

    def _update(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        end = datetime.fromisoformat(spec["end"]).timestamp()
        if self.random.random() < 0.6:
            return {"end": _at(max(end + self.random.uniform(-DAY, 2 * DAY), self.clock() + 60))}
        parts = [{**one, "count": max(1, one["count"] + self.random.choice([-1, 1]))} for one in spec["reservations"]]
        return {"reservations": parts}

    async def _ask(self, action: str, path: str, spec: dict[str, Any]) -> None:
        self.result.asked[action] += 1
        answer = await self.door.admission.admit(*requested("lease", path, Request(action), "ann", spec))
        self.result.ended["accepted" if isinstance(answer, Accepted) else "refused"] += 1

    async def _hosts(self) -> None:
        if self.failed and self.random.random() < 0.5:
            await self.store.hosts.set_health(self.failed.pop(0), True, "")
        if self.random.random() < 0.6 and len(self.failed) < self.plan.hosts // 10:
            name = f"h{self.random.randrange(self.plan.hosts):04}"
            if name not in self.failed:
                self.failed.append(name)
                self.result.failures += 1
                await self.store.hosts.set_health(name, False, "it failed")

    # What has to be

    async def _rest(self) -> None:
        """Until nothing goes on, and nothing is due."""

        async def quiet() -> bool:
            if await self.store.pool.fetchval("SELECT count(*) FROM operations"):
                return False
            return not await self.store.pool.fetch(MISSED, self.clock())

        try:
            await whole.until(quiet, QUIET)
        except TimeoutError:
            running = await self.store.pool.fetch("SELECT path, action, says FROM operations LIMIT 5")
            missed = await self.store.pool.fetch(MISSED, self.clock())
            some = [row[0].split(" ")[0] for row in missed[:2]] + [row["path"] for row in running[:2]]
            late = [path for one in some for path in await self._around(one)]
            rows = await self.store.resources.read_many(late)
            self.result.wrong += [f"{path} is {row.snapshot}, with {row.timers}" for path, row in rows.items()]
            told = [line for path in late for line in await self._told(path)]
            says = f"it does not come to rest: {[dict(r) for r in running]}, {missed[:5]}"
            self.result.wrong.append("\n  ".join([says, *told]))

    async def _look(self) -> None:
        """Compare what is believed, what is allowed and what is there."""
        self.result.looks += 1
        rows = await self.store.pool.fetch(STANDS)
        for row in rows:
            wrong = disagreements(row["state"], row["parts"], row["events"] or {})
            self.result.wrong += [f"{row['path']}: {says}" for says in wrong]
        handed: Counter[str] = Counter()
        to: defaultdict[str, list[str]] = defaultdict(list)
        for instance in await self._instances():
            if instance["state"] == "running":
                handed.update(instance["spec"]["hosts"])
                for host in instance["spec"]["hosts"]:
                    to[host].append(instance["tags"]["path"])
        for host, paths in to.items():
            if len(paths) > 1:
                told = [line for path in paths for line in await self._told(path)]
                self.result.wrong.append("\n  ".join([f"{host} is handed over to {', '.join(paths)}", *told]))
        active = {row["path"] for row in rows if row["state"] == "ACTIVE"}
        reserved = await self.store.leases.read_reservations(sorted(active))
        booked = Counter(h for parts in reserved.values() for part in parts for h in part["spec"]["hosts"])
        if missing := booked - handed:
            self.result.wrong.append(f"believed to be handed over, and not: {sorted(missing)[:5]}")

    async def _around(self, lease: str) -> list[str]:
        """A lease with its reservations, and those whose hosts they share."""
        others = await self.store.pool.fetch(
            "SELECT DISTINCT b.reservation FROM allocations a JOIN allocations b ON b.host = a.host "
            "WHERE a.reservation LIKE $1 || '/%' AND b.reservation NOT LIKE $1 || '/%' AND (b.leaving OR NOT b.over)",
            lease,
        )
        own = await self.store.pool.fetch("SELECT path FROM resources WHERE path LIKE $1 || '/%'", lease)
        parts = [row[0] for row in (*own, *others)]
        return sorted({*parts, *(part.rpartition("/")[0] for part in parts), lease})

    async def _told(self, path: str) -> list[str]:
        """What the journal, and the rack, say of a lease or a reservation."""
        lines = await self.store.pool.fetch("SELECT * FROM journal WHERE path = $1 ORDER BY id", path)
        said = [
            f"{r['at']:%H:%M:%S.%f} {path} {r['trigger']} {r['detail']} {r['source']}>{r['target']}" for r in lines
        ]
        row = await self.store.resources.read(path)
        history = await self.world.history(str(row.token)) if row is not None else []
        deeds = [
            f"{datetime.fromtimestamp(deed['at'], UTC):%H:%M:%S.%f} {path} rack: {deed['verb']} {deed['before']}>"
            f"{deed['after']}"
            for one in history
            for deed in one["history"]
        ]
        return [*said, *deeds]

    async def _instances(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        after = "0"
        while after:
            path = f"/v1/{RACK}/{REGION}/reservations"
            page = (await self.world.client.get(path, params={"owner": "stead", "after": after})).json()
            found += page["instances"]
            after = page.get("next", "")
        return found

    async def _judge(self) -> None:
        """All that was."""
        pool, result = self.store.pool, self.result
        if twice := await pool.fetchval(OVERLAPS):
            result.wrong.append(f"{twice} double bookings")
        fired = await pool.fetch("SELECT lease, kind, at, fired_at FROM fired")
        result.fired = len(fired)
        for (lease, kind, at), times in Counter((r["lease"], r["kind"], r["at"]) for r in fired).items():
            if times > 1:
                result.wrong.append(f"{kind} of {lease} at {at} came {times} times")
        for row in await pool.fetch(
            "SELECT e.lease, e.kind, e.fired, e.status FROM lease_events e JOIN resources l ON l.path = e.lease "
            "WHERE e.at <= to_timestamp($1) AND (e.kind = 'start_lease' OR "
            "(e.kind = 'end_lease' AND l.state <> 'PENDING')) AND e.fired <> 1",
            self.clock(),
        ):
            says = f"{row['kind']} of {row['lease']} came {row['fired']} times and is {row['status']}"
            result.wrong.append("\n  ".join([says, *await self._told(row["lease"])]))
        outcomes = await pool.fetch("SELECT action, outcome, count(*) AS n FROM ended_operations GROUP BY 1, 2")
        result.ended.update({f"{r['action']} {r['outcome']}": r["n"] for r in outcomes})
        result.late = [_late(dict(row), self.jumps) for row in fired]


def _late(row: Mapping[str, Any], jumps: Sequence[float]) -> float:
    """Seconds after the clock had come to it."""
    fired, at = row["fired_at"].timestamp(), row["at"].timestamp()
    jumped = max((jump for jump in jumps if jump <= fired), default=at)
    return max(0.0, float(fired - max(at, jumped)))


def _at(moment: float) -> str:
    return said(datetime.fromtimestamp(moment, UTC))


@asynccontextmanager
async def running(plan: Plan) -> AsyncIterator[Year]:
    """Everything that a year needs."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stead-year-")))
        postgres = stack.enter_context(Postgres(fsync=False))
        nats = stack.enter_context(Nats())
        cloud = stack.enter_context(SimCloud())
        dsn = postgres.create_database(CELL)
        await with_every_lane(dsn)
        async with AsyncExitStack() as tasks:
            yield await _furnish(plan, tasks, dsn, nats, cloud, folder / "clock")


async def _furnish(plan: Plan, tasks: AsyncExitStack, dsn: str, nats: Nats, cloud: SimCloud, file: Path) -> Year:
    clock = SharedClock(file)
    connection = await asyncpg.connect(dsn)
    await connection.execute(FIRED)
    await connection.close()
    store = await tasks.enter_async_context(Store.open(dsn, connections=5))
    bus = await tasks.enter_async_context(Bus(nats.url, CELL))
    await bus.connect(20)
    door = assemble_frontend(store, bus, clock, pace=PACE)
    for number in range(plan.hosts):
        await store.hosts.put(f"h{number:04}", LANE, {"cpus": 8 << number % 3}, None)
    controllers = Controllers(dsn, nats.url, file)
    tasks.push_async_callback(controllers.stop)
    await controllers.start()
    world = SimWorld(cloud, REGION, RACK)
    tasks.push_async_callback(world.close)
    driver = world.driver(timeout=PACE.call)
    tasks.push_async_callback(driver.close)
    ear = await tasks.enter_async_context(Bus(nats.url, CELL, agent="rack"))
    await ear.connect(20)
    await tasks.enter_async_context(whole.running(Agent(ear, "rack", {LANE: driver}).run()))
    return Year(plan, door, world, clock, controllers)


async def run(plan: Plan, say: Callable[[str], None]) -> Result:
    """Do all of it."""
    async with running(plan) as year:
        return await year.go(say)


def main() -> None:
    """By command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leases", type=int, default=10_000)
    parser.add_argument("--hosts", type=int, default=500)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    result = asyncio.run(run(Plan(**vars(parser.parse_args())), lambda text: print(text, flush=True)))
    print(dict(sorted(result.ended.items())))
    for wrong in result.wrong[:20]:
        print(f"WRONG: {wrong}")
    print(result.line)
    sys.exit(bool(result.wrong))


if __name__ == "__main__":
    main()
