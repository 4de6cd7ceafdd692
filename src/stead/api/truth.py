"""What is really there: belief beside it, what nobody owns, and the lanes that lead there."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path as InPath
from fastapi import Query, Response

from stead.api.accepting import accepted
from stead.api.identity import Who
from stead.api.models import Accepted, Below, Name, Path
from stead.api.problems import trouble
from stead.api.reality import Lane, LaneLimit, Lanes, Orphan, Orphans, ProviderLimits, Survey, Truth, Truths
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.api.routing import ServiceDep, router
from stead.controller.view import Taken

LaneName = Annotated[str, InPath(pattern=r"^[A-Za-z0-9][A-Za-z0-9.\-]{0,99}$", examples=["aws.us-east-1"])]


routes = router("truth")


@routes.get("/v1/truth")
async def compare(
    service: ServiceDep,
    caller: Who,
    below: Annotated[Below, Query(description="Only at this path or below it.")] = "/",
    kind: Annotated[Name | None, Query(description="Only of this kind.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
    fresh: Annotated[bool, Query(description="Have somebody look now; otherwise nobody is asked.")] = True,
) -> Truths:
    """What is believed of each resource beside what a look shows now. Nothing is made of what was seen."""
    page = await service.seen(caller).truth(kind, below, from_cursor(cursor, str) or "", limit, fresh=fresh)
    return Truths(items=[Truth.model_validate(item) for item in page.items], next=to_cursor(page.next))


@routes.get("/v1/orphans")
async def list_orphans(
    service: ServiceDep,
    caller: Who,
    lane: Annotated[Name | None, Query(description="Only on this lane.")] = None,
    limit: Limit = 100,
) -> Orphans:
    """What providers have that carries our tag and that nobody owns. It is listed once it was found twice."""
    page = await service.seen(caller).orphans(lane, limit)
    return Orphans(items=[Orphan.model_validate(item) for item in page.items], more=page.more)


@routes.post("/v1/orphans/{lane}/{token}", status_code=202)
async def deal_with_orphan(
    service: ServiceDep,
    lane: LaneName,
    token: Annotated[str, InPath(max_length=100)],
    caller: Who,
    response: Response,
    action: Annotated[Literal["adopt", "remove"], Query(description="Own it, or have it removed.")],
    path: Annotated[Path | None, Query(description="With `adopt`: where, if not where it was made for.")] = None,
) -> Accepted:
    """Give an orphan an owner, or remove it. Both are operations, and told in the journal."""
    if action == "adopt":
        answer = await service.adopt(lane, token, path or "", caller)
    else:
        answer = await service.remove_orphan(lane, token, caller)
    if not isinstance(answer, Taken):
        raise trouble(answer)
    return accepted(answer, response)


@routes.get("/v1/lanes")
async def list_lanes(service: ServiceDep, caller: Who, limit: Limit = 100, cursor: Cursor = None) -> Lanes:
    """Lanes that somebody has served or that orders stand on, with who serves them and what there is to do."""
    page = await service.seen(caller).lanes(from_cursor(cursor, str) or "", limit)
    return Lanes(items=[Lane.model_validate(item) for item in page.items], next=to_cursor(page.next))


@routes.post("/v1/lanes/{lane}/survey", status_code=202)
async def survey_lane(service: ServiceDep, caller: Who, lane: LaneName) -> Survey:
    """Have the agent of a lane tell all that is there, now and not at the next turn. What comes is applied."""
    return Survey(lane=lane, asked=await service.survey(lane, caller))


@routes.put("/v1/lanes/{lane}/limit")
async def limit_lane(service: ServiceDep, caller: Who, lane: LaneName, limit: LaneLimit) -> LaneLimit:
    """Say how many members a lane bears at once. What waits for room gets it at once, if there is some now."""
    await service.limit_lane(lane, limit.members, caller)
    return limit


@routes.put("/v1/providers/{provider}/limits")
async def limit_provider(
    service: ServiceDep, caller: Who, provider: LaneName, limits: ProviderLimits
) -> ProviderLimits:
    """Say how many members a region of a provider bears at once, and how many regions."""
    await service.limit_provider(provider, limits.members, limits.regions, caller)
    return limits
