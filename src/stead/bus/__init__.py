"""NATS JetStream: orders and reports on the wire.

The bus carries between controllers and agents what PostgreSQL already knows, or is about to be told. It may lose all
it has at any moment, and nothing is lost.
"""

from stead.bus.bus import Bus
from stead.bus.connection import BusState
from stead.bus.consumer import Consumer, Delivery
from stead.bus.errors import (
    BadMessage,
    BusError,
    NoAnswer,
    NotPublished,
    TooLarge,
    Unavailable,
    UnknownVersion,
    WrongStream,
)
from stead.bus.streams import StreamIdentity
from stead.bus.subjects import Recipient

__all__ = [
    "BadMessage",
    "Bus",
    "BusError",
    "BusState",
    "Consumer",
    "Delivery",
    "NoAnswer",
    "NotPublished",
    "Recipient",
    "StreamIdentity",
    "TooLarge",
    "Unavailable",
    "UnknownVersion",
    "WrongStream",
]
