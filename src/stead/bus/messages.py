"""The messages between controllers and agents, and nothing about how they travel.

Rules for changing them: a new field has a default, a field never changes its meaning, and then only the minor version
rises. Receivers ignore fields they do not know, so an agent may be newer than its controller, or older.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

import msgspec

from stead.bus.fields import MAX_ITEMS, Count, Name, Number, Text, Timestamp, Values, Word, check_fence
from stead.bus.limits import check_facts
from stead.lifecycle.snapshot import Fence

MAJOR, MINOR = 1, 2
VERSION = (MAJOR, MINOR)

ReportKind = Literal["started", "succeeded", "failed", "declined", "observed"]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="t"):
    """The envelope: what kind of message it is, and the version of the sender's words."""

    v: tuple[Number, Number] = VERSION


class OrderMember(msgspec.Struct, frozen=True):
    """One resource that an order is about."""

    path: Name
    fence: Fence
    token: str = ""
    """Under which the provider's object is made and found again."""
    spec: Values = {}
    facts: Values = {}
    kind: str = "vm"
    """What it is, where the message does not say that for all of its members."""
    revision: Number = 0
    """Of the spec; 0 from a controller that does not say."""

    def __post_init__(self) -> None:
        check_fence(self.fence)


class Order(Message, frozen=True, tag="order"):
    """What a controller tells an agent to do. Its members never change; the rest of a batch is a new order."""

    id: Number
    lane: Name
    kind: str
    verb: str
    token: str
    """The idempotency token of the call."""
    operation: str
    attempt: Number
    members: list[OrderMember]
    timeout: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0
    """Seconds that the agent has, counted from the receipt by its monotonic clock; 0 where nothing waits."""
    request_id: Word = ""
    report_start: bool = False
    """The controller wants to know when the agent has begun."""
    traceparent: Word = ""
    """Of the trace that it is part of, where traces are collected."""


class TakeCustody(Message, frozen=True, tag="take-custody"):
    """An agent got orders and asks for custody of their members.

    The answer may be lost, so an agent may say the same twice; the second time it is told what it was told before.
    """

    agent: Name
    epoch: Number
    members: Annotated[list[tuple[Name, Fence]], msgspec.Meta(max_length=MAX_ITEMS)]

    def __post_init__(self) -> None:
        for _, fence in self.members:
            check_fence(fence)


class TakeCustodyReply(Message, frozen=True, tag="take-custody-reply"):
    """Custody, or why not."""

    ok: bool
    error: str = ""
    custody: float = 0.0
    """Seconds, which the agent counts from before it asked."""
    fences: dict[str, Fence] = {}
    """By path, the fences under which the agent works and reports. A path that is missing is not to be touched."""
    max_call: float = 0.0
    """Seconds that one call to a provider may last at most, besides; 0 from a controller that does not say."""
    superseded: bool = False
    """A newer run of the agent serves these lanes: this one stops."""

    def __post_init__(self) -> None:
        for fence in self.fences.values():
            check_fence(fence)


class RenewCustody(Message, frozen=True, tag="renew-custody"):
    """An agent still works on an order and asks for more time."""

    order: Number
    agent: Name
    epoch: Number
    fences: Annotated[dict[Name, Fence], msgspec.Meta(max_length=MAX_ITEMS)]

    def __post_init__(self) -> None:
        for fence in self.fences.values():
            check_fence(fence)


class RenewCustodyReply(Message, frozen=True, tag="renew-custody-reply"):
    """More time, and for which paths no longer."""

    ok: bool
    custody: float = 0.0
    """Seconds, which the agent counts from before it asked."""
    lost: list[str] = []
    """Paths whose fence has risen meanwhile: the agent makes no further call for them."""


class ReportResult(msgspec.Struct, frozen=True):
    """What became of one member."""

    path: Name
    fence: Fence
    kind: ReportKind
    observed: Word = ""
    """With `observed`: what is there."""
    revision: Number | None = None
    """With `observed`: the revision of the spec in force there, where that can be told."""
    facts: Values = {}
    error: Text = ""
    permanent: bool = False
    """It failed in a way that another attempt will not mend."""

    def __post_init__(self) -> None:
        check_fence(self.fence)
        check_facts(self.facts)


class Report(Message, frozen=True, tag="report"):
    """What an agent says happened."""

    agent: Name
    epoch: Number
    order: Number
    lane: Name
    results: Annotated[list[ReportResult], msgspec.Meta(max_length=MAX_ITEMS)]
    successor: bool = False
    """From the new agent of an upgrade, which never had the order: it has taken over."""
    request_id: Word = ""
    """As the order had it."""
    traceparent: Word = ""


class StateLine(msgspec.Struct, frozen=True):
    """One object in a full state, by its path, or by its token where the agent knows no path."""

    fence: Fence
    """The last one that the agent knows for it."""
    observed: Word
    path: Word = ""
    token: Word = ""
    working: bool = False
    """Live work is behind it, under that fence."""
    revision: Number | None = None
    facts: Values = {}

    def __post_init__(self) -> None:
        check_fence(self.fence)
        check_facts(self.facts)
        if not (self.path or self.token):
            raise ValueError("neither path nor token")


class FullState(Message, frozen=True, tag="full-state"):
    """A part of all that an agent finds when it has connected. What is missing counts only after the end mark."""

    agent: Name
    epoch: Number
    lane: Name
    objects: Annotated[list[StateLine], msgspec.Meta(max_length=MAX_ITEMS)]
    end: bool
    began: Timestamp = 0.0
    """When the agent began to look, by the cell's clock."""


class InventoryRequest(Message, frozen=True, tag="inventory"):
    """An agent asks what there should be on a lane, a page at a time."""

    lane: Name
    after: Word = ""
    agent: Word = ""
    """Who asks."""


class InventoryReply(Message, frozen=True, tag="inventory-reply"):
    """What there should be, each with the fence that the agent's answer is to carry."""

    members: list[OrderMember]
    next: str = ""
    """From where to go on; empty where this was the last page."""
    now: float = 0.0
    """By the cell's clock."""
    in_progress: list[str] = []
    """Those of them that somebody has an order for. What is seen of them may be over before it is told, and the end
    of their order changes no fence; so there is nothing to say of them."""


class OpenLane(Message, frozen=True, tag="open-lane"):
    """An agent that may not make anything on the bus asks a controller for the way to a lane's orders."""

    lane: Name
    agent: Word = ""
    """Who asks."""


class OpenLaneReply(Message, frozen=True, tag="open-lane-reply"):
    """It is there."""


class ProbeRequest(Message, frozen=True, tag="probe"):
    """A controller asks whoever serves a lane what is there of some members; it is no order, and nothing is done."""

    lane: Name
    members: list[OrderMember]


class ProbeReply(Message, frozen=True, tag="probe-reply"):
    """What is there. What is on its way from one state to the next is left out."""

    objects: list[StateLine]
    error: str = ""
    """Why there are none, where the provider could not be asked."""
    agent: Word = ""
    epoch: Number = 0
    """Of the run that looked; a controller does not believe one that is superseded."""
    omitted: list[str] = []
    """Paths of members that were observed and have no room in this reply: to be probed again."""


class WantedOffer(msgspec.Struct, frozen=True):
    """What a spec names: in which field, and what."""

    field: str
    name: str


class MissingOffer(msgspec.Struct, frozen=True):
    """What a place does not have, and what comes closest to it."""

    wanted: WantedOffer
    similar: list[str] = []


class OffersRequest(Message, frozen=True, tag="offers"):
    """A controller asks whoever serves a lane whether the place has what some specs name."""

    lane: Name
    wanted: list[WantedOffer]


class OffersReply(Message, frozen=True, tag="offers-reply"):
    """What is not there, and which kinds can be made there."""

    kinds: list[str] = []
    missing: list[MissingOffer] = []
    error: str = ""
    """Why nobody can say, where the provider could not be asked."""


class LogsRequest(Message, frozen=True, tag="logs"):
    """A controller asks whoever serves a lane what something there wrote."""

    lane: Name
    member: OrderMember
    lines: Count = 100
    """So many at most, the last ones."""
    since: Word = ""
    """Only those after this position."""


class LogsReply(Message, frozen=True, tag="logs-reply"):
    """What it wrote, the oldest line first."""

    lines: list[str] = []
    position: Word = ""
    """From where to go on."""
    error: str = ""
    """Why nobody can say, where that is so."""
    supported: bool = True
    """Whether logs are to be had on the lane at all."""
    omitted: Count = 0
    """Older lines that were asked for and have no room in a message."""


class StateSyncRequest(Message, frozen=True, tag="state-sync"):
    """A controller asks for the full state of a lane; it comes on the stream of reports."""

    lane: Name


class StateSyncReply(Message, frozen=True, tag="state-sync-reply"):
    """The full state is on its way."""


class Hello(Message, frozen=True, tag="hello"):
    """An agent has begun a new epoch."""

    agent: Name
    epoch: Number
    lanes: Annotated[list[Name], msgspec.Meta(max_length=MAX_ITEMS)]
    version: Word
    successor: bool = False
    """It is the new agent of an upgrade, and has not taken over yet."""


class Presence(Message, frozen=True, tag="presence"):
    """An agent is still there. Said again and again, so it may be lost."""

    agent: Name
    epoch: Number
    lanes: Annotated[list[Name], msgspec.Meta(max_length=MAX_ITEMS)]
    version: Word
    throttled: dict[Name, Count] = {}
    """By lane, how many calls the provider has refused since the last word because there were too many."""
    successor: bool = False
    now: Timestamp = 0.0
    """By the agent's own clock; 0 from an agent that does not say."""
    rejected: dict[Name, Word] = {}
    """By lane, why the provider rejects the agent, as with wrong credentials."""


class Superseded(Message, frozen=True, tag="superseded"):
    """A controller tells a run of an agent, in answer to its presence, that a newer run has taken its place; or that
    sites which it serves were forgotten."""

    epoch: Number
    """Of the run that stops."""
    newer_epoch: Number
    """Epoch of the newer run."""
    now: Timestamp = 0.0
    """By the cell's clock."""
    forgotten: list[Name] = []
    """Lanes of sites that were forgotten; then no newer run is there."""


class SiteRequest(Message, frozen=True, tag="site"):
    """An agent that is about to begin a new epoch asks which ones were heard of before."""

    agent: Name
    lanes: Annotated[list[Name], msgspec.Meta(max_length=MAX_ITEMS)]


class KnownSite(msgspec.Struct, frozen=True):
    """A site, as controllers know it."""

    lane: Word
    path: Word
    state: Word


class SiteReply(Message, frozen=True, tag="site-reply"):
    """What an agent has to know before it begins."""

    last_epoch: Number = 0
    """The latest epoch of that agent, or of anybody on those lanes. A new one is later, whatever the clock says."""
    presence_interval: float = 0.0
    """Seconds between words that it is there; 0 from a controller that does not say."""
    sites: list[KnownSite] = []
    """Those that the lanes lead to."""
    forgotten: list[Name] = []
    """Lanes of sites that were forgotten."""
    now: Timestamp = 0.0
    """By the cell's clock; 0 from a controller that does not say."""


class RenewIdentity(Message, frozen=True, tag="renew-identity"):
    """An agent asks for what it connects with to be renewed, before that is over. Its keys stay with it."""

    agent: Name
    request: Text
    """For a certificate, as PEM."""


class IdentityReply(Message, frozen=True, tag="renew-identity-reply"):
    """What it connects with from now on, or why it gets nothing."""

    ok: bool
    error: str = ""
    jwt: str = ""
    certificate: str = ""


class Wakeup(Message, frozen=True, tag="wakeup"):
    """There is something to do, of a controller's own. It may be lost: whatever it names is found in the database."""

    expansions: list[str] = []
    """Operations whose members are to be asked."""
    recounts: list[str] = []
    """Groups whose members are to be counted."""
    steps: list[tuple[str, Fence]] = []
    """Resources for which a controller has something to do of its own, under this fence."""
    ended: list[str] = []
    """Resources that have come to an end."""

    def __post_init__(self) -> None:
        for operation in self.expansions:
            UUID(operation)
        for _, fence in self.steps:
            check_fence(fence)


class Fault(Message, frozen=True, tag="fault"):
    """A controller could not answer; this says nothing about what was asked."""

    error: str
    permanent: bool = False


FromAgent = Report | FullState | Hello
"""What travels on the stream of reports."""

AgentRequest = TakeCustody | RenewCustody | InventoryRequest | OpenLane | SiteRequest | RenewIdentity
"""What an agent asks of controllers; each names the agent."""

LaneRequest = ProbeRequest | OffersRequest | LogsRequest | StateSyncRequest
"""What a controller asks of an agent that serves a lane."""
