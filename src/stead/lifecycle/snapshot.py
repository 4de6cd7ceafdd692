"""What is known of a resource at one instant: all that a decision depends on, and nothing else.

Two resources with equal snapshots get the same decision, so a snapshot without its fence, and without the names in
it, is also the *class* of a member: a group is decided once per class, however many members are in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Fence(NamedTuple):
    """Raised whenever an order is taken, sent anew or outranked; words with an older one change nothing."""

    incarnation: int = 0
    """Of the cell: rises when the database went back in time."""
    counter: int = 0

    def raised(self) -> Fence:
        """The next one."""
        return Fence(self.incarnation, self.counter + 1)


FIRST = Fence()


class Phase(StrEnum):
    """What an operation is doing about one resource."""

    WAITING = "waiting"
    """Accepted; a hidden operation has to end first."""
    HELD = "held"
    """Waits, on request, for continue or withdraw."""
    FENCING = "fencing"
    """Has raised the fence, and waits until whoever had custody can no longer act."""
    ACTING = "acting"
    """Its order is out, or its children are on their way."""
    PROBING = "probing"
    """Looks at what is there before it goes on."""
    ROLLING_BACK = "rolling_back"
    """Failed; takes back what was done."""


class OnFailure(StrEnum):
    """What the caller wants when the action fails."""

    ROLLBACK = "rollback"
    KEEP = "keep"
    """Leave the error for a person."""


class OnPartial(StrEnum):
    """What the caller wants when only some members of a new group came up."""

    CONTINUE = "continue"
    ROLLBACK = "rollback"
    REFINE = "refine"


@dataclass(frozen=True, slots=True)
class Work:
    """The order that stands for a resource."""

    verb: str
    taken: bool = False
    """An agent has custody of it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """An accepted action, as far as it concerns one resource."""

    action: str
    origin: str
    """The state in which it began."""
    phase: Phase = Phase.ACTING
    step: int = 0
    """Which of the action's verbs is being carried out."""
    attempt: int = 1
    overdue: bool = False
    """Its deadline has passed: whatever is found now is the end."""
    then: Phase = Phase.PROBING
    """What comes after fencing; `undoing` there means that the undo is given up."""
    said: bool = False
    """The agent said that it is done; what remains is to verify it."""
    forced: bool = False
    cancelled: bool = False
    """Somebody wants it to end: nothing more is begun, and whatever is found now is the end."""
    hold: bool = False
    """The caller asked to stop before the work itself."""
    on_failure: OnFailure = OnFailure.ROLLBACK
    on_partial: OnPartial = OnPartial.CONTINUE
    id: str = ""
    by: str = ""
    since: str = ""

    @property
    def undoes(self) -> bool:
        """Whether it takes back what was done, or is about to give that up."""
        return self.phase is Phase.ROLLING_BACK or (self.phase is Phase.FENCING and self.then is Phase.ROLLING_BACK)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a claim that stands in the way."""

    operation: str
    action: str
    path: str
    by: str = ""
    since: str = ""
    below: bool = False
    """The claim is on something below; an operation that outranks may have it cancelled."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A resource at one instant."""

    state: str
    fence: Fence = FIRST
    operation: Operation | None = None
    hidden: Operation | None = None
    """A running operation that the visible state does not show."""
    work: Work | None = None
    misses: int = 0
    """Looks in a row that did not find the object."""
    revision: int = 0
    """Of the spec: the one the resource is to have."""
    previous: int = 0
    """The revision that an undone update goes back to."""
    children: int = 0
    """How many resources lie below it."""
    above: tuple[tuple[str, str], ...] = ()
    """Its ancestors' kinds and states, where the lifecycle needs them; no state where one is not there."""
    over: str = ""
    """What there is too little room for where it belongs, in words."""
    blocked: Holder | None = None
    """Another operation's claim on this path, above it or below it."""
    kept: tuple[str, str] | None = None
    """A failure that is left as it is: the action that failed, and the state in which it began."""
    connected: bool = False
    """Its agent is connected, where presence matters."""
    notify: int = 0
    """The notify-id under which its agent connected last."""
    successor: int = 0
    """The notify-id of the new agent during an upgrade."""

    @property
    def taken(self) -> bool:
        """Whether somebody has custody of an order for it."""
        return self.work is not None and self.work.taken

    @property
    def held(self) -> bool:
        """Whether its operation waits for continue or withdraw, and nothing changes by itself until then."""
        return self.operation is not None and self.operation.phase is Phase.HELD
