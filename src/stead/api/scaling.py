"""Policies that follow demand: put in force, told the demand, looked at, taken away."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Path as InPath
from fastapi import Query
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from stead.api.identity import Who
from stead.api.models import SEGMENT, AskedTime, Name, Path, Wire
from stead.api.problems import trouble
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.api.routing import ServiceDep, router
from stead.api.storable import storable
from stead.controller.view import Missing, Refusal, Unfit
from stead.controller.view.scaling import Follower, Followers

MOST, PLACES, WEEK = 1000, 200, 7 * 86400
Where = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The namespace.")]
Which = Annotated[str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The name of the policy.")]
Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=WEEK, allow_inf_nan=False)]
Instances = Annotated[str, StringConstraints(pattern=f"^({SEGMENT})?$", max_length=63)]
Place = Annotated[str, StringConstraints(pattern=rf"^(/{SEGMENT})+(-\*)?$", max_length=1000)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Most = Annotated[int, Field(ge=1, le=MOST)]


class ScalingPolicy(Wire):
    """How many instances of an app there are to be, or clusters, and where, as demand has it."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, use_attribute_docstrings=True)

    app: Instances = ""
    """Instances are apps that are called this, with a number behind it."""
    cluster: Instances = ""
    """Instances are clusters that are called this, with a number behind it. Either this or `app`."""
    places: Annotated[list[Place], Field(min_length=1, max_length=PLACES)]
    """Clusters of the namespace in which apps may be, as paths, or the sites on which clusters may be.
    `/shop/berlin/k-*` is every cluster of that site that is called `k-1`, `k-2` and so on."""
    up_above: Amount
    """One more is wanted where the demand for each instance is above this."""
    down_below: Amount
    """One less is wanted where the demand for each instance is below this. At most half of `up_above`."""
    maximum: Most
    """So many at most over all places. Whatever has the name counts, whoever made it."""
    minimum: Count = 0
    """So many at least over all places, whatever the demand."""
    maximum_at_place: Most = MOST
    """So many at most at each place."""
    minimum_at_place: Count = 0
    """So many at least at each place, whatever the demand."""
    spec: Annotated[dict[str, Any], AfterValidator(storable)] = Field(default_factory=dict)
    """What each instance is to be."""
    demand: Literal["total", "place"] = "total"
    """One figure of demand for all places together, or one for each, which follows its own."""
    choice: Literal["order", "spread"] = "order"
    """Which place comes next: the first with room, or the one with the fewest instances."""
    step: Annotated[int, Field(ge=1, le=100)] = 1
    """At most so many more or less at once."""
    cooldown_up: Seconds = 60
    """Seconds after the end of anything it did in which there is no one more for demand."""
    cooldown_down: Seconds = 300
    """Seconds after the end of anything it did in which there is no one less for demand."""
    believed_for: Annotated[float, Field(gt=0, le=WEEK, allow_inf_nan=False)] = 120
    """Seconds for which a figure of demand counts; after that nothing is changed for it."""


class DemandFigure(Wire):
    """How much is asked for."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    value: Amount
    """In any unit, the same as the thresholds are in."""
    place: Path | None = None
    """A cluster, where the policy follows each place; otherwise nothing."""
    at: AskedTime | None = None
    """When it was measured, with its offset from UTC; without it, now."""


class Demand(Wire):
    """Figures of demand."""

    model_config = ConfigDict(extra="forbid")

    figures: Annotated[list[DemandFigure], Field(min_length=1, max_length=PLACES)]


class DemandTaken(Wire):
    """What became of figures."""

    news: int
    """So many count from now on."""
    late: int
    """So many were no newer than what was known, and changed nothing."""


class KnownDemand(Wire):
    """The latest figure of demand."""

    place: str | None
    value: float
    at: datetime
    told_by: str


class ScalingAct(Wire):
    """What a policy did last at a place."""

    place: str
    action: str
    at: datetime
    operation: str | None
    ended_at: datetime | None
    failed: bool
    """It ended otherwise than it was to; the place is left alone for a while."""


class ScaledInstance(Wire):
    """An instance that counts."""

    path: str
    state: str
    own: bool
    """The policy made it, and may delete it."""


class Scaling(Wire):
    """A policy in force, what it found last, and what it did."""

    namespace: str
    name: str
    policy: ScalingPolicy
    changed_by: str
    changed_at: datetime
    code: str
    """What it came to: `acts`, `rests`, or what holds it back."""
    says: str
    """The same in a sentence, with the figures."""
    judged_at: datetime | None
    """When that was."""
    demand: list[KnownDemand]
    acts: list[ScalingAct]
    instances: list[ScaledInstance]
    """Whatever has the name; in a list of policies they are left out."""


class Scalings(Wire):
    """Policies in order of namespace and name."""

    items: list[Scaling]
    next: str | None


routes = router("scaling")


@routes.get("/v1/scaling")
async def list_scaling(
    service: ServiceDep,
    caller: Who,
    namespace: Annotated[Name | None, Query(description="Only of this namespace.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Scalings:
    """Policies that follow demand, each with what it found last."""
    where, _, name = (from_cursor(cursor, str) or "").partition("/")
    page = await Followers(service).all(namespace, (where, name), limit, caller)
    return Scalings(items=[_shown(item) for item in page.items], next=to_cursor(page.next))


@routes.put("/v1/scaling/{namespace}/{name}")
async def put_scaling(
    service: ServiceDep, namespace: Where, name: Which, body: ScalingPolicy, caller: Who
) -> Scaling:
    """Put a policy in force, in the place of the one of that name. It acts as `policy:NAMESPACE/NAME`.

    Whoever puts it has to be permitted what it will do: to create and delete instances at all of its places. What
    a policy of that name made before is its own.
    """
    return _answer(await Followers(service).put(namespace, name, body.model_dump(), caller))


@routes.get("/v1/scaling/{namespace}/{name}")
async def read_scaling(service: ServiceDep, namespace: Where, name: Which, caller: Who) -> Scaling:
    """A policy, what it found last and why it does nothing, what it did, and the instances that count."""
    return _answer(await Followers(service).read(namespace, name, caller))


@routes.delete("/v1/scaling/{namespace}/{name}", status_code=204)
async def remove_scaling(service: ServiceDep, namespace: Where, name: Which, caller: Who) -> None:
    """Take a policy away. What it made stays as it is."""
    missing = await Followers(service).remove(namespace, name, caller)
    if missing is not None:
        raise trouble(missing)


@routes.post("/v1/scaling/{namespace}/{name}/demand")
async def tell_demand(service: ServiceDep, namespace: Where, name: Which, body: Demand, caller: Who) -> DemandTaken:
    """Tell a policy the demand. The latest figure of each place counts; one that comes late changes nothing."""
    figures = [(figure.place or "", figure.value, figure.at) for figure in body.figures]
    news = await Followers(service).tell(namespace, name, figures, caller)
    if not isinstance(news, int):
        raise trouble(news)
    return DemandTaken(news=news, late=len(figures) - news)


def _answer(found: Follower | Unfit | Refusal | Missing) -> Scaling:
    if not isinstance(found, Follower):
        raise trouble(found)
    return _shown(found)


def _shown(found: Follower) -> Scaling:
    demand = [KnownDemand(place=d.place or None, value=d.value, at=d.at, told_by=d.told_by) for d in found.demand]
    return Scaling(
        namespace=found.namespace,
        name=found.name,
        policy=ScalingPolicy(**found.policy),
        changed_by=found.changed_by,
        changed_at=found.changed_at,
        code=found.code,
        says=found.says,
        judged_at=found.judged_at,
        demand=demand,
        acts=[ScalingAct.model_validate(act) for act in found.acts],
        instances=[ScaledInstance.model_validate(instance) for instance in found.instances],
    )
