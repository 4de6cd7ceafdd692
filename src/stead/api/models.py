"""What goes over the wire, in both directions. A field here is a promise: it may be joined by others, never go."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from stead.api.lasting import Lasting
from stead.api.storable import storable

SEGMENT = "[A-Za-z0-9][A-Za-z0-9._-]*"
Path = Annotated[
    str, StringConstraints(pattern=f"^(/{SEGMENT})+$", max_length=1000), Field(examples=["/shop/web/front/1"])
]
"""A resource's place in the tree."""
Below = Annotated[str, StringConstraints(pattern=f"^(/|(/{SEGMENT})+)$", max_length=1000)]
"""A path, or the root."""
Name = Annotated[str, StringConstraints(pattern=f"^{SEGMENT}$", max_length=100)]


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("no calendar has that in UTC") from None


AskedTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time that is asked for."""

Maybe = Annotated[datetime | None, BeforeValidator(lambda value: value or None)]
"""A time that may be unknown, and is then written as an empty text inside the engine."""


class Wire(BaseModel):
    """Anything that is answered."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


class Ask(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    action: Name | None = None
    """Which action; also as a query parameter. Without either: `create`."""
    kind: Name | None = None
    """Needed to make something; elsewhere it guards against a path of another kind."""
    spec: Annotated[dict[str, Any], AfterValidator(storable)] = {}
    """What is to be made, or what it is to become."""
    lane: str = ""
    """The channel of orders to its place. Without it: `provider.region` of the spec."""
    force: bool = False
    """Override the state, and nothing else. Needs a reason."""
    reason: Annotated[str, StringConstraints(max_length=1000), AfterValidator(storable)] = ""
    """Why; it stays with the operation."""
    hold: bool = False
    """Stop before the work itself and wait for continue or withdraw, where the lifecycle can."""
    on_failure: Literal["undo", "keep"] = "undo"
    """Take back what failed, or leave the error for a person."""
    on_partial: Literal["continue", "rollback", "refine"] = "continue"
    """What to do when only some members of a new group came up."""
    expect_agent: bool = False
    """Accept a lane that no agent has served yet: its agent comes later."""
    on_conflict: Literal["default", "refuse", "queue"] = "default"
    """When another operation is in the way: be refused, or wait its turn. By default as the lifecycle says."""


class Holder(Wire):
    """Who has a claim that is in the way."""

    operation: str
    action: str
    path: str
    by: str
    since: Maybe


class Reason(Wire):
    """One reason of a refusal."""

    code: str
    """Stable; see the problem types."""
    says: str


class Running(Wire):
    """An operation that is under way, as its resource shows it."""

    id: str
    action: str
    phase: str
    origin: str
    """The state in which it began."""
    aims_at: str
    """The state that success leads to."""
    attempt: int
    by: str
    since: Maybe
    cancelled: bool
    """Somebody wants it to end."""
    lasts: Lasting | None = None
    """For how long it has been where it is, and how long that usually takes."""


class Resource(Wire):
    """A resource, as it is believed to be."""

    path: str
    kind: str
    state: str
    state_class: Literal["settled", "moving", "final", "absent"]
    tag: str
    """Its version: what `ETag` says and `If-Match` takes."""
    lane: str
    spec: dict[str, Any]
    next_spec: dict[str, Any] | None
    """What an update under way brings."""
    facts: dict[str, Any]
    """What the provider said of it."""
    operation: Running | None
    hidden: Running | None
    """An operation that the visible state does not show."""
    timers: dict[str, datetime]
    """When what is due, unless something happens before."""
    seen_at: datetime | None
    """When somebody last looked at the object itself."""
    changed_at: datetime | None
    created_at: datetime | None
    members: dict[str, int] | None = None
    """Of a group: how many members are in which state, a moment ago at most."""
    failure: str = ""
    """Why the last that was done to it did not do what was asked; in a list, of those in a bad state alone."""


class Past(Wire):
    """A resource as it was."""

    path: str
    kind: str
    at: datetime
    state: str
    state_class: Literal["settled", "moving", "final", "absent"] | None
    """Null where its kind has no such state any more."""
    since: datetime | None
    """When it had come into that state."""
    spec: dict[str, Any] | None
    """Null where it is not on record."""
    next_spec: dict[str, Any] | None
    """What an update under way was to bring."""
    facts: dict[str, Any]
    operation: str | None
    """The operation that had led there."""
    principal: str
    through: int
    """The journal's position of the last line that is in it; 0 while that has none yet."""


class Resources(Wire):
    """A page of resources."""

    items: list[Resource]
    next: str | None
    """The cursor of the next page."""
    position: int
    """Of the journal, before the page was read: whoever follows from here misses no change of what is listed."""
    specs: bool
    """Whether the items have their specs. Without, each `spec` is empty and `next_spec` null."""


class OperationName(Wire):
    """An operation, by which to find it."""

    id: str
    action: str
    kind: str
    path: str


class Accepted(Wire):
    """A change was let in, and will be carried to a settled end."""

    operation: OperationName | None
    """Null where there was nothing to do."""
    joined: bool
    """The operation was running already."""
    idle: bool
    """There was nothing to do."""
    repeated: bool
    """The same request was let in before, under the same key."""
    queued: bool
    """It waits its turn."""
    position: int | None
    """While it waits: its place in its queue; 1 is the next."""


class Operation(Wire):
    """The durable record of an accepted action."""

    id: str
    action: str
    kind: str
    path: str
    principal: str
    reason: str
    request: dict[str, Any]
    total: int
    """Members it is about."""
    remaining: int
    failed: int
    outcome: Literal["done", "failed", "undone", "unknown", "displaced", "cancelled", "refused"] | None
    """Null while it is under way, or waits its turn."""
    created_at: datetime
    ended_at: datetime | None
    state: str | None
    """Of its resource, while it is under way."""
    phase: str | None
    """What it is doing; `queued` while it waits its turn."""
    attempt: int | None
    cancelled: bool
    """Somebody wants it to end, or had it ended before it was done."""
    queued: bool
    """It waits its turn."""
    position: int | None
    """While it waits: its place in its queue; 1 is the next."""
    reasons: list[Reason]
    """Why it was refused, where it was when its turn came."""
    says: str = ""
    """What it waits for, or why it failed, where there is more to say."""
    skipped: dict[str, int] = {}
    """Of a group that has ended: the reasons for which members were skipped, each with how many."""
    orders: int = 0
    """Of a group: in how many orders its members were put."""
    place: str | None = None
    """Of a deploy: where in its system."""
    lasts: Lasting | None = None
    """While it is under way: for how long it has been where it is, and how long that usually takes."""


class Operations(Wire):
    """A page of operations. It may have fewer than asked for, even none, and still name a next one."""

    items: list[Operation]
    next: str | None
    more: bool
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Queue(Wire):
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


class WholeQueue(Queue):
    """A queue with what waits in it."""

    items: list[Operation]
    """The next one first."""
    more: bool
    """There are others."""


class Queues(Wire):
    """A page of queues."""

    items: list[Queue]
    next: str | None
    """The cursor of the next page."""


class Claim(Wire):
    """An operation's right to change a path, or to use it."""

    path: str
    mode: Literal["exclusive", "intention"]
    operation: str
    action: str
    by: str
    since: Maybe


class Claims(Wire):
    """Claims, in order of path."""

    items: list[Claim]
    more: bool
    """There are others: ask below a longer path."""


class Line(Wire):
    """A line of the journal: a move, a refusal, or a note of something else, with source and target the same."""

    position: int
    at: datetime
    path: str
    kind: str
    operation: str | None
    principal: str
    actor: str
    trigger: str
    word: str
    """The action, or what was seen."""
    source: str
    target: str
    change: dict[str, Any]
    """Of spec and facts; for a refusal its reasons."""
    refused: int
    """How often, where it is a refusal; 0 for a move."""
    origin: str | None
    """The address that the request came from, where there was one."""
    request: str | None
    """The request's id."""


class Remedy(Wire):
    """Something that would let a refused action in."""

    what: Literal[
        "wait", "ask", "force", "reason", "parent", "quota", "empty", "actor", "permission", "lane", "nothing"
    ]
    says: str
    actions: list[str]
    """With `ask`: in this order."""
    operation: str
    """With `wait`: whose end."""


class Explanation(Wire):
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
    reasons: list[Reason]
    holder: Holder | None
    holders: list[Holder]
    """Everybody who is in the way, that one included."""
    allowed_actions: list[str]
    """What would be let in as it stands; of a group only what some member could follow."""
    retry_after: int | None
    remedies: list[Remedy]


class PlannedMove(Wire):
    """A move that would be made at once."""

    source: str
    target: str
    trigger: str
    word: str
    actor: str


class PlannedClaim(Wire):
    """A claim that would be taken, handed over or given back."""

    path: str
    mode: str
    change: str


class PlannedOrder(Wire):
    """What agents would be told at once."""

    verb: str
    lane: str
    members: int


class PlannedTimer(Wire):
    """A timer that would start."""

    name: str
    after: int
    """Seconds."""


class Part(Wire):
    """Members in one condition, and what the action would do with them."""

    state: str
    members: int
    does: Literal["acts", "joins", "nothing", "skipped"]
    target: str
    reasons: list[Reason]


class Rehearsal(Wire):
    """What an action would do, without doing it."""

    path: str
    kind: str
    action: str
    state: str
    joins: bool
    idle: bool
    waits: bool
    moves: list[PlannedMove]
    claims: list[PlannedClaim]
    orders: list[PlannedOrder]
    timers: list[PlannedTimer]
    calls: list[str]
    """All that providers would be asked for, one after the other."""
    way: list[str]
    """The states from here to the end, if all goes well."""
    fails: str
    """Where failure leads; empty where the action cannot fail."""
    members: list[Part]
