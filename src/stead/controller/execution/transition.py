"""The input and the outcome of a transition, as the executor takes the one and gives the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Cancel, Event, Request
from stead.lifecycle.snapshot import Fence, Holder
from stead.origin import Origin
from stead.store import Conflict, ResourceSummary, Row
from stead.store.commit import Custody
from stead.store.decision_template import DecisionTemplate, OperationStart


@dataclass(frozen=True, slots=True)
class TransitionInput:
    """An event for a resource, with what is to be written beside the decision."""

    path: str
    event: Event
    principal: str = ""
    begin: OperationStart | None = None
    spec: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None
    detail: Mapping[str, Any] | None = None
    custody: Custody | None = None
    """The agent that takes the order."""
    new: Row | None = None
    """The resource as it begins, where there is no record of it yet."""
    read: Row | None = None
    """The resource, where it has just been read."""
    origin: Origin | None = None
    """Where the request came from."""
    lanes: frozenset[str] | None = None
    """The lanes for which its sender may report; None: all."""
    superseded: frozenset[str] = frozenset()
    """The lanes that a newer run of the agent serves in its place."""
    kind: str = ""
    """The kind that the resource has to be of: another may have taken its place meanwhile."""
    deploys: tuple[str, ...] = ()
    """The lanes on which a deploy makes or changes something."""
    blocked: Holder | None = None
    """Of a member that its group requests: the holder of a claim in the way, which the group's own leaves out."""

    @property
    def is_requested(self) -> bool:
        """Whether a caller requests it: it is decided on with all that is around the resource."""
        return isinstance(self.event, Request | Cancel) and not self.is_within

    @property
    def is_within(self) -> bool:
        """Whether the operation of a group requests it of a member."""
        return isinstance(self.event, Request) and self.event.within

    @property
    def action(self) -> str:
        """The action that is requested, if one is."""
        return self.event.action if isinstance(self.event, Request) else ""

    def concerns(self, summary: ResourceSummary) -> bool:
        """Whether it is about this resource, and its sender may report for that."""
        other_lane = self.lanes is not None and summary.lane not in self.lanes
        return not other_lane and summary.lane not in self.superseded and self.kind in ("", summary.kind)


@dataclass(frozen=True, slots=True)
class Applied:
    """A transition that was decided and committed: the resource as it was before, and the decision."""

    summary: ResourceSummary
    template: DecisionTemplate
    wrote: bool = True
    """False where all is as it was, and nothing had to be written."""

    @property
    def decision(self) -> Decision:
        """The decision."""
        return self.template.decision

    @property
    def fence(self) -> Fence:
        """The resource's fence from now on."""
        return Fence(self.summary.fence.incarnation, self.summary.fence.counter + self.template.fence_delta)


Answer = Applied | Rejection | Conflict | None
"""None: there is no such resource, or none that the sender may report for."""
