"""The bus carries and never keeps: what it may have lost, and what agents reject by now, is sent again.

Streams have an identity. Another one than before begins a new epoch of the bus, which knows nothing of what was
published; and after a break of the connection it is not known what had got through. A database server that took the
place of another begins a new incarnation of the cell, and agents reject what was published before it. In each case
every order that no agent has taken is published once more, as it stands: a message that is there twice is taken once.
"""

from __future__ import annotations

import logging

from stead.bus import Bus, BusError, BusState
from stead.controller.dispatch.publisher import send
from stead.controller.execution.executor import TransitionExecutor

log = logging.getLogger(__name__)

BATCH = 500


class RedispatchReconciler:
    """Notices that the bus has changed or was away, or that the cell has a new incarnation."""

    def __init__(self, executor: TransitionExecutor, bus: Bus) -> None:
        self.executor = executor
        self.store = executor.store
        self.bus = bus
        self.broken = True
        self.incarnation = 0
        """In which all orders were sent last."""
        bus.on_state(self._on_state)

    def _on_state(self, state: BusState) -> None:
        if state is BusState.DISCONNECTED:
            self.broken = True

    async def __call__(self) -> int:
        """Send all that may be lost; only then it counts, so that another controller goes on where one has died."""
        try:
            identity = ".".join(await self.bus.identity())
            cell = await self.store.cell.read()
            known = (cell["bus_identity"], cell["incarnation"]) == (identity, self.incarnation)
            if known and not self.broken:
                return 0
            self.broken = False
            sent = await self._send_all()
            self.incarnation = cell["incarnation"]
        except BusError as error:
            self.broken = True
            log.info("orders wait for the bus: %s", error)
            return 0
        if cell["bus_identity"] != identity:
            epoch = await self.store.cell.set_bus(identity)
            if cell["bus_identity"]:  # a new cell had no bus before
                log.warning("the bus is another than before: epoch %d, %d orders sent again", epoch, sent)
        return 0

    async def _send_all(self) -> int:
        sent, after = 0, 0
        while orders := await self.store.orders.list_untaken(after, BATCH):
            await send(self.executor, self.bus, orders)
            sent += len(orders)
            after = orders[-1]["id"]
        return sent
