"""What a server answers, as plain values. Fields that a newer server adds are passed over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from stead.client.lasting import Lasting


class Holder(Struct, frozen=True, kw_only=True):
    """Who has a claim that is in the way."""

    operation: str
    action: str
    path: str
    by: str = ""
    since: datetime | None = None


class Reason(Struct, frozen=True, kw_only=True):
    """One reason of a refusal."""

    code: str
    says: str


class FieldError(Struct, frozen=True, kw_only=True):
    """What is wrong with one part of a request."""

    where: str
    says: str


class Problem(Struct, frozen=True, kw_only=True):
    """Why there is no answer (RFC 9457)."""

    status: int
    code: str
    """Stable; the end of `type`."""
    title: str = ""
    detail: str = ""
    type: str = "about:blank"
    request_id: str = ""
    """Under which the server's log has it."""
    current_state: str | None = None
    allowed_actions: tuple[str, ...] = ()
    holder: Holder | None = None
    holders: tuple[Holder, ...] = ()
    """Everybody whose claims are in the way."""
    reasons: tuple[Reason, ...] = ()
    retry_after: int | None = None
    errors: tuple[FieldError, ...] = ()
    message: str | None = None
    """The detail once more, for clients of another dialect."""


class Running(Struct, frozen=True, kw_only=True):
    """An operation that is under way, as its resource shows it."""

    id: str
    action: str
    phase: str
    origin: str
    aims_at: str
    attempt: int = 1
    by: str = ""
    since: datetime | None = None
    cancelled: bool = False
    lasts: Lasting | None = None


class Resource(Struct, frozen=True, kw_only=True):
    """A resource, as it is believed to be."""

    path: str
    kind: str
    state: str
    state_class: str
    """`settled`, `moving`, `final` or `absent`."""
    tag: str
    """Its version, for `if_match`."""
    lane: str = ""
    spec: dict[str, Any] = field(default_factory=dict)
    next_spec: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    operation: Running | None = None
    hidden: Running | None = None
    timers: dict[str, datetime] = field(default_factory=dict)
    seen_at: datetime | None = None
    changed_at: datetime | None = None
    created_at: datetime | None = None
    members: dict[str, int] | None = None
    """Of a group: how many members are in which state, a moment ago at most."""
    failure: str = ""
    """Why the last that was done to it did not do what was asked; in a list, of those in a bad state alone."""


class Past(Struct, frozen=True, kw_only=True):
    """A resource as it was."""

    path: str
    kind: str
    at: datetime
    state: str
    state_class: str | None
    """None where its kind has no such state any more."""
    since: datetime | None = None
    spec: dict[str, Any] | None = None
    """None where it is not on record."""
    next_spec: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    operation: str | None = None
    principal: str = ""
    through: int = 0


class OperationName(Struct, frozen=True, kw_only=True):
    """An operation, by which to find it."""

    id: str
    action: str
    kind: str
    path: str


class Accepted(Struct, frozen=True, kw_only=True):
    """A change was let in, and will be carried to a settled end."""

    operation: OperationName | None
    """None where there was nothing to do."""
    joined: bool = False
    idle: bool = False
    repeated: bool = False
    queued: bool = False
    """It waits its turn."""
    position: int | None = None
    """While it waits: its place in its queue; 1 is the next."""


class Operation(Struct, frozen=True, kw_only=True):
    """The durable record of an accepted action."""

    id: str
    action: str
    kind: str
    path: str
    principal: str
    outcome: str | None
    """None while it is under way or waits its turn; then `done`, `failed`, `undone`, `unknown`, `displaced`,
    `cancelled`, or `refused` where it could not begin when its turn came.
    """
    created_at: datetime
    ended_at: datetime | None = None
    reason: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    total: int = 1
    remaining: int = 0
    failed: int = 0
    state: str | None = None
    phase: str | None = None
    attempt: int | None = None
    cancelled: bool = False
    """Somebody wants it to end, or had it ended before it was done."""
    queued: bool = False
    """It waits its turn."""
    position: int | None = None
    """While it waits: its place in its queue; 1 is the next."""
    reasons: tuple[Reason, ...] = ()
    """Why it was refused, where it was when its turn came."""
    says: str = ""
    """What it waits for, or why it failed, where there is more to say."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Of a group that has ended: the reasons for which members were skipped, each with how many."""
    orders: int = 0
    """Of a group: in how many orders its members were put."""
    place: str | None = None
    """Of a deploy: where in its system."""
    lasts: Lasting | None = None
    """While it is under way: for how long it has been where it is."""

    def differs(self, before: Operation | None) -> bool:
        """Whether something has changed since; time alone makes it no other operation."""
        return before is None or replace(self, lasts=None) != replace(before, lasts=None)


class Claim(Struct, frozen=True, kw_only=True):
    """An operation's right to change a path, or to use it."""

    path: str
    mode: str
    operation: str
    action: str = ""
    by: str = ""
    since: datetime | None = None


class Line(Struct, frozen=True, kw_only=True):
    """A line of the journal: a move, a refusal, or a note of something else, with source and target the same."""

    position: int
    at: datetime
    path: str
    kind: str
    actor: str
    trigger: str
    word: str
    source: str
    target: str
    operation: str | None = None
    principal: str = ""
    change: dict[str, Any] = field(default_factory=dict)
    refused: int = 0
    """How often, where it is a refusal."""
    origin: str | None = None
    request: str | None = None


class Remedy(Struct, frozen=True, kw_only=True):
    """Something that would let a refused action in."""

    what: str
    says: str
    actions: tuple[str, ...] = ()
    operation: str = ""


class Explanation(Struct, frozen=True, kw_only=True):
    """Whether an action would be let in now, and if not, why, and what would help."""

    path: str
    kind: str
    action: str
    state: str
    allowed: bool
    joins: bool = False
    idle: bool = False
    waits: bool = False
    reasons: tuple[Reason, ...] = ()
    holder: Holder | None = None
    holders: tuple[Holder, ...] = ()
    """Everybody who is in the way."""
    allowed_actions: tuple[str, ...] = ()
    retry_after: int | None = None
    remedies: tuple[Remedy, ...] = ()


class PlannedMove(Struct, frozen=True, kw_only=True):
    """A move that would be made at once."""

    source: str
    target: str
    trigger: str
    word: str
    actor: str


class PlannedClaim(Struct, frozen=True, kw_only=True):
    """A claim that would be taken, handed over or given back."""

    path: str
    mode: str
    change: str


class PlannedOrder(Struct, frozen=True, kw_only=True):
    """What agents would be told at once."""

    verb: str
    lane: str
    members: int


class PlannedTimer(Struct, frozen=True, kw_only=True):
    """A timer that would start."""

    name: str
    after: int


class Part(Struct, frozen=True, kw_only=True):
    """Members in one condition, and what the action would do with them."""

    state: str
    members: int
    does: str
    target: str = ""
    reasons: tuple[Reason, ...] = ()


class Rehearsal(Struct, frozen=True, kw_only=True):
    """What an action would do, without doing it."""

    path: str
    kind: str
    action: str
    state: str
    joins: bool = False
    idle: bool = False
    waits: bool = False
    moves: tuple[PlannedMove, ...] = ()
    claims: tuple[PlannedClaim, ...] = ()
    orders: tuple[PlannedOrder, ...] = ()
    timers: tuple[PlannedTimer, ...] = ()
    calls: tuple[str, ...] = ()
    way: tuple[str, ...] = ()
    fails: str = ""
    members: tuple[Part, ...] = ()


class Truth(Struct, frozen=True, kw_only=True):
    """A resource as it is believed to be, beside what a look shows."""

    path: str
    kind: str
    believed: str
    """The state on record."""
    expects: str = ""
    """The word under which a look would show that state."""
    seen: str | None = None
    agrees: bool | None = None
    """None where nobody can say."""
    why: str | None = None
    """Why nobody can say: `moving`, `unasked`, `no-agent`, `no-provider` or `unsaid`."""
    lane: str = ""
    seen_at: datetime | None = None
    would: str = ""
    """What the cell would do next: an order, an action in progress, or `record STATE`."""


class Orphan(Struct, frozen=True, kw_only=True):
    """Something that a provider has, that carries our tag, and that nobody owns."""

    lane: str
    token: str
    """Or the provider's id, where it has no token of its own."""
    state: str
    path: str = ""
    """Of the resource it was made for, as its tag has it."""
    facts: dict[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    seen_at: datetime | None = None


class Serving(Struct, frozen=True, kw_only=True):
    """An agent that serves a lane, or did."""

    name: str
    there: bool
    version: str = ""
    last_seen: datetime | None = None
    rejected: str = ""
    """Why the provider rejects the agent, as with wrong credentials; empty where it does not."""


class Lane(Struct, frozen=True, kw_only=True):
    """A lane, who serves it, and what there is to do on it."""

    lane: str
    agents: tuple[Serving, ...] = ()
    limit: int | None = None
    """Members that it bears at once; None where there is no limit."""
    regions: int | None = None
    """Regions that its provider bears at once; None where there is no limit."""
    in_flight: int = 0
    """Members whose orders were sent."""
    waiting: int = 0
    """Members whose orders wait for room."""
    untaken: int = 0
    """Orders that were sent and that nobody has taken yet."""
    throttled: int = 0
    """Calls that the provider has refused because there were too many."""
    throttled_at: datetime | None = None
    """When it last did."""
    survey_at: datetime | None = None
    namespaces: tuple[str, ...] = ()
    """Those that may use it; `*` is every namespace."""


class ResourcePage(Struct, frozen=True, kw_only=True):
    """A page of resources."""

    items: tuple[Resource, ...]
    next: str | None = None
    position: int = 0
    """Of the journal, before the page was read: whoever follows from here misses no change of what is listed."""
    specs: bool = False
    """Whether its resources have their specs."""


class OperationPage(Struct, frozen=True, kw_only=True):
    """A page of operations."""

    items: tuple[Operation, ...]
    next: str | None = None
    more: bool = False


class ClaimPage(Struct, frozen=True, kw_only=True):
    """Claims, and whether there are others."""

    items: tuple[Claim, ...]
    more: bool = False


class TruthPage(Struct, frozen=True, kw_only=True):
    """A page of resources, each beside what a look shows."""

    items: tuple[Truth, ...]
    next: str | None = None


class OrphanPage(Struct, frozen=True, kw_only=True):
    """Orphans, and whether there are others."""

    items: tuple[Orphan, ...]
    more: bool = False


class LanePage(Struct, frozen=True, kw_only=True):
    """A page of lanes."""

    items: tuple[Lane, ...]
    next: str | None = None


class JournalPage(Struct, frozen=True, kw_only=True):
    """Lines of the journal."""

    items: tuple[Line, ...]
    next: int
    end: int
    archived: int = 0
    """Lines up to this position are in files."""
