"""What is stuck: what an operator asks first."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Query

from stead.api.problems import FieldError, ProblemResponse
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application.models import Page
from stead.application.names import Below
from stead.application.stuck import Stuck

LATELY = 3600
"""Seconds since when what was settled is told, unless somebody wants more."""
LONGEST = 31 * 24 * 3600


routes = router("operations")


@routes.get("/v1/stuck")
async def list_stuck(
    application: ApplicationDep,
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Only on this path or below it.")] = "/",
    lately: Annotated[
        int, Query(ge=0, le=LONGEST, description="Tell also what was settled in the last so many seconds.")
    ] = LATELY,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Stuck]:
    """What lasts longer than it usually does or may, is being looked at, or was settled without a report.

    Each with why, what was seen, what was made of it, and what one may do. What was settled is told until another
    operation does something there. What is at rest costs nothing, however much there is of it.
    """
    since = application.now() - timedelta(seconds=lately)
    return await queries.stuck(below, since, _place(cursor), limit)


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
        raise ProblemResponse(
            "invalid", f"cursor: {says}", errors=[FieldError(location="query.cursor", message=says)]
        ) from None
    return place
