"""One run of an agent on the bus: its name, its lanes and its epoch.

The epoch tells one run of an agent from the next: it is the time at which the run began. An agent keeps nothing on
disk, so it asks a controller which epochs there were before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence

from stead import __version__
from stead.bus import Bus, BusError
from stead.bus.messages import Hello, Presence, SiteRequest

log = logging.getLogger(__name__)

PRESENCE_INTERVAL = 10.0
"""Seconds between two presence messages, where no controller says otherwise."""


class AgentSession:
    """What all parts of an agent say of themselves to controllers."""

    def __init__(self, bus: Bus, name: str, lanes: Sequence[str]) -> None:
        self.bus = bus
        self.name = name
        self.lanes = list(lanes)
        self.epoch = 0
        """Later than the epoch of any run of this agent before."""
        self.confirmed = False
        """A controller has said which epochs there were before."""
        self.began = time.monotonic()
        self.presence_interval = PRESENCE_INTERVAL

    async def begin_epoch(self) -> list[str]:
        """Begin an epoch that is later than any before it, by the cell's clock, or by this machine's while no
        controller answers. Returns the lanes of sites that were forgotten."""
        last = self.epoch
        self.epoch = max(time.time_ns() // 1_000_000, last + 1)
        self.began = time.monotonic()
        try:
            known = await self.bus.site(SiteRequest(agent=self.name, lanes=self.lanes))
        except BusError as error:
            log.info("agent.epoch_unconfirmed agent=%s error=%r", self.name, str(error))
            return []
        self.confirmed = True
        self.presence_interval = known.presence_interval or PRESENCE_INTERVAL
        self.epoch = max(int(known.now * 1000) or self.epoch, last + 1, known.last_epoch + 1)
        return list(known.forgotten)

    async def say_hello(self, *, successor: bool = False) -> None:
        """Tell controllers that a new epoch has begun."""
        await self.bus.publish_report(Hello(self.name, self.epoch, self.lanes, __version__, successor=successor))

    async def announce(
        self,
        *,
        throttled: Mapping[str, int] | None = None,
        rejected: Mapping[str, str] | None = None,
        successor: bool = False,
    ) -> None:
        """Tell one controller that this run is there; the message may be lost."""
        await self.bus.announce(
            Presence(
                self.name,
                self.epoch,
                self.lanes,
                __version__,
                dict(throttled or {}),
                now=0.0 if successor else time.time(),
                rejected=dict(rejected or {}),
                successor=successor,
            )
        )
