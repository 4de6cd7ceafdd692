"""Publishing that is either acknowledged by the server or an error, many messages at a time.

(The client library can publish many at a time too, but never answers where the server's answer is a refusal.)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from nats.aio.msg import Msg
from nats.js.api import Header

from stead.bus.errors import BusError, TooLarge, Unavailable
from stead.bus.rpc_replies import ReplyStream

WINDOW = 1000
"""Messages on their way at once."""

TOO_LARGE = 10054
"""The server's code for: larger than the stream takes."""


class Outgoing(NamedTuple):
    """A message to be stored by the stream that takes its subject."""

    subject: str
    data: bytes
    id: str
    """A second one with the same id, within the dedup window, is not stored again."""


class _Refusal(msgspec.Struct):
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    duplicate: bool = False
    error: _Refusal | None = None


_answers = msgspec.json.Decoder(_Answer)


class Publisher:
    """Sends messages to streams, and knows what became of each."""

    def __init__(self, replies: ReplyStream) -> None:
        self._replies = replies

    async def publish(self, message: Outgoing, timeout: float) -> bool:
        """Store one message; say whether the server had its id already."""
        (outcome,) = await self.publish_all([message], timeout)
        if isinstance(outcome, BusError):
            raise outcome
        return outcome

    async def publish_all(self, messages: Sequence[Outgoing], timeout: float) -> list[bool | BusError]:
        """Store messages; for each, say whether the server had its id already, or why it is not stored."""
        outcomes: list[bool | BusError] = []
        for window in itertools.batched(messages, WINDOW):
            with self._replies.questions() as questions:
                for subject, data, message_id in window:
                    await questions.ask(subject, data, {Header.MSG_ID.value: message_id})
                outcomes += map(_stored, await questions.outcomes(timeout))
        return outcomes


def _stored(answer: Msg | BusError) -> bool | BusError:
    if isinstance(answer, BusError):
        return answer
    try:
        said = _answers.decode(answer.data)
    except msgspec.DecodeError as error:
        return Unavailable(f"the server's answer is not one: {error}")
    if said.error is None:
        return said.duplicate
    kind = TooLarge if said.error.err_code == TOO_LARGE else Unavailable
    return kind(said.error.description)
