"""The bus carries and never keeps: whatever it may have lost is sent again.

Streams have an identity. Another one than before begins a new epoch of the bus, which knows nothing of what was
published; and after every break of the connection nobody knows what had got through. Then every order that nobody has
taken is published once more, as it stands: a message that is there twice is taken once.
"""

from __future__ import annotations

import logging

from stead.bus import Bus, BusError, BusState
from stead.controller.carrier import send
from stead.controller.mover import Mover

log = logging.getLogger(__name__)

BATCH = 500


class Redispatch:
    """Notices that the bus has changed, or was away."""

    def __init__(self, mover: Mover, bus: Bus) -> None:
        self.mover = mover
        self.store = mover.store
        self.bus = bus
        self.broken = True
        bus.on_state(self._on_state)

    def _on_state(self, state: BusState) -> None:
        if state is BusState.DISCONNECTED:
            self.broken = True

    async def __call__(self) -> int:
        """Send what may be lost; it counts as sent when all of it is, so whoever dies in between is followed."""
        try:
            identity = ".".join(await self.bus.identity())
            cell = await self.store.cell()
            if not self.broken and cell["bus_identity"] == identity:
                return 0
            self.broken = False
            sent = await self._send_all()
        except BusError as error:
            self.broken = True
            log.info("orders wait for the bus: %s", error)
            return 0
        if cell["bus_identity"] != identity:
            epoch = await self.store.set_bus(identity)
            log.warning("the bus is another than before: epoch %d, %d orders sent again", epoch, sent)
        return 0

    async def _send_all(self) -> int:
        sent, after = 0, 0
        while orders := await self.store.untaken(after, BATCH):
            await send(self.mover, self.bus, orders)
            sent += len(orders)
            after = orders[-1]["id"]
        return sent
