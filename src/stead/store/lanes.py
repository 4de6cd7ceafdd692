"""Lanes: who serves them, and which namespaces may use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart


class Lanes(StorePart):
    """Lanes, with their grants to namespaces."""

    async def read_page(self, after: str, limit: int, there: float) -> list[Mapping[str, Any]]:
        """Lanes in order of name; an agent is there if it was heard of in so many seconds."""
        return [dict(r) for r in await self._sql.fetch("list_lanes", after, limit, there)]

    async def note_throttled(self, lane: str, calls: int) -> None:
        """A provider has refused so many calls on a lane because there were too many."""
        await self._sql.fetch("record_throttled", lane, calls)

    async def list_unserved(self, there: float, limit: int) -> list[str]:
        """Lanes with orders that no agent serves who was heard of in so many seconds."""
        return [r["lane"] for r in await self._sql.fetch("list_unserved_lanes", there, limit)]

    async def filter_served(self, lanes: list[str]) -> set[str]:
        """Of some lanes, those that an agent has served."""
        return {r["lane"] for r in await self._sql.fetch("filter_served_lanes", lanes)}

    async def filter_connected(self, lanes: list[str], away: float) -> set[str]:
        """Of some lanes, those that an agent serves who was heard of in so many seconds."""
        return {r["lane"] for r in await self._sql.fetch("filter_connected_lanes", lanes, away)}

    async def allow(self, lane: str, namespace: str, by: str, reason: str = "") -> Mapping[str, Any]:
        """From now on a namespace may use a lane: whether that `changed` something, and for whom not (`except`); or
        the denial that outranks it (`denied`)."""
        (record,) = await self._sql.fetch_audited("allow_lane", lane, namespace, by, reason)
        answer: Mapping[str, Any] = record["answer"]
        return answer

    async def deny(self, lane: str, namespace: str, by: str, reason: str = "") -> Mapping[str, Any]:
        """From now on it may not: `taken` are the grants that are gone, `outranks` that a denial was recorded."""
        (record,) = await self._sql.fetch_audited("deny_lane", lane, namespace, by, reason)
        answer: Mapping[str, Any] = record["answer"]
        return answer

    async def read_grants(self, namespace: str | None = None) -> list[Mapping[str, Any]]:
        """Grants and denials, in order of namespace and lane: of all, or those that count for one."""
        return [dict(r) for r in await self._sql.fetch("list_lane_grants", namespace)]

    async def list_usable(self, namespace: str, limit: int = 1000) -> list[str]:
        """Lanes that an agent has served and that a namespace may use, in order of name."""
        return [r["lane"] for r in await self._sql.fetch("list_usable_lanes", namespace, limit)]

    async def find_denied(self, uses: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Which lanes a namespace may not use, of those that it would; None where it may use all."""
        (record,) = await self._sql.fetch("find_denied_lanes", dict(uses))
        answer: Mapping[str, Any] | None = record["answer"]
        return answer
