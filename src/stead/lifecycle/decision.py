"""What `decide` answers: a decision with all its effects, or a refusal with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stead.lifecycle.rows import Transition
from stead.lifecycle.snapshot import Holder, Snapshot


class Outcome(StrEnum):
    """How an operation ended, for one resource."""

    SUCCEEDED = "succeeded"
    """It is what was asked for."""
    FAILED = "failed"
    """It, or for a group one of its members, did not become what was asked for."""
    ROLLED_BACK = "rolled_back"
    """Failed, and everything is as it was before."""
    UNKNOWN = "unknown"
    """Nobody could say; the resource was settled as its lifecycle says."""
    PREEMPTED = "preempted"
    """An operation that outranks it took over."""
    CANCELLED = "cancelled"
    """Somebody ended it before it was done; the resource is what it was found to be."""
    REJECTED = "rejected"
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
    """The kind has no action of that name."""
    NOT_THE_ACTOR = "not-the-actor"
    """The action, or this report, belongs to another actor than the one that came with it."""
    NOT_PERMITTED = "not-permitted"
    """The policies do not let the caller ask for it."""
    LANE_NOT_ALLOWED = "lane-not-allowed"
    """The namespace may not use a lane that it would be on, or that its spec names."""
    LANE_NOT_SERVED = "lane-not-served"
    """No agent has ever served a lane that it would be on, or that its spec names."""
    WRONG_STATE = "wrong-state"
    """The action does not start in the state that the resource is in."""
    IN_PROGRESS = "in-progress"
    """The resource is on its way to another state, and one change happens to a thing at a time."""
    HELD = "held"
    """An operation has a claim on the resource, on what it is part of, or on a part of it; or somebody uses it."""
    PARENT = "parent"
    """What the resource belongs to is in a state in which it accepts no changes below it."""
    NOT_EMPTY = "not-empty"
    """The action is for something empty, and there are children."""
    QUOTA = "quota"
    """What the resource belongs to has as much of that as it may have."""
    NOT_FORCEABLE = "not-forceable"
    """The action cannot be forced, and force was asked for."""
    NEEDS_REASON = "needs-reason"
    """Force was asked for without a reason, and whoever forces says why."""
    NO_MEMBER = "no-member"
    """An action on a group for which no member is in a state to follow, or which has no members."""
    STALE = "stale"
    """A report under a fence that is no longer the newest: the order was sent anew, taken by another or withdrawn."""
    TAKEN = "taken"
    """There is no order to be taken, or somebody else's custody of it has not run out."""
    NOT_DUE = "not-due"
    """A timer fired that does not run for the resource any more."""
    NOT_EXPECTED = "not-expected"
    """Nobody waits for what was reported or seen, so it changes nothing."""
    ORPHAN = "orphan"
    """A provider has something that nobody owns."""
    KEY_REUSED = "key-reused"
    """The idempotency key came with another request before."""
    CHANGED = "changed"
    """What is there is not any more what the plan was made for."""
    ENDED = "ended"
    """The operation that was to be cancelled has ended."""
    NOT_CANCELLABLE = "not-cancellable"
    """The operation cannot be cancelled: nobody asked for it, it is being undone, or no way back is declared."""
    NOT_RETRYABLE = "not-retryable"
    """The operation is under way, is done, was displaced, or was planned for members that are not the same now."""
    NOT_QUEUED = "not-queued"
    """The operation waits in no queue."""
    STOPPING = "stopping"
    """The queue is being emptied and takes nothing more."""
    NOT_FOUND = "not-found"
    """There is no such kind, or no such resource."""


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
class EndedOperation:
    """An operation that ended with this decision."""

    action: str
    outcome: Outcome
    id: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens. `after` is the resource as it is then; the rest is what else has to be written or sent."""

    after: Snapshot
    transitions: tuple[Transition, ...] = ()
    orders: tuple[Order, ...] = ()
    timers: tuple[Timer, ...] = ()
    claims: tuple[ClaimChange, ...] = ()
    ended: tuple[EndedOperation, ...] = ()
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
    leaves_out: bool = False
    """What is claimed below is left out of the claim, and stays with whoever holds it."""
    beside: bool = False
    """An operation begins that the resource does not show: it runs beside others, and asks resources below."""
    message: str = ""
    """Why nothing was done, where the agent did not say."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason of a refusal."""

    code: Code
    message: str


@dataclass(frozen=True, slots=True)
class Rejection:
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
