"""Carries out orders through a driver: batches, retries, and observations of what takes its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from stead.agent.lane_driver import LaneDriver
from stead.agent.order_results import (
    CREATE,
    MAX_TRIES,
    ByPath,
    Fences,
    OrderResults,
    ReportPart,
    abandoned,
    is_retried,
    pause_before_retry,
    with_facts,
)
from stead.agent.retry_budget import RetryBudget, give_up_at
from stead.bus.messages import Order, ReportResult
from stead.drivers.base import (
    PROBE,
    TRANSITIONAL,
    VM,
    DriverError,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    batches,
)
from stead.lifecycle.rows import ABSENT

log = logging.getLogger(__name__)

OBSERVE_INTERVAL = 1.0
"""Seconds between observations of a transitional object."""

MAX_MISSES = 3
"""Observations that have to miss what was to be there, before it counts as absent."""

NOT_REPEATABLE = ("reboot", "reset")
"""Verbs that are never repeated when their outcome is unknown."""


class OrderWork:
    """Carries out the orders of one lane."""

    def __init__(self, driver: LaneDriver) -> None:
        self.driver = driver

    async def execute(
        self,
        order: Order,
        fences: Fences,
        check_custody: Callable[[], None],
        report_part: ReportPart | None = None,
    ) -> list[ReportResult]:
        """Carry out an order for the members that the agent has custody of.

        `check_custody` is called before every call, and raises where no further call may be made. `report_part` is
        called with the results that are known while other members are still at work; the rest, or all without it, is
        returned. Members whose outcome is unknown are in neither.
        """
        members = [
            Member(path=m.path, token=m.token, spec=m.spec, facts=m.facts, kind=order.kind, revision=m.revision)
            for m in order.members
            if m.path in fences
        ]
        results = OrderResults([m.path for m in members], fences, report_part)
        execution = OrderExecution(order, self.driver, check_custody, results)
        for batch in batches(members, self.driver.batch_limit(order.verb, order.kind)):
            await execution.run(batch)
        return results.kept


class OrderExecution:
    """One order."""

    def __init__(
        self, order: Order, driver: LaneDriver, check_custody: Callable[[], None], results: OrderResults
    ) -> None:
        self.order = order
        self.driver = driver
        self.check_custody = check_custody
        self.results = results
        self.until = give_up_at(order)

    async def run(self, batch: Sequence[Member]) -> None:
        if self.order.verb != PROBE:
            await self._perform(batch)
            return
        try:
            await self._observe(batch, {}, self.results.add_observed)
        except DriverError as error:
            await self.results.fail(error, batch)

    async def _perform(self, batch: Sequence[Member]) -> None:
        """Call the provider, and again for single members for which that may help: it may have had no room for some.
        Members that make progress are called for again for as long as custody lasts. Meanwhile what was accepted is
        observed, and each member's result is known by itself."""
        tries = {m.path: 0 for m in batch}
        """For each of them, calls in a row without progress."""
        unsure: set[str] = set()
        """Members that a call without an answer was for: if it fails in the end, it may still be in progress."""
        again = list(batch)
        answers: dict[str, Result] = {}
        observations: list[asyncio.Task[None]] = []
        try:
            while again:
                try:
                    answers = {r.path: r for r in await self._call(again, unsure)}
                except DriverError as error:
                    if not answers or (isinstance(error, RetryableError) and error.unknown):
                        await self.results.fail(error, again)
                        break
                    answers = {m.path: abandoned(answers[m.path], error) for m in again}
                for path, answer in answers.items():
                    tries[path] = 0 if answer.again else tries[path] + 1
                ended = [m for m in again if not is_retried(answers[m.path], tries[m.path])]
                waiting = [m for m in ended if answers[m.path].ok and answers[m.path].pending]
                await self._settle([m for m in ended if m not in waiting], answers, unsure)
                if waiting:
                    observations.append(asyncio.create_task(self._follow(waiting, answers)))
                again = [m for m in again if m not in ended]
                if again:
                    await asyncio.sleep(max(pause_before_retry(answers[m.path]) for m in again))
            await asyncio.gather(*observations)
        finally:
            for observation in observations:
                observation.cancel()

    async def _settle(self, members: Sequence[Member], answers: Mapping[str, Result], unsure: set[str]) -> None:
        """Report members of which nothing is in progress, where the outcome is certain."""
        sure = [answers[m.path] for m in members]
        sure = [r for r in sure if r.ok or r.path not in unsure or self.order.verb == CREATE]
        observed = await self._observe_failed(with_facts(members, sure), sure)
        await self.results.add_answers(self.order, [m.path for m in members], sure, observed)

    async def _observe_failed(self, members: Sequence[Member], answers: Sequence[Result]) -> ByPath:
        """The observed state of failed members: only what is broken, or absent, is not as it was before."""
        failed = {r.path for r in answers if not r.ok}
        asked = [m for m in members if m.path in failed]
        if not asked or self.order.verb == CREATE or self.order.kind != VM:
            return {}
        try:
            return {each.path: each for each in await self.driver.observe_batch(asked)}
        except DriverError as error:
            log.info("observe.failed order=%d members=%d error=%r", self.order.id, len(asked), error.message)
            return {}

    async def _follow(self, waiting: Sequence[Member], answers: Mapping[str, Result]) -> None:
        """Observe what was accepted until each has come to its end. An error leaves the outcome unknown."""

        async def report(observed: Sequence[ObservedObject]) -> None:
            paths = [each.path for each in observed]
            await self.results.add_answers(
                self.order, paths, [answers[path] for path in paths], {each.path: each for each in observed}
            )

        ends = {m.path: answers[m.path].pending for m in waiting}
        known = with_facts(waiting, [answers[m.path] for m in waiting])
        try:
            await self._observe(known, ends, report)
        except DriverError as error:
            await self.results.fail(RetryableError(error.message, unknown=True, detail=error.detail), waiting)

    async def _call(self, batch: Sequence[Member], unsure: set[str]) -> list[Result]:
        """One call, made again while that may help: for a few times; or, where the provider throttles it or cannot be
        reached, until the state times out."""
        budget = RetryBudget(MAX_TRIES, self.until)
        while True:
            await self.driver.wait()
            self.check_custody()
            try:
                return await self.driver.perform(self.order.verb, batch, self.order.token)
            except RetryableError as error:
                once = error.unknown and self.order.verb in NOT_REPEATABLE
                if error.unknown:
                    unsure.update(m.path for m in batch)
                if not budget.left(error) or once:
                    error.unknown = not unsure.isdisjoint(m.path for m in batch)
                    raise
                await self.driver.pause(error)
            except PermanentError as error:
                if unsure.isdisjoint(m.path for m in batch):
                    raise
                raise RetryableError(error.message, unknown=True, detail=error.detail) from error

    async def _observe(
        self,
        members: Sequence[Member],
        ends: Mapping[str, str],
        report: Callable[[Sequence[ObservedObject]], Awaitable[None]],
    ) -> None:
        """Observe until nothing is transitional any more, and report each member when it has settled; the end of
        custody ends this if nothing else does.

        Where something is to be there in the end, a provider may be slow to list it: one miss proves nothing.
        """
        budget = RetryBudget(MAX_TRIES, self.until)
        missed = {path: 0 for path, end in ends.items() if end != ABSENT}
        left = list(members)
        while left:
            await self.driver.wait()
            try:
                observed = await self.driver.describe(left)
            except RetryableError as error:
                if not budget.left(error):
                    raise
                await self.driver.pause(error)
                continue
            settled = []
            for each in observed:
                if each.state == ABSENT and each.path in missed:
                    missed[each.path] += 1
                doubtful = each.state == ABSENT and missed.get(each.path, MAX_MISSES) < MAX_MISSES
                if each.state != TRANSITIONAL and not doubtful:
                    settled.append(each)
            over = {each.path for each in settled}
            left = [member for member in left if member.path not in over]
            if settled:
                await report(settled)
            if left:
                await asyncio.sleep(OBSERVE_INTERVAL)
