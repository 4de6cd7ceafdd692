"""The journal as it grows, for any number of followers: one look for all, and only while somebody follows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from stead.application.models import JournalLine
from stead.application.reader import Reader
from stead.application.unavailable import AWAY

log = logging.getLogger(__name__)

PAGE = 500


class JournalFeed:
    """Knows how far the journal has come, and wakes those who wait for more."""

    def __init__(self, reader: Reader, every: float = 0.2) -> None:
        self._reader = reader
        self._every = every
        self._end = 0
        self._grown = asyncio.Condition()
        self._followers = 0
        self._looking: asyncio.Task[None] | None = None

    async def follow(
        self, after: int, path: str | None, quiet: float
    ) -> AsyncIterator[tuple[list[JournalLine], int]]:
        """New lines, with the position up to which all were given; without lines after so many quiet seconds."""
        async with self._listening():
            while True:
                end = self._end
                lines, full = await self._reader.journal(after, path, PAGE)
                # Whatever was numbered by then is in the page, unless the page is full.
                after = max(after, end if not full else 0, lines[-1].position if lines else 0)
                if lines:
                    yield lines, after
                elif not await self._beyond(after, quiet):
                    yield [], after

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        self._followers += 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    async def _beyond(self, position: int, patience: float) -> bool:
        """Wait until the journal goes on after a position; whether it did."""
        try:
            async with asyncio.timeout(patience), self._grown:
                await self._grown.wait_for(lambda: self._end > position)
        except TimeoutError:
            return False
        return True

    async def _look(self) -> None:
        while True:
            try:
                end = await self._reader.end()
            except AWAY as error:
                log.warning("the journal cannot be read: %r", error)
            else:
                if end > self._end:
                    async with self._grown:
                        self._end = end
                        self._grown.notify_all()
            await asyncio.sleep(self._every)
