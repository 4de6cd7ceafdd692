"""What the engine shows of itself: plain values, so that no interface depends on how they are decided or stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import computed_field

from stead.application.elapsed import Elapsed
from stead.lifecycle.decision import Outcome, Reason
from stead.lifecycle.rows import StateClass
from stead.schema import Model, Next, one_of

StateClassName = Annotated[str, one_of(StateClass)]
"""The class of a state."""


@dataclass(frozen=True, slots=True)
class RunningOperation(Model):
    """An operation that is under way, as its resource shows it."""

    id: str
    action: str
    phase: str
    source: str
    """The state in which it began."""
    target: str
    """The state that success leads to."""
    attempt: int
    principal: str
    since: datetime | None
    cancelled: bool = False
    """Cancellation was requested."""
    elapsed: Elapsed | None = None
    """For how long it has been where it is, and how long that usually takes."""


@dataclass(frozen=True, slots=True)
class Resource(Model):
    """A resource, as it is believed to be."""

    path: str
    kind: str
    state: str
    state_class: StateClassName
    etag: str
    """Its version: what `ETag` says and `If-Match` takes."""
    lane: str
    spec: Mapping[str, Any]
    next_spec: Mapping[str, Any] | None
    """What an update under way brings."""
    facts: Mapping[str, Any]
    """What the provider said of it."""
    operation: RunningOperation | None
    hidden: RunningOperation | None
    """An operation that the visible state does not show."""
    timers: Mapping[str, datetime]
    """When what is due, unless something happens before."""
    observed_at: datetime | None
    """When the object was last observed."""
    changed_at: datetime | None
    created_at: datetime | None
    members: Mapping[str, int] | None = None
    """Of a group: how many members are in which state, a moment ago at most."""
    failure: str = ""
    """Why the last that was done to it did not do what was asked; in a list, of those in a bad state alone."""


@dataclass(frozen=True, slots=True)
class ResourcePage(Model):
    """A page of resources."""

    items: tuple[Resource, ...]
    next: Next
    """The cursor of the next page."""
    position: int
    """Of the journal, before the page was read: a client that follows it from here misses no change of the items."""
    specs: bool
    """Whether the items have their specs. Without, each `spec` is empty and `next_spec` null."""


@dataclass(frozen=True, slots=True)
class HistoricalResource(Model):
    """A resource as it was."""

    path: str
    kind: str
    at: datetime
    state: str
    state_class: StateClassName | None
    """Null where its kind has no such state any more."""
    since: datetime | None
    """When it had come into that state."""
    spec: Mapping[str, Any] | None
    """Null where it is not on record."""
    next_spec: Mapping[str, Any] | None
    """What an update under way was to bring."""
    facts: Mapping[str, Any]
    operation: str | None
    """The operation that had led there."""
    principal: str
    position: int
    """The journal's position of the last line that is in it; 0 while that has none yet."""


@dataclass(frozen=True, slots=True)
class Operation(Model):
    """The durable record of an accepted action."""

    id: str
    action: str
    kind: str
    path: str
    principal: str
    reason: str
    request: Mapping[str, Any]
    total: int
    """Members it is about."""
    remaining: int
    failed: int
    outcome: Annotated[str, one_of(Outcome)] | None
    """Null while it is under way, or waits its turn."""
    created_at: datetime
    ended_at: datetime | None
    state: str | None = None
    """Of its resource, while it is under way."""
    phase: str | None = None
    """What it is doing; `queued` while it waits its turn."""
    attempt: int | None = None
    cancelled: bool = False
    """Cancellation was requested, or it ended cancelled."""
    position: int | None = None
    """While it waits: its place in its queue; 1 is the next."""
    reasons: tuple[Reason, ...] = ()
    """Why it was refused, where it was when its turn came."""
    message: str = ""
    """What it waits for, or why it failed, where there is more to say."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Of a group that has ended: the reasons for which members were skipped, each with how many."""
    orders: int = 0
    """Of a group: in how many orders its members were put."""
    place: str | None = None
    """Of a deploy: where in its system."""
    elapsed: Elapsed | None = None
    """While it is under way: for how long it has been where it is, and how long that usually takes."""

    @computed_field(description="It waits its turn.")  # type: ignore[prop-decorator]
    @property
    def queued(self) -> bool:
        """Whether it waits its turn."""
        return self.position is not None


@dataclass(frozen=True, slots=True)
class Queue(Model):
    """Where requests wait that met another operation on an object."""

    path: str
    """Of the object."""
    stopping: bool
    """It takes nothing more, and goes when all that is in it is carried out."""
    waiting: int
    """Operations in it."""
    running: str | None
    """The operation that left it last, while that is under way."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class QueueDetail(Queue):
    """A queue with what waits in it."""

    items: tuple[Operation, ...]
    """The next one first."""
    more: bool
    """There are others."""


def whole_queue(queue: Queue, page: Page[Operation]) -> QueueDetail:
    """A queue with a page of what waits in it."""
    known = queue.path, queue.stopping, queue.waiting, queue.running, queue.created_at
    return QueueDetail(*known, page.items, page.more)


@dataclass(frozen=True, slots=True)
class Claim(Model):
    """An operation's right to change a path, or to use it."""

    path: str
    mode: Annotated[str, one_of(("exclusive", "intention"))]
    operation: str
    action: str
    principal: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class JournalLine(Model):
    """A line of the journal: a move, a refusal, or a note of something else, with source and target the same."""

    position: int
    at: datetime
    path: str
    kind: str
    operation: str | None
    principal: str
    actor: str
    trigger: str
    detail: str
    """The action, or what was seen."""
    source: str
    target: str
    change: Mapping[str, Any]
    """Of spec and facts; for a refusal its reasons."""
    rejections: int
    """How often, where it is a refusal; 0 for a move."""
    origin: str | None = None
    """The address that the request came from, where there was one."""
    request: str | None = None
    """The request's id."""


@dataclass(frozen=True, slots=True)
class DriftReport(Model):
    """A resource as it is believed to be, beside what a look shows."""

    path: str
    kind: str
    lane: str
    recorded: str
    """The state on record."""
    expected: str
    """The word under which a look would show that state; empty where the state says nothing of the provider."""
    observed: str | None
    """What a look shows now: a word such as `expects`, `absent` or `broken`. Null where there was none."""
    matches: bool | None
    """Null where it is unknown."""
    reason: Annotated[str, one_of(("moving", "unasked", "no-agent", "no-provider", "unsaid"))] | None
    """Why it is unknown. `moving`: it is in transition, or has changed meanwhile. `unasked`: no agent was asked, or
    there is no lane to ask on. `no-agent`: no agent of the lane answered. `no-provider`: the agent could not ask the
    provider. `unsaid`: the state says nothing of the provider."""
    observed_at: datetime | None
    """When what is believed was last seen. A look for this answer is not counted, since nothing is made of it."""
    next_action: str = ""
    """What the cell would do next: the order that waits, such as `suspend`; the action in progress; or
    `record STATE`. Empty for nothing. A cell that was restored does the first two only after its release."""


@dataclass(frozen=True, slots=True)
class Orphan(Model):
    """A provider's object with the cell's tag and without a record."""

    lane: str
    token: str
    """Under which it was made."""
    path: str
    """Of the resource it was made for, as its tag has it."""
    state: str
    facts: Mapping[str, Any]
    """What the provider said of it."""
    first_observed_at: datetime
    """When it was found first."""
    last_observed_at: datetime
    """When it was found last."""


@dataclass(frozen=True, slots=True)
class ServingAgent(Model):
    """An agent that serves a lane, or did."""

    name: str
    version: str
    connected: bool
    """It was heard of in the last 30 seconds; otherwise it is away."""
    last_seen: datetime
    rejected: str = ""
    """Why the provider rejects the agent, as with wrong credentials; empty where it does not."""


@dataclass(frozen=True, slots=True)
class Lane(Model):
    """A lane, who serves it, and what there is to do on it."""

    lane: str
    agents: tuple[ServingAgent, ...]
    limit: int | None
    """Members that it bears at once; null where there is no limit."""
    regions: int | None
    """Regions that its provider bears at once; null where there is no limit."""
    in_flight: int
    """Members whose orders were sent."""
    waiting: int
    """Members whose orders wait for room."""
    untaken: int
    """Orders that were sent and that no agent has taken yet."""
    throttled: int
    """Calls that the provider has refused because there were too many."""
    throttled_at: datetime | None
    """When it last did."""
    next_inventory_at: datetime | None
    """When its full state is wanted next; null where no agent has ever served it."""
    namespaces: tuple[str, ...] = ()
    """Those that may use it; `*` is every namespace, those apart to which it is denied."""


@dataclass(frozen=True, slots=True)
class OperationMember(Model):
    """A member of a group that did not do what an operation asked of it."""

    path: str
    outcome: str
    """As of an operation; or `skipped`: it could not act; `unchanged`: it was there already; `joined`: another
    operation that does the same is in progress on it, and is waited for."""
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Page[T](Model):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[T, ...]
    next: Next = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


@dataclass(frozen=True, slots=True)
class VersionMismatch:
    """The resource is no longer in the version that the caller knows."""

    etag: str
    state: str


@dataclass(frozen=True, slots=True)
class InvalidRequest:
    """What is asked for makes no sense, whatever the state."""

    field: str
    message: str
    more: tuple[tuple[str, str], ...] = ()
    """Other fields, and what is wrong with them."""
