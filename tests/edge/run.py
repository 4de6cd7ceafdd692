"""`python -m tests.edge.run`: sites behind bad links, cut and killed at both ends; in the end all have to agree.

The last line says what came of it; the exit code is 1 if anything was lost, left behind or violated. With
`--planted NAME` the processes have a bug, and the run is one that brings it out; `--planted all` is a run for each.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from stead.lifecycle.pace import DEFAULT
from tests.chaos import history
from tests.chaos.cell import in_thread
from tests.chaos.checker import Verdict
from tests.chaos.run import AWAY
from tests.chaos.storm import Storm
from tests.edge import cell, checks
from tests.edge.cell import CLOUD, EdgeCell
from tests.edge.faults import KINDS, EdgeWorld
from tests.edge.links import WELL, Link, Links, possible
from tests.edge.load import EdgeLoad
from tests.edge.plans import PLANTED, SHORT, Plan

TELL = 5.0
"""Seconds between two lines of progress."""

USUAL = Link(loss=0.005, delay=0.005, jitter=0.02, duplicate=0.01)
"""What links are like while nothing has struck them: none is ever good."""

SHOWN = 10
"""Sentences of each sort that are printed; there may be thousands."""

Say = Callable[[str], None]


@dataclass
class Result:
    """What came of it."""

    plan: Plan
    operations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    settled: float = 0.0
    """Seconds from the last fault until all agreed."""
    told: str = ""

    @property
    def line(self) -> str:
        """The last line of a run."""
        found = f"{len(self.verdict.lost)} lost, {len(self.verdict.violations)} violations"
        struck = f"{self.faults.total()} faults of {len(self.faults)} kinds"
        return f"edge: {self.plan.sites} sites, {self.operations} operations, {struck}, {found}"


@dataclass
class Run:
    """A run under way."""

    plan: Plan
    cell: EdgeCell
    load: EdgeLoad
    storm: Storm
    say: Say
    began: float = field(default_factory=time.monotonic)

    async def go(self) -> Result:
        """Everything is made; then load and storm side by side; then quiet."""
        await self.load.fill()
        self._tell(f"{len(self.load.accepted)} clusters and apps were asked for")
        links = self.cell.links
        links.usual = USUAL
        await in_thread(links.heal)
        asking = asyncio.create_task(self.load.run(self.plan.seconds))
        telling = asyncio.create_task(self._progress())
        try:
            await self.storm.rage(self.plan.seconds)
            links.usual = WELL
            await in_thread(links.heal)
            self._tell("all links are well, and all processes run")
            return await self._settle(time.monotonic(), asking)
        finally:
            for task in (asking, telling):
                task.cancel()
            await asyncio.wait([asking, telling])

    async def _settle(self, quiet: float, asking: asyncio.Task[None]) -> Result:
        """Wait until all agree, or nobody can wait any longer."""
        result = Result(self.plan)
        end = quiet + self.plan.patience
        while True:
            over = time.monotonic() > end
            if over or (asking.done() and await self._still()):
                past = await checks.read(self.cell, self.load.accepted)
                result.verdict, result.told = checks.judge(past), checks.told(past)
                result.settled = time.monotonic() - quiet
                if over or result.verdict.final:
                    break
            await asyncio.sleep(1.0)  # sleep: between two looks of a long run
        if not asking.done():
            result.verdict.lost.append(f"{len(self.load.under_way)} requests have no answer")
        result.operations = len({one.operation for one in self.load.accepted})
        result.faults = self.storm.seen
        return result

    async def _still(self) -> bool:
        with suppress(*AWAY):
            return not await history.unsettled(self.cell.dsn)
        return False

    async def _progress(self) -> None:
        while True:
            await asyncio.sleep(TELL)
            ended = "?"
            with suppress(*AWAY):
                ended = str(await history.ended(self.cell.dsn))
            asked = f"{len(self.load.accepted)} accepted, {ended} ended, {len(self.load.under_way)} being asked"
            self._tell(f"{asked}, {len(self.storm.faults)} faults: {self.storm.stands()}")

    def _tell(self, text: str) -> None:
        self.say(f"{time.monotonic() - self.began:5.0f} s: {text}")


async def run(plan: Plan, links: Links, say: Say) -> Result:
    """Do all of it, at the hub of the links; keeps the logs where something is wrong."""
    random = Random(plan.seed)
    began = time.monotonic()
    async with cell.running(links, plan.sites, plan.seed, planted=plan.planted, pace=plan.pace) as one:
        took = time.monotonic() - began
        say(f"{plan.sites} sites behind {links.places} links are ready after {took:.0f} s, seed {plan.seed}")
        load = EdgeLoad(one.addresses, Random(random.random()), plan.instances, plan.rate, sites=one.sites)
        world = EdgeWorld(one, Random(random.random()), DEFAULT.scaled(plan.pace).custody)
        storm = Storm(world, plan.every, plan.quiet, plan.kinds, KINDS)
        for cloud in one.clouds:
            await world.slow(cloud, plan.took)
        under_way = Run(plan, one, load, storm, say)
        try:
            result = await under_way.go()
        except Exception:
            _keep(one, say)
            raise
        if not result.verdict.clean:
            _keep(one, say)
        _summary(under_way, result, say)
        return result


def _keep(one: EdgeCell, say: Say) -> None:
    folder = Path(tempfile.mkdtemp(prefix="stead-edge-logs-"))
    one.keep_logs(folder)
    say(f"the logs of all processes are in {folder}")


def _summary(under_way: Run, result: Result, say: Say) -> None:
    for name, count in sorted(under_way.load.counts.items()):
        say(f"  {count:6} {name}")
    for name, count in sorted(result.faults.items()):
        say(f"  {count:6} times {name}")
    for says in under_way.cell.own_ends:
        say(f"  ended by itself: {says}")
    say(f"  {result.told}")
    say(f"  all agreed {result.settled:.0f} s after the last fault was taken back")


def once(plan: Plan, say: Say) -> Result:
    """One run, from its links to its verdict. This process is at the hub of those links ever after."""
    with Links(plan.places, plan.seed, clear=[CLOUD]) as links:
        links.enter()
        result = asyncio.run(run(plan, links, say))
        links.close()
        packets = {**links.counts, **links.lost}
        say(f"  packets: {', '.join(f'{count} {what}' for what, count in sorted(packets.items()))}")
        for name, found in (("lost", result.verdict.lost), ("violation", result.verdict.violations)):
            for sentence in found[:SHOWN]:
                say(f"{name}: {sentence}")
            if len(found) > SHOWN:
                say(f"{name}: and {len(found) - SHOWN} more")
        say(result.line)
        return result


def plans() -> list[Plan]:
    """The runs that are asked for: what is not said is as planned."""
    parser = argparse.ArgumentParser(prog="python -m tests.edge.run", description=__doc__)
    parser.add_argument("--short", action="store_true", help="as for every push, unless more is said")
    parser.add_argument("--minutes", type=float, help="how long faults strike")
    parser.add_argument("--seconds", type=float, help="the same, in seconds")
    parser.add_argument("--seed", type=int, help="what chance goes by")
    parser.add_argument("--sites", type=int)
    parser.add_argument("--instances", type=int, help="clusters and apps")
    parser.add_argument("--places", type=int, help="links, and agents")
    parser.add_argument("--rate", type=float, help="requests a second")
    parser.add_argument("--every", type=float, help="seconds between two faults")
    parser.add_argument("--pace", type=float, help="of the protocol's waits; below 1 is faster")
    parser.add_argument("--took", type=float, help="seconds that a site takes for anything")
    parser.add_argument("--kinds", type=kinds, help="kinds of faults, with commas between; or none")
    parser.add_argument("--planted", choices=[*PLANTED, "all"], help="a bug that is to be caught")
    given = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    if "minutes" in given:
        given["seconds"] = 60 * given.pop("minutes")
    short, bug = given.pop("short"), given.pop("planted", "")
    if not bug:
        return [replace(SHORT if short else Plan(), **given)]
    return [replace(PLANTED[one], planted=one, **given) for one in (PLANTED if bug == "all" else [bug])]


def kinds(text: str) -> tuple[str, ...]:
    found = tuple(kind for kind in text.split(",") if kind not in ("", "none"))
    for kind in found:
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"there is no kind {kind}; there are {', '.join(KINDS)}")
    return found


def say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    wanted = plans()
    if why := possible():
        say(f"edge: {why}")
        return 2
    try:
        results = [once(plan, say) for plan in wanted]
    except KeyboardInterrupt:
        return 130
    if len(results) > 1:
        caught = sum(not result.verdict.clean for result in results)
        say(f"planted: {caught} of {len(results)} caught")
        return 0 if caught == len(results) else 1
    return 0 if results[0].verdict.clean else 1


if __name__ == "__main__":
    sys.exit(main())
