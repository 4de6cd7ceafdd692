"""Orders on their way to the bus, at once after the commit, by the controller that committed.

What cannot be published is not lost: the order stands in the database, and is sent when the bus is back, or anew by
its timer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from stead.bus import Bus, BusError
from stead.bus.messages import Order, OrderMember
from stead.controller.mover import Moved
from stead.store import Row

log = logging.getLogger(__name__)


class Carrier:
    """The relay of a running controller."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    async def send(self, moved: Sequence[Moved]) -> None:
        """Publish the orders of changes that were committed."""
        orders = [order_of(m.now) for m in moved if m.decision.orders and m.now.order_id]
        if not orders:
            return
        try:
            await self.bus.publish_orders(orders)
        except BusError as error:
            log.info("orders wait for the bus: %s", error)


def order_of(row: Row) -> Order:
    """The order that stands for a resource, as the agent is told."""
    snapshot = row.snapshot
    op = snapshot.hidden or snapshot.operation
    assert snapshot.work is not None
    return Order(
        id=row.order_id,
        lane=row.lane,
        kind=row.kind,
        verb=snapshot.work.verb,
        token=f"{row.token}.{row.order_id}",
        operation=op.id if op is not None else "",
        attempt=op.attempt if op is not None else 1,
        members=[member_of(row)],
        deadline=0.0,
    )


def member_of(row: Row) -> OrderMember:
    """A resource, as an agent is told of it."""
    spec = row.spec if row.next_spec is None else row.next_spec
    return OrderMember(row.path, row.snapshot.fence, str(row.token), dict(spec), dict(row.facts or {}))
