"""How groups stand: one answer for all members of an infrastructure or a subgroup, however many they are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query, Response

from stead.api.identity import Who
from stead.api.models import Operation, Resource, Wire
from stead.api.problems import Trouble
from stead.api.resources import Where
from stead.api.routing import ServiceDep, router


class StandingPart(Wire):
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    """The path of the subgroup, or the lane."""
    lane: str
    text: str
    counts: dict[str, int]
    """By state."""


class WorstMember(Wire):
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime
    says: str


class Standing(Wire):
    """How a group stands."""

    resource: Resource
    text: str
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`; `Empty` without members."""
    counts: dict[str, int]
    """`countTotal`, and one for each state."""
    settled: bool
    """Nothing is under way, and no member is on its way."""
    target_action: str
    """What is being done; `None` where nothing is."""
    target_status: str
    operation: Operation | None
    """What is under way, with how far it has come."""
    groups: list[StandingPart]
    """By subgroup."""
    lanes: list[StandingPart]
    """By provider and region."""
    worst: WorstMember | None
    """Of the members that failed or of which nobody knows, the first."""


routes = router("resources")


@routes.get("/v1/status/{path:path}", response_model=Standing)
async def read_status(
    service: ServiceDep,
    caller: Who,
    path: Where,
    refresh: Annotated[
        bool, Query(description="Look first at whatever may have changed by itself; otherwise nobody is asked.")
    ] = False,
) -> Response:
    """How an infrastructure or a subgroup stands, from counts that are a moment old at most."""
    found = await service.seen(caller).standing(f"/{path}", refresh=refresh)
    if found is None:
        raise Trouble("not-found", f"there is no group at /{path}")
    # Written by hand: it is asked for all the time, and may have a thousand parts.
    return Response(Standing.model_validate(found).model_dump_json(), media_type="application/json")
