"""The part of the client that says which namespaces may use which lanes, and the values that are answered."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import quote

from msgspec import Struct

from stead.client.transport import Transport


class LaneGrant(Struct, frozen=True, kw_only=True):
    """A lane that a namespace may use, or may not."""

    lane: str
    namespace: str
    """`*`: every namespace."""
    allowed: bool = True
    """False: a denial, which outranks every grant."""
    reason: str = ""
    changed_by: str = ""
    changed_at: datetime | None = None


class LaneGrantList(Struct, frozen=True, kw_only=True):
    """Grants and denials, in order of namespace and lane."""

    items: tuple[LaneGrant, ...]


class LaneChange(Struct, frozen=True, kw_only=True):
    """What became of a grant or a denial."""

    lane: str
    namespace: str
    allowed: bool
    changed: bool
    """False where it was so already."""
    taken: tuple[str, ...] = ()
    """Of a denial: the grants that are gone, each as `LANE NAMESPACE`."""
    outranks: bool = False
    """Of a denial: something broader allows the lane, and the denial is recorded beside it."""
    besides: tuple[str, ...] = ()
    """Of a grant to all: namespaces to which the lane stays denied."""


class LaneGrants:
    """Which namespaces may use which lanes."""

    _transport: Transport

    async def lane_grants(self, namespace: str | None = None) -> LaneGrantList:
        """Grants and denials: all, or those that count for a namespace."""
        return await self._transport.send(LaneGrantList, "GET", "/v1/lane-grants", query={"namespace": namespace})

    async def allow_lane(self, lane: str, namespace: str, reason: str = "") -> LaneChange:
        """Let a namespace use a lane; `*` is every namespace, `aws.*` every lane that begins with `aws.`."""
        return await self._transport.send(LaneChange, "PUT", _path(lane, namespace), body={"reason": reason})

    async def deny_lane(self, lane: str, namespace: str, reason: str = "") -> LaneChange:
        """Take a lane away from a namespace. What is there goes on."""
        query = {"reason": reason or None}
        return await self._transport.send(LaneChange, "DELETE", _path(lane, namespace), query=query)


def _path(lane: str, namespace: str) -> str:
    return f"/v1/lane-grants/{quote(lane, safe='')}/{quote(namespace, safe='')}"
