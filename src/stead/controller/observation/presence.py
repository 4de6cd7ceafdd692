"""Which agents are there. What they say of it comes all the time, and is written by sets.

An agent that serves the lane of a site has connected from there, under a notify-id that is newer than any before; its
site hears of that, and of its silence. Nobody is taken for silent by somebody who could not have heard: a controller
judges only after it has listened, and written what it heard, for as long as it waits for a word.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from stead.batcher import Batcher
from stead.bus import Bus, BusError, BusState
from stead.bus.invalid_messages import LogThrottle
from stead.bus.messages import Hello, KnownSite, Presence, Report, ReportResult, SiteReply, SiteRequest, Superseded
from stead.catalog.edge import LANE
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.observation.trust import ReportTrust
from stead.lifecycle import events
from stead.lifecycle.events import Connected, Disconnected
from stead.lifecycle.pace import DEFAULT, Pace
from stead.lifecycle.rows import Actor, Trigger
from stead.store import Conflict
from stead.store.agents import PresentAgent
from stead.store.decision_template import OperationStart
from stead.telemetry import metrics

log = logging.getLogger(__name__)

SITES = f"{LANE}."

MAX_BATCH = 1000
"""Agents in one statement."""

MEETING = 200
"""Sites that are met at a time, where all come at once: more at a time would not be met sooner."""

MAX_BATCH_HEARTBEATS = 200
"""Agents that are greeted by one statement."""

MISSED_HEARTBEATS = 3
"""How often an agent is to say that it is there, in the time after which it is missed."""

CONTROLLER = "controller"
"""The principal that notices a silence."""


CONNECTED = "connected"
"""The fact of a site that says whether its agent is there."""


class AgentPresence:
    """Hears agents, and tells their sites."""

    def __init__(self, executor: TransitionExecutor, bus: Bus, trust: ReportTrust, pace: Pace = DEFAULT) -> None:
        self.executor = executor
        self.trust = trust
        self.away = float(pace.away)
        self.bus = bus
        self._heard: dict[tuple[str, int], PresentAgent] = {}
        self._answers: dict[tuple[str, int], str] = {}
        """Where runs of agents want to hear that they are superseded."""
        self._throttled: Counter[str] = Counter()
        self._last = Batcher(executor.store.agents.read_last_epochs, MAX_BATCH_HEARTBEATS, at_once=2)
        self._since = time.monotonic()
        """Since when whoever is there could be heard."""
        self._unheard = LogThrottle()
        self._skew = metrics.WorstGauge(metrics.SKEW)
        bus.on_state(self._on_state)

    def _on_state(self, state: BusState) -> None:
        self._since = time.monotonic()

    async def hear(self, presence: Presence, answer: str = "") -> None:
        """An agent is there: this is written with what others say at the time. Where a newer run of it has taken its
        place, it is told so at `answer`."""
        try:
            believed = await self.trust.believes(presence)
        except Exception as error:  # the database is away, and so is what would have been written
            self._since = time.monotonic()
            if times := self._unheard():
                log.warning(
                    "%d words of agents were not heard; the last: %s", times, str(error) or type(error).__name__
                )
            return
        if believed:
            offset = presence.now - self.executor.clock() if presence.now else 0.0
            self._skew.report(abs(offset))
            self._heard[presence.agent, presence.epoch] = replace(_there(presence), clock_offset=offset)
            if answer:
                self._answers[presence.agent, presence.epoch] = answer
            for lane in set(presence.throttled) & set(presence.lanes):
                self._throttled[lane] += presence.throttled[lane]

    async def greeted(self, hellos: Sequence[Hello]) -> None:
        """Agents have begun a new epoch: this is written before they are told that it was heard."""
        believed = [_there(hello) for hello in hellos if await self.trust.believes(hello)]
        if believed:
            await self.executor.store.agents.record_presence(believed, SITES)
            await self._tell()

    async def greet(self, asked: SiteRequest) -> SiteReply:
        """After which epoch a new one has to be."""
        await self.trust.check(asked.agent, asked.lanes)
        lanes = [lane for lane in asked.lanes if lane.startswith(SITES)]
        after, sites, forgotten = await self._last((asked.agent, lanes))
        known = [KnownSite(*site) for site in sites]
        now, every = self.executor.clock(), self.away / MISSED_HEARTBEATS
        return SiteReply(last_epoch=after, presence_interval=every, sites=known, forgotten=forgotten, now=now)

    async def successors(self, reports: Sequence[Report]) -> list[TransitionInput]:
        """What new agents say of upgrades, each under the notify-id that its site knows it by."""
        ids = (
            await self.executor.store.agents.read_notify_ids([(r.lane, r.epoch) for r in reports]) if reports else {}
        )
        return [
            TransitionInput(
                result.path, event, f"agent:{report.agent}", facts=result.facts, lanes=frozenset((report.lane,))
            )
            for report in reports
            for result in report.results
            for event in (_taken_over(result, ids.get((report.lane, report.epoch), 0)),)
        ]

    async def __call__(self) -> int:
        """Write what was heard, and tell sites who has come and who is gone; how many were told."""
        heard, self._heard = list(self._heard.values()), {}
        answers, self._answers = self._answers, {}
        throttled, self._throttled = self._throttled, Counter()
        try:
            for first in range(0, len(heard), MAX_BATCH):
                superseded = await self.executor.store.agents.record_presence(heard[first : first + MAX_BATCH], SITES)
                await self._stop(superseded, answers)
            if answers:
                await self._turn_away(answers)
            for lane, calls in throttled.items():
                await self.executor.store.lanes.note_throttled(lane, calls)
            told = await self._tell()
            return told + (await self._miss() if time.monotonic() - self._since > self.away else 0)
        except Exception:
            self._since = time.monotonic()  # who knows what was not written
            raise

    async def _stop(self, superseded: Mapping[tuple[str, int], int], answers: Mapping[tuple[str, int], str]) -> None:
        """Tell runs of agents that are superseded to stop; one that does not hear it says again that it is there."""
        for (agent, epoch), by in superseded.items():
            log.warning("agent.superseded agent=%s epoch=%d by=%d", agent, epoch, by)
            if where := answers.get((agent, epoch)):
                await self._answer(where, agent, Superseded(epoch=epoch, newer_epoch=by, now=self.executor.clock()))

    async def _turn_away(self, answers: Mapping[tuple[str, int], str]) -> None:
        """Tell agents that have come back for sites that were forgotten."""
        for (agent, epoch), lanes in (await self.executor.store.sites.list_runs_of_removed(self.away)).items():
            if where := answers.get((agent, epoch)):
                log.warning("agent.site_forgotten agent=%s epoch=%d lanes=%s", agent, epoch, ",".join(lanes))
                word = Superseded(epoch=epoch, newer_epoch=epoch, now=self.executor.clock(), forgotten=lanes)
                await self._answer(where, agent, word)

    async def _answer(self, where: str, agent: str, word: Superseded) -> None:
        try:
            await self.bus.tell_superseded(where, word)
        except BusError as error:
            log.debug("agent.superseded_not_told agent=%s error=%s", agent, error)

    async def _tell(self) -> int:
        """Tell sites who has connected."""
        store = self.executor.store
        come = await store.agents.list_unannounced(self.away, MEETING)
        told = []
        for each in come:
            operation, principal = uuid4(), f"agent:{each['agent']}"
            event = Connected(each["notify"], successor=each["successor"], operation=str(operation))
            told.append(
                TransitionInput(
                    each["path"],
                    event,
                    principal,
                    OperationStart(operation, "connect", principal),
                    facts=_facts(each),
                )
            )
        answers = await self.executor.apply(told)
        heard = [each for each, answer in zip(come, answers, strict=True) if _heard(each, answer)]
        known = [(each["lane"], each["epoch"], each["notify"]) for each in heard]
        if known:
            await store.agents.mark_announced(known)
        return len(known)

    async def _miss(self) -> int:
        """Tell sites who is gone."""
        store = self.executor.store
        missed = await store.agents.list_missing(self.away, MAX_BATCH)
        met = [m for m in missed if m["path"] is not None and m["notify"] is not None]
        told = [
            TransitionInput(m["path"], Disconnected(m["notify"]), CONTROLLER, facts={CONNECTED: False}) for m in met
        ]
        for each in missed:
            log.info("%s was not heard of for %g s on %s", each["agent"], self.away, each["lane"])
        answers = await self.executor.apply(told)
        if any(isinstance(answer, Conflict) for answer in answers):
            return 0  # they come up again
        if missed:
            await store.agents.remove([(m["lane"], m["epoch"]) for m in missed], self.away)
        return len(missed)


def _facts(come: Mapping[str, Any]) -> dict[str, object] | None:
    """What a site knows of the agent that has connected. A successor serves only when it has taken over."""
    if come["successor"]:
        return None
    version = {"version": come["version"]} if come["version"] else {}
    return {"agent": come["agent"], CONNECTED: True, **version}


def _heard(come: Mapping[str, Any], answer: Answer) -> bool:
    """Whether a site has heard of an agent. A successor that it does not expect may be an agent like others soon."""
    return not isinstance(answer, Conflict) and (isinstance(answer, Applied) or not come["successor"])


def _taken_over(result: ReportResult, notify: int) -> events.Report:
    return events.Report(Trigger(result.kind), result.fence, actor=Actor.SUCCESSOR, notify=notify)


def _there(said: Hello | Presence) -> PresentAgent:
    rejected = said.rejected if isinstance(said, Presence) else {}
    return PresentAgent(said.agent, said.epoch, said.lanes, said.version, said.successor, rejected)
