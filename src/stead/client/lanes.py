"""The part of the client that says which namespaces may use which lanes, and the values that are answered."""

from __future__ import annotations

from urllib.parse import quote

from stead.client.models import LaneChange, LaneGrantPage
from stead.client.transport import Transport


class LaneGrantsClient:
    """Which namespaces may use which lanes."""

    _transport: Transport

    async def lane_grants(self, namespace: str | None = None) -> LaneGrantPage:
        """Grants and denials: all, or those that count for a namespace."""
        return await self._transport.send(
            LaneGrantPage, "GET", f"{self._transport.cell}/lane-grants", query={"namespace": namespace}
        )

    async def allow_lane(self, lane: str, namespace: str, reason: str = "") -> LaneChange:
        """Let a namespace use a lane; `*` is every namespace, `aws.*` every lane that begins with `aws.`."""
        return await self._transport.send(
            LaneChange, "PUT", self._transport.cell + _path(lane, namespace), body={"reason": reason}
        )

    async def deny_lane(self, lane: str, namespace: str, reason: str = "") -> LaneChange:
        """Take a lane away from a namespace. What is there goes on."""
        query = {"reason": reason or None}
        return await self._transport.send(
            LaneChange, "DELETE", self._transport.cell + _path(lane, namespace), query=query
        )


def _path(lane: str, namespace: str) -> str:
    return f"/lane-grants/{quote(lane, safe='')}/{quote(namespace, safe='')}"
