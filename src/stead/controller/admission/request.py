"""What a caller asks for, and what is kept of it so that the same can be asked for again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import OnFailure, OnPartial
from stead.store import Row


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What a caller asks for."""

    kind: str
    path: str
    request: Request
    principal: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    lane: str = ""
    key: str = ""
    """The caller's idempotency key."""
    retries: str = ""
    """The operation that is tried once more, if it is that."""
    failed_of: str = ""
    """Of a group: only those members that this operation asked and that did not do it."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    """What the spec comes to with things as they were when it was asked for; under one key the first is kept."""
    read: Row | None = None
    """The resource, where it has just been read."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """What was found for it when it was asked for, such as a node; it goes into the spec."""
    under: tuple[str, ...] = ()
    """Operations in whose course it is asked for: their claims do not keep it off."""
    place: str = ""
    """Where it works, of an action that runs beside others."""
    token: UUID | None = None
    """Under which the provider knows it, where it has it already."""
    facts: Mapping[str, Any] | None = None
    """What the provider said of it."""
    expect_agent: bool = False
    """The agent of a lane comes later: that no agent has served the lane so far is known."""
    said: str = ""
    """The fingerprint of what the caller asked for, where that became a request of another resource."""
    deploys: tuple[str, ...] | None = None
    """The lanes on which a deploy makes or changes something; None until they were looked up."""

    def fingerprint(self) -> str:
        """Two wishes under one key are the same if this is."""
        if self.said:
            return self.said
        parts = [self.kind, self.path, self.request.action, self.request.force, dict(self.spec), self.retries]
        return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def recorded(wish: AdmissionRequest) -> dict[str, Any]:
    """What an operation's record keeps of the request, so that the same can be asked for again."""
    request, plain = wish.request, Request(wish.request.action)
    said = {name: getattr(request, name) for name in ("force", "hold", "on_failure", "on_partial", "on_conflict")}
    said = {name: value for name, value in said.items() if value != getattr(plain, name)}
    rest = {
        "spec": dict(wish.spec),
        "plan": dict(wish.plan),
        "lane": wish.lane,
        "retries": wish.retries,
        "failed_of": wish.failed_of,
        "under": wish.under,
        "place": wish.place,
        "expect_agent": wish.expect_agent,
    }
    return said | {name: value for name, value in rest.items() if value}


def again(record: Mapping[str, Any], actor: Actor, principal: str) -> AdmissionRequest:
    """The wish that a record was made of."""
    said = record["request"]
    request = Request(
        action=record["action"],
        actor=actor,
        force=said.get("force", False),
        reason=record["reason"],
        hold=said.get("hold", False),
        on_failure=OnFailure(said.get("on_failure", OnFailure.ROLLBACK)),
        on_partial=OnPartial(said.get("on_partial", OnPartial.CONTINUE)),
        on_conflict=OnConflict(said.get("on_conflict", OnConflict.DEFAULT)),
    )
    rest = {name: said[name] for name in ("retries", "failed_of", "plan", "place", "expect_agent") if name in said}
    spec, lane = said.get("spec", {}), said.get("lane", "")
    if said.get("place"):  # what it was planned for was changed by itself
        spec = {name: value for name, value in spec.items() if name != "mark"}
    return AdmissionRequest(record["kind"], record["path"], request, principal, spec, lane, **rest)
