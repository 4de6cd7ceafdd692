"""Hears what agents say, in batches, side by side with all other controllers: reports, full states, greetings.

A message is acknowledged after what it says was committed, and never before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack

from stead.bus import Bus, BusError, Delivery
from stead.bus.messages import FromAgent, FullState, Hello, Report, ReportResult
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.faults import at_fault
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.controller.observation.observer import ProviderObserver
from stead.controller.observation.orphans import OrphanDetector
from stead.controller.observation.presence import AgentPresence
from stead.lifecycle import events
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.rows import Trigger
from stead.telemetry import metrics, tracing
from stead.telemetry.context import log_context

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
"""Seconds before another try where the bus or the database is away."""


class Listener:
    """One controller's ear."""

    def __init__(
        self,
        executor: TransitionExecutor,
        bus: Bus,
        observer: ProviderObserver,
        orphans: OrphanDetector,
        presences: AgentPresence,
    ) -> None:
        self.executor = executor
        self.bus = bus
        self.observer = observer
        self.orphans = orphans
        self.presences = presences

    async def run(self) -> None:
        """For ever."""
        async with self.bus.reports() as consumer:
            while True:
                try:
                    deliveries = await consumer.fetch()
                except BusError as error:
                    log.info("no reports: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if deliveries:
                    await self.apply(deliveries)

    async def apply(self, deliveries: Sequence[Delivery[FromAgent]]) -> None:
        """Apply what was said; what cannot be applied now comes again.

        Where it is what was said that is at fault, and not the database, the others are not to wait for it: each is
        applied by itself, and what still cannot be is dropped.
        """
        try:
            await self._apply([delivery.message for delivery in deliveries])
        except Exception as error:
            if not at_fault(error):
                log.warning("what agents said was not applied and comes again: %s: %s", type(error).__name__, error)
                await asyncio.sleep(RETRY_SECONDS)
            elif len(deliveries) > 1:
                for delivery in deliveries:
                    await self.apply([delivery])
            else:
                self.bus.invalid_messages.note(_about(deliveries[0].message), f"{type(error).__name__}: {error}")
                await deliveries[0].drop()
            return
        for delivery in deliveries:
            await delivery.ack()

    async def _apply(self, messages: Sequence[FromAgent]) -> None:
        messages = await self._current(messages)
        reports = [message for message in messages if isinstance(message, Report)]
        with ExitStack() as spans:
            for report in reports:
                if report.traceparent and tracing.on():
                    spans.enter_context(tracing.span("apply report", report.traceparent, lane=report.lane))
            answers = await self.executor.apply(words([report for report in reports if not report.successor]))
            later = [report for report in reports if report.successor]
            answers += await self.executor.apply(await self.presences.successors(later))
        _tell(reports)
        for answer in answers:
            metrics.REPORTS.labels(_result(answer)).inc()
        await self.presences.greeted([message for message in messages if isinstance(message, Hello)])
        states = [message for message in messages if isinstance(message, FullState)]
        if states:
            # When thousands of sites come back, each tells little: together it is a few statements.
            await self.observer.apply([line for state in states for line in _lines(state)])
            await self.orphans.found(states)

    async def _current(self, messages: Sequence[FromAgent]) -> Sequence[FromAgent]:
        """Without what runs of agents say that newer ones have superseded. A successor speaks under its notify-id."""
        said = [m for m in messages if isinstance(m, FullState) or (isinstance(m, Report) and not m.successor)]
        newer = await self.executor.store.agents.find_superseded({(m.agent, m.epoch) for m in said})
        stale = {id(m) for m in said if m.lane in newer.get((m.agent, m.epoch), ())}
        if stale:
            log.info("reports.superseded count=%d agents=%s", len(stale), ", ".join(sorted({n for n, _ in newer})))
        return [message for message in messages if id(message) not in stale] if stale else messages


def _tell(reports: Sequence[Report]) -> None:
    """Say what was applied, of what somebody has asked for; and to whom it belongs, where traces are collected."""
    for report in reports:
        if report.request_id or report.traceparent:
            with log_context(request_id=report.request_id, lane=report.lane, agent=report.agent):
                log.info("what became of order %d is applied: %d told", report.order, len(report.results))


def _result(answer: Answer) -> str:
    """What became of a word about one resource."""
    if isinstance(answer, Applied):
        return "applied" if answer.wrote else "unchanged"
    return "stale" if isinstance(answer, Rejection) and answer.code is Code.STALE else "ignored"


def _about(message: FromAgent) -> str:
    return f"what {message.agent[:100]} said"


def words(reports: Sequence[Report]) -> list[TransitionInput]:
    """What reports say, member by member. Each speaks for its lane alone."""
    return [_word(result, frozenset((report.lane,))) for report in reports for result in report.results]


def _word(result: ReportResult, lanes: frozenset[str]) -> TransitionInput:
    event = events.Report(Trigger(result.kind), result.fence, seen=result.observed, revision=result.revision)
    detail = {"error": result.error} if result.error else None
    return TransitionInput(result.path, event, facts=result.facts or None, detail=detail, lanes=lanes)


def _lines(message: FullState) -> list[TransitionInput]:
    return [
        TransitionInput(
            line.path,
            events.FullState(line.fence, line.observed, line.revision, line.working, message.end),
            facts=line.facts or None,
            lanes=frozenset((message.lane,)),
        )
        for line in message.objects
        if line.path
    ]
