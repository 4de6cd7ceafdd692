"""What an agent reports of the members of an order: collected while the order goes on, in the form of the bus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import msgspec

from stead.agent.inventory import facts_of
from stead.bus.messages import Order, ReportKind, ReportResult
from stead.drivers.base import TRANSITIONAL, VM, DriverError, Member, ObservedObject, Result, RetryableError
from stead.lifecycle.rows import ABSENT, BROKEN
from stead.lifecycle.snapshot import Fence

MAX_TRIES = 6
"""Tries of a call that may succeed later."""

RETRY_PAUSE = 1.0
"""Seconds before another try for members that the provider had no room for, where it does not say."""

CREATE = "create"
"""The verb of which a failure leaves nothing as it was."""

type Fences = Mapping[str, Fence]
type ByPath = dict[str, ObservedObject]

type ReportPart = Callable[[Sequence[ReportResult]], Awaitable[None]]
"""Reports results of members whose order goes on for others."""


class OrderResults:
    """Results of the members of an order: reported at once while others are at work, kept for the end otherwise."""

    def __init__(self, paths: Iterable[str], fences: Fences, report_part: ReportPart | None) -> None:
        self.kept: list[ReportResult] = []
        self.fences = fences
        self._left = set(paths)
        self._report_part = report_part

    async def add(self, paths: Iterable[str], results: Sequence[ReportResult]) -> None:
        """Nothing more than the results will be known of these members; of some, nothing is known."""
        self._left.difference_update(paths)
        self.kept += results
        if self._left and self.kept and self._report_part is not None:
            part, self.kept = self.kept, []
            await self._report_part(part)

    async def add_observed(self, observed: Sequence[ObservedObject]) -> None:
        """What a probe has observed."""
        await self.add(
            [each.path for each in observed], [_observed(each, self.fences[each.path]) for each in observed]
        )

    async def add_answers(
        self, order: Order, paths: Iterable[str], answers: Iterable[Result], observed: Mapping[str, ObservedObject]
    ) -> None:
        """What the provider answered, as far as the outcome is certain, and what was observed after that."""
        certain = [answer for answer in answers if is_certain(order, answer, observed.get(answer.path))]
        results = [_outcome(answer, observed.get(answer.path), self.fences[answer.path]) for answer in certain]
        await self.add(paths, results)

    async def fail(self, error: DriverError, members: Sequence[Member]) -> None:
        """Decline the members of which nothing is known. An unknown outcome is not reported: custody runs out."""
        left = [m.path for m in members if m.path in self._left]
        unknown = isinstance(error, RetryableError) and error.unknown
        declined = [] if unknown else [ReportResult(p, self.fences[p], "declined", error=error.message) for p in left]
        await self.add(left, declined)


def with_facts(members: Sequence[Member], results: Sequence[Result]) -> list[Member]:
    """Members with the facts that a call has returned."""
    new = {result.path: result.facts for result in results}
    return [msgspec.structs.replace(m, facts={**m.facts, **new.get(m.path, {})}) for m in members]


def abandoned(before: Result, error: DriverError) -> Result:
    """The answer for a member that was to be tried again, and could not be."""
    return msgspec.structs.replace(before, ok=False, again=False, permanent=True, error=error.message)


def is_retried(result: Result, tries: int) -> bool:
    """Whether another call is made for the member."""
    return result.again or (tries < MAX_TRIES and not (result.ok or result.permanent))


def pause_before_retry(result: Result) -> float:
    """Seconds before that call."""
    return result.retry_after or (0.0 if result.again else RETRY_PAUSE)


def is_certain(order: Order, result: Result, observed: ObservedObject | None) -> bool:
    """Whether the outcome for a member is known. What was accepted and came to something else is not reported, like
    an unknown outcome: custody runs out, and then an agent probes. So is a VM that is gone, or transitional."""
    if result.ok:
        return observed is None or observed.state in (result.pending, BROKEN)
    if order.verb == CREATE or order.kind != VM:
        return True
    return observed is not None and observed.state not in (ABSENT, TRANSITIONAL)


def _observed(observed: ObservedObject, fence: Fence) -> ReportResult:
    return ReportResult(
        observed.path,
        fence,
        "observed",
        observed=observed.state,
        revision=observed.revision,
        facts=facts_of(observed.facts),
    )


def _outcome(result: Result, observed: ObservedObject | None, fence: Fence) -> ReportResult:
    """Done; failed, where something is broken or nothing was made; or declined, where everything is as before."""
    facts = {**result.facts, **(observed.facts if observed is not None else {})}
    broken = observed is not None and observed.state == BROKEN
    as_before = observed is not None and observed.state not in (BROKEN, ABSENT, TRANSITIONAL)
    why = (observed.error if observed is not None else "") or "the provider accepted it, and it is broken"
    failed: ReportKind = "declined" if as_before else "failed"
    return ReportResult(
        result.path,
        fence,
        "succeeded" if result.ok and not broken else failed,
        facts=facts_of(facts),
        error=result.error or (why if broken else ""),
        permanent=result.permanent,
    )
