"""A policy that follows demand, as it is written and shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from stead.application.names import SEGMENT
from stead.application.storable import storable

MOST, PLACES, WEEK = 1000, 200, 7 * 86400
Amount = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=WEEK, allow_inf_nan=False)]
Instances = Annotated[str, StringConstraints(pattern=f"^({SEGMENT})?$", max_length=63)]
Place = Annotated[str, StringConstraints(pattern=rf"^(/{SEGMENT})+(-\*)?$", max_length=1000)]
Count = Annotated[int, Field(ge=0, le=MOST)]
Most = Annotated[int, Field(ge=1, le=MOST)]


class ScalingPolicy(BaseModel):
    """How many instances of an app there are to be, or clusters, and where, as demand has it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

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
    """The most instances over all places. All instances under the name count, also those of other origin."""
    minimum: Count = 0
    """The fewest instances over all places, at any demand."""
    maximum_at_place: Most = MOST
    """So many at most at each place."""
    minimum_at_place: Count = 0
    """The fewest instances at each place, at any demand."""
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
