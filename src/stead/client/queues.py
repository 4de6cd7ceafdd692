"""Queues, as a server answers with them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from stead.client.models import Operation


class Queue(Struct, frozen=True, kw_only=True):
    """Where requests wait that met another operation on an object."""

    path: str
    stopping: bool = False
    """It takes nothing more, and goes when all that is in it is carried out."""
    waiting: int = 0
    running: str | None = None
    """The operation that left it last, while that is under way."""
    created_at: datetime | None = None


class WholeQueue(Struct, frozen=True, kw_only=True):
    """A queue with what waits in it, the next one first."""

    path: str
    items: tuple[Operation, ...]
    stopping: bool = False
    waiting: int = 0
    running: str | None = None
    created_at: datetime | None = None
    more: bool = False


class QueuePage(Struct, frozen=True, kw_only=True):
    """A page of queues."""

    items: tuple[Queue, ...]
    next: str | None = None
