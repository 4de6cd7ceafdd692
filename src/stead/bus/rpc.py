"""Questions that want an answer at once: agents ask controllers, controllers ask whoever serves a lane.

The one who asks tries again until its time is over, since whoever got the question may have died with it. So a
question may be asked twice, and the handler has to give the same answer twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from stead.bus.codec import MessageFormat, encode
from stead.bus.connection import Connection, DurableSubscription
from stead.bus.errors import BadMessage, BusError, NoAnswer, TooLarge, Unavailable, translated
from stead.bus.invalid_messages import InvalidMessages, LogThrottle
from stead.bus.messages import Fault, Message
from stead.bus.rpc_replies import ReplyStream
from stead.bus.subjects import IMPORTED_REPLIES, INBOX, to_token
from stead.bus.suspend_detection import suspend_detector

log = logging.getLogger(__name__)

QUEUE = "stead"
"""Of all who serve a subject under this name, one gets each question."""

TRY_TIMEOUT = 2.0
"""Seconds for one try, if the whole time allows."""

MAX_CONCURRENT_HANDLERS = 64
"""Questions of one subject that one process works on at the same time."""

type Handler[Q, A] = Callable[[Q], Awaitable[A]]
"""Answers a request."""


class RpcServer[Q: Message, A: Message]:
    """Answers the questions on a subject.

    A handler ends after `limit` seconds: when the asker waits no longer, it would keep others waiting in vain.

    With `agents`, each of them asks on a subject whose last token is its name. The bus sees to it that nobody else
    does; but where the answer is wanted is the asker's to say, so an answer goes to its own inbox, or nowhere.

    When more is asked than can be answered in time, as when all agents come back at once, the latest questions are
    answered first: whoever waits for the oldest has given up or asks again, and an answer that comes too late is work
    that helps nobody.
    """

    def __init__(
        self,
        link: Connection,
        form: MessageFormat[Q],
        handler: Handler[Q, A],
        invalid_messages: InvalidMessages,
        *,
        agents: bool,
        limit: float,
    ) -> None:
        self._link = link
        self._form = form
        self._handler = handler
        self._invalid_messages = invalid_messages
        self._agents = agents
        self._limit = limit
        self._failures = LogThrottle()
        self._waiting: deque[tuple[float, Msg]] = deque()
        """Questions that nobody works on yet, with when they came; the latest last."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: DurableSubscription | None = None

    async def begin(self, subject: str) -> None:
        self._suspend_detector = suspend_detector()
        self._listening = await self._link.listen(subject, self._on_request, QUEUE)
        self._suspend_detector.begin()

    async def close(self) -> None:
        """Answer no more questions; those at hand are left unanswered, and asked again elsewhere."""
        if self._listening is not None:
            self._suspend_detector.end()
            await self._listening.close()
            self._listening = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _on_request(self, question: Msg) -> None:
        if self._suspend_detector.resuming:
            return
        if not question.reply:
            self._invalid_messages.note(question.subject, "the answer is wanted at no place")
            return
        if self._agents and not question.reply.startswith((f"{INBOX}{_agent_of(question)}.", IMPORTED_REPLIES)):
            self._invalid_messages.note(question.subject, f"the answer is wanted at {question.reply[:100]}")
            return
        # The client library calls back one message after the other; the handlers are to work side by side.
        self._waiting.append((asyncio.get_running_loop().time(), question))
        if len(self._tasks) < MAX_CONCURRENT_HANDLERS:
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self) -> None:
        while self._waiting:
            self._shed()
            if self._waiting:
                await self._answer(self._waiting.pop()[1])

    def _shed(self) -> None:
        """Drop what agents have asked so long ago that they ask again; others ask once, and wait."""
        if self._agents:
            late = asyncio.get_running_loop().time() - TRY_TIMEOUT
            while self._waiting and self._waiting[0][0] < late:
                self._waiting.popleft()

    async def _answer(self, question: Msg) -> None:
        answer = await self._handled(question)
        try:
            try:
                await self._send(question, answer)
            except (TooLarge, BadMessage) as error:
                log.error("rpc.answer_not_sent subject=%s error=%r", question.subject, str(error))
                await self._send(question, Fault(error=str(error)[:1000], permanent=True))
        except Unavailable as error:
            log.info("%s; the question will be asked again", error)

    async def _handled(self, question: Msg) -> Message:
        """The answer of the handler, or why there is none."""
        try:
            asked = self._form.decode(question.data)
            if self._agents and not _is(asked, _agent_of(question)):
                raise BadMessage("the question is asked in another's name")
            async with asyncio.timeout(self._limit) as limit:
                return await self._handler(asked)
        except BadMessage as error:
            self._invalid_messages.note(question.subject, str(error))
            return Fault(error=str(error)[:1000], permanent=True)
        except TimeoutError as error:
            if not limit.expired():
                return self._failed(question, error)
            log.info("rpc.timed_out subject=%s limit=%g", question.subject, self._limit)
            return Fault(error=f"the handler did not end within {self._limit:g} s")
        except Exception as error:
            return self._failed(question, error)

    def _failed(self, question: Msg, error: Exception) -> Fault:
        if times := self._failures():
            log.error("on %s: the handler failed (%d times)", question.subject, times, exc_info=error)
        return Fault(error="the handler failed")

    async def _send(self, question: Msg, answer: Message) -> None:
        with translated("answer"):
            await self._link.client().publish(question.reply, encode(answer))


def _agent_of(question: Msg) -> str:
    """The token of the agent that asks."""
    return question.subject.rpartition(".")[2]


def _is(asked: Message, asker: str) -> bool:
    """Whether the name in a question is that of its asker."""
    try:
        return to_token(getattr(asked, "agent", "")) == asker
    except ValueError:
        return False


class RpcClient[Q: Message, A: Message]:
    """Asks one kind of question."""

    def __init__(self, link: Connection, replies: ReplyStream, answer: type[A]) -> None:
        self._link = link
        self._replies = replies
        self._answers: MessageFormat[A | Fault] = MessageFormat(answer, Fault)

    async def ask(self, subject: str, question: Q, timeout: float, *, once: bool = False) -> A:
        """The answer. `NoAnswer` when none came in time; `BadMessage` when the other side cannot read the question.

        With `once` nobody is waited for: where nobody listens, there is no answer.
        """
        data = encode(question)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        why, pause = "there was no time to ask", 0.05
        while (left := deadline - loop.time()) > 0:
            try:
                await self._link.wait(0 if once else left)
                answer = await self._try(subject, data, left if once else min(left, TRY_TIMEOUT))
            except Unavailable as error:
                why = str(error)
            else:
                if not isinstance(answer, Fault):
                    return answer
                if answer.permanent:
                    raise BadMessage(f"{subject}: the other side says: {answer.error}")
                why = answer.error
            if once:
                break
            await asyncio.sleep(min(pause, max(deadline - loop.time(), 0.0)))
            pause = min(pause * 2, 0.5)
        raise NoAnswer(f"{subject}: {why}")

    async def _try(self, subject: str, data: bytes, timeout: float) -> A | Fault:
        with self._replies.questions() as questions:
            await questions.ask(subject, data)
            (answer,) = await questions.outcomes(timeout)
        if isinstance(answer, BusError):
            raise answer
        return self._answers.decode(answer.data)
