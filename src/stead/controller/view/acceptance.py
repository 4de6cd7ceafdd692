"""The answer to a request that was accepted, as interfaces see it."""

from __future__ import annotations

from dataclasses import dataclass

from stead.controller.admission import Accepted


@dataclass(frozen=True)
class Taken:
    """An action was let in, under this operation."""

    operation: str
    action: str
    kind: str
    path: str
    joined: bool = False
    idle: bool = False
    repeated: bool = False
    position: int | None = None
    """Its place in its queue, where it waits its turn."""


def taken(answer: Accepted, action: str, kind: str, path: str) -> Taken:
    """What was let in, and on what."""
    return Taken(answer.operation, action, kind, path, answer.joined, answer.idle, answer.repeated, answer.position)
