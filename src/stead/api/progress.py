"""The progress of one operation as a stream: each step once, in order, and at the end how it ended.

A step is a line of the journal, and its position is where whoever lost the stream comes back to, at this server or at
another one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Header, Query, Request
from fastapi.responses import StreamingResponse

from stead.api.journal import RECONNECT, start_of
from stead.api.models import json_of
from stead.api.operations import Namespace, OperationUuid, operation_at
from stead.api.routing import QueriesDep, router
from stead.application.journal_feed import PAGE, JournalFeed
from stead.application.models import JournalLine, Operation
from stead.application.queries import Queries

OFTEN = 1.0
"""Seconds between two looks at whether an operation has ended, where the journal does not say."""


routes = router("operations")


@routes.get(
    "/v1/operations/{namespace}/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_operation(
    queries: QueriesDep,
    namespace: Namespace,
    id: OperationUuid,
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=2**62, description="Only steps after this position.")] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=2**62, description="Goes before `after`.")] = None,
) -> StreamingResponse:
    """The steps of an operation as server-sent events, from its beginning or from after a position on.

    `step` has a line of the journal, of the operation's own path or of a member of it; the event's id is its
    position. When all were given and the operation has ended, `ended` has the operation, and the stream is over.
    A stream that was lost is resumed with `Last-Event-ID`: no step is missed, and none is given twice.
    """
    found = await operation_at(queries, namespace, id)
    end = await queries.end()
    start = await start_of(queries, last_event_id if last_event_id is not None else after, end)
    if start is None:
        first = await queries.first_step(found)
        start = end if first is None else first - 1
    state = request.app.state
    state.limits.stream(request)
    events = _Steps(queries, state.feed, found, start)
    return StreamingResponse(events.run(min(state.heartbeat, OFTEN)), media_type="text/event-stream")


class _Steps:
    def __init__(self, queries: Queries, feed: JournalFeed, operation: Operation, after: int) -> None:
        self.queries = queries
        self.feed = feed
        self.operation = operation
        self.after = after

    async def run(self, quiet: float) -> AsyncIterator[str]:
        yield f"retry: {RECONNECT}\nid: {self.after}\n\n"
        async for found, reached in self.feed.follow(self.after, self.operation.path, quiet):
            if not await self.queries.still():
                return  # whoever comes back has to say again who they are
            for text in await self._told(found):
                yield text
            self.after = reached
            ended = await self.queries.ended(self.operation)
            if ended is None:
                yield f": alive\nid: {reached}\n\n"
                continue
            async for text in self._rest():
                yield text
            yield f"id: {self.after}\nevent: ended\ndata: {json_of(ended)}\n\n"
            return

    async def _told(self, found: list[JournalLine]) -> list[str]:
        return self._written(await self.queries.lines(found))

    def _written(self, lines: list[JournalLine]) -> list[str]:
        mine = [line for line in lines if line.operation == self.operation.id]
        return [f"id: {line.position}\nevent: step\ndata: {json_of(line)}\n\n" for line in mine]

    async def _rest(self) -> AsyncIterator[str]:
        """What was numbered before the end was seen, and not read yet."""
        while True:
            lines, last, _ = await self.queries.journal(self.after, self.operation.path, PAGE)
            if not last:
                return
            for text in self._written(lines):
                yield text
            self.after = last
