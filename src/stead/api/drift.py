"""Drift: recorded states beside observed ones, orphans, and the lanes by which agents observe."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path as InPath
from fastapi import Query, Response
from pydantic import Field

from stead.access.policies import LIMIT, ORPHANS
from stead.api.accepted import Accepted, accepted
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application.cell_commands import CellCommands
from stead.application.models import DriftReport, Lane, Orphan, Page
from stead.application.names import Below, Name, Path

LaneName = Annotated[str, InPath(pattern=r"^[A-Za-z0-9][A-Za-z0-9.\-]{0,99}$", examples=["aws.us-east-1"])]

MOST = 2**31 - 1
"""What the database can count to."""


class InventorySupport(ResponseModel):
    """Whether a lane tells all that it has."""

    lane: str
    requested: bool
    """False where no agent of the lane answered."""


class LaneLimit(ResponseModel):
    """What one lane bears."""

    members: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Members at once; null: as many as its provider says."""


class ProviderLimits(ResponseModel):
    """What a provider bears."""

    members: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Members at once in a region; null for no limit."""
    regions: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Regions at once; null for no limit."""


routes = router("drift")


@routes.get("/v1/drift")
async def list_drift(
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Only at this path or below it.")] = "/",
    kind: Annotated[Name | None, Query(description="Only of this kind.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    refresh: Annotated[bool, Query(description="Observe each resource at its provider first.")] = True,
) -> Page[DriftReport]:
    """The recorded state of each resource beside the observed one. The observation changes nothing."""
    return await queries.truth(kind, below, from_cursor(cursor, str) or "", limit, fresh=refresh)


@routes.get("/v1/cells/{cell}/orphans")
async def list_orphans(
    queries: QueriesDep,
    lane: Annotated[Name | None, Query(description="Only on this lane.")] = None,
    limit: Limit = 100,
) -> Page[Orphan]:
    """What providers have that carries our tag and that nobody owns. It is listed once it was found twice."""
    return await queries.orphans(lane, limit)


@routes.post("/v1/cells/{cell}/orphans/{lane}/{token}", status_code=202)
async def resolve_orphan(
    application: ApplicationDep,
    lane: LaneName,
    token: Annotated[str, InPath(max_length=100)],
    caller: Who,
    response: Response,
    action: Annotated[Literal["adopt", "remove"], Query(description="Own it, or have it removed.")],
    path: Annotated[Path | None, Query(description="With `adopt`: where, if not where it was made for.")] = None,
) -> Accepted:
    """Give an orphan an owner, or remove it. Both are operations, and told in the journal."""
    authorized = application.authorization.require(caller, ORPHANS)
    if action == "adopt":
        answer = await CellCommands(application).adopt(lane, token, path or "", authorized)
    else:
        answer = await CellCommands(application).remove_orphan(lane, token, authorized)
    return accepted(answer, response)


@routes.get("/v1/cells/{cell}/lanes")
async def list_lanes(queries: QueriesDep, limit: Limit = 100, cursor: Cursor = None) -> Page[Lane]:
    """Lanes that somebody has served or that orders stand on, with who serves them and what there is to do."""
    return await queries.lanes(from_cursor(cursor, str) or "", limit)


@routes.post("/v1/cells/{cell}/lanes/{lane}/survey", status_code=202)
async def request_inventory(application: ApplicationDep, caller: Who, lane: LaneName) -> InventorySupport:
    """Have the agent of a lane tell all that is there, now and not at the next turn. What comes is applied."""
    authorized = application.authorization.require(caller, ORPHANS)
    return InventorySupport(lane=lane, requested=await CellCommands(application).survey(lane, authorized))


@routes.put("/v1/cells/{cell}/lanes/{lane}/limit")
async def limit_lane(application: ApplicationDep, caller: Who, lane: LaneName, limit: LaneLimit) -> LaneLimit:
    """Say how many members a lane bears at once. What waits for room gets it at once, if there is some now."""
    authorized = application.authorization.require(caller, LIMIT)
    await CellCommands(application).limit_lane(lane, limit.members, authorized)
    return limit


@routes.put("/v1/cells/{cell}/providers/{provider}/limits")
async def limit_provider(
    application: ApplicationDep, caller: Who, provider: LaneName, limits: ProviderLimits
) -> ProviderLimits:
    """Say how many members a region of a provider bears at once, and how many regions."""
    authorized = application.authorization.require(caller, LIMIT)
    await CellCommands(application).limit_provider(provider, limits.members, limits.regions, authorized)
    return limits
