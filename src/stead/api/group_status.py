"""How groups stand: one answer for all members of an infrastructure or a subgroup, however many they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from stead.api.problems import ProblemResponse
from stead.api.resources import Where
from stead.api.routing import QueriesDep, router
from stead.application.group_status import GroupStatus

routes = router("resources")


@routes.get("/v1/status/{path:path}")
async def read_status(
    queries: QueriesDep,
    path: Where,
    refresh: Annotated[
        bool, Query(description="Look first at whatever may have changed by itself; otherwise no provider is asked.")
    ] = False,
) -> GroupStatus:
    """How an infrastructure or a subgroup stands: all of one moment, and as new as the last change."""
    found = await queries.standing(f"/{path}", refresh=refresh)
    if found is None:
        raise ProblemResponse("not-found", f"there is no group at /{path}")
    return found
