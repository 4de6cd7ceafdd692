"""Queues, as a server answers with them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from stead.client.models import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Where requests wait that met another operation on an object."""

    path: str
    stopping: bool = False
    """It takes nothing more, and goes when all that is in it is carried out."""
    waiting: int = 0
    running: str | None = None
    """The operation that left it last, while that is under way."""
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeQueue:
    """A queue with what waits in it, the next one first."""

    path: str
    items: tuple[Operation, ...]
    stopping: bool = False
    waiting: int = 0
    running: str | None = None
    created_at: datetime | None = None
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """A page of queues."""

    items: tuple[Queue, ...]
    next: str | None = None
