"""Resources: look at them, ask for changes of them, rehearse a change."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Path as InPath
from fastapi import Query, Response

from stead.api.accepted import Accepted, accepted
from stead.api.identity import Who
from stead.api.models import ActionBody, AskedTime
from stead.api.problems import FieldError, ProblemResponse
from stead.api.request_ids import Cursor, IfMatch, Key, Limit, from_cursor, tags
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import ActionRequest, OnConflict, OnFailure, OnPartial, authorized_commands
from stead.application.explanation import DryRun
from stead.application.models import HistoricalResource, Resource, ResourcePage
from stead.application.names import SEGMENT, Below, Name
from stead.application.queries import Queries

Where = Annotated[
    str,
    InPath(
        pattern=f"^{SEGMENT}(/{SEGMENT})*$",
        max_length=1000,
        description="The path of the resource, without the slash before it.",
        examples=["shop/web/front/1"],
    ),
]


routes = router("resources")


@routes.get("/v1/resources")
async def list_resources(
    queries: QueriesDep,
    kind: Annotated[Name | None, Query(description="Only of this kind.")] = None,
    below: Annotated[Below, Query(description="Only below this path.")] = "/",
    specs: Annotated[bool, Query(description="With the specs; otherwise each `spec` is empty.")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> ResourcePage:
    """Resources below a path, in order of path."""
    after = from_cursor(cursor, str) or ""
    position = await queries.end()
    page = await queries.resources(kind, below, after, limit)
    found = page.items if specs else [replace(item, spec={}, next_spec=None) for item in page.items]
    return ResourcePage(tuple(found), page.next, position, specs)


@routes.get("/v1/resources/{path:path}")
async def read_resource(
    queries: QueriesDep,
    path: Where,
    response: Response,
    at: Annotated[AskedTime | None, Query(description="As it was then; with its offset from UTC.")] = None,
) -> Resource | HistoricalResource:
    """A resource as it is or, with `at`, as it was."""
    if at is not None:
        return await _past(queries, f"/{path}", at)
    found = await queries.resource(f"/{path}")
    if found is None:
        raise ProblemResponse("not-found", f"there is nothing at /{path}")
    response.headers["ETag"] = f'"{found.etag}"'
    return found


@routes.post(
    "/v1/resources/{path:path}",
    status_code=202,
    responses={200: {"model": DryRun | Accepted, "description": "A rehearsal, or there was nothing to do"}},
)
async def request_action(
    application: ApplicationDep,
    path: Where,
    caller: Who,
    response: Response,
    body: ActionBody | None = None,
    action: Annotated[Name | None, Query(description="Which action.")] = None,
    dry_run: Annotated[bool, Query(description="Say what it would do, and do nothing.")] = False,
    key: Key = "",
    if_match: IfMatch = None,
) -> Accepted | DryRun:
    """Ask for a change. It is refused with its reasons, or let in for good and carried to a settled end."""
    request = _request(f"/{path}", body or ActionBody(), action, key, if_match)
    command = authorized_commands.dry_run_action if dry_run else authorized_commands.request_action
    answer = await command(application, request, caller)
    if isinstance(answer, DryRun):
        response.status_code = 200
        return answer
    return accepted(answer, response)


def _request(path: str, body: ActionBody, action: str | None, key: str, if_match: str | None) -> ActionRequest:
    if action and body.action and action != body.action:
        says = f"the query says {action}, the body {body.action}"
        raise ProblemResponse("invalid", f"action: {says}", errors=[FieldError(location="body.action", message=says)])
    return ActionRequest(
        path=path,
        action=action or body.action or "create",
        kind=body.kind or "",
        key=key,
        tags=tags(if_match),
        on_failure=OnFailure(body.on_failure),
        on_partial=OnPartial(body.on_partial),
        on_conflict=OnConflict(body.on_conflict),
        **body.model_dump(exclude={"action", "kind", "on_failure", "on_partial", "on_conflict"}),
    )


async def _past(seen: Queries, path: str, at: datetime) -> HistoricalResource:
    found = await seen.past(path, at)
    if found is None:
        raise ProblemResponse("not-found", f"there was nothing at {path} at {at.isoformat()}")
    return found
