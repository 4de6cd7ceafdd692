"""Publishes what was committed. If it cannot, nothing is lost: what nobody takes is sent anew by its timer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stead.controller.mover import Moved


class Relay(Protocol):
    """Whatever carries orders to their lanes."""

    async def send(self, moved: Sequence[Moved]) -> None:
        """Publish the orders of changes that were committed. Never raises: what was not sent is sent later."""
