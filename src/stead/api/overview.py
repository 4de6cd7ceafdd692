"""Much at a glance: the cell, what lies below a path, and what an operation did and when."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from stead.api.operations import Namespace, OperationUuid, operation_at
from stead.api.problems import ProblemResponse
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.routing import QueriesDep, router
from stead.application.models import Page
from stead.application.names import Below
from stead.application.overview import Overview
from stead.application.timeline import Timeline
from stead.application.tree import TreeNode

routes = router("overview")


@routes.get("/v1/overview")
async def read_overview(queries: QueriesDep) -> Overview:
    """The cell at a glance: how many of what are where, what goes on, what is in trouble and why."""
    return await queries.overview()


@routes.get("/v1/tree")
async def read_tree(
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Directly below this path.")] = "/",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[TreeNode]:
    """What lies directly below a path, each with how all that is below it stands, the worst first."""
    return await queries.tree(below, from_cursor(cursor, str), limit)


@routes.get("/v1/operations/{namespace}/{id}/timeline")
async def read_timeline(
    queries: QueriesDep,
    namespace: Namespace,
    id: OperationUuid,
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many members.")] = 100,
    cursor: Cursor = None,
) -> Timeline:
    """What an operation did to each of its members and when, and why those failed that did."""
    await operation_at(queries, namespace, id)
    found = await queries.timeline(id, max(from_cursor(cursor, int) or 0, 0), limit)
    if found is None:
        raise ProblemResponse("not-found", f"there is no operation {namespace}/{id}")
    return found
