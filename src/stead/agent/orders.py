"""Orders and their answers as an agent handles them: parts that fit a message, fences, and a summary for the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stead.agent.custody import MAX_TAKEN
from stead.bus import Delivery
from stead.bus.messages import Order, ReportResult, TakeCustodyReply
from stead.lifecycle.snapshot import Fence

MAX_LOG_BYTES = 800_000
"""Bytes of log lines in one answer; a message of the bus has a million at most."""

MAX_RECENT_ORDERS = 2_000


def summary(results: Sequence[ReportResult]) -> str:
    """How many members had which result."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(result.kind for result in results).items()))


def started_results(fences: Mapping[str, Fence]) -> list[ReportResult]:
    """Results that say that an order has been begun."""
    return [ReportResult(path, fence, "started") for path, fence in fences.items()]


def parts(deliveries: Sequence[Delivery[Order]]) -> Iterator[list[Delivery[Order]]]:
    """Orders that came together, in parts whose members fit one request for custody."""
    part: list[Delivery[Order]] = []
    room = MAX_TAKEN
    for delivery in deliveries:
        size = len(delivery.message.members)
        if part and size > room:
            yield part
            part, room = [], MAX_TAKEN
        part.append(delivery)
        room -= size
    if part:
        yield part


def fitting(lines: Sequence[str], most: int = MAX_LOG_BYTES) -> list[str]:
    """The last lines that fit one message."""
    kept: list[str] = []
    for line in reversed(lines):
        most -= 6 * len(line) + 3  # as JSON, at worst
        if most < 0:
            break
        kept.append(line)
    return kept[::-1]


class RecentOrders:
    """Orders that this run has taken or asks for, each under its fences; the latest of them."""

    def __init__(self) -> None:
        self._keys: dict[tuple[object, ...], None] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, order: Order) -> bool:
        """Whether the order is new."""
        key = _key(order)
        if key in self._keys:
            return False
        self._keys[key] = None
        if len(self._keys) > MAX_RECENT_ORDERS:
            del self._keys[next(iter(self._keys))]
        return True

    def discard(self, order: Order) -> None:
        """Accept the order when it comes again."""
        self._keys.pop(_key(order), None)


def _key(order: Order) -> tuple[object, ...]:
    return (order.id, *(member.fence for member in order.members))


def granted_fences(order: Order, reply: TakeCustodyReply) -> dict[str, Fence]:
    """The members of an order that custody was given of; the reply may be about another order for them, too."""
    own = {member.path: member.fence.raised() for member in order.members}
    return {path: fence for path, fence in own.items() if reply.fences.get(path) == fence}
