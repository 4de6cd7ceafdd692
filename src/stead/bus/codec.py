"""Messages to bytes and back: JSON, so that whoever looks into a stream can read it.

Whatever the bytes are, decoding gives a message or raises `BadMessage`, never anything else.
"""

from __future__ import annotations

import re
from typing import Any, Union

import msgspec

from stead.bus.errors import BadMessage, UnknownVersion
from stead.bus.fields import Number
from stead.bus.messages import MAJOR, FromAgent, FullState, Hello, Message, Order, Presence, Report

NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""The escape of the character that the database can keep neither as text nor in JSON."""


class Envelope(msgspec.Struct):
    """What every message has, in any version."""

    t: str
    v: tuple[Number, Number]


_encoder = msgspec.json.Encoder()
_envelopes = msgspec.json.Decoder(Envelope)


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    try:
        return _encoder.encode(message)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise BadMessage(f"cannot send this {type(message).__name__}: {error}") from error


class MessageFormat[M: Message]:
    """The kinds of message that are expected in one place."""

    def __init__(self, *kinds: type[M]) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[kinds])  # noqa: UP007

    def decode(self, data: bytes) -> M:
        """The message that these bytes are."""
        try:
            envelope = _envelopes.decode(data)
            if envelope.v[0] != MAJOR:
                raise UnknownVersion(f"a message of version {envelope.v[0]}.{envelope.v[1]}; this is {MAJOR}")
            if b"\\u0000" in data:
                data = NUL.sub(rb"\1\\ufffd", data)
            message: M = self._decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadMessage(f"not a message: {error}") from error
        return message


ORDER = MessageFormat(Order)
FROM_AGENT: MessageFormat[FromAgent] = MessageFormat(Report, FullState, Hello)
PRESENCE = MessageFormat(Presence)
