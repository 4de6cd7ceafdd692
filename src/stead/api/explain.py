"""Why, or why not: an action explained without being done."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import StringConstraints

from stead.api.problems import problem_response
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import ActionRequest, NotFound, OnConflict
from stead.application.explanation import Explanation
from stead.application.names import Name, Path

LaneName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


routes = router("resources")


@routes.get("/v1/explain")
async def explain(
    application: ApplicationDep,
    queries: QueriesDep,
    path: Annotated[Path, Query(description="Of the resource, also of one that is not there yet.")],
    action: Annotated[Name, Query(description="Which action.")],
    kind: Annotated[Name | None, Query(description="Needed where there is no resource yet.")] = None,
    lane: Annotated[LaneName | None, Query(description="If it were to be made on this lane.")] = None,
    force: Annotated[bool, Query(description="If it were forced.")] = False,
    reason: Annotated[str, Query(description="With this reason.")] = "",
    on_conflict: Annotated[
        Literal["default", "reject", "queue"], Query(description="If something else is under way.")
    ] = "default",
    at: Annotated[
        Path | None, Query(description="Of what runs beside others: the place below the resource it is for.")
    ] = None,
) -> Explanation:
    """Whether an action would be let in now, why, who is in the way, and what would help. Nothing is done."""
    request = ActionRequest(
        path=path,
        action=action,
        kind=kind or "",
        spec={} if at is None else {"path": at},
        lane=lane or "",
        force=force,
        reason=reason,
        on_conflict=OnConflict(on_conflict),
    )
    answer = await application.explain(request, queries.authorized)
    if isinstance(answer, NotFound):
        raise problem_response(answer)
    return answer
