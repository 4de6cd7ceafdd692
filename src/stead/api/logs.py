"""What things wrote, at the places where they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from stead.api.problems import ProblemResponse
from stead.api.resources import Where
from stead.api.routing import QueriesDep, router
from stead.application.logs import Log, LogUnavailable

routes = router("resources")


@routes.get("/v1/logs/{path:path}")
async def read_logs(
    queries: QueriesDep,
    path: Where,
    lines: Annotated[int, Query(ge=1, le=10_000, description="So many at most, the last ones.")] = 100,
    since: Annotated[
        str, Query(max_length=200, description="Only those after this position, which an answer told.")
    ] = "",
) -> Log:
    """The last lines that an app wrote. Its agent is asked for them; they are kept nowhere else."""
    found = await queries.logs(f"/{path}", lines, since)
    if found is None:
        raise ProblemResponse("not-found", f"there is nothing at /{path}")
    if isinstance(found, LogUnavailable):
        raise ProblemResponse("agent-unavailable" if found.away else "no-logs", found.says)
    return found
