"""What the engine shows of itself: plain values, so that no interface depends on how they are decided or stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from stead.controller.view.lasting import Lasting
from stead.lifecycle.decision import Reason
from stead.lifecycle.snapshot import Holder


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, in the words of the interfaces."""

    path: str
    action: str
    kind: str = ""
    """Needed where there is no resource yet; elsewhere it guards against a path of another kind."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    lane: str = ""
    """Without it: the provider and the region of the spec."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """What the spec comes to with things as they are now; the caller does not say it."""
    deploys: tuple[str, ...] | None = None
    """The lanes on which a deploy makes or changes something; the caller does not say it."""
    force: bool = False
    reason: str = ""
    hold: bool = False
    on_failure: str = "undo"
    on_partial: str = "continue"
    on_conflict: str = "default"
    expect_agent: bool = False
    key: str = ""
    tags: tuple[str, ...] | None = None
    """Only if the resource still is in one of these versions."""


@dataclass(frozen=True, slots=True)
class Running:
    """An operation that is under way, as its resource shows it."""

    id: str
    action: str
    phase: str
    origin: str
    """The state in which it began."""
    aims_at: str
    """Where success leads."""
    attempt: int
    by: str
    since: datetime | None
    cancelled: bool = False
    """Somebody wants it to end."""
    lasts: Lasting | None = None
    """For how long it has been where it is, and how long that usually takes; None where nobody asked for that."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource, as it is believed to be."""

    path: str
    kind: str
    state: str
    state_class: str
    tag: str
    """Changes with every change of the resource; two with the same tag are the same."""
    lane: str
    spec: Mapping[str, Any]
    next_spec: Mapping[str, Any] | None
    """What an update under way brings."""
    facts: Mapping[str, Any]
    operation: Running | None
    hidden: Running | None
    """An operation that the visible state does not show."""
    timers: Mapping[str, datetime]
    """When what is due, unless something happens before."""
    seen_at: datetime | None
    """When somebody last looked at the object itself."""
    changed_at: datetime | None
    created_at: datetime | None
    members: Mapping[str, int] | None = None
    """Of a group: how many members are in which state."""
    failure: str = ""
    """Why the last that was done to it did not do what was asked; in a list, of those in a bad state alone."""


@dataclass(frozen=True, slots=True)
class Past:
    """A resource as it was."""

    path: str
    kind: str
    at: datetime
    state: str
    state_class: str | None
    """None where its kind has no such state any more."""
    since: datetime | None
    """When it had come into that state."""
    spec: Mapping[str, Any] | None
    """None where it is not on record."""
    next_spec: Mapping[str, Any] | None
    """What an update under way was to bring."""
    facts: Mapping[str, Any]
    operation: str | None
    """The operation that had led there."""
    principal: str
    through: int
    """The position of the last line that is in it; 0 while that has none yet."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The durable record of an accepted action."""

    id: str
    action: str
    kind: str
    path: str
    principal: str
    reason: str
    request: Mapping[str, Any]
    total: int
    remaining: int
    failed: int
    outcome: str | None
    """None while it is under way."""
    created_at: datetime
    ended_at: datetime | None
    state: str | None = None
    """Of its resource, while it is under way."""
    phase: str | None = None
    attempt: int | None = None
    cancelled: bool = False
    """Somebody wants it to end, or had it ended before it was done."""
    position: int | None = None
    """Its place in its queue while it waits its turn; 1 is the next."""
    reasons: tuple[Reason, ...] = ()
    """Why it was refused, where it was when its turn came."""
    says: str = ""
    """What it waits for, or why it failed, where there is more to say."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Of a group that has ended: the reasons for which members were skipped, each with how many."""
    orders: int = 0
    """Of a group: in how many orders its members were put, and so calls that a provider takes for all of them."""
    place: str | None = None
    """Of a deploy: where in its system."""
    lasts: Lasting | None = None
    """While it is under way: for how long it has been where it is, and how long that usually takes."""

    @property
    def queued(self) -> bool:
        """Whether it waits its turn."""
        return self.position is not None


@dataclass(frozen=True, slots=True)
class Queue:
    """Where requests wait that met another operation on an object."""

    path: str
    """Of the object."""
    stopping: bool
    """It takes nothing more, and goes when all that is in it is carried out."""
    waiting: int
    running: str | None
    """The operation that left it last, while that is under way."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Claim:
    """An operation's right to change a path, or to use it."""

    path: str
    mode: str
    operation: str
    action: str
    by: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the journal: a move, a refusal, or, with source and target the same, something else to be known."""

    position: int
    at: datetime
    path: str
    kind: str
    operation: str | None
    principal: str
    actor: str
    trigger: str
    word: str
    source: str
    target: str
    change: Mapping[str, Any]
    refused: int
    """How often, where it is a refusal."""
    origin: str | None = None
    """The address that the request came from, where there was one."""
    request: str | None = None
    """The request's id."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A resource as it is believed to be, beside what a look shows."""

    path: str
    kind: str
    lane: str
    believed: str
    """The state on record."""
    expects: str
    """The word under which a look would show that state; empty where the state says nothing of the provider."""
    seen: str | None
    """What a look shows now; None where there was none."""
    agrees: bool | None
    """None where nobody can say."""
    why: str | None
    """Why nobody can say, in one word: see `Unsure`."""
    seen_at: datetime | None
    """When what is believed was last seen. A look for this view is not counted, since nothing is made of it."""
    would: str = ""
    """What the cell would do next: an order, an action in progress, or `record STATE`; empty for nothing."""


@dataclass(frozen=True, slots=True)
class Orphan:
    """Something that a provider has, that carries our tag, and that nobody owns."""

    lane: str
    token: str
    """Under which it was made."""
    path: str
    """Of the resource it was made for, as its tag has it."""
    state: str
    facts: Mapping[str, Any]
    since: datetime
    """When it was found first."""
    seen_at: datetime
    """When it was found last."""


@dataclass(frozen=True, slots=True)
class Serving:
    """An agent that serves a lane, or did."""

    name: str
    version: str
    there: bool
    """It was heard of in the last seconds; otherwise it is away."""
    last_seen: datetime
    rejected: str = ""
    """Why the provider rejects the agent, as with wrong credentials; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane, who serves it, and what there is to do on it."""

    lane: str
    agents: tuple[Serving, ...]
    limit: int | None
    """Members that it bears at once; None where there is no limit."""
    regions: int | None
    """Regions that its provider bears at once; None where there is no limit."""
    in_flight: int
    """Members whose orders were sent."""
    waiting: int
    """Members whose orders wait for room."""
    untaken: int
    """Orders that were sent and that nobody has taken yet."""
    throttled: int
    """Calls that the provider has refused because there were too many."""
    throttled_at: datetime | None
    """When it last did."""
    survey_at: datetime | None
    """When its full state is wanted next; None where nobody has ever served it."""
    namespaces: tuple[str, ...] = ()
    """Those that may use it; `*` is every namespace, those apart to which it is denied."""


@dataclass(frozen=True, slots=True)
class OperationMember:
    """A member of a group that did not do what an operation asked of it, or that joined another one."""

    path: str
    outcome: str
    """As of an operation; or `skipped`: it could not act; `unchanged`: it was there already; `joined`: another
    operation that does the same is in progress on it, and is waited for."""
    says: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Listed[T]:
    """Some of the things there are, with how to go on."""

    items: tuple[T, ...]
    next: str | int | None = None
    """From where to go on; None where this was the end, or where nobody can go on."""
    more: bool = False
    """There are others."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that would let a refused action in."""

    what: str
    """`wait`, `ask`, `force`, `reason`, `parent`, `empty`, `actor`, or `nothing` where there is no way."""
    says: str
    actions: tuple[str, ...] = ()
    """With `ask`: in this order."""
    operation: str = ""
    """With `wait`: whose end."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether an action would be let in now, and if not, why, and what would help."""

    path: str
    kind: str
    action: str
    state: str
    allowed: bool
    joins: bool
    """It would join the operation that is running already."""
    idle: bool
    """There would be nothing to do."""
    waits: bool
    """It would wait its turn."""
    reasons: tuple[Reason, ...]
    holder: Holder | None
    holders: tuple[Holder, ...]
    """Everybody who is in the way, that one included."""
    allowed_actions: tuple[str, ...]
    """What would be let in as it stands; of a group only what some member could follow."""
    retry_after: int | None
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """A move that would be made at once."""

    source: str
    target: str
    trigger: str
    word: str
    actor: str


@dataclass(frozen=True, slots=True)
class PlannedClaim:
    """A claim that would be taken, handed over or given back."""

    path: str
    mode: str
    change: str


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """What agents would be told at once."""

    verb: str
    lane: str
    members: int


@dataclass(frozen=True, slots=True)
class PlannedTimer:
    """A timer that would start."""

    name: str
    after: int
    """Seconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """Members in one condition, and what the action would do with them."""

    state: str
    members: int
    does: str
    """`acts`, `joins`, `nothing` or `skipped`."""
    target: str = ""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What an action would do, without doing it."""

    path: str
    kind: str
    action: str
    state: str
    joins: bool
    idle: bool
    waits: bool
    moves: tuple[PlannedMove, ...]
    claims: tuple[PlannedClaim, ...]
    orders: tuple[PlannedOrder, ...]
    timers: tuple[PlannedTimer, ...]
    calls: tuple[str, ...]
    """All that providers would be asked for, one after the other."""
    way: tuple[str, ...]
    """The states from here to the end, if all goes well."""
    fails: str
    """Where failure leads; empty where the action cannot fail."""
    members: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such thing."""

    says: str


@dataclass(frozen=True, slots=True)
class Outdated:
    """The resource is no longer in the version that the caller knows."""

    tag: str
    state: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """What is asked for makes no sense, whatever the state."""

    field: str
    says: str
    more: tuple[tuple[str, str], ...] = ()
    """Other fields, and what is wrong with them."""
