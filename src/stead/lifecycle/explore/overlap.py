"""Operations that overlap on the members of a group, searched with the code that decides.

The search of one kind takes the count of its children as it comes. Here the children are there, each with a lifecycle
of its own: before the group asks them, and while it waits, something may be in progress on a member that another
operation began. Agents, messages and fences are the other search's; here a report arrives as soon as it is made.

Members are counted as the store counts them: one that acts, or that joined what is in progress on it, is waited for
until that very operation has ended on it. The judge keeps a list of its own, of what was asked and what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from stead.lifecycle.aggregate import service_condition
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import Participation, asks_as, makes, participation
from stead.lifecycle.decision import Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Children, Event, OnConflict, Report, Request, Take, TimerDue
from stead.lifecycle.explore.judge import PropertyViolated
from stead.lifecycle.explore.search import Result, Violation
from stead.lifecycle.explore.wishes import Requests
from stead.lifecycle.explore.world import Bounds
from stead.lifecycle.rows import PROBE, Actor, Aggregation, AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import Fence, Holder, Snapshot
from stead.lifecycle.table import observations
from stead.lifecycle.timers import pending

MEMBERS = 2
"""Enough for one that is asked, and one on which something is in progress."""

HERE = Fence(1, 7)

GONE = -1

Participate = Callable[[Decision | Rejection, str], Participation]

Wait = tuple[int, str]
"""A member, and an operation that is in progress on it."""


class Tally(NamedTuple):
    """What the store keeps of a group's operation."""

    asks: str = ""
    """What members are asked; empty while nothing is."""
    cancels: bool = False
    asked: int = 0
    """How many have been asked."""
    remaining: int = 0
    failed: int = 0
    joined: frozenset[Wait] = frozenset()


class Overlap(NamedTuple):
    """One instant."""

    group: int
    """Number of its snapshot."""
    members: tuple[int, ...]
    """Numbers of theirs; `GONE` where there is no such member any more."""
    tally: Tally
    expected: frozenset[Wait] = frozenset()
    """The judge's: what has to end before the group goes on."""
    bad: bool = False
    """The judge's: one of them did not do what was asked."""
    requests: int = 2
    others: int = 1
    """Operations on a member that the group did not ask for, to come."""


Step = tuple[str, Overlap]


def explore_overlap(
    group: Lifecycle, member: Lifecycle, *, participate: Participate = participation, most: int = 2_000_000
) -> Result:
    """Visit every order of events for a group of members of one kind."""
    return _Search(group, member, participate, most).run()


class _Search:
    def __init__(self, group: Lifecycle, member: Lifecycle, participate: Participate, most: int) -> None:
        self.group = group
        self.member = member
        self.participate = participate
        self.most = most
        wishes = Requests(group)
        observing = {action.name for action in group.actions if action.observes}  # asked of members as any other
        every = reversed((*wishes.ordinary, *wishes.deletes))
        self.wishes = {request.action: request for _, request in every if request.action not in observing}
        self._numbers: dict[Snapshot, int] = {}
        self._snapshots: list[Snapshot] = []
        self._answers: dict[tuple[bool, int, Event], Decision | Rejection] = {}
        self._afters: dict[int, int] = {}
        """By answer, of which there is one for each event in each snapshot: the number of the snapshot afterwards."""
        self._requested: dict[int, list[tuple[str, Decision]]] = {}
        self._begun: dict[tuple[int, bool], list[tuple[str, Decision]]] = {}
        self._ways: dict[tuple[bool, int], list[tuple[str, Decision]]] = {}

    def run(self) -> Result:
        """Breadth first, from every pair of states in which a group and its members can rest."""
        came: dict[Overlap, tuple[Overlap | None, str]] = {}
        todo: list[Overlap] = []
        for state in self._resting(self.group):
            for theirs in self._resting(self.member):
                world = Overlap(self._number(Snapshot(state)), (self._number(Snapshot(theirs)),) * MEMBERS, Tally())
                came[world] = (None, f"the group is {state}, its members are {theirs}")
                todo.append(world)
        steps = at = 0
        while at < len(todo) and len(todo) <= self.most:
            world = todo[at]
            at += 1
            try:
                for says, after in self._steps(world):
                    steps += 1
                    if after not in came:
                        came[after] = (world, says)
                        todo.append(after)
            except PropertyViolated as wrong:
                return self._result(came, steps, Violation(str(wrong), _story(came, world)))
        return self._result(came, steps, None, complete=at == len(todo))

    def _result(
        self,
        came: dict[Overlap, tuple[Overlap | None, str]],
        steps: int,
        bad: Violation | None,
        complete: bool = False,
    ) -> Result:
        return Result(f"{self.group.kind} of {self.member.kind}", len(came), steps, complete, Bounds(), bad)

    @staticmethod
    def _resting(lifecycle: Lifecycle) -> list[str]:
        moves = (StateClass.TRANSITIONAL, StateClass.ABSENT)
        return [state.name for state in lifecycle.states if state.cls not in moves]

    # What can happen

    def _steps(self, world: Overlap) -> Iterator[Step]:
        yield from self._requests(world)
        yield from self._others(world)
        tally = world.tally
        if (tally.asks or tally.cancels) and tally.asked < MEMBERS:
            yield from self._ask(world)
        elif self._group(world).operation is not None and not tally.remaining:
            yield from self._count(world)
        if tally.remaining and tally.asked == MEMBERS and not self._in_progress(world, world.expected):
            raise PropertyViolated("the group waits for a member on which nothing is in progress")
        for i in range(MEMBERS):
            yield from self._member(world, i)
        yield from self._own_work(world)

    def _requests(self, world: Overlap) -> Iterator[Step]:
        """The group is asked: for the first time, or for something that outranks what is in progress."""
        op = self._group(world).operation
        if op is not None and not op.cancelled:
            answer = self._decide(True, world.group, Cancel(op.id, Actor.ADMIN))
            if isinstance(answer, Decision):
                yield f"the group's {op.action} is cancelled", self._after_group(world, answer)
        if not world.requests or (op is None and world.requests < Overlap._field_defaults["requests"]):
            return
        held = any(_claims(self._snapshots[m]) for m in world.members if m != GONE)
        blocked = Holder("m", "another", "", below=True) if held else None
        snap = self._number(replace(self._group(world), blocked=blocked)) if held else world.group
        left = world._replace(requests=world.requests - 1)
        if snap not in self._requested:
            self._requested[snap] = list(self._find_requests(snap, f"g{world.requests}"))
        for says, answer in self._requested[snap]:
            yield says, self._after_group(left, answer)

    def _find_requests(self, snap: int, id: str) -> Iterator[tuple[str, Decision]]:
        for name, wish in self.wishes.items():
            answer = self._decide(True, snap, replace(wish, operation=id))
            self._left_out(snap, name, answer)
            if isinstance(answer, Decision) and not answer.joined and not answer.queued:
                yield f"the group is asked for {name}", answer

    def _left_out(self, snap: int, name: str, answer: Decision | Rejection) -> None:
        """An action that leaves out what is claimed below is not kept off by it."""
        action, group = self.group.action(name), self._snapshots[snap]
        if action is None or not action.skips_claimed or group.blocked is None or group.operation is not None:
            return
        if isinstance(answer, Rejection) and answer.holder is not None:
            raise PropertyViolated(f"{name} is kept off by what is claimed below, which it leaves out")
        if isinstance(answer, Decision) and answer.cancels:
            raise PropertyViolated(f"{name} cancels what is claimed below, which it leaves out")

    def _others(self, world: Overlap) -> Iterator[Step]:
        """Something begins on the first member that the group did not ask for."""
        snap = world.members[0]
        if not world.others or snap == GONE:
            return
        left = world._replace(others=world.others - 1)
        free = self._group(world).operation is None
        if (snap, free) not in self._begun:
            self._begun[snap, free] = list(self._find_others(snap, free))
        for says, answer in self._begun[snap, free]:
            yield says, self._after_member(left, 0, answer)

    def _find_others(self, snap: int, free: bool) -> Iterator[tuple[str, Decision]]:
        for action in self.member.actions:
            if not action.actors or action.observes:  # an observation begins and ends as any action does
                continue
            request = Request(action.name, action.actors[0], revision=1 if action.changes_spec else 0)
            if free:  # no operation claims what is above it
                alone = self._decide(False, snap, replace(request, operation="m"))
                if isinstance(alone, Decision) and not alone.joined:
                    yield f"{action.name} begins on a member, by itself", alone
            within = replace(request, operation="w", within=True, on_conflict=OnConflict.REJECT)
            answer = self._decide(False, snap, within)
            if isinstance(answer, Decision) and not answer.joined:
                yield f"{action.name} begins on a member, in the course of another operation", answer

    def _ask(self, world: Overlap) -> Iterator[Step]:
        """The group's operation asks its next member, or cancels what that does for it."""
        tally, op = world.tally, self._group(world).operation
        assert op is not None
        i, snap = tally.asked, world.members[tally.asked]
        asked = world._replace(tally=tally._replace(asked=i + 1))
        if snap == GONE:
            yield "there is no such member", asked
        elif tally.cancels:
            answer = self._decide(False, snap, Cancel(op.id, Actor.ADMIN))  # refused, where it does nothing for it
            after = self._after_member(asked, i, answer) if isinstance(answer, Decision) else asked
            yield f"member {i} is cancelled", after
        else:
            actor = asks_as(self.member, tally.asks, Actor.USER)
            request = Request(
                tally.asks, actor, within=True, on_conflict=OnConflict.REJECT, operation=op.id, force=op.forced
            )
            answer = self._decide(False, snap, replace(request, reason="exploring" if op.forced else ""))
            yield f"member {i} is asked for {tally.asks}", self._participates(asked, i, answer, op.id)

    def _participates(self, world: Overlap, i: int, answer: Decision | Rejection, operation: str) -> Overlap:
        if isinstance(answer, Rejection):
            return world
        own, op = self._snapshots[world.members[i]], self._group(world).operation
        asked = self.group.action(op.action) if op is not None else None
        if asked is not None and asked.skips_claimed and _claims(own) and (answer.transitions or answer.orders):
            raise PropertyViolated(
                f"{asked.name} changes member {i}, on which an operation with a claim of its own is in progress"
            )
        after = self._after_member(world, i, answer)
        part, running = self.participate(answer, operation), self._snapshots[world.members[i]].operation
        tally = after.tally
        if part is Participation.ACTS:
            tally = tally._replace(remaining=tally.remaining + 1)
        elif part is Participation.JOINS and running is not None and running.id != operation:
            tally = tally._replace(remaining=tally.remaining + 1, joined=tally.joined | {(i, running.id)})
        waits = {(i, operation if not answer.joined or running is None else running.id)}
        return after._replace(tally=tally, expected=after.expected | self._in_progress(after, frozenset(waits)))

    def _count(self, world: Overlap) -> Iterator[Step]:
        """The members are counted: the group's operation goes on, or ends."""
        op = self._group(world).operation
        assert op is not None
        counts = tuple(sorted(self._counts(world.members).items()))
        answer = self._decide(True, world.group, Children(counts, failed=world.tally.failed))
        if isinstance(answer, Rejection) or not (answer.ended or answer.transitions or answer.members):
            return
        left = self._in_progress(world, world.expected)
        if left and (answer.ended or answer.transitions):
            i, _ = min(left)
            at = self._snapshots[world.members[i]].operation
            doing = at.action if at is not None else "something"
            raise PropertyViolated(
                f"the group's {op.action} went on while {doing} was in progress on member {i}, which it asked"
            )
        if world.bad and any(ended.outcome is Outcome.SUCCEEDED for ended in answer.ended):
            raise PropertyViolated(f"the group's {op.action} is done though a member that it asked did not do it")
        yield "the members are counted", self._after_group(world, answer)

    def _member(self, world: Overlap, i: int) -> Iterator[Step]:
        """What is in progress on a member goes on."""
        if world.members[i] != GONE:
            for says, answer in self._goes_on(False, world.members[i]):
                yield f"member {i}: {says}", self._after_member(world, i, answer)

    def _own_work(self, world: Overlap) -> Iterator[Step]:
        """What the group itself is ordered, or its controller does."""
        for says, answer in self._goes_on(True, world.group):
            yield f"the group: {says}", self._after_group(world, answer)
        if self.group.state(self._group(world).state).awaits is not AwaitedParty.STEP:
            return
        events = (("start_lease", "DONE"), ("end_lease", "UNDONE"))
        for kind in (Trigger.SUCCEEDED, Trigger.FAILED):
            ends = self._decide(True, world.group, Report(kind, HERE, actor=Actor.CONTROLLER, events=events))
            if isinstance(ends, Decision):
                yield f"the group's step: {kind}", self._after_group(world, ends)

    def _goes_on(self, of_group: bool, snap: int) -> list[tuple[str, Decision]]:
        """An agent reports, or a timer is due that something waits for."""
        known = self._ways.get((of_group, snap))
        if known is None:
            known = self._ways[of_group, snap] = list(self._find_ways(of_group, snap))
        return known

    def _find_ways(self, of_group: bool, number: int) -> Iterator[tuple[str, Decision]]:
        lifecycle, snap = self.group if of_group else self.member, self._snapshots[number]
        if snap.work is not None:
            words = [Report(Trigger.SUCCEEDED, HERE), Report(Trigger.FAILED, HERE)]
            if snap.work.verb == PROBE:
                words = [Report(Trigger.OBSERVED, HERE, seen=seen) for seen in observations(lifecycle)]
            taken = self._decide(of_group, number, Take(HERE))
            taker = self._number(taken.after) if isinstance(taken, Decision) else number
            for word in words:
                answer = self._decide(of_group, taker, word)
                if isinstance(answer, Decision):
                    yield f"the agent says {word.kind} {word.seen}".rstrip(), answer
        for timer in sorted({*pending(lifecycle, snap)} & {"fenced", "again", "next"}):
            answer = self._decide(of_group, number, TimerDue(timer))
            if isinstance(answer, Decision):
                yield f"the timer {timer} is due", answer

    # What follows from it

    def _number(self, snap: Snapshot) -> int:
        """The snapshot's number, whatever its fence."""
        snap = replace(snap, fence=HERE)
        known = self._numbers.get(snap)
        if known is None:
            known = self._numbers[snap] = len(self._snapshots)
            self._snapshots.append(snap)
        return known

    def _after(self, answer: Decision) -> int:
        known = self._afters.get(id(answer))
        if known is None:
            known = self._afters[id(answer)] = self._number(replace(answer.after, blocked=None, children=0))
        return known

    def _group(self, world: Overlap) -> Snapshot:
        return self._snapshots[world.group]

    def _decide(self, of_group: bool, snap: int, event: Event) -> Decision | Rejection:
        key = (of_group, snap, event)
        known = self._answers.get(key)
        if known is None:
            lifecycle = self.group if of_group else self.member
            known = self._answers[key] = decide(lifecycle, self._snapshots[snap], event)
        return known

    def _after_group(self, world: Overlap, answer: Decision) -> Overlap:
        before, now = self._group(world).operation, answer.after.operation
        tally, expected, bad = world.tally, world.expected, world.bad
        if now is None or before is None or now.id != before.id:  # what the last one waited for is not waited for now
            tally, expected, bad = Tally(), frozenset[Wait](), False
        known = self.member.action(answer.members) if answer.members else None
        if answer.cancels and tally.asks:
            tally = tally._replace(cancels=True, failed=tally.failed + (tally.asked < MEMBERS), asked=0)
        elif known is not None and not makes(self.member, answer.members):
            tally, expected, bad = Tally(answer.members), frozenset[Wait](), False
        group = self._after(answer)
        return world._replace(group=group, tally=tally, expected=expected, bad=bad)

    def _after_member(self, world: Overlap, i: int, answer: Decision) -> Overlap:
        tally, expected, bad = world.tally, world.expected, world.bad
        op = self._group(world).operation
        for ended in answer.ended:
            wait, failed = (i, ended.id), ended.outcome is not Outcome.SUCCEEDED
            counts = (op is not None and ended.id == op.id and wait in expected) + (wait in tally.joined)
            tally = tally._replace(
                remaining=tally.remaining - counts,
                failed=tally.failed + counts * failed,
                joined=tally.joined - {wait},
            )
            bad = bad or (failed and wait in expected)
            expected -= {wait}
        if tally.remaining < 0:
            raise PropertyViolated("a member was counted twice")
        after = answer.after
        gone = self.member.state(after.state).cls is StateClass.ABSENT and after.operation is None
        now = GONE if gone else self._after(answer)
        members = tuple(now if n == i else m for n, m in enumerate(world.members))
        return world._replace(members=members, tally=tally, expected=expected, bad=bad)

    def _in_progress(self, world: Overlap, waits: frozenset[Wait]) -> set[Wait]:
        """Of these, what has not ended."""
        return {
            (i, id) for i, id in waits if world.members[i] != GONE and id in _ids(self._snapshots[world.members[i]])
        }

    def _counts(self, members: tuple[int, ...]) -> dict[str, int]:
        """The members by state, as their group counts them."""
        sums: dict[str, int] = {}
        for number in members:
            if number == GONE:
                continue
            state = self._snapshots[number].state
            if self.group.kind == "system":
                state = service_condition(state, newer=False)
            if self.group.aggregation is not Aggregation.WORST or state in self.group.aggregation_order:
                sums[state] = sums.get(state, 0) + 1
        return sums


def _ids(snap: Snapshot) -> set[str]:
    """Of the operations that are in progress on a resource."""
    return {op.id for op in (snap.operation, snap.hidden) if op is not None}


def _claims(snap: Snapshot) -> bool:
    """Whether an operation of the member's own, which has a claim, is in progress."""
    return "m" in _ids(snap)


def _story(came: dict[Overlap, tuple[Overlap | None, str]], world: Overlap) -> tuple[str, ...]:
    path: list[str] = []
    at: Overlap | None = world
    while at is not None:
        at, says = came[at]
        path.append(says)
    return tuple(reversed(path))
