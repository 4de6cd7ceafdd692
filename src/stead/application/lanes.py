"""Which namespaces may use which lanes, as an interface sees it: given, taken away, listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.access.authorized import Authorized
from stead.access.caller import EVERYWHERE, Caller
from stead.access.policies import LANES, NAMESPACE, VIEW, PolicyResource
from stead.application.commands import Application
from stead.application.models import InvalidRequest
from stead.schema import Model


@dataclass(frozen=True)
class LaneGrant(Model):
    """A lane that a namespace may use, or may not."""

    lane: str
    namespace: str
    """`*`: every namespace."""
    allowed: bool
    """False: a denial, which outranks every grant."""
    reason: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True)
class LaneChange(Model):
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


@dataclass(frozen=True)
class LaneGrants:
    """What callers do with grants of lanes."""

    application: Application

    async def allow(
        self, lane: str, namespace: str, reason: str, authorized: Authorized
    ) -> LaneChange | InvalidRequest:
        """From now on a namespace may use a lane; `*` is all of them, and `aws.*` is all that begin with `aws.`."""
        authorized.check(LANES)
        answer = await self.application.reader.store.lanes.allow(lane, namespace, authorized.principal, reason)
        if denied := answer.get("denied"):
            says = f"{denied['lane']} is denied to {denied['namespace']}, which outranks it: allow that first"
            return InvalidRequest("lane", says)
        return LaneChange(lane, namespace, True, answer["changed"], still_denied=tuple(answer["except"]))

    async def deny(self, lane: str, namespace: str, reason: str, authorized: Authorized) -> LaneChange:
        """From now on a namespace may not use a lane. What is there goes on, and can be stopped and removed."""
        authorized.check(LANES)
        answer = await self.application.reader.store.lanes.deny(lane, namespace, authorized.principal, reason)
        taken = tuple(f"{gone['lane']} {gone['namespace']}" for gone in answer["taken"])
        return LaneChange(lane, namespace, False, answer["changed"], taken, answer["outranks"])

    async def all(self, namespace: str | None, authorized: Authorized) -> list[LaneGrant]:
        """Grants and denials of the namespaces that are there for a caller, or those that count for one of them."""
        authorized.check(VIEW)
        caller = authorized.caller
        found = await self.application.reader.store.lanes.read_grants(namespace)
        seen = {space: self._sees(caller, space) for space in {record["namespace"] for record in found}}
        if namespace is not None and not self._sees(caller, namespace):
            return []
        return [_grant(record) for record in found if seen[record["namespace"]]]

    def _sees(self, caller: Caller, namespace: str) -> bool:
        """A grant to all namespaces is visible to every caller."""
        return namespace == EVERYWHERE or self.application.authorization.sees(
            caller, PolicyResource(f"/{namespace}", NAMESPACE)
        )


def _grant(record: Mapping[str, Any]) -> LaneGrant:
    return LaneGrant(**record)
