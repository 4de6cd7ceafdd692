"""The servers of the bus may lose who was revoked, with their disk: whoever was is told to them again."""

from __future__ import annotations

import logging

from stead.bus import Bus, BusError
from stead.controller.observation.agent_identities import AgentIdentities

log = logging.getLogger(__name__)


class RevocationReconciler:
    """Looks at what the servers know, and mends it."""

    def __init__(self, identities: AgentIdentities, bus: Bus) -> None:
        self.identities = identities
        self.bus = bus

    async def __call__(self) -> int:
        """Compare, and tell them where it differs."""
        if not self.bus.connected:
            return 0
        try:
            mended = await self.identities.heal()
        except BusError as error:
            log.info("nobody can say whether the bus knows who is revoked: %s", error)
            return 0
        if mended:
            log.warning("the bus had forgotten who is revoked, and was told again")
        return 0
