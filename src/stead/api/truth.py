"""What is really there: belief beside it, what nobody owns, and the lanes that lead there."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi import Path as InPath

from stead.api.models import Below, Name
from stead.api.reality import Lane, LaneLimit, Lanes, Orphan, Orphans, ProviderLimits, Truth, Truths
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.controller.view import Service

LaneName = Annotated[str, InPath(pattern=r"^[A-Za-z0-9][A-Za-z0-9.\-]{0,99}$", examples=["aws.us-east-1"])]


def router(service: Service) -> APIRouter:
    """The routes of truth, orphans and lanes."""
    routes = APIRouter(tags=["truth"])

    @routes.get("/v1/truth")
    async def compare(
        below: Annotated[Below, Query(description="Only at this path or below it.")] = "/",
        kind: Annotated[Name | None, Query(description="Only of this kind.")] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
        fresh: Annotated[bool, Query(description="Have somebody look now; otherwise nobody is asked.")] = True,
    ) -> Truths:
        """What is believed of each resource beside what a look shows now. Nothing is made of what was seen."""
        page = await service.truth(kind, below, from_cursor(cursor, str) or "", limit, fresh=fresh)
        return Truths(items=[Truth.model_validate(item) for item in page.items], next=to_cursor(page.next))

    @routes.get("/v1/orphans")
    async def list_orphans(
        lane: Annotated[Name | None, Query(description="Only on this lane.")] = None, limit: Limit = 100
    ) -> Orphans:
        """What providers have that carries our tag and that nobody owns. It is listed once it was found twice."""
        page = await service.view.orphans(lane, limit)
        return Orphans(items=[Orphan.model_validate(item) for item in page.items], more=page.more)

    @routes.get("/v1/lanes")
    async def list_lanes(limit: Limit = 100, cursor: Cursor = None) -> Lanes:
        """Lanes that somebody has served or that orders stand on, with who serves them and what there is to do."""
        page = await service.view.lanes(from_cursor(cursor, str) or "", limit)
        return Lanes(items=[Lane.model_validate(item) for item in page.items], next=to_cursor(page.next))

    @routes.put("/v1/lanes/{lane}/limit")
    async def limit_lane(lane: LaneName, limit: LaneLimit) -> LaneLimit:
        """Say how many members a lane bears at once. What waits for room gets it at once, if there is some now."""
        await service.limit_lane(lane, limit.members)
        return limit

    @routes.put("/v1/providers/{provider}/limits")
    async def limit_provider(provider: LaneName, limits: ProviderLimits) -> ProviderLimits:
        """Say how many members a region of a provider bears at once, and how many regions."""
        await service.limit_provider(provider, limits.members, limits.regions)
        return limits

    return routes
