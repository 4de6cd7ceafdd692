"""Orders on their way to the bus, at once after the commit, by the controller that committed.

What cannot be published is not lost: the order stands in the database, and its timer sends it anew.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from stead.bus import Bus, BusError
from stead.bus.messages import Order, OrderMember
from stead.controller.mover import Moved

log = logging.getLogger(__name__)


class Carrier:
    """The relay of a running controller."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    async def send(self, moved: Sequence[Moved]) -> None:
        """Publish the orders of changes that were committed."""
        orders = [order_of(m) for m in moved if m.decision.orders and m.order]
        if not orders:
            return
        try:
            await self.bus.publish_orders(orders)
        except BusError as error:
            log.info("orders wait for the bus: %s", error)


def order_of(moved: Moved) -> Order:
    """What the agent is told."""
    row, after = moved.row, moved.decision.after
    op = after.hidden or after.operation
    spec, facts = row.next_spec or row.spec, row.facts or {}
    member = OrderMember(row.path, after.fence, str(row.token), dict(spec), dict(facts))
    return Order(
        id=moved.order,
        lane=row.lane,
        kind=row.kind,
        verb=moved.decision.orders[-1].verb,
        token=f"{row.token}.{moved.order}",
        operation=op.id if op is not None else "",
        attempt=op.attempt if op is not None else 1,
        members=[member],
        deadline=0.0,
    )
