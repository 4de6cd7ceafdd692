"""Questions that want an answer at once: any controller answers them, and whoever asks has not long to wait.

The one who asks tries again until its time is over, since the controller that got the question may have died with it.
So a question may be asked twice, and the handler has to give the same answer twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg

from stead.bus.errors import BadMessage, BusError, NoAnswer, Unavailable, translated
from stead.bus.link import Link, Listening
from stead.bus.messages import Fault, Message
from stead.bus.replies import Replies
from stead.bus.wire import Form, encode

log = logging.getLogger(__name__)

QUEUE = "controllers"
"""Of all who serve a subject under this name, one gets each question."""

TRY = 2.0
"""Seconds for one try, if the whole time allows."""

AT_ONCE = 64
"""Questions that one controller works on at the same time."""


class Service[Q: Message, A: Message]:
    """Answers the questions on a subject."""

    def __init__(self, link: Link, form: Form[Q], handler: Callable[[Q], Awaitable[A]]) -> None:
        self._link = link
        self._form = form
        self._handler = handler
        self._room = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: Listening | None = None

    async def begin(self, subject: str) -> None:
        self._listening = await self._link.listen(subject, self._on_question, QUEUE)

    async def close(self) -> None:
        """Answer no more questions; those at hand are left unanswered, and asked again elsewhere."""
        if self._listening is not None:
            await self._listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _on_question(self, question: Msg) -> None:
        # The client library calls back one message after the other; the handlers are to work side by side.
        await self._room.acquire()
        task = asyncio.create_task(self._answer(question))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()

    async def _answer(self, question: Msg) -> None:
        answer: Message
        try:
            answer = await self._handler(self._form.decode(question.data))
        except BadMessage as error:
            log.warning("on %s: %s", question.subject, error)
            answer = Fault(why=str(error), permanent=True)
        except Exception:
            log.exception("on %s: the handler failed", question.subject)
            answer = Fault(why="the controller failed")
        try:
            with translated("answer"):
                await self._link.client().publish(question.reply, encode(answer))
        except Unavailable as error:
            log.info("%s; the question will be asked again", error)


class Asker[Q: Message, A: Message]:
    """Asks one kind of question."""

    def __init__(self, link: Link, replies: Replies, subject: str, answer: type[A]) -> None:
        self._link = link
        self._replies = replies
        self._subject = subject
        self._answers: Form[A | Fault] = Form(answer, Fault)

    async def ask(self, question: Q, timeout: float) -> A:
        """The answer. `NoAnswer` when none came in time; `BadMessage` when a controller cannot read the question."""
        data = encode(question)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        why, pause = "there was no time to ask", 0.05
        while (left := deadline - loop.time()) > 0:
            try:
                await self._link.wait(left)
                answer = await self._try(data, min(left, TRY))
            except Unavailable as error:
                why = str(error)
            else:
                if not isinstance(answer, Fault):
                    return answer
                if answer.permanent:
                    raise BadMessage(f"{self._subject}: a controller says: {answer.why}")
                why = answer.why
            await asyncio.sleep(min(pause, max(deadline - loop.time(), 0.0)))
            pause = min(pause * 2, 0.5)
        raise NoAnswer(f"{self._subject}: {why}")

    async def _try(self, data: bytes, timeout: float) -> A | Fault:
        with self._replies.questions() as questions:
            await questions.ask(self._subject, data)
            (answer,) = await questions.outcomes(timeout)
        if isinstance(answer, BusError):
            raise answer
        return self._answers.decode(answer.data)
