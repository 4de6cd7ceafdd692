"""Ends a run of an agent when a newer run of the same name has taken its place, or when its site was forgotten.

Controllers refuse orders and reports of the older run; without this, it would go on to pull orders that it may not
carry out. A run whose clock was behind when it began, with no controller there to correct it, is not older than
others: it begins a new epoch instead.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from stead.bus.messages import Superseded

if TYPE_CHECKING:
    from stead.agent.agent import Agent

log = logging.getLogger(__name__)

CLOCK = 2.0
"""Seconds by which the clock of an agent may differ from the cell's."""


class SupersededRun(Exception):
    """A newer run of the agent has taken the place of this one."""


class SiteForgotten(Exception):
    """The sites that an agent serves were forgotten."""


class Supersession:
    """Hears that a run is superseded, and ends it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._heard = asyncio.Event()
        self._word: Superseded | None = None
        self._forgotten: list[str] = []

    def hear(self, word: Superseded | None = None) -> None:
        """A controller says so: in answer to the agent's presence, or when it asked for an order."""
        if word is not None and word.forgotten:
            if word.epoch == self.agent.epoch:
                self.forget(word.forgotten)
        elif word is None or word.epoch == self.agent.epoch:
            self._word = word
            self._heard.set()

    def forget(self, lanes: Collection[str]) -> None:
        """Sites were forgotten; a run that serves nothing else ends."""
        self._forgotten = sorted(set(lanes) & set(self.agent.lanes))
        for lane in self._forgotten:
            log.warning("agent.site_forgotten agent=%s lane=%s", self.agent.name, lane)
        if len(self._forgotten) == len(self.agent.lanes):
            self._heard.set()

    def check(self) -> None:
        """Raise where every site that the run serves was forgotten."""
        if self._forgotten and len(self._forgotten) == len(self.agent.lanes):
            raise SiteForgotten(
                f"the site of lane {', '.join(self._forgotten)} was forgotten; the agent {self.agent.name} ends, and "
                f"what runs here runs on. To serve it again, make the site anew: stead cloudlet create NAMESPACE/SITE"
            )

    async def run(self) -> None:
        """Raise when a newer run has taken the place of this one."""
        agent = self.agent
        while True:
            await self._heard.wait()
            self._heard.clear()
            self.check()
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
