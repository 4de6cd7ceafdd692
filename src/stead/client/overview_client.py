"""The part of the client that sees much at a glance."""

from __future__ import annotations

from types import NoneType
from urllib.parse import quote

from stead.client.models import (
    LifecycleDetail,
    LifecycleNamePage,
    Overview,
    RegisteredLifecycle,
    Timeline,
    TreeNodePage,
)
from stead.client.transport import Transport


class OverviewClient:
    """The cell, what lies below a path, what an operation did and when, and lifecycles."""

    _transport: Transport

    async def overview(self) -> Overview:
        """The cell at a glance."""
        return await self._transport.send(Overview, "GET", "/v1/overview")

    async def tree_page(self, below: str = "/", *, limit: int = 500, cursor: str | None = None) -> TreeNodePage:
        """One page of what lies directly below a path, the worst first."""
        query = {"below": below, "limit": limit, "cursor": cursor}
        return await self._transport.send(TreeNodePage, "GET", "/v1/tree", query=query)

    async def timeline(self, id: str, *, limit: int = 500, cursor: str | None = None) -> Timeline:
        """What an operation did to each of its members and when."""
        query = {"limit": limit, "cursor": cursor}
        return await self._transport.send(Timeline, "GET", f"/v1/operations/{quote(id)}/timeline", query=query)

    async def lifecycles(self) -> LifecycleNamePage:
        """The lifecycles that the server knows."""
        return await self._transport.send(LifecycleNamePage, "GET", f"{self._transport.cell}/lifecycles")

    async def lifecycle(self, kind: str) -> LifecycleDetail:
        """A lifecycle whole."""
        return await self._transport.send(LifecycleDetail, "GET", self._transport.cell + _kind(kind))

    async def register_lifecycle(self, kind: str, document: str) -> RegisteredLifecycle:
        """Have a kind of one's own, which a document in YAML describes. It is explored first: that takes its time."""
        return await self._transport.send(
            RegisteredLifecycle, "PUT", self._transport.cell + _kind(kind), body={"document": document}
        )

    async def unregister_lifecycle(self, kind: str) -> None:
        """Let there be no such kind any more."""
        await self._transport.send(NoneType, "DELETE", self._transport.cell + _kind(kind))


def _kind(kind: str) -> str:
    """The address of a lifecycle."""
    return f"/lifecycles/{quote(kind, safe='')}"
