"""What `decide` answers: a decision with all its effects, or a refusal with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stead.lifecycle.rows import Move
from stead.lifecycle.snapshot import Holder, Snapshot


class Outcome(StrEnum):
    """How an operation ended, for one resource."""

    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"
    """Failed, and everything is as it was before."""
    UNKNOWN = "unknown"
    """Nobody could say; the resource was settled as its lifecycle says."""
    DISPLACED = "displaced"
    """An operation that outranks it took over."""
    CANCELLED = "cancelled"
    """Somebody ended it before it was done; the resource is what it was found to be."""
    REFUSED = "refused"
    """It had waited, and could not begin when its turn came."""


class ClaimChange(StrEnum):
    """What happens to the claim on the resource."""

    TAKE = "take"
    RELEASE = "release"
    HAND_OVER = "hand over"
    """From the operation that ended to the one that was waiting or took over."""


class Code(StrEnum):
    """Why something is refused; stable, part of every interface."""

    UNKNOWN_ACTION = "unknown-action"
    NOT_THE_ACTOR = "not-the-actor"
    WRONG_STATE = "wrong-state"
    MOVING = "moving"
    HELD = "held"
    PARENT = "parent"
    NOT_EMPTY = "not-empty"
    NOT_FORCEABLE = "not-forceable"
    NEEDS_REASON = "needs-reason"
    NO_MEMBER = "no-member"
    STALE = "stale"
    TAKEN = "taken"
    NOT_DUE = "not-due"
    NOT_EXPECTED = "not-expected"
    ORPHAN = "orphan"
    KEY_REUSED = "key-reused"
    ENDED = "ended"
    NOT_CANCELLABLE = "not-cancellable"
    NOT_RETRYABLE = "not-retryable"
    NOT_QUEUED = "not-queued"
    STOPPING = "stopping"
    NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class Order:
    """What an agent is told to do."""

    verb: str
    again: bool = False
    """The same order as before, sent anew."""


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer to be armed anew. Those that no longer apply (see `timers.pending`) are dropped with the decision."""

    name: str
    after: int


@dataclass(frozen=True, slots=True)
class Ended:
    """An operation that ended with this decision."""

    action: str
    outcome: Outcome
    id: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens. `after` is the resource as it is then; the rest is what else has to be written or sent."""

    after: Snapshot
    moves: tuple[Move, ...] = ()
    orders: tuple[Order, ...] = ()
    timers: tuple[Timer, ...] = ()
    claims: tuple[ClaimChange, ...] = ()
    ended: tuple[Ended, ...] = ()
    members: str = ""
    """The action to be asked of the members."""
    joined: bool = False
    """The request joined the operation that is running already."""
    queued: bool = False
    """The request waits its turn."""
    recount: bool = False
    """The children are to be counted anew and the result brought back."""
    step: bool = False
    """The controller is to do its own work for this state now, and to report it."""
    cancels: bool = False
    """Operations below are to be cancelled first."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a refusal."""

    code: Code
    says: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing happens, and why."""

    reasons: tuple[Reason, ...]
    state: str
    allowed: tuple[str, ...] = ()
    """What could be asked for instead, in this state, by this actor."""
    holder: Holder | None = None
    retry_after: int | None = None
    """Seconds after which asking again makes sense."""
    holders: tuple[Holder, ...] = ()
    """Everybody whose claims are in the way, that one included, where somebody has looked."""

    @property
    def code(self) -> Code:
        """The first reason's code."""
        return self.reasons[0].code
