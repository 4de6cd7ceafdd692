"""Doing an order through a driver: batches, retries, throttling, and looks at what takes its time.

A lane that its provider throttles slows down as a whole, and no other lane with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from stead.agent.inventory import facts_of
from stead.agent.patience import RetryBudget, latest
from stead.bus.invalid_messages import LogThrottle
from stead.bus.messages import Order, OrderMember, ReportKind, ReportResult
from stead.drivers.base import (
    MOVING,
    PROBE,
    VM,
    Driver,
    Error,
    FoundObject,
    Logs,
    Member,
    ObservedObject,
    Permanent,
    RecoveringDriver,
    Result,
    Tail,
    Throttled,
    TryAgain,
    batches,
)
from stead.lifecycle.rows import ABSENT, BROKEN
from stead.lifecycle.snapshot import Fence
from stead.telemetry import metrics, tracing

log = logging.getLogger(__name__)

TRIES = 6
"""How often a call is made that may work later."""

AGAIN = 1.0
"""Seconds before another try for members that the provider had no room for, where it does not say."""

LOOK = 1.0
"""Seconds between looks at something that is on its way."""

MISSES = 3
"""Looks that have to miss what was to be there, before it counts as gone."""

CREATE = "create"
"""The verb of which a failure leaves nothing as it was."""

ONCE = ("reboot", "reset")
"""Verbs that are never repeated when nobody knows whether they were done."""

type Fences = Mapping[str, Fence]
type ByPath = dict[str, ObservedObject]

type Tell = Callable[[Sequence[ReportResult]], Awaitable[None]]
"""Takes results of members whose order goes on for others."""


class OrderResults:
    """What is known of the members of an order: told at once while others are at work, kept for the end otherwise."""

    def __init__(self, paths: Iterable[str], tell: Tell | None) -> None:
        self.kept: list[ReportResult] = []
        self._left = set(paths)
        self._tell = tell

    async def add(self, paths: Iterable[str], results: Sequence[ReportResult]) -> None:
        """Nothing more will be known of these members than the results; of some, nothing is."""
        self._left.difference_update(paths)
        self.kept += results
        if self._left and self.kept and self._tell is not None:
            told, self.kept = self.kept, []
            await self._tell(told)

    async def fail(self, error: Error, members: Sequence[Member], fences: Fences) -> None:
        """Nothing was done to those members of which nothing is known; or that is unknown, and custody runs out."""
        left = [m.path for m in members if m.path in self._left]
        unknown = isinstance(error, TryAgain) and error.unknown
        declined = [] if unknown else [ReportResult(p, fences[p], "declined", error=error.message) for p in left]
        await self.add(left, declined)


class OrderWork:
    """The driver of one lane, used with care."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._slow_until = 0.0
        self._unanswered = LogThrottle()
        self.throttled = 0
        """Calls that the provider refused because there were too many, since somebody was told."""

    async def do(
        self, order: Order, fences: Fences, may: Callable[[], None], tell: Tell | None = None
    ) -> list[ReportResult]:
        """Carry an order out for the members that were taken; nothing, where nobody can say what became of it.

        `may` is called before every call, and raises where no further one may be made. `tell` is called with the
        results that are known while other members are still at work; returned are the rest, without it all.
        """
        members = [
            Member(path=m.path, token=m.token, spec=m.spec, facts=m.facts, kind=order.kind, revision=m.revision)
            for m in order.members
            if m.path in fences
        ]
        results, until = OrderResults([m.path for m in members], tell), latest(order)
        for batch in batches(members, self.driver.batch_limit(order.verb, order.kind)):
            await self._batch(order, batch, fences, may, results, until)
        return results.kept

    async def look(self, members: Sequence[Member]) -> list[ObservedObject]:
        """What is there of some members; those on their way are left out."""
        seen: list[ObservedObject] = []
        for kind in sorted({member.kind for member in members}):
            alike = [member for member in members if member.kind == kind]
            for batch in batches(alike, self._at_once(kind)):
                seen += await self._asked(self.driver.describe(batch))
        return [s for s in seen if s.state != MOVING]

    def _at_once(self, kind: str) -> int:
        """Of how many members of a kind one may ask at once. Whoever asks may know kinds that nobody here does."""
        try:
            return self.driver.batch_limit(PROBE, kind)
        except ValueError as error:
            raise Permanent(str(error)) from error

    async def inventory(self) -> list[FoundObject]:
        """Everything that carries our tag."""
        return await self._asked(self.driver.inventory())

    async def recover(self) -> None:
        """Have what should run on this machine started again, where the machine has ended it."""
        if isinstance(self.driver, RecoveringDriver):
            try:
                paths = await self._asked(self.driver.recover())
            except Error as error:
                log.warning("recover.failed error=%r", error.message)
            else:
                if paths:
                    log.warning("recover.started count=%d paths=%s", len(paths), ", ".join(paths[:10]))

    async def lacks(self, field: str, name: str) -> list[str] | None:
        """What comes close to what a spec names, where the place does not have it."""
        return await self._asked(self.driver.lacks(field, name))

    async def logs(self, member: Member, lines: int, since: str) -> Tail | None:
        """What a member wrote; None where the driver does not know."""
        return await self._asked(self.driver.logs(member, lines, since)) if isinstance(self.driver, Logs) else None

    async def _asked[T](self, question: Awaitable[T]) -> T:
        """The answer to a question that nobody's order is behind: it is asked once."""
        await self._wait_for_lane()
        try:
            return await question
        except Throttled as error:
            await self._pause(error)
            raise
        except Error:
            raise
        except Exception as error:
            # What is asked about may be nothing that the driver ever made: whoever asks is told so, and nobody ends.
            if times := self._unanswered():
                says = str(error)[:300] or "without a word"
                log.warning("%d questions ended in the driver; the last: %s: %s", times, type(error).__name__, says)
            log.debug("a question ended in the driver", exc_info=error)
            raise Permanent(f"the driver cannot say: {type(error).__name__}") from error

    async def _batch(
        self,
        order: Order,
        batch: Sequence[Member],
        fences: Fences,
        may: Callable[[], None],
        results: OrderResults,
        until: float,
    ) -> None:
        if order.verb != PROBE:
            await self._perform(order, batch, fences, may, results, until)
            return

        async def seen(looked: Sequence[ObservedObject]) -> None:
            await results.add([s.path for s in looked], [_seen(s, fences) for s in looked])

        try:
            await self._look(batch, {}, seen, until)
        except Error as error:
            await results.fail(error, batch, fences)

    async def _perform(
        self,
        order: Order,
        batch: Sequence[Member],
        fences: Fences,
        may: Callable[[], None],
        results: OrderResults,
        until: float,
    ) -> None:
        """Do it, and again for single members for which that may help: a call that was answered may have had no room
        for some of them. Those that got on are called for again for as long as custody lasts. Meanwhile what was
        accepted is looked at, and each member's result is known by itself."""
        tries = {m.path: 0 for m in batch}
        """For each of them, calls in a row with which it did not get on."""
        unsure: set[str] = set()
        """Those that a call without an answer was for: where it is not done in the end, it may be on its way."""
        again = list(batch)
        answers: dict[str, Result] = {}
        looks: list[asyncio.Task[None]] = []
        try:
            while again:
                try:
                    answers = {r.path: r for r in await self._call(order, again, may, unsure, until)}
                except Error as error:
                    if not answers or (isinstance(error, TryAgain) and error.unknown):
                        await results.fail(error, again, fences)
                        break
                    answers = {m.path: _given_up(answers[m.path], error) for m in again}
                for path, answer in answers.items():
                    tries[path] = 0 if answer.again else tries[path] + 1
                ended = [m for m in again if not _goes_on(answers[m.path], tries[m.path])]
                waiting = [m for m in ended if answers[m.path].ok and answers[m.path].pending]
                sure = [m for m in ended if m not in waiting]
                await self._settle(order, sure, answers, unsure, fences, results)
                if waiting:
                    looks.append(asyncio.create_task(self._follow(order, waiting, answers, fences, results, until)))
                again = [m for m in again if m not in ended]
                if again:
                    await asyncio.sleep(max(_pause_before(answers[m.path]) for m in again))
            await asyncio.gather(*looks)
        finally:
            for look in looks:
                look.cancel()

    async def _settle(
        self,
        order: Order,
        members: Sequence[Member],
        answers: Mapping[str, Result],
        unsure: set[str],
        fences: Fences,
        results: OrderResults,
    ) -> None:
        """Say what became of those that nothing is on its way for, where that is certain."""
        told = [answers[m.path] for m in members]
        told = [r for r in told if r.ok or r.path not in unsure or order.verb == CREATE]
        looked = await self._shown(order, _with_facts(members, told), told)
        certain = [r for r in told if _certain(order, r, looked.get(r.path))]
        await results.add([m.path for m in members], [_said(r, looked.get(r.path), fences) for r in certain])

    async def _shown(self, order: Order, members: Sequence[Member], told: Sequence[Result]) -> ByPath:
        """What is there of those that it was not done to: only what is broken, or gone, is not as it was before."""
        failed = {r.path for r in told if not r.ok}
        asked = [m for m in members if m.path in failed]
        if not asked or order.verb == CREATE or order.kind != VM:
            return {}
        try:
            return {s.path: s for s in await self._asked(self.driver.describe(asked))}
        except Error as error:
            log.info("what is there of %d that it was not done to is unknown: %s", len(asked), error)
            return {}

    async def _follow(
        self,
        order: Order,
        waiting: Sequence[Member],
        answers: Mapping[str, Result],
        fences: Fences,
        results: OrderResults,
        until: float,
    ) -> None:
        """Look at what was accepted until each has come to its end. An error leaves that open, whatever it says."""

        async def seen(looked: Sequence[ObservedObject]) -> None:
            certain = [s for s in looked if _certain(order, answers[s.path], s)]
            await results.add([s.path for s in looked], [_said(answers[s.path], s, fences) for s in certain])

        ends = {m.path: answers[m.path].pending for m in waiting}
        known = _with_facts(waiting, [answers[m.path] for m in waiting])
        try:
            await self._look(known, ends, seen, until)
        except Error as error:
            await results.fail(TryAgain(error.message, unknown=True, detail=error.detail), waiting, fences)

    async def _call(
        self, order: Order, batch: Sequence[Member], may: Callable[[], None], unsure: set[str], until: float
    ) -> list[Result]:
        """One call, made again while that may help: for a few times; or, where the provider has too much to do or
        cannot be reached, until the state times out."""
        patience = RetryBudget(TRIES, until)
        while True:
            await self._wait_for_lane()
            may()
            try:
                with _timed(order.verb):
                    return await self.driver.perform(order.verb, batch, order.token)
            except TryAgain as error:
                once = error.unknown and order.verb in ONCE
                if error.unknown:
                    unsure.update(m.path for m in batch)
                if not patience.left(error) or once:
                    error.unknown = not unsure.isdisjoint(m.path for m in batch)
                    raise
                await self._pause(error)
            except Permanent as error:
                if unsure.isdisjoint(m.path for m in batch):
                    raise
                raise TryAgain(error.message, unknown=True, detail=error.detail) from error

    async def _look(
        self,
        members: Sequence[Member],
        ends: Mapping[str, str],
        seen: Callable[[Sequence[ObservedObject]], Awaitable[None]],
        until: float,
    ) -> None:
        """Look until nothing is on its way any more, and say of each what was seen when it has settled; custody ends
        this if nothing else does.

        Where something is to be there in the end, a provider may be slow to show it: one miss says nothing.
        """
        patience = RetryBudget(TRIES, until)
        missed = {path: 0 for path, end in ends.items() if end != ABSENT}
        left = list(members)
        while left:
            await self._wait_for_lane()
            try:
                with _timed(PROBE):
                    looked = await self.driver.describe(left)
            except TryAgain as error:
                if not patience.left(error):
                    raise
                await self._pause(error)
                continue
            settled = []
            for each in looked:
                if each.state == ABSENT and each.path in missed:
                    missed[each.path] += 1
                if each.state != MOVING and not (each.state == ABSENT and missed.get(each.path, MISSES) < MISSES):
                    settled.append(each)
            over = {each.path for each in settled}
            left = [member for member in left if member.path not in over]
            if settled:
                await seen(settled)
            if left:
                await asyncio.sleep(LOOK)

    async def _pause(self, error: TryAgain) -> None:
        if isinstance(error, Throttled):
            self.throttled += 1
            metrics.THROTTLED.inc()
            self._slow_until = max(self._slow_until, asyncio.get_running_loop().time() + error.after)
        else:
            await asyncio.sleep(error.after)

    async def _wait_for_lane(self) -> None:
        """Where the provider has asked us to slow down, nobody on this lane calls it before that time."""
        while (left := self._slow_until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)


@contextmanager
def _timed(verb: str) -> Iterator[None]:
    """A call to a driver, which the metrics are told of."""
    outcome = "error"
    try:
        with metrics.CALL_TIME.labels(verb).time(), tracing.span(f"driver {verb}", verb=verb):
            yield
        outcome = "answered"
    except Throttled:
        outcome = "throttled"
        raise
    except TryAgain as error:
        outcome = "unknown" if error.unknown else "try-again"
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        metrics.CALLS.labels(verb, outcome).inc()


def members_of(told: Iterable[OrderMember]) -> list[Member]:
    """Members in the form that drivers take."""
    return [
        Member(path=m.path, token=m.token, spec=m.spec, facts=m.facts, kind=m.kind, revision=m.revision) for m in told
    ]


def _with_facts(batch: Sequence[Member], results: Sequence[Result]) -> list[Member]:
    """Members as they are known after the call."""
    news = {r.path: r.facts for r in results}
    known = [(m, {**m.facts, **news.get(m.path, {})}) for m in batch]
    return [msgspec.structs.replace(m, facts=facts) for m, facts in known]


def _given_up(before: Result, error: Error) -> Result:
    """One that was to be called for again, and could not be."""
    return msgspec.structs.replace(before, ok=False, again=False, permanent=True, error=error.message)


def _goes_on(result: Result, tries: int) -> bool:
    """Whether it is called for again."""
    return result.again or (tries < TRIES and not (result.ok or result.permanent))


def _pause_before(result: Result) -> float:
    """Seconds before it is."""
    return result.retry_after or (0.0 if result.again else AGAIN)


def _seen(seen: ObservedObject, fences: Fences) -> ReportResult:
    return ReportResult(
        seen.path, fences[seen.path], "seen", seen=seen.state, revision=seen.revision, facts=facts_of(seen.facts)
    )


def _certain(order: Order, result: Result, looked: ObservedObject | None) -> bool:
    """Whether it can be said what became of one. What was accepted and came to something else is left unsaid, as what
    nobody knows is: custody runs out, and then somebody looks. So is a VM that is gone, or on its way."""
    if result.ok:
        return looked is None or looked.state in (result.pending, BROKEN)
    if order.verb == CREATE or order.kind != VM:
        return True
    return looked is not None and looked.state not in (ABSENT, MOVING)


def _said(result: Result, looked: ObservedObject | None, fences: Fences) -> ReportResult:
    """Done; failed, where something is broken or nothing was made; or declined, where all is as it was."""
    facts = {**result.facts, **(looked.facts if looked is not None else {})}
    broken = looked is not None and looked.state == BROKEN
    as_before = looked is not None and looked.state not in (BROKEN, ABSENT, MOVING)
    why = (looked.error if looked is not None else "") or "the provider accepted it, and it is broken"
    failed: ReportKind = "declined" if as_before else "failed"
    return ReportResult(
        result.path,
        fences[result.path],
        "done" if result.ok and not broken else failed,
        facts=facts_of(facts),
        error=result.error or (why if broken else ""),
        permanent=result.permanent,
    )
