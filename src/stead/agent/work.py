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
from stead.bus.garbage import Seldom
from stead.bus.messages import Order, OrderMember, ReportResult
from stead.drivers.base import (
    MOVING,
    PROBE,
    Driver,
    Error,
    Found,
    Logs,
    Member,
    Permanent,
    Recovers,
    Result,
    Seen,
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

ONCE = ("reboot", "reset")
"""Verbs that are never repeated when nobody knows whether they were done."""

Fences = Mapping[str, Fence]


class Work:
    """The driver of one lane, used with care."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._slow_until = 0.0
        self._unanswered = Seldom()
        self.throttled = 0
        """Calls that the provider refused because there were too many, since somebody was told."""

    async def do(self, order: Order, fences: Fences, may: Callable[[], None]) -> list[ReportResult]:
        """Carry an order out for the members that were taken; nothing, where nobody can say what became of it.

        `may` is called before every call, and raises where no further one may be made.
        """
        members = [
            Member(path=m.path, token=m.token, spec=m.spec, facts=m.facts, kind=order.kind, revision=m.revision)
            for m in order.members
            if m.path in fences
        ]
        said: list[ReportResult] = []
        for batch in batches(members, self.driver.batch_limit(order.verb, order.kind)):
            said += await self._batch(order, batch, fences, may)
        return said

    async def look(self, members: Sequence[Member]) -> list[Seen]:
        """What is there of some members; those on their way are left out."""
        seen: list[Seen] = []
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

    async def inventory(self) -> list[Found]:
        """Everything that carries our tag."""
        return await self._asked(self.driver.inventory())

    async def recover(self) -> None:
        """Have what should run on this machine started again, where the machine has ended it."""
        if isinstance(self.driver, Recovers):
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
        self, order: Order, batch: Sequence[Member], fences: Fences, may: Callable[[], None]
    ) -> list[ReportResult]:
        try:
            if order.verb == PROBE:
                return [_seen(s, fences) for s in await self._look(batch)]
            results = await self._perform(order, batch, may)
            ends = {r.path: r.pending for r in results if r.ok and r.pending}
            waiting = [m for m in _with_facts(batch, results) if m.path in ends]
            looked = {s.path: s for s in await self._look(waiting, ends)} if waiting else {}
            return [_said(r, looked.get(r.path), fences) for r in results if _certain(r, looked.get(r.path))]
        except Error as error:
            if isinstance(error, TryAgain) and error.unknown:
                return []  # custody runs out, and then somebody looks
            return [ReportResult(m.path, fences[m.path], "failed", error=error.message) for m in batch]

    async def _perform(self, order: Order, batch: Sequence[Member], may: Callable[[], None]) -> list[Result]:
        """Do it, and again for single members for which that may help: a call that was answered may have had no room
        for some of them. Those that got on are called for again for as long as custody lasts."""
        results: dict[str, Result] = {}
        tries = {m.path: 0 for m in batch}
        """For each of them, calls in a row with which it did not get on."""
        again = batch
        while True:
            for result in await self._call(order.verb, again, order.token, may):
                results[result.path] = result
                tries[result.path] = 0 if result.again else tries[result.path] + 1
            again = [m for m in batch if _goes_on(results[m.path], tries[m.path])]
            if not again:
                return [results[m.path] for m in batch]
            await asyncio.sleep(max(_pause_before(results[m.path]) for m in again))

    async def _call(self, verb: str, batch: Sequence[Member], token: str, may: Callable[[], None]) -> list[Result]:
        """One call, made again while that may help."""
        for attempt in range(1, TRIES + 1):
            await self._wait_for_lane()
            may()
            try:
                with _timed(verb):
                    return await self.driver.perform(verb, batch, token)
            except TryAgain as error:
                if attempt == TRIES or (error.unknown and verb in ONCE):
                    raise
                await self._pause(error)
        raise AssertionError("unreachable")

    async def _look(self, members: Sequence[Member], ends: Mapping[str, str] | None = None) -> list[Seen]:
        """Look until nothing is on its way any more; custody ends this if nothing else does.

        Where something is to be there in the end, a provider may be slow to show it: one miss says nothing.
        """
        failures = missed = 0
        there = {path for path, end in (ends or {}).items() if end != ABSENT}
        while True:
            await self._wait_for_lane()
            try:
                with _timed(PROBE):
                    seen = await self.driver.describe(members)
            except TryAgain as error:
                failures += 1
                if failures == TRIES:
                    raise
                await self._pause(error)
                continue
            misses = any(s.state == ABSENT and s.path in there for s in seen)
            missed += misses
            if all(s.state != MOVING for s in seen) and not (misses and missed < MISSES):
                return seen
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


def _goes_on(result: Result, tries: int) -> bool:
    """Whether it is called for again."""
    return result.again or (tries < TRIES and not (result.ok or result.permanent))


def _pause_before(result: Result) -> float:
    """Seconds before it is."""
    return result.retry_after or (0.0 if result.again else AGAIN)


def _seen(seen: Seen, fences: Fences) -> ReportResult:
    return ReportResult(
        seen.path, fences[seen.path], "seen", seen=seen.state, revision=seen.revision, facts=facts_of(seen.facts)
    )


def _certain(result: Result, looked: Seen | None) -> bool:
    """Whether it can be said what became of one. What was accepted and came to something else is left unsaid, as what
    nobody knows is: custody runs out, and then somebody looks."""
    return looked is None or looked.state in (result.pending, BROKEN)


def _said(result: Result, looked: Seen | None, fences: Fences) -> ReportResult:
    facts = {**result.facts, **(looked.facts if looked is not None else {})}
    broken = looked is not None and looked.state == BROKEN
    why = (looked.error if looked is not None else "") or "the provider accepted it, and it is broken"
    return ReportResult(
        result.path,
        fences[result.path],
        "done" if result.ok and not broken else "failed",
        facts=facts_of(facts),
        error=why if broken else result.error,
        permanent=result.permanent,
    )
