"""Policies that follow demand: put in force, told the demand, looked at, taken away."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path as InPath
from fastapi import Query
from pydantic import ConfigDict, Field

from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.policies import DEMAND, SCALING
from stead.api.identity import Who
from stead.api.models import AskedTime, ResponseModel
from stead.api.problems import problem_response
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import NotFound, Rejection
from stead.application.commands import Application
from stead.application.models import InvalidRequest, Page
from stead.application.names import SEGMENT, Name, Path
from stead.application.scaling import Scaling, ScalingPolicies
from stead.application.scaling_policy import PLACES, Amount, ScalingPolicy

Where = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The namespace.")]
Which = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The name of the policy.")]


class DemandFigure(ResponseModel):
    """How much is asked for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    value: Amount
    """In any unit, the same as the thresholds are in."""
    place: Path | None = None
    """A cluster, where the policy follows each place; otherwise nothing."""
    at: AskedTime | None = None
    """When it was measured, with its offset from UTC; without it, now."""


class Demand(ResponseModel):
    """Figures of demand."""

    model_config = ConfigDict(extra="forbid")

    figures: Annotated[list[DemandFigure], Field(min_length=1, max_length=PLACES)]


class DemandAnswer(ResponseModel):
    """What became of figures."""

    accepted: int
    """So many count from now on."""
    outdated: int
    """So many were no newer than what was known, and changed nothing."""


routes = router("scaling")


@routes.get("/v1/scaling")
async def list_scaling(
    application: ApplicationDep,
    queries: QueriesDep,
    namespace: Annotated[Name | None, Query(description="Only of this namespace.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Scaling]:
    """Policies that follow demand, each with what it found last."""
    where, _, name = (from_cursor(cursor, str) or "").partition("/")
    return await ScalingPolicies(application).all(namespace, (where, name), limit, queries.authorized)


@routes.put("/v1/scaling/{namespace}/{name}")
async def put_scaling(
    application: ApplicationDep, namespace: Where, name: Which, body: ScalingPolicy, caller: Who
) -> Scaling:
    """Put a policy in force, in the place of the one of that name. It acts as `policy:NAMESPACE/NAME`.

    Whoever puts it has to be permitted what it will do: to create and delete instances at all of its places. What
    a policy of that name made before is its own.
    """
    authorized = _authorized(application, SCALING, namespace, name, caller)
    return _answer(await ScalingPolicies(application).put(namespace, name, body.model_dump(), authorized))


@routes.get("/v1/scaling/{namespace}/{name}")
async def read_scaling(application: ApplicationDep, queries: QueriesDep, namespace: Where, name: Which) -> Scaling:
    """A policy, what it found last and why it does nothing, what it did, and the instances that count."""
    return _answer(await ScalingPolicies(application).read(namespace, name, queries.authorized))


@routes.delete("/v1/scaling/{namespace}/{name}", status_code=204)
async def remove_scaling(application: ApplicationDep, namespace: Where, name: Which, caller: Who) -> None:
    """Take a policy away. What it made stays as it is."""
    authorized = _authorized(application, SCALING, namespace, name, caller)
    missing = await ScalingPolicies(application).remove(namespace, name, authorized)
    if missing is not None:
        raise problem_response(missing)


@routes.post("/v1/scaling/{namespace}/{name}/demand")
async def report_demand(
    application: ApplicationDep, namespace: Where, name: Which, body: Demand, caller: Who
) -> DemandAnswer:
    """Tell a policy the demand. The latest figure of each place counts; one that comes late changes nothing."""
    figures = [(figure.place or "", figure.value, figure.at) for figure in body.figures]
    authorized = _authorized(application, DEMAND, namespace, name, caller)
    news = await ScalingPolicies(application).record_demand(namespace, name, figures, authorized)
    if not isinstance(news, int):
        raise problem_response(news)
    return DemandAnswer(accepted=news, outdated=len(figures) - news)


def _authorized(application: Application, action: str, namespace: str, name: str, caller: Caller) -> Authorized:
    found = ScalingPolicies(application).authorize(action, namespace, name, caller)
    if isinstance(found, NotFound):
        raise problem_response(found)
    return found


def _answer(found: Scaling | InvalidRequest | Rejection | NotFound) -> Scaling:
    if not isinstance(found, Scaling):
        raise problem_response(found)
    return found
