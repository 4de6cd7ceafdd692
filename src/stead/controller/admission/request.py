"""A request for an action and the answers to it, from the interface to admission; and what its record keeps of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from stead.access.caller import Caller
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import OnFailure, OnPartial
from stead.store import Row

RECORDED_CHOICES = ("force", "hold", "on_failure", "on_partial", "on_conflict")


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """A request for an action on a resource.

    An interface fills in what its caller wants. Validation, authorization and admission add what follows from it. Who
    requests it is in the `Authorized` that goes with it.
    """

    path: str
    action: str
    kind: str = ""
    """Needed where there is no resource yet; elsewhere it guards against a path of another kind."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    lane: str = ""
    """Without it: the provider and the region of the spec."""
    force: bool = False
    reason: str = ""
    hold: bool = False
    on_failure: OnFailure = OnFailure.ROLLBACK
    on_partial: OnPartial = OnPartial.CONTINUE
    on_conflict: OnConflict = OnConflict.DEFAULT
    expect_agent: bool = False
    """The agent of a lane comes later: that no agent has served the lane so far is known."""
    key: str = ""
    """The caller's idempotency key."""
    tags: tuple[str, ...] | None = None
    """Only if the resource still is in one of these versions."""

    # What follows from it

    plan: Mapping[str, Any] = field(default_factory=dict)
    """What the spec comes to with things as they were when it was requested; under one key the first is kept."""
    deploys: tuple[str, ...] | None = None
    """The lanes on which a deploy makes or changes something; None until they were looked up."""
    row: Row | None = None
    """The resource, where it has just been read."""
    placement: Mapping[str, Any] = field(default_factory=dict)
    """What was chosen for it, such as a node; it goes into the spec."""
    place: str = ""
    """Where it works, of an action that runs beside others."""
    retries: str = ""
    """The operation that is tried once more, if it is that."""
    failed_of: str = ""
    """Of a group: only those members that this operation asked and that did not do it."""
    within: bool = False
    """Requested of a part by the operation of what it is part of: the state of that is no obstacle."""
    under: tuple[str, ...] = ()
    """Operations in whose course it is requested: their claims do not keep it off."""
    token: UUID | None = None
    """Under which the provider knows it, where it has it already."""
    facts: Mapping[str, Any] | None = None
    """What the provider said of it."""
    original: str = ""
    """The fingerprint of what the caller requested, where that became a request of another resource."""

    def event(self, caller: Caller) -> Request:
        """The event that `decide` hears."""
        return Request(
            action=self.action,
            actor=Actor(caller.actor),
            force=self.force,
            reason=self.reason,
            hold=self.hold,
            on_failure=self.on_failure,
            on_partial=self.on_partial,
            on_conflict=self.on_conflict,
            revision=1,
            within=self.within,
            by=caller.name,
        )

    def fingerprint(self) -> str:
        """Equal for two requests under one key that are the same."""
        if self.original:
            return self.original
        parts = [self.kind, self.path, self.action, self.force, dict(self.spec), self.retries]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()

    def recorded(self) -> dict[str, Any]:
        """What the record of an operation keeps of it, so that `request_of` makes it anew."""
        plain = ActionRequest(self.path, self.action)
        choices = {name: getattr(self, name) for name in RECORDED_CHOICES}
        rest = {
            "spec": dict(self.spec),
            "plan": dict(self.plan),
            "lane": self.lane,
            "retries": self.retries,
            "failed_of": self.failed_of,
            "under": self.under,
            "place": self.place,
            "expect_agent": self.expect_agent,
        }
        changed = {name: value for name, value in choices.items() if value != getattr(plain, name)}
        return changed | {name: value for name, value in rest.items() if value}


def request_of(record: Mapping[str, Any]) -> ActionRequest:
    """The request that a record was made of."""
    said = record["request"]
    spec = said.get("spec", {})
    if said.get("place"):  # what it was planned for was changed by itself
        spec = {name: value for name, value in spec.items() if name != "mark"}
    rest = {name: said[name] for name in ("retries", "failed_of", "plan", "place", "expect_agent") if name in said}
    return ActionRequest(
        record["path"],
        record["action"],
        record["kind"],
        spec,
        said.get("lane", ""),
        force=said.get("force", False),
        reason=record["reason"],
        hold=said.get("hold", False),
        on_failure=OnFailure(said.get("on_failure", OnFailure.ROLLBACK)),
        on_partial=OnPartial(said.get("on_partial", OnPartial.CONTINUE)),
        on_conflict=OnConflict(said.get("on_conflict", OnConflict.DEFAULT)),
        **rest,
    )


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request that will be carried to a settled end, under this operation."""

    operation: str
    """Empty where there was nothing to do."""
    action: str = field(default="", compare=False)
    kind: str = field(default="", compare=False)
    path: str = field(default="", compare=False)
    joined: bool = False
    """The operation was running already."""
    no_change: bool = False
    """There was nothing to do, and no operation was begun."""
    repeated: bool = False
    """The same request was accepted before, under the same key."""
    position: int | None = None
    """It waits its turn in this place of its queue; 1 is the next."""


@dataclass(frozen=True, slots=True)
class NotFound:
    """There is no such thing, or none that the caller may see."""

    message: str
