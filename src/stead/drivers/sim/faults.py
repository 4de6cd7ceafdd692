"""What can go wrong at the simulated cloud, set while it runs.

A fault says where it strikes (provider, region, verb; empty for anywhere), how often (the next so many times, a
fraction of the times, or always) and what happens. Of each kind, the one set last that strikes is the one that
counts. Faults are forgotten when the server stops: a restarted cloud is a healthy one.

Time and chance come in from outside, so that a run can be repeated from its seed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from stead.drivers.sim.wire import Error

Seconds = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=0)]


class Call(Struct, frozen=True):
    """One call of a provider's interface, as far as it is known before its body is read."""

    provider: str
    region: str
    verb: str
    """create, describe, list, or one of the verbs on instances; of everything but VMs with the kind after it, as in
    create-network or update-appinst. Or offers."""
    order: str = ""
    """The token of the order it was made for, if the caller said."""
    kind: str = "vm"

    @property
    def deed(self) -> str:
        """The verb without the kind."""
        return self.verb.partition("-")[0]


class FaultMatch(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, forbid_unknown_fields=True):
    """Where and how often a fault strikes."""

    provider: str = ""
    region: str = ""
    verb: str = ""
    times: Count | None = None
    """Only the next so many times."""
    fraction: Annotated[float, Meta(ge=0, le=1)] = 1.0

    def at(self, call: Call) -> bool:
        """Whether this is the place."""
        return (
            self.provider in ("", call.provider) and self.region in ("", call.region) and self.verb in ("", call.verb)
        )


class Latency(FaultMatch, frozen=True, kw_only=True, tag="latency"):
    """A wait before anything is done. The deed is done even if the caller has given up by then."""

    seconds: Seconds = 0.0
    jitter: Seconds = 0.0
    """Up to so many seconds more."""


class Drop(FaultMatch, frozen=True, kw_only=True, tag="drop"):
    """The connection breaks, and nothing was done."""


class Hang(FaultMatch, frozen=True, kw_only=True, tag="hang"):
    """Nothing is done and nothing is answered, until the caller gives up or the fault is taken back."""


class Throttle(FaultMatch, frozen=True, kw_only=True, tag="throttle"):
    """Above a rate, calls to a region are answered with 429 and not done."""

    rate: Annotated[float, Meta(ge=0)] = 0.0
    """Calls a second that get through; none, if it is zero."""
    burst: Annotated[int, Meta(ge=1)] = 1
    """Calls that get through at once after a quiet time."""
    retry_after: Seconds | None = None
    """What the caller is told; otherwise the time until the next call gets through."""


class Fail(FaultMatch, frozen=True, kw_only=True, tag="fail"):
    """The call is answered with an error and not done; or single instances of it are."""

    code: str = "InternalError"
    message: str = "a fault was set"
    status: Annotated[int, Meta(ge=400, le=599)] = 500
    members: bool = False
    """Strike single instances, each for itself, instead of the call."""
    tokens: tuple[str, ...] = ()
    """With `members`: only these."""


class Late(FaultMatch, frozen=True, kw_only=True, tag="late"):
    """It is done at once and answered after some seconds."""

    seconds: Seconds


class Lost(FaultMatch, frozen=True, kw_only=True, tag="lost"):
    """It is done, and then the connection breaks: a silent success."""


class Slow(FaultMatch, frozen=True, kw_only=True, tag="slow"):
    """Instances take so long from one state to the next; without it no time at all."""

    seconds: Seconds
    jitter: Seconds = 0.0


class BrokenResult(FaultMatch, frozen=True, kw_only=True, tag="broken-result"):
    """What is made or changed comes out broken; it takes as long as it takes, and the call is answered as ever."""


class Stale(FaultMatch, frozen=True, kw_only=True, tag="stale"):
    """Looks lag behind: a new instance is invisible and a changed one looks unchanged for so many seconds."""

    seconds: Seconds


class Quota(FaultMatch, frozen=True, kw_only=True, tag="quota"):
    """A region has room for so many instances."""

    limit: Count


Fault = Latency | Drop | Hang | Throttle | Fail | Late | Lost | Slow | BrokenResult | Stale | Quota


class Faults(Struct, frozen=True, forbid_unknown_fields=True):
    """POST /v1/_faults."""

    faults: list[Fault]


@dataclass(slots=True, eq=False)
class Rule[F: FaultMatch]:
    """A fault in force, with what is left of it."""

    id: int
    fault: F
    left: int | None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is taken back, so that nothing waits longer than its fault."""
    buckets: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """Per region: how many calls may pass, as of when."""

    def describe(self) -> dict[str, object]:
        """For whoever asks what is in force."""
        return {"id": self.id, "left": self.left, **msgspec.to_builtins(self.fault)}


@dataclass(frozen=True, slots=True)
class Pause:
    """A wait that ends early when its fault is taken back."""

    seconds: float
    over: asyncio.Event

    async def wait(self) -> None:
        """Wait it out."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), self.seconds)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The call is answered with an error."""

    outcome: str
    status: int
    error: Error
    retry_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """All that is going to happen to one call."""

    before: Pause | None = None
    """Before anything is done."""
    drop: bool = False
    hang: asyncio.Event | None = None
    """It hangs until that happens."""
    refusal: ErrorResponse | None = None
    member_error: Callable[[str], Error | None] = lambda token: None
    """What goes wrong with the instance of that token, if anything does."""
    slow: float = 0.0
    broken: bool = False
    """What is made or changed comes out broken."""
    stale: float = 0.0
    quota: int | None = None
    after: Pause | None = None
    """Between deed and answer."""
    lost: bool = False

    @property
    def reply(self) -> str:
        """What becomes of the answer, in the words of the ledger."""
        return "lost" if self.lost else "late" if self.after else "sent"


class FaultInjector:
    """The faults in force."""

    def __init__(self, random: Random, clock: Callable[[], float]) -> None:
        self._random = random
        self._clock = clock
        self._rules: list[Rule[Fault]] = []
        self._last = 0

    def add(self, fault: Fault) -> Rule[Fault]:
        """Put a fault in force."""
        self._last += 1
        rule = Rule(self._last, fault, fault.times)
        self._rules.insert(0, rule)
        return rule

    def clear(self, id: int | None = None) -> int:
        """Take one back, or all; says how many."""
        gone = [rule for rule in self._rules if id in (None, rule.id)]
        self._rules = [rule for rule in self._rules if rule not in gone]
        for rule in gone:
            rule.over.set()
        return len(gone)

    def rules(self) -> list[Rule[Fault]]:
        """What is in force, newest first."""
        return list(self._rules)

    def plan(self, call: Call) -> CallPlan:
        """What happens to this call. It is asked once for each: faults are used up by it."""
        if not self._rules:
            return CallPlan()
        latency, drop = self._strike(call, Latency), self._strike(call, Drop)
        hang = None if drop else self._strike(call, Hang)
        refusal = None if drop or hang else self._throttled(call) or self._failed(call)
        plan = CallPlan(
            before=Pause(self._varied(latency.fault), latency.over) if latency else None,
            drop=drop is not None,
            hang=hang.over if hang else None,
            refusal=refusal,
        )
        if drop or hang or refusal:
            return plan
        slow, stale = self._strike(call, Slow), self._strike(call, Stale)
        quota, late = self._strike(call, Quota), self._strike(call, Late)
        return replace(
            plan,
            member_error=lambda token: self._member_error(call, token),
            slow=self._varied(slow.fault) if slow else 0.0,
            broken=self._strike(call, BrokenResult) is not None,
            stale=stale.fault.seconds if stale else 0.0,
            quota=quota.fault.limit if quota else None,
            after=Pause(late.fault.seconds, late.over) if late else None,
            lost=self._strike(call, Lost) is not None,
        )

    def _matching[F: FaultMatch](self, call: Call, kind: type[F]) -> Iterator[Rule[F]]:
        for rule in self._rules:
            if type(rule.fault) is kind and rule.fault.at(call):
                yield cast(Rule[F], rule)

    def _hits(self, rule: Rule[Any]) -> bool:
        """Whether a matching fault strikes this time; uses it up if it does."""
        if rule.left == 0 or (rule.fault.fraction < 1 and self._random.random() >= rule.fault.fraction):
            return False
        if rule.left is not None:
            rule.left -= 1
        return True

    def _strike[F: FaultMatch](self, call: Call, kind: type[F]) -> Rule[F] | None:
        return next((rule for rule in self._matching(call, kind) if self._hits(rule)), None)

    def _varied(self, fault: Latency | Slow) -> float:
        return fault.seconds + self._random.uniform(0, fault.jitter)

    def _throttled(self, call: Call) -> ErrorResponse | None:
        for rule in self._matching(call, Throttle):
            wait = self._bucket(rule, (call.provider, call.region))
            if wait > 0 and self._hits(rule):
                after = wait if rule.fault.retry_after is None else rule.fault.retry_after
                error = Error("RequestLimitExceeded", f"too many calls to {call.provider} {call.region}")
                return ErrorResponse("throttled", 429, error, after)
        return None

    def _bucket(self, rule: Rule[Throttle], place: tuple[str, str]) -> float:
        """Take one call out of the bucket: zero if it was there, otherwise the seconds until there is one."""
        rate, full = rule.fault.rate, float(rule.fault.burst)
        if rate == 0:
            return 1.0
        now = self._clock()
        had, at = rule.buckets.get(place, (full, now))
        has = min(full, had + (now - at) * rate)
        rule.buckets[place] = (has - 1 if has >= 1 else has, now)
        return 0.0 if has >= 1 else (1 - has) / rate

    def _failed(self, call: Call) -> ErrorResponse | None:
        for rule in self._matching(call, Fail):
            if not rule.fault.members and self._hits(rule):
                return ErrorResponse("failed", rule.fault.status, Error(rule.fault.code, rule.fault.message))
        return None

    def _member_error(self, call: Call, token: str) -> Error | None:
        for rule in self._matching(call, Fail):
            fault = rule.fault
            if fault.members and (not fault.tokens or token in fault.tokens) and self._hits(rule):
                return Error(fault.code, fault.message)
        return None
