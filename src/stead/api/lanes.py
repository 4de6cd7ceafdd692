"""Which namespaces may use which lanes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as InPath
from fastapi import Query
from pydantic import AfterValidator, ConfigDict, Field

from stead.access.policies import LANES
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.problems import problem_response
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application.lanes import LaneChange, LaneGrant, LaneGrants
from stead.application.models import InvalidRequest, Page
from stead.application.names import SEGMENT
from stead.application.storable import storable

PATTERN = r"^(\*|[A-Za-z0-9][A-Za-z0-9._-]{0,99}(\.\*)?)$"
LanePattern = Annotated[
    str,
    InPath(
        pattern=PATTERN,
        max_length=102,
        examples=["aws.us-east-1"],
        description="A lane; `aws.*` for every lane that begins with `aws.`, `*` for every lane.",
    ),
]
Space = Annotated[
    str,
    InPath(pattern=rf"^({SEGMENT}|\*)$", max_length=100, description="A namespace; `*` for all, also those to come."),
]
MAX_REASON = 1000
"""Characters."""


class LaneReason(ResponseModel):
    """Why."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(max_length=MAX_REASON), AfterValidator(storable)] = ""
    """It is kept with the grant, and in the journal."""


routes = router("access")


@routes.get("/v1/cells/{cell}/lane-grants")
async def list_lane_grants(
    application: ApplicationDep,
    queries: QueriesDep,
    namespace: Annotated[
        str | None, Query(pattern=f"^{SEGMENT}$", max_length=100, description="Those that count for it.")
    ] = None,
) -> Page[LaneGrant]:
    """Which namespaces may use which lanes. A namespace owns those of its sites without a grant."""
    return Page(tuple(await LaneGrants(application).all(namespace, queries.authorized)))


@routes.put("/v1/cells/{cell}/lane-grants/{lane}/{namespace}")
async def allow_lane(
    application: ApplicationDep, caller: Who, lane: LanePattern, namespace: Space, body: LaneReason
) -> LaneChange:
    """Let a namespace use a lane. No agent has to be there yet."""
    authorized = application.authorization.require(caller, LANES)
    answer = await LaneGrants(application).allow(lane, namespace, body.reason, authorized)
    if isinstance(answer, InvalidRequest):
        raise problem_response(answer)
    return answer


@routes.delete("/v1/cells/{cell}/lane-grants/{lane}/{namespace}")
async def deny_lane(
    application: ApplicationDep,
    caller: Who,
    lane: LanePattern,
    namespace: Space,
    reason: Annotated[
        str, Query(max_length=MAX_REASON, description="Why; it is kept in the journal."), AfterValidator(storable)
    ] = "",
) -> LaneChange:
    """Take a lane away from a namespace. What is there goes on; nothing new or changed comes to the lane."""
    authorized = application.authorization.require(caller, LANES)
    return await LaneGrants(application).deny(lane, namespace, reason, authorized)
