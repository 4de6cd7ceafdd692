"""The connection to the servers, kept up for ever.

Whenever a connection ends, for whatever reason, a new client takes its place and listens where the old one listened.
(The client library can reconnect by itself, but gives up for good when a server ends the connection with an error,
and sends after a reconnection what nobody waits for any more.) While there is no connection nothing is kept to be
sent later: a word that cannot be sent now is an error now.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error

from stead.bus.errors import NoAnswer, Unavailable

log = logging.getLogger(__name__)

MAX_CONCURRENT_CREATES = 16
"""Consumers that are made at once."""

MAX_PAUSE = 2.0
"""Seconds between two tries to connect, at most and on average."""

CHECK_INTERVAL = 1.0
"""Seconds between two looks at a client that should have said by itself that it has ended."""

Callback = Callable[[Msg], Awaitable[None]]
Options = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""What the client library is told beside; if it is to be called, it is before every connection."""


class BusState(StrEnum):
    """Whether words can be sent now."""

    CONNECTED = "connected"
    DISCONNECTED = "disconnected"


StateCallback = Callable[[BusState], None]


class DurableSubscription:
    """A subscription that outlives the client it was made on."""

    def __init__(self, link: Connection, subject: str, queue: str, callback: Callback) -> None:
        self._link = link
        self._subject = subject
        self._queue = queue
        self._callback = callback
        self._client: Client | None = None
        self._subscription: Subscription | None = None

    def listens_on(self, client: Client) -> bool:
        return self._client is client

    async def begin(self, client: Client) -> None:
        self._client = client
        self._subscription = await client.subscribe(self._subject, self._queue, cb=self._callback)

    async def close(self) -> None:
        self._link.forget(self)
        if self._subscription is not None:
            with suppress(Error):
                await self._subscription.unsubscribe()


class Connection:
    """A connection that comes back."""

    def __init__(
        self,
        url: str | Sequence[str],
        name: str,
        *,
        ping_interval: float = 5.0,
        pause: float = 0.1,
        inbox: str = "_INBOX",
        options: Options | None = None,
    ) -> None:
        """One server, or several, with commas between where it is one word; any of them will do.

        A server that hangs is noticed after three pings; `options` go to the client library as they are.
        """
        servers = url.split(",") if isinstance(url, str) else list(url)
        for server in servers:
            if not urlsplit(server).hostname or urlsplit(server).port == 0:
                raise ValueError(f"{server!r} is not the URL of a server: nats://host:port")
        self._options: dict[str, Any] = {
            "servers": servers,
            "name": name,
            "inbox_prefix": inbox,
            "ping_interval": ping_interval,
            "max_outstanding_pings": 2,
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": pause,
            "pending_size": 0,
        }
        self.creating = asyncio.Semaphore(MAX_CONCURRENT_CREATES)
        """For whoever has something made by the server: thousands at once would all wait too long, and ask again."""
        self._given = options
        self._pause = pause
        self._client: Client | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._up = asyncio.Event()
        self._broken: asyncio.Future[None]
        self._why = "the bus is not open"
        self._last_error = ""
        self._listening: list[DurableSubscription] = []
        self._watchers: list[StateCallback] = []

    async def open(self, timeout: float | None = None) -> None:
        """Begin to connect, and go on for ever; wait for the first success, so long."""
        if self._keeping is None:
            self._why = "the bus is not connected yet"
            self._keeping = asyncio.create_task(self._keep(), name="bus-link")
        await self.wait(timeout)

    async def close(self) -> None:
        keeping, self._keeping = self._keeping, None
        if keeping is not None:
            keeping.cancel()
            await asyncio.wait([keeping])
            self._why = "the bus is closed"

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    def client(self) -> Client:
        """The connected client."""
        if self._client is None or not self._client.is_connected:
            raise Unavailable(self._why)
        return self._client

    def max_message(self) -> int:
        """Bytes that a message has at most, as the server says."""
        return self.client().max_payload

    def certificate_expiry(self) -> datetime | None:
        """When the certificate of the server expires; None without TLS."""
        if self._client is None or not self._client.is_connected:
            return None
        writer: Any = getattr(self._client._transport, "_io_writer", None)  # the library does not tell it
        secured = writer.get_extra_info("ssl_object") if writer is not None else None
        shown = secured.getpeercert() if secured is not None else None
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(shown["notAfter"]), UTC) if shown else None

    async def wait(self, timeout: float | None = None) -> None:
        """Until there is a connection."""
        if self._keeping is None:
            raise Unavailable(self._why)
        if not self._up.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._up.wait()
        if not self._up.is_set():
            raise Unavailable(self._why)

    async def unbroken[T](self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of work on the present connection; an error at once if that breaks before it is done."""
        task = asyncio.create_task(work)
        try:
            either: list[asyncio.Future[Any]] = [task, self._broken]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise NoAnswer("the connection broke before the answer came")
            return task.result()
        finally:
            task.cancel()

    def watch(self, callback: StateCallback) -> None:
        """Call it on every change of state."""
        self._watchers.append(callback)

    def unwatch(self, callback: StateCallback) -> None:
        with suppress(ValueError):
            self._watchers.remove(callback)

    def new_inbox(self) -> str:
        """A subject that nobody else uses."""
        return f"{self._options['inbox_prefix']}.{secrets.token_hex(11)}"

    async def renew(self) -> None:
        """End this connection, if there is one; the next is made with the options as they are then."""
        if self._client is not None:
            await self._client.close()

    async def listen(self, subject: str, callback: Callback, queue: str = "") -> DurableSubscription:
        """Call back with every message on a subject, on this connection and on every later one."""
        listening = DurableSubscription(self, subject, queue, callback)
        self._listening.append(listening)
        if self._client is not None and self._client.is_connected:
            await listening.begin(self._client)
        return listening

    def forget(self, listening: DurableSubscription) -> None:
        with suppress(ValueError):
            self._listening.remove(listening)

    async def _keep(self) -> None:
        pause = self._pause
        while True:
            try:
                await self._connect_once()
                pause = self._pause
            except Exception as error:
                # Whatever it is, the next try may go better; and nobody else is there to make one.
                why = f"the bus is not connected: {self._last_error or str(error) or type(error).__name__}"
                why += clock_of(why)
                log.log(logging.DEBUG if why == self._why else logging.WARNING, "%s", why)
                self._why = why
            # Not all who lost a server are to come back at the same moment.
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, MAX_PAUSE)

    async def _connect_once(self) -> None:
        """Connect, and return when the connection has ended; raise when there was none."""
        closed = asyncio.Event()

        async def on_closed() -> None:
            closed.set()

        client = Client()
        self._last_error = ""
        try:
            given = self._given() if callable(self._given) else self._given or {}
            options = {"connect_timeout": 5, **given, **self._options}
            await client.connect(**options, closed_cb=on_closed, error_cb=self._on_error)
            while behind := [one for one in self._listening if not one.listens_on(client)]:
                for listening in behind:
                    await listening.begin(client)
            self._client = client
            self._broken = asyncio.get_running_loop().create_future()
            self._change(BusState.CONNECTED)
            while client.is_connected:
                with suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_INTERVAL):
                        await closed.wait()
            self._why = f"the connection to the bus ended: {client.last_error or 'without a word'}"
            log.warning("%s", self._why)
        finally:
            if self._client is not None:
                self._client = None
                self._broken.set_result(None)
            self._change(BusState.DISCONNECTED)
            await client.close()

    async def _on_error(self, error: Exception) -> None:
        self._last_error = str(error) or type(error).__name__
        log.debug("bus: %s", self._last_error)

    def _change(self, state: BusState) -> None:
        up = state is BusState.CONNECTED
        if up == self._up.is_set():
            return
        if up:
            self._up.set()
        else:
            self._up.clear()
        log.info("the bus is %s", state)
        for watcher in list(self._watchers):
            try:
                watcher(state)
            except Exception:
                log.exception("a callback for the state of the bus failed")


def clock_of(why: str) -> str:
    """The time by which a certificate was judged, where an error says that it is not valid at that time."""
    if "certificate is not yet valid" not in why and "certificate has expired" not in why:
        return ""
    return f", by the clock of this machine, which says {datetime.now(UTC):%Y-%m-%dT%H:%M:00Z}"
