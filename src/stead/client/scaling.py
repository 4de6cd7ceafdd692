"""The part of the client for policies that follow demand, and the values that are answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any
from urllib.parse import quote

from stead.client.models import DemandAnswer, Scaling, ScalingPage
from stead.client.paging import through
from stead.client.transport import Transport


class ScalingClient:
    """Policies that follow demand."""

    _transport: Transport

    async def scaling_page(
        self, *, namespace: str | None = None, limit: int = 500, cursor: str | None = None
    ) -> ScalingPage:
        """One page of policies, without their instances."""
        query = {"namespace": namespace, "limit": limit, "cursor": cursor}
        return await self._transport.send(ScalingPage, "GET", "/v1/scaling", query=query)

    def scalings(self, *, namespace: str | None = None, limit: int = 500) -> AsyncGenerator[Scaling]:
        """All policies, page by page."""
        return through(lambda cursor: self.scaling_page(namespace=namespace, limit=limit, cursor=cursor))

    async def scaling(self, namespace: str, name: str) -> Scaling:
        """A policy as it stands."""
        return await self._transport.send(Scaling, "GET", _at(namespace, name))

    async def put_scaling(self, namespace: str, name: str, policy: Mapping[str, Any]) -> Scaling:
        """Put a policy in force, in the place of the one of that name."""
        return await self._transport.send(Scaling, "PUT", _at(namespace, name), body=dict(policy))

    async def remove_scaling(self, namespace: str, name: str) -> None:
        """Take a policy away; what it made stays."""
        await self._transport.send(NoneType, "DELETE", _at(namespace, name))

    async def report_demand(
        self, namespace: str, name: str, figures: Sequence[tuple[str | None, float, datetime | None]]
    ) -> DemandAnswer:
        """Tell the demand: for each figure the place or None, how much, and when it was measured or None for now."""
        said = [
            {"place": place, "value": value, "at": None if at is None else at.isoformat()}
            for place, value, at in figures
        ]
        return await self._transport.send(
            DemandAnswer, "POST", f"{_at(namespace, name)}/demand", body={"figures": said}
        )


def _at(namespace: str, name: str) -> str:
    return f"/v1/scaling/{quote(namespace, safe='')}/{quote(name, safe='')}"
