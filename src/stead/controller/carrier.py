"""Orders on their way to the bus, at once after the commit, by the controller that committed.

What cannot be published is not lost: the order stands in the database, and is sent when the bus is back, or anew by
its timer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from stead.bus import Bus, BusError
from stead.bus.messages import Order, OrderMember
from stead.catalog import KINDS
from stead.lifecycle.rows import Trigger
from stead.store import Row
from stead.store.change import Written

log = logging.getLogger(__name__)

TELLING = frozenset(k for k, lc in KINDS.items() if any(row.trigger is Trigger.STARTED for row in lc.table))
"""Kinds of which it matters that an agent has begun."""


class Carrier:
    """The relay of a running controller. Nobody waits for it: what comes while it publishes is published next."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._orders: list[Mapping[str, Any]] = []
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, written: Written) -> None:
        """Publish the orders of changes that were committed."""
        self._orders.extend(written.orders)
        if self._orders and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._publish())

    async def _publish(self) -> None:
        while self._orders:
            orders, self._orders = self._orders, []
            try:
                await self.bus.publish_orders([order_of(order) for order in orders])
            except BusError as error:
                log.info("orders wait for the bus: %s", error)


def order_of(told: Mapping[str, Any]) -> Order:
    """An order, as the store tells of it."""
    members = msgspec.convert(told["members"], list[OrderMember])
    alone = f"{members[0].token}." if len(members) == 1 else ""
    return Order(
        id=told["id"],
        lane=told["lane"],
        kind=told["kind"],
        verb=told["verb"],
        token=f"{alone}{told['id']}",
        operation=told["operation"],
        attempt=told["attempt"],
        members=members,
        deadline=0.0,
        tell=told["kind"] in TELLING,
    )


def member_of(row: Row) -> OrderMember:
    """A resource, as an agent is told of it."""
    spec, revision = row.spec, row.brief.revision
    if row.next_spec is not None:
        spec, revision = row.next_spec, row.brief.next_revision
    facts = dict(row.facts or {})
    return OrderMember(row.path, row.snapshot.fence, str(row.token), dict(spec), facts, row.kind, revision)
