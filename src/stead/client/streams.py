"""The part of the client that follows: the journal as it grows, and an operation step by step.

A stream that is lost, with its connection or with its server, is resumed from the last position that came: no line is
missed or given twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import quote

import httpx

from stead.client.errors import Unavailable, Unreachable
from stead.client.events import Event, events
from stead.client.models import JournalLine, JournalPage
from stead.client.transport import Transport, pause, raise_for_problem, read

ENDED = "ended"


class Streams:
    """What is followed."""

    _transport: Transport
    _patience: float
    _silence: float

    async def events(self, *, after: int | None = None, path: str | None = None) -> AsyncGenerator[JournalLine]:
        """The journal as it grows, for ever, from a position or from now on.

        A stream that is lost is resumed: no line is missed or given twice.
        """
        if after is None:  # where "now" is has to be known before the first stream is lost
            after = (await self._transport.send(JournalPage, "GET", "/v1/journal", query={"limit": 1})).end
        async with aclosing(self._resumed("/v1/events", {"path": path}, after)) as heard:
            async for event in heard:
                if event.data:
                    yield read(event.data.encode(), JournalLine)

    async def steps(self, id: str, *, after: int | None = None) -> AsyncGenerator[JournalLine]:
        """The steps of an operation, to its end: lines of the journal, from its beginning or from after a position.

        Whoever goes away comes back with the position of the last step that came.
        """
        async with aclosing(self._resumed(f"/v1/operations/{quote(id)}/events", {}, after)) as heard:
            async for event in heard:
                if event.name == ENDED:
                    return
                if event.data:
                    yield read(event.data.encode(), JournalLine)

    async def _resumed(self, address: str, query: Mapping[str, Any], place: int | None) -> AsyncGenerator[Event]:
        """The events of a stream, for ever."""
        attempt = 0
        heard_at = _now()
        while True:
            headers = {} if place is None else {"Last-Event-ID": str(place)}
            try:
                async with self._transport.stream(address, query, headers, self._silence) as response:
                    if response.status_code != 200:
                        raise_for_problem(response.status_code, await response.aread())
                    async with aclosing(events(response.aiter_bytes())) as heard:
                        async for event in heard:
                            attempt, heard_at = 0, _now()
                            place = int(event.id) if event.id else place
                            yield event
            except (httpx.TransportError, Unavailable) as error:
                if _now() - heard_at > self._patience:
                    raise error if isinstance(error, Unavailable) else Unreachable(str(error)) from error
            await asyncio.sleep(pause(attempt))
            attempt += 1


def _now() -> float:
    return asyncio.get_running_loop().time()
