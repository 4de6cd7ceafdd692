"""Statements about which namespaces may use which lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import Statements


class LaneGrants(Statements):
    """What namespaces were given, and what they were denied."""

    async def allow_lane(self, lane: str, namespace: str, by: str, reason: str = "") -> Mapping[str, Any]:
        """From now on a namespace may use a lane: whether that `changed` something, and for whom not (`except`); or
        the denial that outranks it (`denied`)."""
        (record,) = await self.audited("allow_lane", lane, namespace, by, reason)
        answer: Mapping[str, Any] = record["answer"]
        return answer

    async def deny_lane(self, lane: str, namespace: str, by: str, reason: str = "") -> Mapping[str, Any]:
        """From now on it may not: `taken` are the grants that are gone, `outranks` that a denial was recorded."""
        (record,) = await self.audited("deny_lane", lane, namespace, by, reason)
        answer: Mapping[str, Any] = record["answer"]
        return answer

    async def lane_grants(self, namespace: str | None = None) -> list[Mapping[str, Any]]:
        """Grants and denials, in order of namespace and lane: of all, or those that count for one."""
        return [dict(r) for r in await self.fetch("list_lane_grants", namespace)]

    async def usable_lanes(self, namespace: str, limit: int = 1000) -> list[str]:
        """Lanes that an agent has served and that a namespace may use, in order of name."""
        return [r["lane"] for r in await self.fetch("usable_lanes", namespace, limit)]

    async def refused_lanes(self, uses: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Which lanes a namespace may not use, of those that it would; None where it may use all."""
        (record,) = await self.fetch("refused_lanes", dict(uses))
        answer: Mapping[str, Any] | None = record["answer"]
        return answer
