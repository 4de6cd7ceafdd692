"""What is really there: asked of whoever serves a lane, told by agents, and brought to what is believed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from stead.bus import Bus, BusError, NoAnswer, TooLarge
from stead.bus.messages import LogsReply, LogsRequest, ProbeReply, ProbeRequest, StateLine, StateSyncRequest
from stead.bus.parts import parts_of
from stead.controller.dispatch.publisher import member_of
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.lifecycle.events import Report
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import State, StateClass, Trigger
from stead.schema import Model
from stead.store import Row
from stead.store.decision_template import observation_interval

log = logging.getLogger(__name__)

MAX_REQUEST_MEMBERS = 100
"""Members in one question, which is one call to a provider."""

TIMEOUT_SECONDS = 30.0
"""Seconds for an answer."""

PAGE = 1000
"""Members that are looked at together, when somebody wants to know what is there now."""


class UnknownReason(StrEnum):
    """Why it is unknown whether a resource is as recorded, in one word."""

    MOVING = "moving"
    """It is on its way, here or at the provider, or has changed while it was observed."""
    UNASKED = "unasked"
    """Nobody was asked, or there is no lane to ask on."""
    NO_AGENT = "no-agent"
    """Nobody who serves its lane answered in time."""
    NO_PROVIDER = "no-provider"
    """An agent was there, and could not ask the provider."""
    UNSAID = "unsaid"
    """Its state says nothing of what is at the provider."""
    STILL = "still"
    """It changes seldom, and was observed not long ago."""
    FINAL = "final"
    """It cannot change by itself."""


@dataclass(frozen=True, slots=True)
class UnobservedGroupStatus(Model):
    """Members in one state that a refresh has not observed, and why."""

    state: str
    reason: UnknownReason
    """`still`: it changes seldom, and was observed not long ago. `final`: it cannot change by itself. `moving`: an
    operation is under way on it. `no-agent`: no agent answered. `no-provider`: the provider did not. `unasked`: it is
    on no lane."""
    members: int
    oldest: datetime | None
    """When the one was observed whose observation is the oldest; null where one never was."""


@dataclass(frozen=True, slots=True)
class ObservedGroupStatus(Model):
    """What a refresh has observed, and what it has not."""

    members: int
    """Members that were observed just now."""
    calls: int
    """Calls to providers."""
    calls_saved: int
    """Calls that were not needed."""
    unobserved: tuple[UnobservedGroupStatus, ...]
    """Members that were not observed, by state and reason."""


@dataclass(slots=True)
class _Refresh:
    """How far a refresh has come."""

    seen: list[str] = field(default_factory=list)
    unseen: dict[str, UnknownReason] = field(default_factory=dict)
    calls: int = 0


class ProviderObserver:
    """Looks at resources, and applies what was seen."""

    def __init__(self, executor: TransitionExecutor, bus: Bus, pace: Pace = DEFAULT) -> None:
        self.executor = executor
        self.bus = bus
        self.pace = pace

    async def ask(self, rows: Iterable[Row]) -> list[StateLine]:
        """What there is of them, to be applied, as far as somebody could say.

        Nobody is asked about what somebody works on: the end of an order changes no fence, and what is seen now may
        be over when it is applied.
        """
        seen = await self.look(row for row in rows if not row.snapshot.taken)
        return [line for line in seen.values() if isinstance(line, StateLine)]

    async def look(
        self, rows: Iterable[Row], patience: float = TIMEOUT_SECONDS
    ) -> dict[str, StateLine | UnknownReason]:
        """What there is of each, or why nobody can say: one question for each lane and so many members."""
        lanes: defaultdict[str, list[Row]] = defaultdict(list)
        for row in rows:
            lanes[row.lane].append(row)
        seen: dict[str, StateLine | UnknownReason] = {row.path: UnknownReason.UNASKED for row in lanes.pop("", [])}
        questions = [
            ProbeRequest(lane, part)
            for lane, of_lane in lanes.items()
            for part in parts_of(map(member_of, of_lane), MAX_REQUEST_MEMBERS)
        ]
        for answer in await asyncio.gather(*(self._ask(question, patience) for question in questions)):
            seen |= answer
        return seen

    async def _ask(self, question: ProbeRequest, patience: float) -> dict[str, StateLine | UnknownReason]:
        """The answers to one question. What has no room in the agent's reply is asked for again."""
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        left = {member.path: member for member in question.members}
        answers: dict[str, StateLine | UnknownReason] = {}
        while left:
            try:
                reply = await self.bus.probe(ProbeRequest(question.lane, [*left.values()]), end - loop.time())
                if reply.epoch and await self._superseded(reply, question.lane):
                    raise NoAnswer(f"{reply.agent} is superseded")
            except TooLarge as error:
                log.error("probe.too_large lane=%s path=%s error=%r", question.lane, next(iter(left)), str(error))
                return answers | dict.fromkeys(left, UnknownReason.UNASKED)
            except BusError as error:
                log.debug("probe.unanswered lane=%s error=%r", question.lane, str(error))
                return answers | dict.fromkeys(left, UnknownReason.NO_AGENT)
            missing = UnknownReason.NO_PROVIDER if reply.error else UnknownReason.MOVING
            lines = {line.path: line for line in reply.objects}
            omitted = {path: left[path] for path in reply.omitted if path in left and lines}
            answers |= {path: lines.get(path, missing) for path in left if path not in omitted}
            left = omitted if len(omitted) < len(left) else {}
        return answers

    async def _superseded(self, reply: ProbeReply, lane: str) -> bool:
        """Whether a newer run of the agent that answered serves the lane."""
        newer = await self.executor.store.agents.find_superseded([(reply.agent, reply.epoch)])
        return any(lane in lanes for lanes in newer.values())

    async def logs(
        self, row: Row, lines: int, since: str, patience: float = TIMEOUT_SECONDS
    ) -> LogsReply | UnknownReason:
        """What a resource wrote, where it is; or why nobody can say."""
        if not row.lane:
            return UnknownReason.UNASKED
        try:
            return await self.bus.logs(LogsRequest(row.lane, member_of(row), lines, since), patience)
        except BusError as error:
            log.debug("nobody tells logs: %s", error)
            return UnknownReason.NO_AGENT

    async def survey(self, lane: str) -> bool:
        """Have whoever serves a lane tell all that it has, in its own time; whether somebody will."""
        try:
            await self.bus.state_sync(StateSyncRequest(lane))
        except BusError as error:
            log.debug("%s is not surveyed: %s", lane, error)
            return False
        return True

    async def refresh(self, below: str) -> int:
        """Look at all below a path that may have changed by itself since it was last seen; how many were seen."""
        return len((await self._refresh(below)).seen)

    async def observed(self, below: str, kind: str) -> ObservedGroupStatus:
        """The same, with what was not observed of a kind and why."""
        done = await self._refresh(below)
        store, lifecycle = self.executor.store, self.executor.kinds[kind]
        found = await store.observations.list_unobserved(kind, below, done.seen, done.unseen)
        left = tuple(
            UnobservedGroupStatus(r["state"], _why(lifecycle.state(r["state"]), r["why"]), r["members"], r["oldest"])
            for r in found
        )
        members = sum(
            each.members for each in left if each.reason in (UnknownReason.STILL, UnknownReason.FINAL)
        ) + len(done.seen)
        await store.observations.count_calls(done.calls, members)
        return ObservedGroupStatus(len(done.seen), done.calls, members - done.calls, left)

    async def _refresh(self, below: str) -> _Refresh:
        done, after = _Refresh(), ""
        still = sorted({s.name for kind in self.executor.kinds.values() for s in kind.states if s.rarely_changes})
        while True:
            paths = await self.executor.store.observations.list_refreshable(
                below, after, PAGE, still, self.pace.still
            )
            rows = (await self.executor.store.resources.read_many(paths)).values()
            free = [row for row in rows if not row.snapshot.taken]
            seen = await self.look(free)
            lines = [line for line in seen.values() if isinstance(line, StateLine)]
            await self.apply(told_of(lines))
            done.seen += [line.path for line in lines]
            done.unseen |= {path: line for path, line in seen.items() if isinstance(line, UnknownReason)}
            done.calls += calls_for(row for row in free if isinstance(seen[row.path], StateLine))
            if len(paths) < PAGE:
                return done
            after = paths[-1]

    async def apply(self, told: Sequence[TransitionInput]) -> list[Answer]:
        """Bring what was seen to what is believed."""
        answers = await self.executor.apply(told)
        as_believed: defaultdict[int, list[str]] = defaultdict(list)
        for answer in answers:
            if isinstance(answer, Applied) and not answer.wrote:
                summary = answer.summary
                as_believed[observation_interval(self.executor.kinds[summary.kind], summary.state)].append(
                    summary.path
                )
        for pause, paths in as_believed.items():
            await self.executor.store.observations.mark_unchanged(paths, pause)
        return answers


def calls_for(rows: Iterable[Row]) -> int:
    """How many calls it takes to look at some resources."""
    lanes = Counter(row.lane for row in rows)
    return sum(-(-members // MAX_REQUEST_MEMBERS) for members in lanes.values())


def _why(state: State, told: str | None) -> UnknownReason:
    """Why something in a state was not observed: as a look told, or since it was not looked at."""
    if told:
        return UnknownReason(told)
    if state.cls is StateClass.TRANSITIONAL:
        return UnknownReason.MOVING
    if state.cls is StateClass.FINAL:
        return UnknownReason.FINAL
    return UnknownReason.STILL if state.rarely_changes else UnknownReason.UNASKED


def told_of(seen: Iterable[StateLine]) -> list[TransitionInput]:
    """What was seen of resources at rest, to be brought to what is believed."""
    return [
        TransitionInput(
            line.path,
            Report(Trigger.OBSERVED, line.fence, seen=line.observed, revision=line.revision),
            facts=line.facts or None,
            detail={"look": True},
        )
        for line in seen
    ]
