"""Something between a client and its server that fails on command: cuts streams, refuses, loses answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """Passes bytes on, until it is told otherwise."""

    def __init__(self, server: str) -> None:
        self._to = urlsplit(server)
        self._pairs: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.refusing = False
        self.losing = 0
        """So many answers are dropped, after the server has given them."""
        self.connections = 0
        self.asked: list[bytes] = []
        self._passed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()  # also one that has no connection to the server yet, and that a cut would miss
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()

    def cut(self) -> None:
        """Break every connection."""
        for writer in list(self._pairs):
            writer.close()

    async def reached(self, true: Callable[[], bool]) -> None:
        """Wait until something is true of what passed."""
        async with self._passed:
            await self._passed.wait_for(true)

    async def _tell(self) -> None:
        async with self._passed:
            self._passed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        ours = {writer}
        try:
            self.connections += 1
            await self._tell()
            if self.refusing:
                return
            upstream, back = await asyncio.open_connection(self._to.hostname, self._to.port)
            ours.add(back)
            self._pairs |= ours
            with suppress(OSError):
                await asyncio.gather(self._up(reader, back), self._down(upstream, writer))
        finally:
            self._pairs -= ours
            for one in ours:
                one.close()
            self._serving.discard(task)

    async def _up(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            self.asked.append(data)
            await self._tell()
            sink.write(data)
        sink.close()

    async def _down(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self.losing:
                self.losing -= 1
                break
            sink.write(data)
        sink.close()
