"""What things wrote, as a server answers with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from urllib.parse import quote

from stead.client.errors import Unavailable
from stead.client.models import Log
from stead.client.transport import Transport

PAUSE = 1.0
"""Seconds between two questions of somebody who follows."""
PATIENCE = 60.0
"""Seconds for which an agent may be away before following is given up."""


class LogsClient:
    """The part of a client that asks for logs."""

    _transport: Transport

    async def logs(self, path: str, *, lines: int = 100, since: str = "") -> Log:
        """The last lines that an app wrote; with `since`, of those after a position."""
        address = f"/v1/logs/{quote(path.removeprefix('/'), safe='/')}"
        query = {"lines": lines, "since": since or None}
        return await self._transport.send(Log, "GET", address, query=query)

    async def follow_logs(self, path: str, *, lines: int = 100, pause: float = PAUSE) -> AsyncGenerator[str]:
        """The last lines that an app wrote, and those that it writes from now on."""
        found = await self.logs(path, lines=lines)
        while True:
            for line in found.lines:
                yield line
            found = await self._more(path, found.position, pause)

    async def _more(self, path: str, since: str, pause: float) -> Log:
        """What came after a position; an agent may be away for a while."""
        loop = asyncio.get_running_loop()
        end = loop.time() + PATIENCE
        while True:
            await asyncio.sleep(pause)
            try:
                return await self.logs(path, lines=10_000, since=since)
            except Unavailable:
                if loop.time() > end:
                    raise
