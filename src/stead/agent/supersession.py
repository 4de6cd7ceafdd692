"""Ends a run of an agent when a newer run of the same name has taken its place.

Controllers refuse orders and reports of the older run; without this, it would go on to pull orders that it may not
carry out. A run whose clock was behind when it began, with no controller there to correct it, is not older than
others: it begins a new epoch instead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from stead.bus.messages import Superseded

if TYPE_CHECKING:
    from stead.agent.agent import Agent

log = logging.getLogger(__name__)

CLOCK = 2.0
"""Seconds by which the clock of an agent may differ from the cell's."""


class SupersededRun(Exception):
    """A newer run of the agent has taken the place of this one."""


class Supersession:
    """Hears that a run is superseded, and ends it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._heard = asyncio.Event()
        self._word: Superseded | None = None

    def hear(self, word: Superseded | None = None) -> None:
        """A controller says so: in answer to the agent's presence, or when it asked for an order."""
        if word is None or word.epoch == self.agent.epoch:
            self._word = word
            self._heard.set()

    async def run(self) -> None:
        """Raise when a newer run has taken the place of this one."""
        agent = self.agent
        while True:
            await self._heard.wait()
            self._heard.clear()
            if agent.certain or self._word is None or not self._was_behind(self._word):
                name = agent.name
                raise SupersededRun(
                    f"a newer run of the agent {name} has connected and serves its lanes; this run ends. "
                    f"If both are to run, give one another name: stead agent run --name NAME"
                )
            log.warning("agent.epoch_behind agent=%s epoch=%d by=%d", agent.name, agent.epoch, self._word.by)
            await agent.begin_epoch()
            await agent.say_hello()

    def _was_behind(self, word: Superseded) -> bool:
        """Whether the clock that gave this run its epoch was behind the cell's."""
        began = word.now - (time.monotonic() - self.agent.began)
        return began * 1000 - self.agent.epoch > CLOCK * 1000
