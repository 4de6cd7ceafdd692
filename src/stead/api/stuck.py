"""What is stuck: what an operator asks first."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query

from stead.api.identity import Who
from stead.api.lasting import Lasting
from stead.api.models import Below, Wire
from stead.api.problems import FieldError, Trouble
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.api.routing import ServiceDep, router

LATELY = 3600
"""Seconds since when what was settled is told, unless somebody wants more."""
LONGEST = 31 * 24 * 3600


class StuckLook(Wire):
    """Somebody looked at the object."""

    at: datetime
    seen: str
    """What was seen: a settled state's word, `absent` or `broken`."""


class StuckWhy(Wire):
    """Why something is listed."""

    code: Literal["no-agent", "late", "overdue", "probing", "fencing", "unattended", "blocked", "unknown", "settled"]
    """`no-agent`: no agent serves its lane now. `late`: it lasts longer than 99 of 100 did. `overdue`: longer than it
    may. `probing`: it is being observed, since no report came. `fencing`: the agent that had its order is waited out
    before that. `unattended`: its timer is due, and no controller has fired it. `blocked`: another resource has not
    given back what it waits for. `unknown`: it was settled, and no agent could observe it, or tell whether it was
    done. `settled`: it was settled to what was seen."""
    says: str


class StuckStep(Wire):
    """What one may do about it."""

    what: Literal["wait", "agent", "cancel", "retry", "ask"]
    says: str
    operation: str
    """With `cancel` and `retry`: which."""
    actions: list[str]
    """With `ask`: which."""


class Stuck(Wire):
    """Something that does not come to its end as it should, or has come to one without a report."""

    path: str
    kind: str
    state: str
    lane: str
    operation: str
    action: str
    by: str
    phase: str | None
    """What the operation does; null where it is over."""
    outcome: str | None
    """How it ended for this resource; null while it is under way."""
    since: datetime
    """Since when it is where it is; of what was settled, when that was."""
    lasts: Lasting | None
    """For how long it may and usually does last; null where it is over."""
    why: list[StuckWhy]
    probed: list[StuckLook]
    """What was seen, as the journal has it."""
    misses: int
    """Looks in a row that did not find it."""
    decided: str
    """What was made of it; empty while that is open."""
    steps: list[StuckStep]


class StuckPage(Wire):
    """A page of what is stuck: first what is under way, those first that have been where they are the longest; then
    what was settled lately, the latest first. It may have fewer than asked for, even none, and still name a next one.
    """

    items: list[Stuck]
    next: str | None
    """The cursor of the next page."""


routes = router("operations")


@routes.get("/v1/stuck")
async def list_stuck(
    service: ServiceDep,
    caller: Who,
    below: Annotated[Below, Query(description="Only on this path or below it.")] = "/",
    lately: Annotated[
        int, Query(ge=0, le=LONGEST, description="Tell also what was settled in the last so many seconds.")
    ] = LATELY,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> StuckPage:
    """What lasts longer than it usually does or may, is being looked at, or was settled without a report.

    Each with why, what was seen, what was made of it, and what one may do. What was settled is told until another
    operation does something there. What is at rest costs nothing, however much there is of it.
    """
    since = service.view.store.clock.now() - timedelta(seconds=lately)
    page = await service.seen(caller).stuck(below, since, _place(cursor), limit)
    return StuckPage(items=[Stuck.model_validate(item) for item in page.items], next=to_cursor(page.next))


def _place(cursor: str | None) -> str | None:
    """Where a cursor says to go on, if it is one that this list gave."""
    place = from_cursor(cursor, str)
    if place is None:
        return None
    try:
        section, at, number = json.loads(place)
        when = None if at is None else datetime.fromisoformat(at)
        if section not in ("now", "then") or (when is not None and (when.tzinfo is None or when.year < 1970)):
            raise ValueError
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        says = "it is none that this list gave"
        raise Trouble("invalid", f"cursor: {says}", errors=[FieldError(where="query.cursor", says=says)]) from None
    return place
