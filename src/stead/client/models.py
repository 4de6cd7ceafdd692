"""What the server answers. Generated from docs/reference/openapi.json by `make docs`; do not edit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field


class Accepted(Struct, frozen=True, kw_only=True):
    """A change was let in, and will be carried to a settled end."""

    joined: bool
    """The operation was running already."""
    no_change: bool
    """There was nothing to do."""
    repeated: bool
    """The same request was let in before, under the same key."""
    queued: bool
    """It waits its turn."""
    operation: OperationName | None = None
    """Null where there was nothing to do."""
    position: int | None = None
    """While it waits: its place in its queue; 1 is the next."""


class Agent(Struct, frozen=True, kw_only=True):
    """An agent: who it is, if it has an identity, and when it was last heard of."""

    name: str
    lanes: tuple[str, ...]
    rejected: Mapping[str, str]
    """By lane, why its provider rejects the agent, as with wrong credentials."""
    joined_at: datetime | None = None
    expires_at: datetime | None = None
    """Of what it connects with, which it renews by itself."""
    revoked_at: datetime | None = None
    last_seen: datetime | None = None
    connected: bool = False
    version: str = ""
    clock_offset: float = 0.0
    """Seconds by which its clock is ahead of the database's."""


class AgentCredentials(Struct, frozen=True, kw_only=True):
    """What it connects with from now on."""

    name: str
    cell: str
    lanes: tuple[str, ...]
    bus: tuple[str, ...]
    jwt: str
    certificate: str
    authority: str
    """The certificate authority of the bus's servers."""


class AgentPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Agent, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Archive(Struct, frozen=True, kw_only=True):
    """Lines that were taken out of the journal, and the file that they are in."""

    first: int
    last: int
    until: datetime
    """Lines from before that are in files only."""
    file: str
    sha256: str
    """Of the file."""
    by: str
    at: datetime
    previous: str | None = None
    """The hash of the line before the first."""
    hash: str | None = None
    """Of the last."""


class Booking(Struct, frozen=True, kw_only=True):
    """A host that a lease has for a time."""

    host: str
    lease: str
    """Empty where whose it is is not for you."""
    start: datetime
    end: datetime
    status: str


class Calendar(Struct, frozen=True, kw_only=True):
    """Hosts by time."""

    start: datetime
    end: datetime
    hosts: tuple[Host, ...]
    booked: tuple[Booking, ...]
    next: str | None = None
    """What to give as `cursor` for more hosts; null at the end."""


class Claim(Struct, frozen=True, kw_only=True):
    """An operation's right to change a path, or to use it."""

    path: str
    mode: str
    operation: str
    action: str
    principal: str
    since: datetime | None = None


class ClaimHolder(Struct, frozen=True, kw_only=True):
    """Who has a claim that is in the way."""

    operation: str
    action: str
    path: str
    principal: str
    since: datetime | None = None


class ClaimPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Claim, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class DemandAnswer(Struct, frozen=True, kw_only=True):
    """What became of figures."""

    accepted: int
    """So many count from now on."""
    outdated: int
    """So many were no newer than what was known, and changed nothing."""


class DriftReport(Struct, frozen=True, kw_only=True):
    """A resource as it is believed to be, beside what a look shows."""

    path: str
    kind: str
    lane: str
    recorded: str
    """The state on record."""
    expected: str
    """The word under which a look would show that state; empty where the state says nothing of the provider."""
    observed: str | None = None
    """What a look shows now: a word such as `expects`, `absent` or `broken`. Null where there was none."""
    matches: bool | None = None
    """Null where it is unknown."""
    reason: str | None = None
    """
    Why it is unknown. `moving`: it is in transition, or has changed meanwhile. `unasked`: no agent was asked, or
    there is no lane to ask on. `no-agent`: no agent of the lane answered. `no-provider`: the agent could not ask the
    provider. `unsaid`: the state says nothing of the provider.
    """
    observed_at: datetime | None = None
    """When what is believed was last seen. A look for this answer is not counted, since nothing is made of it."""
    next_action: str = ""
    """
    What the cell would do next: the order that waits, such as `suspend`; the action in progress; or
    `record STATE`. Empty for nothing. A cell that was restored does the first two only after its release.
    """


class DriftReportPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[DriftReport, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class DryRun(Struct, frozen=True, kw_only=True):
    """What an action would do, without doing it."""

    path: str
    kind: str
    action: str
    state: str
    would_join: bool
    no_change: bool
    would_queue: bool
    transitions: tuple[PlannedTransition, ...]
    claims: tuple[PlannedClaim, ...]
    orders: tuple[PlannedOrder, ...]
    timers: tuple[PlannedTimer, ...]
    provider_calls: tuple[str, ...]
    """All that providers would be asked for, one after the other."""
    states: tuple[str, ...]
    """The states from here to the end, if all goes well."""
    failure_state: str
    """Where failure leads; empty where the action cannot fail."""
    members: tuple[MemberClass, ...]


class Elapsed(Struct, frozen=True, kw_only=True):
    """
    For how long an operation has been where it is, beside how long that may and usually does last.

    What was learned is shown and decides nothing: only the declared deadline ends a wait.
    """

    since: datetime
    """When it came into the state that it is in; where the visible state stays, when it began."""
    samples: int
    """From how many that is known. Old ones count less; a thousand are enough."""
    lane: str
    """Where these were: on the resource's lane, or, where this is empty, on all."""
    late: bool
    """It lasts longer than 99 of 100 did, where at least 20 are known."""
    overdue: bool
    """It lasts longer than it may."""
    limit: int | None = None
    """Seconds that it may last before the object is looked at."""
    deadline: datetime | None = None
    """When that is, or when a look that is under way is given up; null while nothing runs."""
    typical: float | None = None
    """Seconds within which half of those were over that went well; null where there was none yet."""
    p99: float | None = None
    """Seconds within which 99 of 100 were."""


class Explanation(Struct, frozen=True, kw_only=True):
    """Whether an action would be let in now, and if not, why, and what would help."""

    path: str
    kind: str
    action: str
    state: str
    allowed: bool
    would_join: bool
    """It would join the operation that is running already."""
    no_change: bool
    """There would be nothing to do."""
    would_queue: bool
    """It would wait its turn."""
    reasons: tuple[Reason, ...]
    holders: tuple[ClaimHolder, ...]
    """All operations whose claims are in the way, the one in `holder` included."""
    allowed_actions: tuple[str, ...]
    """What would be let in as it stands; of a group only what some member could follow."""
    remedies: tuple[Remedy, ...]
    holder: ClaimHolder | None = None
    retry_after: int | None = None


class ExploredSize(Struct, frozen=True, kw_only=True):
    """How much there was to see when it was explored in full; nothing of it was as it must not be."""

    worlds: int
    steps: int


class FieldError(Struct, frozen=True, kw_only=True):
    """What is wrong with one part of a request."""

    location: str
    message: str


class Finding(Struct, frozen=True, kw_only=True):
    """One check and its result."""

    check: str
    grade: str
    """`warn`: it works, and will be trouble. `bad`: it is trouble."""
    message: str
    remedy: str = ""
    """What to do about it; empty where nothing is wrong."""


class Grant(Struct, frozen=True, kw_only=True):
    """A role of a subject in a namespace."""

    subject: str
    role: str
    namespace: str
    created_by: str
    created_at: datetime


class GrantPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Grant, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class GroupStatus(Struct, frozen=True, kw_only=True):
    """How a group stands."""

    resource: Resource
    summary: str
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`; `Empty` without members."""
    counts: Mapping[str, int]
    """`countTotal`, and one for each state."""
    stable: bool
    """Nothing is under way, and no member is on its way."""
    target_action: str
    """What is being done to it, to what it is part of, or to something in it; `None` where nothing is."""
    target_status: str
    groups: tuple[GroupStatusPart, ...]
    """By subgroup."""
    lanes: tuple[GroupStatusPart, ...]
    """By provider and region."""
    operation: Operation | None = None
    """What is under way, with how far it has come."""
    worst: UnhealthyMember | None = None
    """The first member that failed or whose state is unknown."""
    observed: ObservedGroupStatus | None = None
    """What was observed just before this answer, with `refresh`; null without."""


class GroupStatusPart(Struct, frozen=True, kw_only=True):
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    """The path of the subgroup, or the lane."""
    lane: str
    summary: str
    counts: Mapping[str, int]
    """By state."""


class HealthReport(Struct, frozen=True, kw_only=True):
    """How a cell is."""

    at: datetime
    """By the server's clock."""
    version: str
    """Of the server."""
    findings: tuple[Finding, ...]


class HistoricalResource(Struct, frozen=True, kw_only=True):
    """A resource as it was."""

    path: str
    kind: str
    at: datetime
    state: str
    facts: Mapping[str, Any]
    principal: str
    position: int
    """The journal's position of the last line that is in it; 0 while that has none yet."""
    state_class: str | None = None
    """Null where its kind has no such state any more."""
    since: datetime | None = None
    """When it had come into that state."""
    spec: Mapping[str, Any] | None = None
    """Null where it is not on record."""
    next_spec: Mapping[str, Any] | None = None
    """What an update under way was to bring."""
    operation: str | None = None
    """The operation that had led there."""


class Hold(Struct, frozen=True, kw_only=True):
    """Whether a restored cell is held: it observes, and orders nothing that changes anything."""

    orders: int
    """Orders that wait for the release."""
    released: tuple[str, ...]
    """Paths at which, and below which, it acts all the same."""
    since: datetime | None = None
    """Null: it is not held."""


class Host(Struct, frozen=True, kw_only=True):
    """A machine that can be booked."""

    name: str
    lane: str
    """Whose agent hands it over."""
    properties: Mapping[str, Any]
    healthy: bool
    reason: str
    """Why it does not."""
    added_at: datetime
    node: str | None = None
    """The node of the private cloud that it is, if it is one."""


class HostPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Host, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class InventorySupport(Struct, frozen=True, kw_only=True):
    """Whether a lane tells all that it has."""

    lane: str
    requested: bool
    """False where no agent of the lane answered."""


class Invitation(Struct, frozen=True, kw_only=True):
    """With its token one agent may join, once. The token is in no other place."""

    name: str
    lanes: tuple[str, ...]
    token: str
    expires_at: datetime


class JournalHead(Struct, frozen=True, kw_only=True):
    """How far the chain of hashes has come."""

    position: int
    """Of the last line that has a hash."""
    hash: str
    after: int
    """The first line that has a hash comes after this position."""
    began_at: datetime
    end: int
    """The last position there is."""
    archives: tuple[Archive, ...]
    """What was taken out of the journal, in order."""
    before: int | None = None
    """The last position of lines from before the time that was asked for."""


class JournalLine(Struct, frozen=True, kw_only=True):
    """A line of the journal: a move, a refusal, or a note of something else, with source and target the same."""

    position: int
    at: datetime
    path: str
    kind: str
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
    operation: str | None = None
    origin: str | None = None
    """The address that the request came from, where there was one."""
    request: str | None = None
    """The request's id."""


class JournalPage(Struct, frozen=True, kw_only=True):
    """Lines of the journal."""

    items: tuple[JournalLine, ...]
    next: int
    """From where to go on: the last position that was looked at."""
    end: int
    """The last position there is."""
    archived: int
    """Lines up to this position are in files, and most of them only there; 0 where none are."""


class KindCount(Struct, frozen=True, kw_only=True):
    """Resources of one kind in one state."""

    kind: str
    state: str
    state_class: str
    health: str
    members: int


class KnownDemand(Struct, frozen=True, kw_only=True):
    """The latest figure of demand."""

    value: float
    at: datetime
    place: str | None = None
    """Null for that of all places together."""
    reported_by: str = ""


class Lane(Struct, frozen=True, kw_only=True):
    """A lane, who serves it, and what there is to do on it."""

    lane: str
    agents: tuple[ServingAgent, ...]
    in_flight: int
    """Members whose orders were sent."""
    waiting: int
    """Members whose orders wait for room."""
    untaken: int
    """Orders that were sent and that no agent has taken yet."""
    throttled: int
    """Calls that the provider has refused because there were too many."""
    limit: int | None = None
    """Members that it bears at once; null where there is no limit."""
    regions: int | None = None
    """Regions that its provider bears at once; null where there is no limit."""
    throttled_at: datetime | None = None
    """When it last did."""
    next_inventory_at: datetime | None = None
    """When its full state is wanted next; null where no agent has ever served it."""
    namespaces: tuple[str, ...] = ()
    """Those that may use it; `*` is every namespace, those apart to which it is denied."""


class LaneChange(Struct, frozen=True, kw_only=True):
    """What became of a grant or a denial."""

    lane: str
    namespace: str
    allowed: bool
    changed: bool
    """False where it was so already."""
    revoked: tuple[str, ...] = ()
    """Of a denial: the grants that are gone, each as `LANE NAMESPACE`."""
    overrides: bool = False
    """Of a denial: something broader allows the lane, and the denial is recorded beside it."""
    still_denied: tuple[str, ...] = ()
    """Of a grant to all: namespaces to which the lane stays denied."""


class LaneGrant(Struct, frozen=True, kw_only=True):
    """A lane that a namespace may use, or may not."""

    lane: str
    namespace: str
    """`*`: every namespace."""
    allowed: bool
    """False: a denial, which outranks every grant."""
    reason: str
    changed_by: str
    changed_at: datetime


class LaneGrantPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[LaneGrant, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class LaneLimit(Struct, frozen=True, kw_only=True):
    """What one lane bears."""

    members: int | None = None
    """Members at once; null: as many as its provider says."""


class LanePage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Lane, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Lateness(Struct, frozen=True, kw_only=True):
    """How late the moments of leases came, in seconds."""

    fired: int
    median: float
    p99: float
    maximum: float


class Lease(Struct, frozen=True, kw_only=True):
    """Hosts booked from one time to another."""

    id: str
    path: str
    name: str
    status: str
    """
    Exactly as it is: `CREATING`, `PENDING`, `STARTING`, `ACTIVE`, `UPDATING`, `TERMINATING`, `TERMINATED`, `ERROR`
    or `DELETING`.
    """
    start: datetime
    end: datetime
    reservations: tuple[Reservation, ...]
    events: tuple[LeaseEvent, ...]
    labels: Mapping[str, str]
    degraded: bool
    """Something of it is not as it was booked."""
    operation: str | None = None
    """What goes on; null where nothing does."""
    before_end: datetime | None = None
    """When its end is told; null where it is not."""
    created_at: datetime | None = None
    changed_at: datetime | None = None
    notices: tuple[Notice, ...] = ()
    reason: str = ""
    """Why it is in `ERROR`, or what its start waits for; empty otherwise."""


class LeaseEvent(Struct, frozen=True, kw_only=True):
    """When something happens to a lease."""

    id: str
    kind: str
    """`start_lease`, `before_end_lease` or `end_lease`."""
    at: datetime
    status: str
    """`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`."""
    fired_at: datetime | None = None
    error: str = ""
    """Why the notice of the end was not delivered; empty otherwise."""
    delay: float | None = None
    """Seconds after its time at which it came; null where it has not."""


class LeasePage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Lease, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class LifecycleAction(Struct, frozen=True, kw_only=True):
    """An action that can be requested, and how it goes."""

    name: str
    description: str
    source: tuple[str, ...]
    via: tuple[str, ...]
    target: str
    """Where success leads; `(origin)` for where it began."""
    on_failure: str
    """Where failure leads; empty where it cannot fail."""
    actors: tuple[str, ...]
    """Actors who may ask."""
    rollback: str
    forceable: bool
    updates_spec: bool
    """It brings a new spec."""
    signals: str
    """Not an operation of its own: a word to the running operation of this action."""
    observes: bool
    """It observes the object, and changes nothing at the provider."""
    needs_reason: bool
    """A request has to say why."""


class LifecycleDetail(Struct, frozen=True, kw_only=True):
    """A lifecycle whole."""

    kind: str
    family: str
    description: str
    parent: str
    members: str
    states: tuple[LifecycleState, ...]
    """The first is where an object begins."""
    actions: tuple[LifecycleAction, ...]
    transitions: tuple[LifecycleTransition, ...]
    """Every one there is."""
    findings: tuple[LifecycleFinding, ...]
    explored: ExploredSize | None = None
    """How much there was to see when it was explored in full."""
    registered: RegisteredLifecycle | None = None
    """Null where it is built in."""


class LifecycleFinding(Struct, frozen=True, kw_only=True):
    """A hole in a lifecycle, and how to mend it."""

    rule: str
    location: str
    message: str
    fix: str


class LifecycleName(Struct, frozen=True, kw_only=True):
    """A lifecycle in brief."""

    kind: str
    family: str
    description: str
    parent: str
    """The kind above it in the tree."""
    members: str
    """Of a group: the kind of its members."""
    states: int
    actions: int
    transitions: int
    findings: int
    version: int | None = None
    """Of a kind that was registered; null where it is built in."""


class LifecycleNamePage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[LifecycleName, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class LifecycleState(Struct, frozen=True, kw_only=True):
    """A state."""

    name: str
    state_class: str
    description: str
    unhealthy: bool
    """A failure leads there, or the outcome is unknown."""
    timeout: int | None = None
    """Seconds that a moving state may last before the object is probed."""
    awaits: str | None = None
    """Whose word a moving state waits for."""


class LifecycleTransition(Struct, frozen=True, kw_only=True):
    """One edge."""

    source: str
    trigger: str
    detail: str
    actor: str
    target: str
    forced: bool


class Log(Struct, frozen=True, kw_only=True):
    """The end of what a resource wrote."""

    path: str
    lines: tuple[str, ...]
    """The oldest first."""
    position: str
    """For `since`, to go on from here."""
    omitted: int = 0
    """Older lines among those requested that have no room in the answer."""


class Login(Struct, frozen=True, kw_only=True):
    """How one can log in."""

    anonymous_access: bool
    """The server authenticates no caller: there is nothing to log in to."""
    scopes: str
    issuer: str | None = None
    """The OpenID Connect issuer, if there is one beside tokens."""
    client: str | None = None
    """The id of the client that programs log in as, with the device flow."""


class MemberClass(Struct, frozen=True, kw_only=True):
    """Members in one condition, and what the action would do with them."""

    state: str
    members: int
    effect: str
    """`acts`, `joins`, `nothing` or `skipped`."""
    target: str = ""
    reasons: tuple[Reason, ...] = ()


class NewToken(Struct, frozen=True, kw_only=True):
    """A token that was just made."""

    name: str
    token: str
    """The secret. It is told this once."""
    roles: tuple[RoleBinding, ...]
    expires_at: datetime


class NextArchive(Struct, frozen=True, kw_only=True):
    """What could be archived next: all lines of one day, and those that stand between them."""

    first: int
    last: int
    until: datetime
    """The end of the day."""
    pending: bool
    """Some have no position yet: ask again in a moment."""


class NextArchives(Struct, frozen=True, kw_only=True):
    """What could be archived next, or null."""

    next: NextArchive | None = None


class Notice(Struct, frozen=True, kw_only=True):
    """What was told of a lease before its end."""

    id: str
    event: str
    created_at: datetime
    url: str
    """Where to; empty where it is only noted."""
    attempts: int
    error: str
    delivered_at: datetime | None = None


class ObservedGroupStatus(Struct, frozen=True, kw_only=True):
    """What a refresh has observed, and what it has not."""

    members: int
    """Members that were observed just now."""
    calls: int
    """Calls to providers."""
    calls_saved: int
    """Calls that were not needed."""
    unobserved: tuple[UnobservedGroupStatus, ...]
    """Members that were not observed, by state and reason."""


class Operation(Struct, frozen=True, kw_only=True):
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
    created_at: datetime
    skipped: Mapping[str, int]
    """Of a group that has ended: the reasons for which members were skipped, each with how many."""
    queued: bool
    """It waits its turn."""
    outcome: str | None = None
    """Null while it is under way, or waits its turn."""
    ended_at: datetime | None = None
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
    orders: int = 0
    """Of a group: in how many orders its members were put."""
    place: str | None = None
    """Of a deploy: where in its system."""
    elapsed: Elapsed | None = None
    """While it is under way: for how long it has been where it is, and how long that usually takes."""


class OperationMember(Struct, frozen=True, kw_only=True):
    """A member of a group that did not do what an operation asked of it."""

    path: str
    outcome: str
    """
    As of an operation; or `skipped`: it could not act; `unchanged`: it was there already; `joined`: another
    operation that does the same is in progress on it, and is waited for.
    """
    message: str
    at: datetime


class OperationMemberPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[OperationMember, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class OperationName(Struct, frozen=True, kw_only=True):
    """An operation, by which to find it."""

    id: str
    action: str
    kind: str
    path: str


class OperationPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Operation, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Orphan(Struct, frozen=True, kw_only=True):
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


class OrphanPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Orphan, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Overview(Struct, frozen=True, kw_only=True):
    """
    The cell at a glance. It costs the same however many resources there are.

    A caller who may view some namespaces and not the cell gets the numbers of those, and null for the cell's own.
    """

    at: datetime
    position: int
    """Of the journal, before all this was read."""
    counts: tuple[KindCount, ...]
    """All resources by kind and state, a moment ago at most."""
    classes: Mapping[str, int]
    """All resources by class of state."""
    in_progress: int
    """Operations; counted up to 10,000."""
    waiting: int
    """Operations that wait their turn; counted up to 10,000."""
    unhealthy: tuple[UnhealthyResource, ...]
    """
    At most 20: those in bad final states and those in an unknown state first, then other bad states, then what
    has been moving for more than half of its deadline, the longest first.
    """
    more_unhealthy: bool
    """There are others."""
    throttled: tuple[ThrottledLane, ...]
    """In the last hour, the latest first."""
    calls_made: int | None = None
    """To providers, by group operations that are under way or ended in the last hour, and by observations in it."""
    calls_saved: int | None = None
    """How many more it would have been with one for each member, those observations included that were not needed."""
    transitions: tuple[int, ...] | None = None
    """In each of the last 60 seconds, the oldest first."""
    agents_connected: int | None = None
    """Agents that were heard of in the last 30 seconds."""
    agents_disconnected: int | None = None


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
    seconds: int
    """Seconds."""


class PlannedTransition(Struct, frozen=True, kw_only=True):
    """A move that would be made at once."""

    source: str
    target: str
    trigger: str
    detail: str
    actor: str


class Policy(Struct, frozen=True, kw_only=True):
    """A policy of the operator's own."""

    name: str
    text: str
    changed_by: str
    changed_at: datetime | None = None
    """Null for one that is in a file of the server's."""


class PolicyPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Policy, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Problem(Struct, frozen=True, kw_only=True):
    """Why there is no answer (RFC 9457)."""

    type: str
    """`urn:stead:problem:` and the code."""
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    """Also in the header `X-Request-Id` and in the server's log."""
    current_state: str | None = None
    allowed_actions: tuple[str, ...] | None = None
    """What could be asked for instead."""
    holder: ClaimHolder | None = None
    """Who is in the way."""
    holders: tuple[ClaimHolder, ...] | None = None
    """All operations whose claims are in the way, the one in `holder` included."""
    reasons: tuple[Reason, ...] | None = None
    retry_after: int | None = None
    """Seconds; also in the header `Retry-After`."""
    errors: tuple[FieldError, ...] | None = None
    message: str | None = None
    """The same as `detail`, under the name that clients of `/tumblebug` know."""
    error_message: str | None = None
    """The same, under the name that clients of `/blazar` know."""


class ProviderLimits(Struct, frozen=True, kw_only=True):
    """What a provider bears."""

    members: int | None = None
    """Members at once in a region; null for no limit."""
    regions: int | None = None
    """Regions at once; null for no limit."""


class Queue(Struct, frozen=True, kw_only=True):
    """Where requests wait that met another operation on an object."""

    path: str
    """Of the object."""
    stopping: bool
    """It takes nothing more, and goes when all that is in it is carried out."""
    waiting: int
    """Operations in it."""
    created_at: datetime
    running: str | None = None
    """The operation that left it last, while that is under way."""


class QueueDetail(Struct, frozen=True, kw_only=True):
    """A queue with what waits in it."""

    path: str
    stopping: bool
    waiting: int
    created_at: datetime
    items: tuple[Operation, ...]
    """The next one first."""
    more: bool
    """There are others."""
    running: str | None = None


class QueuePage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Queue, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class Quota(Struct, frozen=True, kw_only=True):
    """Of one thing."""

    resource: str
    """
    `machines`, `cpus`, `memory` (MiB), `disks` or `storage` (MiB); of the leases of a namespace, where there is a
    quota, `hosts` (at a time) and `lease_seconds` (of each).
    """
    used: int
    """What is there: it counts from when it begins to be made until it is destroyed."""
    limit: int | None = None
    """What may be there; null: as much as there is."""


class Quotas(Struct, frozen=True, kw_only=True):
    """Of all things."""

    path: str
    items: tuple[Quota, ...]


class Reason(Struct, frozen=True, kw_only=True):
    """One reason of a refusal."""

    code: str
    """Why something is refused; stable, part of every interface."""
    message: str


class RegisteredLifecycle(Struct, frozen=True, kw_only=True):
    """How a kind came that is not built in."""

    version: int
    """Rises with every other document."""
    document: str
    """In YAML."""
    registered_by: str
    registered_at: datetime
    explored: Mapping[str, Any]
    """Within which bounds it was explored before it was put in force, and how much there was to see."""


class Remedy(Struct, frozen=True, kw_only=True):
    """Something that would let a refused action in."""

    kind: str
    """`wait`, `ask`, `force`, `reason`, `parent`, `empty`, `actor`, or `nothing` where there is no way."""
    description: str
    actions: tuple[str, ...] = ()
    """With `ask`: in this order."""
    operation: str = ""
    """With `wait`: whose end."""


class Reservation(Struct, frozen=True, kw_only=True):
    """Hosts of a lease that are alike."""

    id: str
    path: str
    name: str
    status: str
    """`pending`, `active`, `deleted` or `error`."""
    count: int
    """How many hosts are wanted."""
    min: int
    """How many of them are enough."""
    properties: Mapping[str, Any]
    """What each of them was to have."""
    hosts: tuple[str, ...]
    """Which they are."""
    lane: str
    missing_resources: bool
    """A host of them failed, and no other was found yet."""
    resources_changed: bool
    """Another host took the place of one that failed; until the lease is changed by its owner."""


class Resource(Struct, frozen=True, kw_only=True):
    """A resource, as it is believed to be."""

    path: str
    kind: str
    state: str
    state_class: str
    etag: str
    """Its version: what `ETag` says and `If-Match` takes."""
    lane: str
    spec: Mapping[str, Any]
    facts: Mapping[str, Any]
    """What the provider said of it."""
    timers: Mapping[str, datetime]
    """When what is due, unless something happens before."""
    next_spec: Mapping[str, Any] | None = None
    """What an update under way brings."""
    operation: RunningOperation | None = None
    hidden: RunningOperation | None = None
    """An operation that the visible state does not show."""
    observed_at: datetime | None = None
    """When the object was last observed."""
    changed_at: datetime | None = None
    created_at: datetime | None = None
    members: Mapping[str, int] | None = None
    """Of a group: how many members are in which state, a moment ago at most."""
    failure: str = ""
    """Why the last that was done to it did not do what was asked; in a list, of those in a bad state alone."""


class ResourcePage(Struct, frozen=True, kw_only=True):
    """A page of resources."""

    items: tuple[Resource, ...]
    position: int
    """Of the journal, before the page was read: a client that follows it from here misses no change of the items."""
    specs: bool
    """Whether the items have their specs. Without, each `spec` is empty and `next_spec` null."""
    next: str | None = None
    """The cursor of the next page."""


class RoleBinding(Struct, frozen=True, kw_only=True):
    """A role, and where one has it."""

    role: str
    namespace: str
    """`*`: in every namespace, and in the cell itself."""


class RunningDeploy(Struct, frozen=True, kw_only=True):
    """A deploy or a teardown that is under way."""

    id: str
    action: str
    place: str
    """Where it works; no other operation does there, above it or below it."""
    principal: str
    since: datetime
    total: int
    """Services and jobs that follow, as far as they were asked."""
    remaining: int
    failed: int
    expanded: bool
    """All that are to follow have been asked."""
    cancelled: bool


class RunningOperation(Struct, frozen=True, kw_only=True):
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
    since: datetime | None = None
    cancelled: bool = False
    """Cancellation was requested."""
    elapsed: Elapsed | None = None
    """For how long it has been where it is, and how long that usually takes."""


class ScaledInstance(Struct, frozen=True, kw_only=True):
    """An instance that counts."""

    path: str
    state: str
    own: bool
    """The policy made it, and may delete it."""


class Scaling(Struct, frozen=True, kw_only=True):
    """A policy in force, what it found last, and what it did."""

    namespace: str
    name: str
    policy: ScalingPolicy
    changed_by: str
    changed_at: datetime
    code: str
    """What it came to: `acts`, `rests`, or what holds it back."""
    message: str
    """The same in a sentence, with the figures."""
    demand: tuple[KnownDemand, ...]
    actions: tuple[ScalingAction, ...]
    instances: tuple[ScaledInstance, ...]
    """The instances under the policy's name; left out in a list of policies."""
    evaluated_at: datetime | None = None
    """When that was."""


class ScalingAction(Struct, frozen=True, kw_only=True):
    """What a policy did last at a place."""

    place: str
    action: str
    at: datetime
    failed: bool
    """It ended otherwise than it was to; the place is left alone for a while."""
    operation: str | None = None
    ended_at: datetime | None = None


class ScalingPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Scaling, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class ScalingPolicy(Struct, frozen=True, kw_only=True):
    """How many instances of an app there are to be, or clusters, and where, as demand has it."""

    places: tuple[str, ...]
    """
    Clusters of the namespace in which apps may be, as paths, or the sites on which clusters may be.
    `/shop/berlin/k-*` is every cluster of that site that is called `k-1`, `k-2` and so on.
    """
    up_above: float
    """One more is wanted where the demand for each instance is above this."""
    down_below: float
    """One less is wanted where the demand for each instance is below this. At most half of `up_above`."""
    maximum: int
    """The most instances over all places. All instances under the name count, also those of other origin."""
    app: str = ""
    """Instances are apps that are called this, with a number behind it."""
    cluster: str = ""
    """Instances are clusters that are called this, with a number behind it. Either this or `app`."""
    minimum: int = 0
    """The fewest instances over all places, at any demand."""
    maximum_at_place: int = 1000
    """So many at most at each place."""
    minimum_at_place: int = 0
    """The fewest instances at each place, at any demand."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What each instance is to be."""
    demand: str = "total"
    """One figure of demand for all places together, or one for each, which follows its own."""
    choice: str = "order"
    """Which place comes next: the first with room, or the one with the fewest instances."""
    step: int = 1
    """At most so many more or less at once."""
    cooldown_up: float = 60
    """Seconds after the end of anything it did in which there is no one more for demand."""
    cooldown_down: float = 300
    """Seconds after the end of anything it did in which there is no one less for demand."""
    believed_for: float = 120
    """Seconds for which a figure of demand counts; after that nothing is changed for it."""


class ServingAgent(Struct, frozen=True, kw_only=True):
    """An agent that serves a lane, or did."""

    name: str
    version: str
    connected: bool
    """It was heard of in the last 30 seconds; otherwise it is away."""
    last_seen: datetime
    rejected: str = ""
    """Why the provider rejects the agent, as with wrong credentials; empty where it does not."""


class Stuck(Struct, frozen=True, kw_only=True):
    """Something that does not come to its end as it should, or has come to one without a report."""

    path: str
    kind: str
    state: str
    lane: str
    operation: str
    action: str
    principal: str
    since: datetime
    """Since when it is where it is; of what was settled, when that was."""
    causes: tuple[StuckCause, ...]
    observations: tuple[StuckObservation, ...]
    """What was seen, as the journal has it."""
    missed_observations: int
    """Looks in a row that did not find it."""
    resolution: str
    """What was made of it; empty while that is open."""
    steps: tuple[SuggestedStep, ...]
    phase: str | None = None
    """What the operation does; null where it is over."""
    outcome: str | None = None
    """How it ended for this resource; null while it is under way."""
    elapsed: Elapsed | None = None
    """For how long it may and usually does last; null where it is over."""


class StuckCause(Struct, frozen=True, kw_only=True):
    """Why something is listed."""

    code: str
    """
    `no-agent`: no agent serves its lane now. `late`: it lasts longer than 99 of 100 did. `overdue`: longer than it
    may. `probing`: it is being observed, since no report came. `fencing`: the agent that had its order is waited out
    before that. `unattended`: its timer is due, and no controller has fired it. `blocked`: another resource has not
    given back what it waits for. `unknown`: it was settled, and no agent could observe it, or tell whether it was
    done. `settled`: it was settled to what was seen.
    """
    message: str


class StuckObservation(Struct, frozen=True, kw_only=True):
    """An observation of the object."""

    at: datetime
    observed: str
    """What was seen: a settled state's word, `absent` or `broken`."""


class StuckPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Stuck, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class SuggestedStep(Struct, frozen=True, kw_only=True):
    """What one may do about it."""

    kind: str
    """`wait`, `agent`, `cancel`, `retry` or `ask`."""
    description: str
    operation: str = ""
    """With `cancel` and `retry`: which."""
    actions: tuple[str, ...] = ()
    """With `ask`: which."""


class System(Struct, frozen=True, kw_only=True):
    """A system whole."""

    path: str
    state: str
    lanes: tuple[str, ...]
    """Where its services run."""
    parts: tuple[SystemPart, ...]
    running: tuple[RunningDeploy, ...]
    operation: str | None = None
    """What is under way on the system itself."""


class SystemChange(Struct, frozen=True, kw_only=True):
    """What becomes of a service or a job."""

    path: str
    kind: str
    action: str
    """What is asked of it."""
    change: str
    """`added`, `changed`, `scaled`, `restarted` or `removed`."""
    lane: str
    fields: tuple[str, ...]
    """What is not as it was."""


class SystemPart(Struct, frozen=True, kw_only=True):
    """A service or a job."""

    path: str
    kind: str
    """`service` or `job`."""
    state: str
    lane: str
    count: int
    """Copies that are to run."""
    running: int | None = None
    """Copies that were observed running; null before the first observation."""
    operation: str | None = None
    """What is under way."""


class SystemPlan(Struct, frozen=True, kw_only=True):
    """What a deploy would do with things as they are."""

    path: str
    place: str
    mark: str
    """A deploy that brings it in its spec is let in only while this is so."""
    changes: tuple[SystemChange, ...]


class ThrottledLane(Struct, frozen=True, kw_only=True):
    """A lane on which a provider has refused calls because there were too many."""

    lane: str
    calls: int
    """Ever."""
    at: datetime
    """When it last did."""


class Timeline(Struct, frozen=True, kw_only=True):
    """What an operation did and when."""

    operation: Operation
    now: datetime
    total: int
    """Members of which the journal has something, with the group itself."""
    items: tuple[TimelineBar, ...]
    """The group itself first, then those that failed, those at work, and the others, the slowest first."""
    errors: tuple[TimelineError, ...]
    """Each reason once, the most frequent first."""
    next: str | None = None
    """The cursor of the next page."""


class TimelineBar(Struct, frozen=True, kw_only=True):
    """A member of an operation in time."""

    path: str
    kind: str
    started_at: datetime
    source: str
    """The state in which it was before."""
    phases: tuple[TimelinePhase, ...]
    message: str
    ended_at: datetime | None = None
    """Null while it is at work."""
    outcome: str | None = None
    """Null while it is at work."""


class TimelineError(Struct, frozen=True, kw_only=True):
    """Why members did not do what was asked."""

    outcome: str
    message: str
    members: int
    path: str
    """The first of them."""


class TimelinePhase(Struct, frozen=True, kw_only=True):
    """A state that a member came into."""

    state: str
    at: datetime


class Token(Struct, frozen=True, kw_only=True):
    """A token, without its secret, which is not kept."""

    id: str
    name: str
    roles: tuple[RoleBinding, ...]
    created_by: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    """To the hour."""


class TokenPage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[Token, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class TreeNode(Struct, frozen=True, kw_only=True):
    """A resource, or only a part of paths, such as a namespace."""

    name: str
    path: str
    health: str
    """The worst of its own and of all below it."""
    worst: str
    """The state that is the worst."""
    total: int
    """Resources below it."""
    counts: Mapping[str, Mapping[str, int]]
    """Of those, by kind and state, a moment ago at most."""
    kind: str | None = None
    """Null where it is no resource."""
    state: str | None = None
    state_class: str | None = None


class TreeNodePage(Struct, frozen=True, kw_only=True):
    """A page of a list. It may have fewer items than requested, even none, and still name a next one."""

    items: tuple[TreeNode, ...]
    next: str | None = None
    """The cursor of the next page; null at the end, and where a list cannot go on."""
    more: bool = False
    """There are others. Without a cursor to go on by, ask below a longer path."""


class UnhealthyMember(Struct, frozen=True, kw_only=True):
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime
    message: str


class UnhealthyResource(Struct, frozen=True, kw_only=True):
    """An unhealthy resource."""

    path: str
    kind: str
    state: str
    state_class: str
    since: datetime
    reason: str


class UnobservedGroupStatus(Struct, frozen=True, kw_only=True):
    """Members in one state that a refresh has not observed, and why."""

    state: str
    reason: str
    """
    `still`: it changes seldom, and was observed not long ago. `final`: it cannot change by itself. `moving`: an
    operation is under way on it. `no-agent`: no agent answered. `no-provider`: the provider did not. `unasked`: it is
    on no lane.
    """
    members: int
    oldest: datetime | None = None
    """When the one was observed whose observation is the oldest; null where one never was."""


class Whoami(Struct, frozen=True, kw_only=True):
    """Who one is here."""

    name: str
    groups: tuple[str, ...]
    roles: tuple[RoleBinding, ...]
    anonymous_access: bool
    """The server authenticates no caller, and permits everything."""
    expires_at: datetime | None = None
    """When one has to show again who one is."""
