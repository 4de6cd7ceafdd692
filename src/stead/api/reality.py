"""What goes over the wire of what is really there: belief beside it, what nobody owns, and the lanes that lead there.

A field here is a promise, as with all others.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from stead.api.models import Wire

MOST = 2**31 - 1
"""What the database can count to."""


class Truth(Wire):
    """A resource as it is believed to be, beside what a look shows."""

    path: str
    kind: str
    lane: str
    believed: str
    """The state on record."""
    expects: str
    """The word under which a look would show that state; empty where the state says nothing of the provider."""
    seen: str | None
    """What a look shows now: a word such as `expects`, `absent` or `broken`. Null where there was none."""
    agrees: bool | None
    """Null where nobody can say."""
    why: Literal["moving", "unasked", "no-agent", "no-provider", "unsaid"] | None
    """Why nobody can say. `moving`: it is on its way, or has changed meanwhile. `unasked`: nobody was asked, or there
    is no lane to ask on. `no-agent`: nobody who serves the lane answered. `no-provider`: an agent was there, and
    could not ask the provider. `unsaid`: the state says nothing of the provider."""
    seen_at: datetime | None
    """When what is believed was last seen. A look for this answer is not counted, since nothing is made of it."""
    would: str
    """What the cell would do next: the order that waits, such as `suspend`; the action in progress; or
    `record STATE`. Empty for nothing. A cell that was restored does the first two only after its release."""


class Truths(Wire):
    """A page of resources, each beside what a look shows."""

    items: list[Truth]
    next: str | None
    """The cursor of the next page."""


class Orphan(Wire):
    """Something that a provider has, that carries our tag, and that nobody owns."""

    lane: str
    token: str
    """Under which it was made."""
    path: str
    """Of the resource it was made for, as its tag has it."""
    state: str
    facts: dict[str, Any]
    """What the provider said of it."""
    since: datetime
    """When it was found first."""
    seen_at: datetime
    """When it was found last."""


class Orphans(Wire):
    """Orphans, the oldest first."""

    items: list[Orphan]
    more: bool
    """There are others."""


class Serving(Wire):
    """An agent that serves a lane, or did."""

    name: str
    version: str
    there: bool
    """It was heard of in the last 30 seconds; otherwise it is away."""
    last_seen: datetime
    rejected: str
    """Why the provider rejects the agent, as with wrong credentials; empty where it does not."""


class Lane(Wire):
    """A lane, who serves it, and what there is to do on it."""

    lane: str
    agents: list[Serving]
    limit: int | None
    """Members that it bears at once; null where there is no limit."""
    regions: int | None
    """Regions that its provider bears at once; null where there is no limit."""
    in_flight: int
    """Members whose orders were sent."""
    waiting: int
    """Members whose orders wait for room."""
    untaken: int
    """Orders that were sent and that nobody has taken yet."""
    throttled: int
    """Calls that the provider has refused because there were too many."""
    throttled_at: datetime | None
    """When it last did."""
    survey_at: datetime | None
    """When its full state is wanted next; null where nobody has ever served it."""
    namespaces: list[str]
    """Those that may use it; `*` is every namespace, those apart to which it is denied."""


class Survey(Wire):
    """Whether a lane tells all that it has."""

    lane: str
    asked: bool
    """False where nobody who serves it answered."""


class LaneLimit(Wire):
    """What one lane bears."""

    members: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Members at once; null: as many as its provider says."""


class ProviderLimits(Wire):
    """What a provider bears."""

    members: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Members at once in a region; null for no limit."""
    regions: Annotated[int, Field(gt=0, le=MOST)] | None = None
    """Regions at once; null for no limit."""


class Lanes(Wire):
    """A page of lanes, in order of name."""

    items: list[Lane]
    next: str | None
    """The cursor of the next page."""
