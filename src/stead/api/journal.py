"""The journal, in pages and as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from stead.api.models import ResponseModel, json_of
from stead.api.problems import FieldError, ProblemResponse
from stead.api.request_ids import Limit
from stead.api.routing import QueriesDep, router
from stead.application.journal_feed import JournalFeed
from stead.application.models import JournalLine
from stead.application.names import Below
from stead.application.queries import Queries

RECONNECT = 1000
"""Milliseconds after which a follower that lost its stream comes back."""


class JournalPage(ResponseModel):
    """Lines of the journal."""

    items: Sequence[JournalLine]
    next: int
    """From where to go on: the last position that was looked at."""
    end: int
    """The last position there is."""
    archived: int
    """Lines up to this position are in files, and most of them only there; 0 where none are."""


routes = router("journal")


@routes.get("/v1/journal")
async def read_journal(
    queries: QueriesDep,
    after: Annotated[int, Query(ge=0, le=2**62, description="From after this position on.")] = 0,
    path: Annotated[Below | None, Query(description="Only of this path and below it.")] = None,
    limit: Limit = 100,
) -> JournalPage:
    """Every move, every refusal and every note of something else, in order. `next` goes on where it ends.

    What is archived is not in it: `archived` says up to where.
    """
    end = await queries.end()
    lines, last, full = await queries.journal(after, _whole(path), limit)
    reached = last if full else max(end, last, after)
    return JournalPage(items=lines, next=reached, end=max(end, last), archived=await queries.archived_up_to())


@routes.get(
    "/v1/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_journal(
    queries: QueriesDep,
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="From after this position on.")] = None,
    path: Annotated[Below | None, Query(description="Only of this path and below it.")] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**62, description="Goes before `after`.")] = None,
) -> StreamingResponse:
    """The journal as server-sent events: `move`, `refusal` and `note`, each with a line of the journal.

    A note tells what is to be known though the state stays: an operation that begins or ends without a move, a
    cancel, other facts.
    An event's id is its position. A stream that was lost is resumed with `Last-Event-ID`, and nothing is missed.
    Without a position it begins now. While nothing happens, a comment says every few seconds that it lives.
    A position after which lines were archived is answered 410, which says where the journal begins by now.
    """
    end = await queries.end()
    start = await start_of(queries, last_event_id if last_event_id is not None else after, end)
    state = request.app.state
    state.limits.stream(request)
    events = _events(state.feed, queries, end if start is None else start, _whole(path), state.heartbeat)
    return StreamingResponse(events, media_type="text/event-stream")


async def start_of(queries: Queries, start: int | None, end: int) -> int | None:
    """The position from which a stream begins, if it is one that the journal has."""
    if start is None:
        return None
    if start > end:
        message = f"the journal ends at {end}"
        raise ProblemResponse(
            "invalid", f"position {start}: {message}", errors=[FieldError(location="position", message=message)]
        )
    await queries.check_archived(start)
    return start


async def _events(
    feed: JournalFeed, queries: Queries, after: int, path: str | None, heartbeat: float
) -> AsyncIterator[str]:
    # An id without data moves the place to resume from and is no event.
    yield f"retry: {RECONNECT}\nid: {after}\n\n"
    async for found, reached in feed.follow(after, path, heartbeat):
        if not await queries.still():
            return  # whoever comes back has to say again who they are
        lines = await queries.lines(found)
        for line in lines:
            kind = "refusal" if line.rejections else "move" if line.source != line.target else "note"
            data = json_of(line)
            yield f"id: {line.position}\nevent: {kind}\ndata: {data}\n\n"
        if not lines:
            yield f": alive\nid: {reached}\n\n"


def _whole(path: str | None) -> str | None:
    """The root is everything, for which there is a quicker way."""
    return None if path == "/" else path
