"""What an agent connects with is over some day: it is renewed at half of its time, over the bus, while it works.

The agent's keys stay where they are. It connects anew with what it got: an order that it has in hand goes on, since
custody is the database's and not the connection's.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime

from stead.bus import Bus, BusError
from stead.bus.messages import RenewIdentity
from stead.pki.identity import Identity

log = logging.getLogger(__name__)

MAX_RETRY_PAUSE = 60.0
"""Seconds before another try, at most; where little time is left, a tenth of it."""

MIN_RETRY_PAUSE = 0.2

MAX_SLEEP = 3600.0
"""Seconds between two looks at the clock: a machine may have been asleep."""


class CredentialRenewal:
    """Keeps one identity from running out."""

    def __init__(self, bus: Bus, identity: Identity) -> None:
        self.bus = bus
        self.identity = identity

    async def run(self) -> None:
        """For ever."""
        while True:
            since, until = self.identity.window()
            half = (until - since) / 2
            # Also half of its time after it was received, by the clock of this machine: that may be behind.
            due = min(since, self.identity.received()) + half
            while (left := (due - datetime.now(UTC)).total_seconds()) > 0:
                await asyncio.sleep(min(left, MAX_SLEEP))
            if not await self._renew():
                left = (until - datetime.now(UTC)).total_seconds()
                await asyncio.sleep(max(MIN_RETRY_PAUSE, min(MAX_RETRY_PAUSE, left / 10)))

    async def _renew(self) -> bool:
        name = self.identity.name
        try:
            reply = await self.bus.renew_identity(RenewIdentity(name, self.identity.request()))
        except BusError as error:
            log.warning("%s: what it connects with was not renewed: %s", name, error)
            return False
        if not reply.ok:
            log.error("%s: what it connects with is not renewed: %s", name, reply.error)
            return False
        self.identity.renewed(reply.jwt, reply.certificate)
        _, until = self.identity.window()
        log.info("%s: what it connects with holds until %s now", name, until.isoformat(timespec="seconds"))
        await self.bus.reconnect()
        return True
