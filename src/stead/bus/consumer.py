"""Pulling messages out of a stream, and saying when each is done.

A message that is not acknowledged within the ack wait comes again, here or to whoever else pulls from the same
consumer, as often as it takes; so what is pulled may have been pulled before. The server's side is made when first
needed and made again when the server has lost it.

One request asks for as many messages as there are, at once, and otherwise for the first to come within the time. (The
client library's own pull takes a lost consumer for an empty one, and leaves requests behind that catch messages
nobody waits for.)
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import msgspec
from nats.aio.msg import Msg
from nats.errors import Error
from nats.js.api import AckPolicy, ConsumerConfig, Header, StatusCode
from nats.js.errors import BadRequestError, NotFoundError

from stead.bus.codec import MessageFormat
from stead.bus.connection import BusState, Connection, DurableSubscription
from stead.bus.errors import BadMessage, Unavailable, UnknownVersion, translated
from stead.bus.invalid_messages import InvalidMessages
from stead.bus.messages import Message

log = logging.getLogger(__name__)

ACK_WAIT = 5.0
"""Seconds after which a message that nobody acknowledges, or works on, comes again."""

GRACE = 0.5
"""Seconds that the end of a request may be late."""

LINGER = 0.05
"""Seconds without a message after which what has arrived is handed out, though the server has not said it is all."""

PAUSE, MAX_PAUSE = 0.1, 3.0
"""Seconds before another try where the server refused one: at first, and in the end."""

CREATE_TIMEOUT = 15.0
"""Seconds for the server to make its side: it may have thousands to make, and to ask again makes it worse."""

UNKNOWN_VERSION_DELAY = 30.0
"""Seconds before a message of another version comes again, perhaps to somebody who understands it."""

MAX_UNKNOWN_DELIVERIES = 20
"""How often it comes, at most: by then whoever understands it would have had it."""

END_STATUSES = (StatusCode.NO_MESSAGES, StatusCode.REQUEST_TIMEOUT)


@dataclass(frozen=True, slots=True)
class Delivery[M: Message]:
    """A message, and the right to say what is to become of it.

    What is said may be lost, with the connection or the server; then the message comes again.
    """

    message: M
    times: int
    """How often it has been delivered, with this time; as far as the server knows, which forgets it in a crash."""
    _reply: str = field(repr=False)
    _link: Connection = field(repr=False)

    async def ack(self) -> None:
        """It is done and never comes again."""
        await self._say(Msg.Ack.Ack)

    async def nak(self, delay: float = 0.0) -> None:
        """It is not done; let it come again after so many seconds."""
        await self._say(Msg.Ack.Nak + (b' {"delay": %d}' % int(delay * 1e9) if delay > 0 else b""))

    async def drop(self) -> None:
        """It is worth nothing, and never comes again."""
        await self._say(Msg.Ack.Term)

    async def working(self) -> None:
        """It is being worked on: the ack wait begins anew."""
        await self._say(Msg.Ack.Progress)

    async def _say(self, word: bytes) -> None:
        await _answer(self._link, self._reply, word)


async def _answer(link: Connection, reply: str, word: bytes) -> None:
    try:
        with translated("acknowledge"):
            await link.client().publish(reply, word)
    except Unavailable as error:
        log.info("%s; the message will come again", error)


@dataclass(slots=True)
class _Request:
    """One request for messages. The server says on its subject how it ended, if not by being fulfilled."""

    subject: str = ""
    number: int = 0
    status: str = ""


class Consumer[M: Message]:
    """Pulls messages of one form from one consumer of one stream."""

    def __init__(
        self,
        link: Connection,
        form: MessageFormat[M],
        *,
        stream: str,
        name: str,
        filter_subject: str | None = None,
        ack_wait: float = ACK_WAIT,
        inactive_threshold: float | None = None,
        batch: int = 100,
        prefix: str = "$JS.API",
        make: Callable[[], Awaitable[object]] | None = None,
        invalid_messages: InvalidMessages | None = None,
        belongs: Callable[[str, M], bool] = lambda _subject, _message: True,
    ) -> None:
        """A message that does not belong on its subject is invalid; `make` has a controller make the consumer."""
        self._make = make or self.make
        self._invalid_messages = invalid_messages or InvalidMessages()
        self._belongs = belongs
        self._link = link
        self._form = form
        self._stream = stream
        self._config = ConsumerConfig(
            name=name,
            durable_name=name,
            filter_subject=filter_subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ack_wait,
            max_deliver=-1,
            mem_storage=False,  # in memory, it would be gone with a majority of the nodes
            max_ack_pending=-1,
            inactive_threshold=inactive_threshold,
        )
        self._batch = batch
        self._prefix = prefix
        self._fresh = ack_wait * 0.8
        self._lock = asyncio.Lock()
        self._wake = asyncio.Event()
        self._inbox = ""
        self._listening: DurableSubscription | None = None
        self._broken = False
        self._made = False
        self._request = _Request()
        self._arrived: deque[tuple[float, Msg]] = deque()
        link.watch(self._on_state)

    async def fetch(self, limit: int | None = None, timeout: float = 5.0) -> list[Delivery[M]]:
        """What is there, up to `limit` messages, or what comes first within `timeout` seconds, or nothing.

        Raises `Unavailable` if by then the stream could not be asked.
        """
        limit = limit or self._batch
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        asked, pause = False, PAUSE
        async with self._lock:
            while True:
                if found := await self._open(limit):
                    return found
                left = max(deadline - loop.time(), 0.0)
                if asked and not left:
                    return []
                try:
                    await self._link.wait(left)
                    await self._prepare()
                    await self._pull(limit, left)
                    asked = True
                except Unavailable:
                    self._made = False
                    left = deadline - loop.time()
                    if left <= 0:
                        raise
                    await asyncio.sleep(min(random.uniform(pause / 2, pause), left))
                    pause = min(pause * 2, MAX_PAUSE)

    async def close(self) -> None:
        """Pull no more. What was fetched can still be acknowledged; the server's side stays."""
        self._link.unwatch(self._on_state)
        if self._listening is not None:
            await self._listening.close()
            self._listening = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _prepare(self) -> None:
        if self._broken and self._listening is not None:
            await self._listening.close()
            self._listening = None
        if self._listening is None:
            self._broken = False
            self._inbox = self._link.new_inbox()
            self._listening = await self._link.listen(f"{self._inbox}.*", self._on_message)
        if not self._made:
            await self._make()
            self._made = True

    async def make(self) -> None:
        """Make the server's side, unless it is there."""
        with translated(f"consumer {self._config.name} of {self._stream}"):
            async with self._link.creating:
                manager = self._link.client().jsm(prefix=self._prefix)
                try:
                    await self._link.unbroken(
                        manager.add_consumer(self._stream, self._config, timeout=CREATE_TIMEOUT)
                    )
                except BadRequestError:
                    # One of an earlier version is in the memory of the nodes; what it would deliver is in the stream.
                    if not (await manager.consumer_info(self._stream, str(self._config.name))).config.mem_storage:
                        raise
                    await manager.delete_consumer(self._stream, str(self._config.name))
                    await self._link.unbroken(
                        manager.add_consumer(self._stream, self._config, timeout=CREATE_TIMEOUT)
                    )

    async def _pull(self, limit: int, timeout: float) -> None:
        """Ask once, and wait until the request has ended."""
        request = self._request = _Request(f"{self._inbox}.{self._request.number + 1}", self._request.number + 1)
        ask = {"batch": limit, "expires": int(timeout * 1e9), "no_wait": True}
        subject = f"{self._prefix}.CONSUMER.MSG.NEXT.{self._stream}.{self._config.name}"
        client = self._link.client()
        with translated("pull"):
            await client.publish(subject, msgspec.json.encode(ask), request.subject)
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout + GRACE
        with suppress(TimeoutError):
            while not request.status and len(self._arrived) < limit and client.is_connected:
                self._wake.clear()
                # What arrives without an end may answer an earlier request, that was given up.
                async with asyncio.timeout_at(loop.time() + LINGER if self._arrived else end):
                    await self._wake.wait()
        if request.status and not self._arrived:
            if request.status not in END_STATUSES:
                name = f"{self._config.name} of {self._stream}"
                raise Unavailable(f"the consumer {name} is not there ({request.status})")
            await asyncio.sleep(min(PAUSE, timeout) if request.status == StatusCode.NO_MESSAGES else 0)

    async def _on_message(self, message: Msg) -> None:
        status = message.headers.get(Header.STATUS) if message.headers else None
        if status is None:
            self._arrived.append((asyncio.get_running_loop().time(), message))
        elif message.subject == self._request.subject:
            self._request.status = status
        self._wake.set()

    def _on_state(self, state: BusState) -> None:
        """An inbox is for one connection: a request from before would catch what nobody is given any more."""
        self._broken |= state is BusState.DISCONNECTED
        self._wake.set()

    async def _open(self, limit: int) -> list[Delivery[M]]:
        """The messages that have arrived, without those that have come again elsewhere by now."""
        oldest = asyncio.get_running_loop().time() - self._fresh
        found: list[Delivery[M]] = []
        while self._arrived and len(found) < limit:
            at, message = self._arrived.popleft()
            if at < oldest:
                continue
            times = _times(message)
            if not times:
                self._invalid_messages.note(message.subject, "it comes from no stream")
                continue
            try:
                decoded = self._form.decode(message.data)
                if not self._belongs(message.subject, decoded):
                    raise BadMessage("it does not belong there")
            except UnknownVersion as error:
                self._invalid_messages.note(message.subject, f"{error}; left to others")
                word = Msg.Ack.Nak + b' {"delay": %d}' % int(UNKNOWN_VERSION_DELAY * 1e9)
                await _answer(self._link, message.reply, word if times < MAX_UNKNOWN_DELIVERIES else Msg.Ack.Term)
            except (BadMessage, ValueError) as error:
                self._invalid_messages.note(message.subject, str(error))
                await _answer(self._link, message.reply, Msg.Ack.Term)
            else:
                found.append(Delivery(decoded, times, message.reply, self._link))
        return found


def _times(message: Msg) -> int:
    """How often it has been delivered; 0 where it was not by a stream: anybody may have written to the inbox."""
    try:
        return int(message.metadata.num_delivered)
    except (Error, ValueError, LookupError):
        return 0


async def forget(link: Connection, stream: str, name: str, subject: str, prefix: str = "$JS.API") -> None:
    """Remove a consumer, and all that waits for it."""
    with translated(f"consumer {name} of {stream}"):
        manager = link.client().jsm(prefix=prefix)
        with suppress(NotFoundError):
            await link.unbroken(manager.delete_consumer(stream, name))
        with suppress(NotFoundError):
            await link.unbroken(manager.purge_stream(stream, subject=subject))
