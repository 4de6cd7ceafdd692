"""Orders from before a restore or a failover: an agent that knows a later incarnation of the cell rejects them.

A restored database, or a standby that took over, begins a new incarnation, which is part of every fence. Orders of an
earlier one may still be on the bus, or come from a server that was left running on the old database; those that are
still to be carried out are sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from stead.bus.messages import Order, OrderMember

log = logging.getLogger(__name__)


class Incarnations:
    """The latest incarnation of the cell that an agent has met."""

    def __init__(self) -> None:
        self.latest = 0

    def meet(self, members: Iterable[OrderMember]) -> None:
        """Learn from what a controller says."""
        self.latest = max((self.latest, *(member.fence.incarnation for member in members)))

    def rejects(self, order: Order) -> bool:
        """Whether an order is of an earlier incarnation; otherwise learn from it."""
        incarnation = max((member.fence.incarnation for member in order.members), default=self.latest)
        if incarnation >= self.latest:
            self.latest = incarnation
            return False
        log.warning(
            "order.rejected order=%d lane=%s verb=%s incarnation=%d latest=%d error=%r",
            order.id,
            order.lane,
            order.verb,
            incarnation,
            self.latest,
            "the database was restored or failed over since the order was sent",
        )
        return True
