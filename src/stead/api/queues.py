"""Queues: where requests wait that met another operation and were to wait their turn."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from stead.access.policies import QUEUE
from stead.api.identity import Who
from stead.api.problems import ProblemResponse, problem_response
from stead.api.request_ids import Cursor, Limit, from_cursor
from stead.api.resources import Where
from stead.api.routing import ApplicationDep, QueriesDep, router
from stead.application import NotFound
from stead.application.cell_commands import CellCommands
from stead.application.models import Page, Queue, QueueDetail, whole_queue
from stead.application.names import Below

routes = router("queues")


@routes.get("/v1/queues")
async def list_queues(
    queries: QueriesDep,
    below: Annotated[Below, Query(description="Only of this path or below it.")] = "/",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Queue]:
    """Queues, in order of path. An object has one from when something first waited for it."""
    return await queries.queues(below, from_cursor(cursor, str) or "", limit)


@routes.get("/v1/queues/{path:path}")
async def read_queue(queries: QueriesDep, path: Where, limit: Limit = 100) -> QueueDetail:
    """The queue of an object, with what waits in it."""
    found = await queries.queue(f"/{path}")
    if found is None:
        raise ProblemResponse("not-found", f"/{path} has no queue")
    page = await queries.queued(f"/{path}", limit)
    return whole_queue(found, page)


@routes.put("/v1/queues/{path:path}")
async def open_queue(application: ApplicationDep, caller: Who, path: Where) -> Queue:
    """Make the queue of an object before something waits for it. One that is there stays as it is."""
    commands = CellCommands(application)
    authorized = await commands.authorize_queue(f"/{path}", caller)
    if authorized is None:
        raise ProblemResponse("not-found", f"there is nothing at /{path}")
    answer = await commands.open_queue(f"/{path}", authorized)
    if isinstance(answer, NotFound):
        raise problem_response(answer)
    return answer


@routes.delete("/v1/queues/{path:path}", status_code=202)
async def stop_queue(application: ApplicationDep, caller: Who, path: Where) -> Queue:
    """The queue takes nothing more; what is in it is carried out, then it is removed."""
    commands = CellCommands(application)
    authorized = await commands.authorize_queue(f"/{path}", caller)
    if authorized is None:
        raise ProblemResponse("not-found", f"/{path} has no queue")
    answer = await commands.stop_queues(authorized, f"/{path}")
    if isinstance(answer, NotFound):
        raise problem_response(answer)
    return answer.items[0]


@routes.delete("/v1/cells/{cell}/queues", status_code=202)
async def stop_queues(application: ApplicationDep, caller: Who) -> Page[Queue]:
    """No queue takes anything more; what is in them is carried out, then they are removed."""
    answer = await CellCommands(application).stop_queues(application.authorization.require(caller, QUEUE))
    if isinstance(answer, NotFound):
        raise problem_response(answer)
    return answer
