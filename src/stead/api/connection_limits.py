"""Connections that starve nobody.

Uvicorn waits for ever for a request whose headers trickle, for the first byte of a connection, and for a reader that
does not read; and takes headers of any length. Here each has its time and its size. Where there are too many
connections, the one goes that has waited longest without a request: so those who open many and say nothing lose
theirs, and whoever asks is heard.
"""

from __future__ import annotations

import asyncio
import resource
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

SPARE = 200
"""Files that are left for everything else: the database, the bus, logs."""


class LimitedConnection(HttpToolsProtocol):
    """One connection."""

    header_time: ClassVar[float] = 10.0
    """Seconds in which the headers of a request have to arrive: from the first byte on or, for the first one, from
    the beginning of the connection."""
    header_size: ClassVar[int] = 64 * 1024
    """Bytes that may come before they are whole."""
    write_time: ClassVar[float] = 30.0
    """Seconds in which a reader has to take something of what waits for it."""
    most: ClassVar[int] = 4000
    """Connections at once."""
    waiting: ClassVar[dict[LimitedConnection, None]] = {}
    """Those without a request in hand, the one that has waited longest first."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._seen = 0
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Room is made for it, if need be."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            for oldest in self.waiting:
                oldest.transport.abort()
                self.waiting.pop(oldest)
                break
            else:  # all of them are being answered
                self.transport.abort()
                return
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """No timer outlives it."""
        self._settle()
        if self._write_timer is not None:
            self._write_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Headers have a size, and a time from their first byte on."""
        if self._between and self._header_timer is None:
            self._await_headers()
        self._seen += len(data)
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._seen = 0
        elif self._header_timer is not None and self._seen > self.header_size and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_headers_complete(self) -> None:
        """A request is in hand."""
        self._settle()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        """It is not any more. Between two requests, uvicorn's own timer runs."""
        super().on_response_complete()
        self._seen = 0
        if not self.transport.is_closing() and not self.pipeline and self._between:
            self.waiting[self] = None

    def pause_writing(self) -> None:
        """The reader does not keep up; it has a while to."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.write_time, self.transport.abort)

    def resume_writing(self) -> None:
        """It has."""
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None
        super().resume_writing()

    @property
    def _between(self) -> bool:
        """Whether no request is in hand."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _await_headers(self) -> None:
        self.waiting[self] = None
        self._header_timer = self.loop.call_later(self.header_time, self._too_late)

    def _too_late(self) -> None:
        self._header_timer = None
        if not self.transport.is_closing():
            self.transport.abort()

    def _settle(self) -> None:
        """Its headers are there, or it is gone."""
        self.waiting.pop(self, None)
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None


def raise_limit(most: int = LimitedConnection.most) -> int:
    """Let this process have as many files open as so many connections need, where it may; how many it can hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + SPARE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(wanted, hard), hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft - SPARE))
