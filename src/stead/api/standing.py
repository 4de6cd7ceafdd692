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


class StandingUnobserved(Wire):
    """Members in one state that a refresh has not observed, and why."""

    state: str
    why: str
    """`still`: it changes seldom, and was observed not long ago. `final`: it cannot change by itself. `moving`: an
    operation is under way on it. `no-agent`: no agent answered. `no-provider`: the provider did not. `unasked`: it is
    on no lane."""
    members: int
    oldest: datetime | None
    """When the one was observed whose observation is the oldest; null where one never was."""


class StandingObserved(Wire):
    """What a refresh has observed, and what it has not."""

    members: int
    """Observed just now."""
    calls: int
    """Calls to providers."""
    saved: int
    """Calls that were not needed."""
    left: list[StandingUnobserved]
    """Members that were not observed, by state and reason."""


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
    """What is being done to it, to what it is part of, or to something in it; `None` where nothing is."""
    target_status: str
    operation: Operation | None
    """What is under way, with how far it has come."""
    groups: list[StandingPart]
    """By subgroup."""
    lanes: list[StandingPart]
    """By provider and region."""
    worst: WorstMember | None
    """Of the members that failed or of which nobody knows, the first."""
    observed: StandingObserved | None
    """What was observed just before this answer, with `refresh`; null without."""


routes = router("resources")


@routes.get("/v1/status/{path:path}", response_model=Standing)
async def read_status(
    service: ServiceDep,
    caller: Who,
    path: Where,
    refresh: Annotated[
        bool, Query(description="Look first at whatever may have changed by itself; otherwise no provider is asked.")
    ] = False,
) -> Response:
    """How an infrastructure or a subgroup stands: all of one moment, and as new as the last change."""
    found = await service.seen(caller).standing(f"/{path}", refresh=refresh)
    if found is None:
        raise Trouble("not-found", f"there is no group at /{path}")
    # Written by hand: it is asked for all the time, and may have a thousand parts.
    return Response(Standing.model_validate(found).model_dump_json(), media_type="application/json")
