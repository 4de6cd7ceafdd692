"""Operations, and the claims they have."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path as InPath
from fastapi import Query, Response

from stead.api.accepted import Accepted, accepted
from stead.api.identity import Who
from stead.api.models import ResponseModel
from stead.api.problems import ProblemResponse, problem_response
from stead.api.request_ids import Cursor, Key, Limit, from_cursor
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import authorized_commands
from stead.application.models import Claim, Operation, OperationMember, Page
from stead.application.names import SEGMENT, Below
from stead.application.queries import Queries


class RetryRequest(ResponseModel):
    """How to ask once more."""

    force: bool = False
    """Ignore the state. Needs a reason."""
    reason: str = ""


Namespace = Annotated[
    str, InPath(pattern=f"^{SEGMENT}$", max_length=100, description="The namespace that the id begins with.")
]
OperationUuid = Annotated[UUID, InPath(description="The rest of the id.")]

routes = router("operations")


async def operation_at(queries: Queries, namespace: str, id: UUID) -> Operation:
    """The operation of an id that begins with its namespace."""
    found = await queries.operation(id)
    if found is None or found.id != f"{namespace}/{id}":
        raise ProblemResponse("not-found", f"there is no operation {namespace}/{id}")
    return found


@routes.get("/v1/operations")
async def list_operations(
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Only on this path or below it.")] = "/",
    running: Annotated[bool | None, Query(description="Only those under way, or only those that ended.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Operation]:
    """Operations, the latest first; those under way in order of path."""
    return await queries.operations(below, running, from_cursor(cursor, int), limit)


@routes.get("/v1/operations/{namespace}/{id}")
async def read_operation(queries: QueriesDep, namespace: Namespace, id: OperationUuid) -> Operation:
    """An operation that waits its turn, is under way or has ended."""
    return await operation_at(queries, namespace, id)


@routes.get("/v1/operations/{namespace}/{id}/members")
async def list_operation_members(
    queries: QueriesDep, namespace: Namespace, id: OperationUuid, limit: Limit = 100, cursor: Cursor = None
) -> Page[OperationMember]:
    """Members that did not do what an operation asked, were skipped, or joined another one, each with why."""
    await operation_at(queries, namespace, id)
    return await queries.members(id, from_cursor(cursor, str) or "", limit)


@routes.post("/v1/operations/{namespace}/{id}/cancel", status_code=202)
async def cancel_operation(
    application: ApplicationDep,
    queries: QueriesDep,
    namespace: Namespace,
    id: OperationUuid,
    caller: Who,
    response: Response,
) -> Operation:
    """End an operation before it is done. It may be repeated. A caller that may ask for the action may cancel it.

    The agent that works on it keeps its custody until that ends: Stead fences it off, waits until it can no longer
    act, observes the object, and the resource settles to what is true. The operation ends `cancelled`, or `done` if
    it turns out so. One that waits its turn is taken out of its queue, and ends at once.
    """
    await operation_at(queries, namespace, id)
    answer = await authorized_commands.cancel_operation(application, id, caller)
    if not isinstance(answer, Operation):
        raise problem_response(answer)
    response.headers["Location"] = f"/v1/operations/{answer.id}"
    return answer


@routes.post("/v1/operations/{namespace}/{id}/promote")
async def promote_operation(
    application: ApplicationDep, queries: QueriesDep, namespace: Namespace, id: OperationUuid, caller: Who
) -> Operation:
    """Put an operation that waits its turn first in its queue."""
    await operation_at(queries, namespace, id)
    answer = await authorized_commands.promote_operation(application, id, caller)
    if not isinstance(answer, Operation):
        raise problem_response(answer)
    return answer


@routes.post(
    "/v1/operations/{namespace}/{id}/retry",
    status_code=202,
    responses={200: {"model": Accepted, "description": "There was nothing to do"}},
)
async def retry_operation(
    application: ApplicationDep,
    queries: QueriesDep,
    namespace: Namespace,
    id: OperationUuid,
    caller: Who,
    response: Response,
    body: RetryRequest | None = None,
    key: Key = "",
) -> Accepted:
    """Ask once more for what an operation was to do that did not end `done` or `displaced`.

    It is a new operation of the caller's, with the same spec, force and reason, and is let in or refused as any.
    Of a group, only the members that failed are asked.
    """
    await operation_at(queries, namespace, id)
    said = body or RetryRequest()
    answer = await authorized_commands.retry_operation(
        application, id, caller, key, force=said.force, reason=said.reason
    )
    return accepted(answer, response)


@routes.get("/v1/claims")
async def list_claims(
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Only on this path or below it.")] = "/",
    limit: Limit = 100,
) -> Page[Claim]:
    """Who may change what now."""
    return await queries.claims(below, limit)
