"""Answers to what was sent: one inbox, a token for each question, many on their way at once.

When the connection breaks, every question at hand is without an answer at that moment, and not when its time is over.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from nats.aio.msg import Msg
from nats.js.api import Header

from stead.bus.connection import BusState, Connection, DurableSubscription
from stead.bus.errors import BusError, NoAnswer, Unavailable, translated


class ReplyStream:
    """The inbox of one bus."""

    def __init__(self, link: Connection) -> None:
        self._link = link
        self._inbox = link.new_inbox()
        self._tokens = itertools.count()
        self._waiting: dict[str, asyncio.Future[Msg]] = {}
        self._lock = asyncio.Lock()
        self._listening: DurableSubscription | None = None
        link.watch(self._on_state)

    def questions(self) -> PendingRequests:
        """Some questions, asked together."""
        return PendingRequests(self)

    async def send(self, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> PendingRequest:
        """Send, and expect an answer; a word that cannot be sent is answered with the error."""
        async with self._lock:
            if self._listening is None:
                self._listening = await self._link.listen(f"{self._inbox}.*", self._on_answer)
        token = str(next(self._tokens))
        future: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[token] = future
        try:
            with translated(subject):
                reply = f"{self._inbox}.{token}"
                await self._link.client().publish(subject, data, reply, dict(headers) if headers else None)
        except BusError as error:
            _fail(future, error)
        return PendingRequest(token, future)

    def drop(self, question: PendingRequest) -> None:
        """Expect its answer no more."""
        self._waiting.pop(question.token, None)
        if not question.future.cancel() and not question.future.cancelled():
            question.future.exception()  # seen, so that it is not reported as forgotten

    async def _on_answer(self, answer: Msg) -> None:
        future = self._waiting.get(answer.subject.rpartition(".")[2])
        if future is None or future.done():
            return
        if answer.headers and Header.STATUS in answer.headers:
            _fail(future, Unavailable("nobody listens"))
        else:
            future.set_result(answer)

    def _on_state(self, state: BusState) -> None:
        if state is BusState.DISCONNECTED:
            for future in self._waiting.values():
                _fail(future, NoAnswer("the connection broke before the answer came"))


class PendingRequest:
    """Something sent, whose answer may come."""

    def __init__(self, token: str, future: asyncio.Future[Msg]) -> None:
        self.token = token
        self.future = future

    def outcome(self) -> Msg | BusError:
        """The answer, or why there is none."""
        if not self.future.done():
            return NoAnswer("no answer in time")
        error = self.future.exception()
        if error is None:
            return self.future.result()
        assert isinstance(error, BusError)
        return error


class PendingRequests:
    """Questions whose answers are awaited together, and no longer than the block lasts."""

    def __init__(self, replies: ReplyStream) -> None:
        self._replies = replies
        self._asked: list[PendingRequest] = []

    async def ask(self, subject: str, data: bytes, headers: Mapping[str, str] | None = None) -> None:
        self._asked.append(await self._replies.send(subject, data, headers))

    async def outcomes(self, timeout: float) -> list[Msg | BusError]:
        """For each question in turn, its answer or why there is none."""
        if self._asked:
            await asyncio.wait([question.future for question in self._asked], timeout=timeout)
        return [question.outcome() for question in self._asked]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for question in self._asked:
            self._replies.drop(question)


def _fail(future: asyncio.Future[Msg], error: BusError) -> None:
    if not future.done():
        future.set_exception(error)
