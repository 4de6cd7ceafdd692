"""The driver of one lane, slowed down as its provider asks, and what controllers ask of it outside orders.

A lane that its provider throttles slows down as a whole, and no other lane with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from stead.bus.invalid_messages import LogThrottle
from stead.bus.messages import OrderMember
from stead.drivers.base import (
    PROBE,
    TRANSITIONAL,
    Driver,
    DriverError,
    FoundObject,
    LogDriver,
    LogTail,
    Member,
    ObservedObject,
    PermanentError,
    RecoveringDriver,
    Result,
    RetryableError,
    ThrottledError,
    batches,
)
from stead.telemetry import metrics, tracing

log = logging.getLogger(__name__)


class LaneDriver:
    """One driver, and how long the provider wants to be left alone."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.throttled = 0
        """Calls that the provider rejected because there were too many, since the last presence message."""
        self._paused_until = 0.0
        self._failures = LogThrottle()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of resource that the driver makes."""
        return self.driver.kinds

    @property
    def longest_call(self) -> float:
        """Seconds after which any call has ended."""
        return self.driver.longest_call

    def batch_limit(self, verb: str, kind: str) -> int:
        """How many members one call takes."""
        return self.driver.batch_limit(verb, kind)

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """One call, which the metrics count."""
        with _timed(verb):
            return await self.driver.perform(verb, members, token)

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """One observation for an order, which the metrics count."""
        with _timed(PROBE):
            return await self.driver.describe(members)

    async def observe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """The observed state of some members, in as many calls as needed; transitional ones are left out."""
        observed: list[ObservedObject] = []
        for kind in sorted({member.kind for member in members}):
            alike = [member for member in members if member.kind == kind]
            for batch in batches(alike, self._probe_limit(kind)):
                observed += await self.observe_batch(batch)
        return [each for each in observed if each.state != TRANSITIONAL]

    async def observe_batch(self, members: Sequence[Member]) -> list[ObservedObject]:
        """The observed state of as many members as one call takes."""
        return await self._ask(self.driver.describe(members))

    def _probe_limit(self, kind: str) -> int:
        """A controller may know kinds that this driver does not."""
        try:
            return self.driver.batch_limit(PROBE, kind)
        except ValueError as error:
            raise PermanentError(str(error)) from error

    async def inventory(self) -> list[FoundObject]:
        """Every object at the provider that carries our tag."""
        return await self._ask(self.driver.inventory())

    async def recover(self) -> None:
        """Restart what should run on this machine, where the machine has ended it."""
        if isinstance(self.driver, RecoveringDriver):
            try:
                paths = await self._ask(self.driver.recover())
            except DriverError as error:
                log.warning("recover.failed error=%r", error.message)
            else:
                if paths:
                    log.warning("recover.started count=%d paths=%s", len(paths), ", ".join(paths[:10]))

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """The closest names to what a spec names, where the provider does not have it."""
        return await self._ask(self.driver.check_offer(field, name))

    async def logs(self, member: Member, lines: int, since: str) -> LogTail | None:
        """What a member wrote; None where the driver has no logs."""
        return await self._ask(self.driver.logs(member, lines, since)) if isinstance(self.driver, LogDriver) else None

    async def _ask[T](self, call: Awaitable[T]) -> T:
        """The answer to a call that no order is behind: it is made once."""
        await self.wait()
        try:
            return await call
        except ThrottledError as error:
            await self.pause(error)
            raise
        except DriverError:
            raise
        except Exception as error:
            # A controller may ask about what the driver never made: it gets an answer, and the agent goes on.
            if times := self._failures():
                message = str(error)[:300]
                log.warning("driver.call_failed times=%d type=%s error=%r", times, type(error).__name__, message)
            log.debug("driver.call_failed", exc_info=error)
            raise PermanentError(f"the driver cannot say: {type(error).__name__}") from error

    async def pause(self, error: RetryableError) -> None:
        """Wait as the error says, or have the whole lane wait where the provider throttles it."""
        if isinstance(error, ThrottledError):
            self.throttled += 1
            metrics.THROTTLED.inc()
            self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + error.after)
        else:
            await asyncio.sleep(error.after)

    async def wait(self) -> None:
        """Until the provider may be called again."""
        while (left := self._paused_until - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)


@contextmanager
def _timed(verb: str) -> Iterator[None]:
    """Count a call to a driver, with its outcome."""
    outcome = "error"
    try:
        with metrics.CALL_TIME.labels(verb).time(), tracing.span(f"driver {verb}", verb=verb):
            yield
        outcome = "answered"
    except ThrottledError:
        outcome = "throttled"
        raise
    except RetryableError as error:
        outcome = "unknown" if error.unknown else "retryable"
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        metrics.CALLS.labels(verb, outcome).inc()


def members_of(members: Iterable[OrderMember]) -> list[Member]:
    """Members in the form that drivers take."""
    return [
        Member(path=m.path, token=m.token, spec=m.spec, facts=m.facts, kind=m.kind, revision=m.revision)
        for m in members
    ]
