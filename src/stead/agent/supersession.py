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

from stead.agent.session import AgentSession
from stead.bus.messages import Superseded

log = logging.getLogger(__name__)

MAX_CLOCK_SKEW = 2.0
"""Seconds by which the clock of an agent may differ from the cell's."""


class SupersededRun(Exception):
    """A newer run of the agent has taken the place of this one."""


class SiteForgotten(Exception):
    """The sites that an agent serves were forgotten."""


class Supersession:
    """Hears that a run is superseded, and ends it."""

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self._heard = asyncio.Event()
        self._notice: Superseded | None = None
        self._forgotten: list[str] = []

    async def begin_epoch(self) -> None:
        """Begin a new epoch; a controller may answer that sites were forgotten."""
        if forgotten := await self.session.begin_epoch():
            self.forget(forgotten)

    def hear(self, notice: Superseded | None = None) -> None:
        """A controller says so: in answer to the agent's presence, or when it asked for an order."""
        if notice is not None and notice.forgotten:
            if notice.epoch == self.session.epoch:
                self.forget(notice.forgotten)
        elif notice is None or notice.epoch == self.session.epoch:
            self._notice = notice
            self._heard.set()

    def forget(self, lanes: Collection[str]) -> None:
        """Sites were forgotten; a run that serves nothing else ends."""
        self._forgotten = sorted(set(lanes) & set(self.session.lanes))
        for lane in self._forgotten:
            log.warning("agent.site_forgotten agent=%s lane=%s", self.session.name, lane)
        if len(self._forgotten) == len(self.session.lanes):
            self._heard.set()

    def check(self) -> None:
        """Raise where every site that the run serves was forgotten."""
        if self._forgotten and len(self._forgotten) == len(self.session.lanes):
            raise SiteForgotten(
                f"the site of lane {', '.join(self._forgotten)} was forgotten; the agent {self.session.name} ends, "
                "and what runs here runs on. To serve it again, make the site anew: "
                "stead cloudlet create NAMESPACE/SITE"
            )

    async def run(self) -> None:
        """Raise when a newer run has taken the place of this one."""
        session = self.session
        while True:
            await self._heard.wait()
            self._heard.clear()
            self.check()
            if session.confirmed or self._notice is None or not self._was_behind(self._notice):
                name = session.name
                raise SupersededRun(
                    f"a newer run of the agent {name} has connected and serves its lanes; this run ends. "
                    f"If both are to run, give one another name: stead agent run --name NAME"
                )
            log.warning(
                "agent.epoch_behind agent=%s epoch=%d by=%d", session.name, session.epoch, self._notice.newer_epoch
            )
            await self.begin_epoch()
            await session.say_hello()

    def _was_behind(self, notice: Superseded) -> bool:
        """Whether the clock that gave this run its epoch was behind the cell's."""
        began = notice.now - (time.monotonic() - self.session.began)
        return began * 1000 - self.session.epoch > MAX_CLOCK_SKEW * 1000
