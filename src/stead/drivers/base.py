"""What every driver is: the one way in which an agent speaks to a provider, whichever provider it is.

A driver speaks to one place, a region of a provider, which is what a lane of orders leads to. It keeps nothing: all
that it must know later it returns as facts, and gets back with the member. It retries nothing and waits for nothing
that lasts longer than one call; whoever has custody of the order decides on that.

It makes VMs, and as far as its `kinds` say also what they share: networks, security groups, keys. All members of one
call are of one kind.

Four promises, which the conformance suite checks on every driver:

- One `perform` is one call to the provider, for as many members as `batch_limit` says.
- A member is made at most once per token, however often and however concurrently `create` is called; what an earlier
  call made, even one whose answer was lost, is found again and returned.
- `suspend`, `resume` and `terminate` may be repeated. `reboot` may not: it is done as often as it is performed.
- "Not there" is said only when the provider answered and did not have it. No answer is an error, never an absence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

VM = "vm"
"""The kind that every driver makes."""

TRANSITIONAL = "moving"
"""What a look says of an object on its way from one state to another: look again. It is never reported as seen."""

PROBE = "probe"
"""The verb of a look, as orders have it. It is answered by `describe`, and `batch_limit` knows it."""


class Member(Struct, frozen=True, kw_only=True):
    """One resource of an order."""

    path: str
    token: str
    """Of this member alone; the same in every attempt to make it, and in everything that is done to it later."""
    spec: Mapping[str, Any] = {}
    facts: Mapping[str, Any] = {}
    """What earlier calls returned: the provider's id, if it is known."""
    kind: str = VM
    revision: int = 0
    """Of the spec. Who can, keeps it with what is there and tells it with every look; 0 where nobody said."""


class Result(Struct, frozen=True, kw_only=True):
    """What became of one member in a call that the provider answered."""

    path: str
    ok: bool
    pending: str = ""
    """Accepted, but not finished: done when a look shows this."""
    again: bool = False
    """Got on, but not to the end: to be called again, as often as this is said."""
    facts: Mapping[str, Any] = {}
    """To be kept with the resource, also where it failed: what was made must be found again."""
    error: str = ""
    permanent: bool = True
    """Where it failed: trying again would fail again."""
    retry_after: float | None = None
    """Where trying again may help: not before so many seconds, if the provider said."""


class ObservedObject(Struct, frozen=True, kw_only=True):
    """What is there of one member, looked up by the provider's id or, failing that, by token."""

    path: str
    state: str
    """The lifecycle's word for it, `absent`, `broken`, or `TRANSITIONAL`.

    One `absent` is one look that missed it: a provider may be slow to show what it has made."""
    facts: Mapping[str, Any] = {}
    revision: int | None = None
    """Of the spec that is in force there, where that can be told."""
    error: str = ""
    """Where it is broken: why, if that can be told."""


class FoundObject(Struct, frozen=True, kw_only=True):
    """Something the provider has that carries our tag, whether or not anybody still owns it."""

    id: str
    token: str
    state: str
    path: str = ""
    """The resource it was made for, as the tag has it."""
    facts: Mapping[str, Any] = {}
    kind: str = VM


class LogTail(Struct, frozen=True, kw_only=True):
    """The end of what something wrote."""

    lines: list[str] = []
    """The oldest first."""
    position: str = ""
    """From where to go on; in the driver's own words."""


class Driver(Protocol):
    """The code that speaks to one place of one kind of provider."""

    @property
    def kinds(self) -> frozenset[str]:
        """What it makes: `vm`, and of `network`, `securitygroup` and `sshkey` those that the place has."""

    @property
    def longest_call(self) -> float:
        """Seconds after which any call has ended, answered or not.

        Nobody else may act on an object before custody of it and a call of this length have run out."""

    def batch_limit(self, verb: str, kind: str = VM) -> int:
        """How many members of a kind one call of this verb takes."""

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """Do it, in one call: a result for each member, in their order.

        The token is the order's; a provider that can records it, so that deeds can be traced to orders.
        Raises a `DriverError` where the call as a whole has no answer."""

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """Look, in one call: what is there of each member, in their order."""

    async def inventory(self) -> list[FoundObject]:
        """Everything that is there and carries our tag."""

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """None where the place has what a VM's spec names in that field, `spec` or `image`, or where only trying
        tells; otherwise the names that come closest to it, the best first. It changes nothing."""

    async def close(self) -> None:
        """Let go of connections. Harmless when repeated."""


@runtime_checkable
class LogDriver(Protocol):
    """A driver that knows what the things it made have written. Not every one does."""

    async def logs(self, member: Member, lines: int, since: str = "") -> LogTail:
        """The last so many lines; with `since`, of those that came after a position that was told before."""


@runtime_checkable
class RecoveringDriver(Protocol):
    """A driver of a machine that agents run on. When that machine restarts, what the driver has started is gone."""

    async def recover(self) -> list[str]:
        """Start again what should run and was ended with the machine; the paths. What runs is not touched."""


class DriverError(Exception):
    """A call that has no answer for its members."""

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.message = message
        """For whoever asked for the action."""
        self.detail = detail
        """For the log."""


class PermanentError(DriverError):
    """The provider will not do it, however often it is asked. Nothing was done."""


class RetryableError(DriverError):
    """It may work later."""

    def __init__(self, message: str, *, after: float = 1.0, unknown: bool = False, detail: str = "") -> None:
        super().__init__(message, detail=detail)
        self.after = after
        """Seconds to wait before that."""
        self.unknown = unknown
        """The deed may have been done: what cannot be repeated is looked at first."""


class ThrottledError(RetryableError):
    """The provider has too much to do, and did nothing: the whole lane is to slow down."""


class UnreachableError(RetryableError):
    """The provider could not be reached: this call was not sent."""


def batches(members: Sequence[Member], limit: int) -> Iterator[Sequence[Member]]:
    """The members in as few batches as the limit allows."""
    for start in range(0, len(members), limit):
        yield members[start : start + limit]


def check_batch(driver: Driver, verb: str, members: Sequence[Member]) -> None:
    """For drivers, before they send anything: a batch over the limit or of several kinds is the caller's mistake."""
    kinds = {member.kind for member in members}
    if len(kinds) > 1:
        raise ValueError(f"{verb} is called for members of one kind, not of {', '.join(sorted(kinds))}")
    limit = driver.batch_limit(verb, *kinds)
    if len(members) > limit:
        raise ValueError(f"{verb} takes at most {limit} members in a call, not {len(members)}")


def closest_names(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Names that somebody may have meant."""
    return get_close_matches(name, list(known), most, 0.5)
