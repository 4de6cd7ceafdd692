"""The search itself: breadth first, so that the first fault found has the shortest story.

Safety is judged on every step. Liveness is judged at the end: from every world that was reached, one at rest must be
reachable, where the resource is settled, nothing is under way, and belief agrees with what is there.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.explore.machine import Decide, ExploredController, PropertyViolated, real_decide
from stead.lifecycle.explore.site import SiteSteps
from stead.lifecycle.explore.steps import Steps
from stead.lifecycle.explore.world import Bounds, Budget, World
from stead.lifecycle.rows import ABSENT, StateClass
from stead.lifecycle.snapshot import Snapshot
from stead.lifecycle.table import observations


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that does not hold, and the shortest way there."""

    says: str
    path: tuple[str, ...]

    def story(self) -> str:
        """The way there, a step a line."""
        steps = [f"{i:>3}. {step}" for i, step in enumerate(self.path, 1)]
        return "\n".join([*steps, f"     -> {self.says}"])


@dataclass(frozen=True, slots=True)
class Result:
    """What a search has found."""

    kind: str
    visited: int
    """Distinct worlds."""
    steps: int
    complete: bool
    """Everything within the bounds was visited."""
    bounds: Bounds
    violation: Violation | None = None


def explore(
    lifecycle: Lifecycle,
    bounds: Bounds | None = None,
    *,
    law: Lifecycle | None = None,
    decide: Decide = real_decide,
    most: int = 5_000_000,
) -> Result:
    """Visit every world within the bounds; moves are judged by `law`, where that is not the lifecycle itself."""
    return _Search(lifecycle, bounds or Bounds(), law or lifecycle, decide, most).run()


class _Search:
    def __init__(self, lc: Lifecycle, bounds: Bounds, law: Lifecycle, decide: Decide, most: int) -> None:
        self.lc = lc
        self.bounds = bounds
        self.machine = ExploredController(lc, law, decide)
        self.steps = (SiteSteps if lc.presence else Steps)(self.machine, bounds)
        self.most = most
        self.numbers: dict[World, int] = {}
        self.worlds: list[World] = []
        self.covered: list[list[Budget]] = []
        """By world: the budgets it was reached with, none of which covers another."""
        self.visits: list[tuple[int, Budget, int]] = []
        """World, budget, and the visit it was reached from."""
        self.count = 0
        self.sources = array("L")
        self.targets = array("L")

    def run(self) -> Result:
        """Breadth first from every state in which a resource can rest."""
        try:
            self._begin()
        except PropertyViolated as wrong:
            return self._result(violation=Violation(str(wrong), ("nothing has happened yet",)))
        at = 0
        while at < len(self.visits):
            if len(self.worlds) > self.most:
                return self._result(complete=False)
            try:
                self._visit(at)
            except PropertyViolated as wrong:
                return self._result(violation=self._violation(at, str(wrong)))
            at += 1
        never = self.machine.judge.missing_ends(self.machine.outcomes)
        if never:
            return self._result(violation=Violation(never, ("whatever happens",)))
        lost = self._never_at_rest()
        if lost is not None:
            at = next(i for i, visit in enumerate(self.visits) if visit[0] == lost)
            return self._result(violation=self._violation(at, "from here it can never come to rest"))
        return self._result()

    def _begin(self) -> None:
        b = self.bounds
        budget = Budget(b.requests, b.deletes, b.crashes, b.repeats, b.late)
        seen = observations(self.lc) or (ABSENT,)
        for state in self.lc.states:
            if state.cls is StateClass.TRANSITIONAL:
                continue
            snap = self.machine.number(Snapshot(state.name))
            for truth in (state.observed_as,) if state.observed_as else seen:
                self._reach(World(snap, truth, 0, (), (), False, (0, 0, 0), 0), budget, -1)

    def _visit(self, at: int) -> None:
        here, budget, _ = self.visits[at]
        if not any(b == budget for b in self.covered[here]):
            return  # reached again meanwhile, with more of the budget left
        world = self.worlds[here]
        self._check(world)
        for _, after, left in self.steps(world, budget):
            there = self._reach(after, left, at)
            self.count += 1
            if left is budget:  # another one, even if equal, stands for what need not happen
                self.sources.append(here)
                self.targets.append(there)

    def _reach(self, world: World, budget: Budget, source: int) -> int:
        number = self.numbers.get(world)
        if number is None:
            number = self.numbers[world] = len(self.worlds)
            self.worlds.append(world)
            self.covered.append([])
        known = self.covered[number]
        if not any(b.covers(budget) for b in known):
            known[:] = [b for b in known if not budget.covers(b)]
            known.append(budget)
            self.visits.append((number, budget, source))
        return number

    def _check(self, world: World) -> None:
        """Nothing stays moving without something that will move it."""
        snap = self.machine.snapshots[world.snap]
        moving = self.lc.state(snap.state).cls is StateClass.TRANSITIONAL or snap.operation or snap.hidden
        if moving and not self.machine.timers[world.snap]:
            raise PropertyViolated(f"it is in {snap.state}, and no timer, order or message will ever move it on")

    def _at_rest(self, world: World) -> bool:
        snap = self.machine.snapshots[world.snap]
        state = self.lc.state(snap.state)
        if snap.operation or snap.hidden or state.cls is StateClass.TRANSITIONAL:
            return False
        return (not state.observed_as or state.observed_as == world.truth) and self.steps.agreed(world)

    def _never_at_rest(self) -> int | None:
        """The first world from which none at rest can be reached, even if nothing else goes wrong or is asked for."""
        into: list[list[int]] = [[] for _ in self.worlds]
        for source, target in zip(self.sources, self.targets, strict=True):
            into[target].append(source)
        todo = [i for i, world in enumerate(self.worlds) if self._at_rest(world)]
        fine = bytearray(len(self.worlds))
        for i in todo:
            fine[i] = 1
        while todo:
            for source in into[todo.pop()]:
                if not fine[source]:
                    fine[source] = 1
                    todo.append(source)
        lost = fine.find(0)
        return None if lost < 0 else lost

    def _violation(self, at: int, says: str) -> Violation:
        way = [at]
        while self.visits[way[-1]][2] >= 0:
            way.append(self.visits[way[-1]][2])
        way.reverse()
        world = self.worlds[self.visits[way[0]][0]]
        path = [f"it is {self.machine.snapshots[world.snap].state}, and at the provider it is {world.truth}"]
        path += [self._sentence(here, there) for here, there in pairwise(way)]
        return Violation(says, tuple(path))

    def _sentence(self, here: int, there: int) -> str:
        number, budget, _ = self.visits[here]
        target, left, _ = self.visits[there]
        world, goal = self.worlds[number], self.worlds[target]
        before, now = self.machine.snapshots[world.snap], self.machine.snapshots[goal.snap]
        moved = f" [{before.state} -> {now.state}]" if before.state != now.state else ""
        says = next(s for s, after, b in self.steps(world, budget) if after == goal and b == left)
        return says + moved

    def _result(self, *, complete: bool = True, violation: Violation | None = None) -> Result:
        return Result(
            self.lc.kind,
            visited=len(self.worlds),
            steps=self.count,
            complete=complete and violation is None,
            bounds=self.bounds,
            violation=violation,
        )
