"""Everything that can happen next in the explored world, one small step at a time.

Users ask and cancel; the channel delivers, loses, repeats and reorders; the controller crashes between commit and
acknowledgement; agents take orders, do them, fail, crash, are stopped and wake up late; timers fire; children
settle. Whatever answers an event is the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Cancel, Connected, Event, FullState, Report, Take, TimerDue
from stead.lifecycle.explore.deeds import RESTORE, ProviderEffects
from stead.lifecycle.explore.machine import HERE, Answer, ExploredController, PropertyViolated
from stead.lifecycle.explore.wishes import Requests
from stead.lifecycle.explore.world import Bounds, Budget, Job, Message, World
from stead.lifecycle.rows import ABSENT, PROBE, Actor, Trigger
from stead.lifecycle.snapshot import Snapshot

Step = tuple[str, World, Budget]

BY_NOTIFY_ID = ("hello", "takeover")
"""Words that are old by their notify-id, not by a fence."""


class Steps:
    """The steps from a world."""

    def __init__(self, machine: ExploredController, bounds: Bounds) -> None:
        self.machine = machine
        self.bounds = bounds
        self.lc = machine.lc
        self.deeds = ProviderEffects(machine.lc)
        self.wishes = Requests(machine.lc)
        self.respecs = any(a.changes_spec and a.verbs for a in machine.lc.actions)

    def __call__(self, world: World, budget: Budget) -> Iterator[Step]:
        """Every step, with a sentence about it and what is left of the budget."""
        free = chain(
            self._deliveries(world),
            self._agents(world),
            self._timers(world),
            self._children(world),
            self._looks(world),
        )
        for says, after in free:
            yield says, after, budget
        yield from self._requests(world, budget)
        yield from self._cancels(world, budget)
        yield from self._faults(world, budget)

    # The controller

    def apply(self, world: World, answer: Answer) -> World:
        """The world after the controller has committed an answer and published its orders."""
        decision = answer.decision
        channel, jobs = world.channel, world.jobs
        if answer.raised:  # everything in flight is old now, and the machine has judged all old words
            channel = tuple(m for m in channel if m.kind in BY_NOTIFY_ID)
            if jobs:
                jobs = tuple(sorted(job._replace(current=False) for job in jobs))
        snap = self.machine.snapshots[answer.snap]
        if not world.disturbed:
            self.machine.judge.truth(decision, world.truth, world.revision)
        guessed = self.machine.judge.guessed(decision)
        disturbed = (world.disturbed or guessed) and not self._known(snap, world)
        for order in decision.orders:
            number = snap.previous if order.verb == RESTORE else snap.revision
            channel = self.sent(channel, Message("order", order.verb, number))
        claimed = world.claimed + answer.claimed
        if claimed not in (0, 1):
            raise PropertyViolated("two operations claim it at once" if claimed > 1 else "a claim was released twice")
        if self.machine.judge.wants_claim(snap) != bool(claimed):
            raise PropertyViolated(
                "an operation acts without its claim" if not claimed else "a claim outlives its operation"
            )
        if self.machine.judge.abandons(decision):  # what is made under its name later has a token of its own
            return World(self.machine.number(Snapshot(snap.state)), ABSENT, 0, (), (), False, world.site, claimed)
        asked = decision.recount or (world.asked and snap.operation is not None)
        return World(answer.snap, world.truth, world.revision, channel, jobs, asked, world.site, claimed, disturbed)

    def _known(self, snap: Snapshot, world: World) -> bool:
        """Whether belief is right again: nothing is going on, nobody sleeps, and a look would agree."""
        seen = self.lc.state(snap.state).observed_as
        rests = snap.operation is None and snap.hidden is None and not world.jobs
        return rests and seen == world.truth and (not self.respecs or snap.revision == world.revision)

    def sent(self, channel: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
        """The channel with one message more; where it is full the message is lost."""
        if len(channel) >= self.bounds.in_flight:
            return channel
        return tuple(sorted((*channel, message)))

    def hear(self, world: World, event: Event) -> World | None:
        """The world after an event, or None where it was refused or changed nothing."""
        answer = self.machine.ask(world.snap, event)
        if isinstance(answer, Rejection):
            return None
        after = self.apply(world, answer)
        return None if after == world else after

    def agreed(self, world: World) -> bool:
        """Whether belief and truth agree in what the state alone does not say: the spec."""
        snap = self.machine.snapshots[world.snap]
        there = self.lc.state(snap.state).observed_as not in ("", ABSENT)
        return not (self.respecs and there) or world.revision == snap.revision

    # Users

    def _requests(self, world: World, budget: Budget) -> Iterator[Step]:
        if budget.requests:
            left = budget._replace(requests=budget.requests - 1)
            for says, request in self.wishes.ordinary:
                after = self.hear(world, request)
                if after is not None:
                    yield says, after, left
        if budget.deletes:
            left = budget._replace(deletes=budget.deletes - 1)
            for says, request in self.wishes.deletes:
                after = self.hear(world, request)
                if after is not None:
                    yield says, after, left

    def _cancels(self, world: World, budget: Budget) -> Iterator[Step]:
        """Whatever is under way may be cancelled at any moment. Nobody may have to, for it to come to rest."""
        snap = self.machine.snapshots[world.snap]
        for op in (snap.operation, snap.hidden):
            after = self.hear(world, Cancel(op.id, Actor.ADMIN)) if op is not None and not op.cancelled else None
            if op is not None and after is not None:
                yield f"somebody cancels {op.action}", after, budget._replace()

    # The channel

    def _deliveries(self, world: World) -> Iterator[tuple[str, World]]:
        for message in dict.fromkeys(world.channel):
            rest = list(world.channel)
            rest.remove(message)
            without = world._replace(channel=tuple(rest))
            yield f"{_name(message)} is lost", without
            yield from self._deliver(without, message)

    def _deliver(self, world: World, message: Message) -> Iterator[tuple[str, World]]:
        if message.kind == "order":
            yield from self._take(world, message)
            return
        answer = self.machine.ask(world.snap, event_of(message))
        if isinstance(answer, Rejection):
            if self._waited_for(world, message):
                raise PropertyViolated(f"{_name(message)} came in time and was refused: {answer.reasons[0].message}")
            return
        yield f"{_name(message)} arrives", self.apply(world, answer)

    def _waited_for(self, world: World, message: Message) -> bool:
        """Whether an agent has the order that these words answer."""
        work = self.machine.snapshots[world.snap].work
        if work is None or not work.taken:
            return False
        return (
            message.kind == "observed" if work.verb == PROBE else message.kind in ("started", "succeeded", "failed")
        )

    def _take(self, world: World, message: Message) -> Iterator[tuple[str, World]]:
        if len(world.jobs) >= self.bounds.agents:
            return
        answer = self.machine.ask(world.snap, Take(HERE))
        if isinstance(answer, Rejection):
            return
        if message.what != PROBE and any(not job.asleep and job.verb != PROBE for job in world.jobs):
            raise PropertyViolated("two agents work on it at once")
        after = self.apply(world, answer)
        job = Job(message.what, message.number, "taken", True, False)
        yield f"an agent takes {_name(message)}", after._replace(jobs=_with(after.jobs, job))

    # What goes wrong

    def _faults(self, world: World, budget: Budget) -> Iterator[Step]:
        if budget.repeats:
            left = budget._replace(repeats=budget.repeats - 1)
            for message in dict.fromkeys(world.channel):
                if len(world.channel) < self.bounds.in_flight:
                    twice = world._replace(channel=self.sent(world.channel, message))
                    yield f"{_name(message)} is repeated", twice, left
        if budget.crashes:
            left = budget._replace(crashes=budget.crashes - 1)
            for says, after in chain(self._unacknowledged(world), self._crashes(world)):
                yield says, after, left
        if budget.late:
            left = budget._replace(late=budget.late - 1)
            for job in world.jobs:
                if job.stage == "taken" and not job.asleep and job.verb != PROBE:
                    asleep = _with(_less(world.jobs, job), job._replace(asleep=True))
                    yield f"the agent with {job.verb} is stopped", world._replace(jobs=asleep), left

    def _unacknowledged(self, world: World) -> Iterator[tuple[str, World]]:
        """The controller commits, and crashes before it acknowledges: the same words come again."""
        for message in dict.fromkeys(world.channel):
            if message.kind == "order":
                continue
            rest = list(world.channel)
            rest.remove(message)
            for says, after in self._deliver(world._replace(channel=tuple(rest)), message):
                answer = self.machine.ask(world.snap, event_of(message))
                old = isinstance(answer, Answer) and answer.raised and message.kind not in BY_NOTIFY_ID
                if not old:  # else it comes again as an old word
                    again = after._replace(channel=self.sent(after.channel, message))
                    yield f"{says}; the controller crashes before it acknowledges", again

    def _crashes(self, world: World) -> Iterator[tuple[str, World]]:
        for job in world.jobs:
            if job.asleep:
                continue
            idle = world._replace(jobs=_less(world.jobs, job))
            yield f"the agent with {job.verb} crashes", idle
            full = Message("full", world.truth, world.revision)
            says = f"the agent with {job.verb} crashes and comes back with its full state"
            yield says, idle._replace(channel=self.sent(idle.channel, full))
        if self.machine.observable and not world.jobs and not any(m.kind == "full" for m in world.channel):
            full = Message("full", world.truth, world.revision)
            says = "an agent with nothing to do crashes and comes back with its full state"
            yield says, world._replace(channel=self.sent(world.channel, full))

    # Agents

    def _agents(self, world: World) -> Iterator[tuple[str, World]]:
        for job in world.jobs:
            idle = world._replace(jobs=_less(world.jobs, job))
            if job.asleep:
                yield from self._wake(idle, job)
            elif job.stage == "taken":
                yield from self._work(idle, job)
            else:
                yield from self._say(idle, job.current, Message(job.stage, "", 0), f"the agent says {job.stage}")
            if not job.current and not job.asleep:
                yield f"the agent is told that {job.verb} is no longer its own", idle

    def _work(self, idle: World, job: Job) -> Iterator[tuple[str, World]]:
        if job.verb == PROBE:
            seen = Message("observed", idle.truth, idle.revision)
            yield from self._say(idle, job.current, seen, f"the agent looks and sees {idle.truth}")
            return
        started = Message("started", "", 0)
        if job.current and started not in idle.channel and self._announces(idle):
            busy = idle._replace(jobs=_with(idle.jobs, job))
            yield from self._say(busy, True, started, f"the agent begins {job.verb}")
        for outcome, truth, revision in self.deeds(job.verb, job.revision, idle.truth, idle.revision):
            jobs = _with(idle.jobs, job._replace(stage=outcome))
            says = f"the agent does {job.verb}" if outcome == "succeeded" else f"the agent cannot do {job.verb}"
            yield f"{says}; there is {truth}", idle._replace(jobs=jobs, truth=truth, revision=revision)

    def _announces(self, world: World) -> bool:
        """Whether the word that it began would say anything new."""
        snap = self.machine.snapshots[world.snap]
        op = snap.hidden or snap.operation
        return op is not None and bool(self.lc.rows(snap.state, Trigger.STARTED, op.action))

    def _wake(self, idle: World, job: Job) -> Iterator[tuple[str, World]]:
        """A stopped agent goes on where it was, whatever has happened since."""
        for outcome, truth, revision in self.deeds(job.verb, job.revision, idle.truth, idle.revision):
            woken = idle._replace(truth=truth, revision=revision, disturbed=idle.disturbed or not job.current)
            says = f"the stopped agent wakes and {job.verb} reaches the provider; there is {truth}"
            yield from self._say(woken, job.current, Message(outcome, "", 0), says)

    def _say(self, world: World, current: bool, message: Message, says: str) -> Iterator[tuple[str, World]]:
        """An agent's word goes out. An old one is not sent: the machine has judged it in every snapshot."""
        if not current:
            yield says + ", too late", world
        elif len(world.channel) < self.bounds.in_flight:
            yield says, world._replace(channel=self.sent(world.channel, message))

    # The clock

    def _timers(self, world: World) -> Iterator[tuple[str, World]]:
        for timer in self.machine.timers[world.snap]:
            if timer == "custody" and any(job.current and not job.asleep for job in world.jobs):
                continue  # whoever is awake and connected renews it
            if timer == "fenced" and any(not job.asleep for job in world.jobs):
                continue  # it is as long as any custody that was given
            after = self.hear(world, TimerDue(timer, operation="clock"))
            if after is not None:
                yield f"the {timer} timer is due", after

    # Children

    def _children(self, world: World) -> Iterator[tuple[str, World]]:
        snap = self.machine.snapshots[world.snap]
        asked = world._replace(asked=False)
        for says, event in self.wishes.children(snap, world.asked):
            answer = self.machine.ask(asked.snap, event)
            if isinstance(answer, Rejection):
                raise PropertyViolated(f"{says}, and that was refused: {answer.reasons[0].message}")
            after = self.apply(asked, answer)
            if after != world:
                yield says, after
        for says, event in self.wishes.own_steps(snap, world.asked):
            stepped = self.hear(asked, event)
            if stepped is not None:
                yield says, stepped

    # Looking around

    def _looks(self, world: World) -> Iterator[tuple[str, World]]:
        """Nothing is going on: the regular look finds what has drifted, and what nobody owns is removed."""
        snap = self.machine.snapshots[world.snap]
        if snap.operation is not None or snap.hidden is not None:
            return
        state = self.lc.state(snap.state)
        other_spec = self.respecs and state.observed_as == world.truth and world.revision != snap.revision
        if state.observed_as and (state.observed_as != world.truth or snap.misses or other_spec):
            report = Report(Trigger.OBSERVED, HERE, seen=world.truth, revision=world.revision)
            after = self.hear(world, report)
            if after is not None:
                yield f"the regular look finds it {world.truth}", after
            if state.observed_as == ABSENT and world.truth != ABSENT:
                if not world.disturbed:
                    raise PropertyViolated(
                        f"nobody owns what is there: it is {snap.state}, and at the provider {world.truth}"
                    )
                yield "what nobody owns is removed at the provider", world._replace(truth=ABSENT)


def _with(jobs: tuple[Job, ...], job: Job) -> tuple[Job, ...]:
    return tuple(sorted((*jobs, job)))


def _less(jobs: tuple[Job, ...], job: Job) -> tuple[Job, ...]:
    i = jobs.index(job)
    return jobs[:i] + jobs[i + 1 :]


def event_of(message: Message) -> Event:
    """What the controller hears."""
    match message.kind:
        case "full":
            return FullState(HERE, message.what, message.number)
        case "observed":
            return Report(Trigger.OBSERVED, HERE, seen=message.what, revision=message.number)
        case "hello":
            return Connected(message.number, message.what == "successor", operation="hello")
        case "takeover":
            return Report(Trigger.SUCCEEDED, HERE, actor=Actor.SUCCESSOR, notify=message.number)
    return Report(Trigger(message.kind), HERE)


def _name(message: Message) -> str:
    match message.kind:
        case "order":
            return f"the order {message.what}"
        case "observed":
            return f"the report seen {message.what}"
        case "full":
            return f"the full state ({message.what})"
        case "hello" | "takeover":
            return f"the {message.what}'s {message.kind} {message.number}"
    return f"the report {message.kind}"
