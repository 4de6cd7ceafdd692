"""Orders and their answers as an agent handles them: in parts that fit a message, under fences, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from stead.bus import Delivery
from stead.bus.messages import Order, ReportResult, TakeCustodyReply
from stead.lifecycle.snapshot import Fence

MOST_TAKEN = 1000
"""Members in one question for custody: it runs from before the question, so the answer has to come soon."""

MOST_LOGS = 800_000
"""Bytes of what something wrote in one answer; a message of the bus has a million at most."""


def in_words(results: Sequence[ReportResult]) -> str:
    """What became of members, in short."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(result.kind for result in results).items()))


def started(fences: Mapping[str, Fence]) -> list[ReportResult]:
    """The word that an order has been begun."""
    return [ReportResult(path, fence, "started") for path, fence in fences.items()]


def parts(deliveries: Sequence[Delivery[Order]]) -> Iterator[list[Delivery[Order]]]:
    """Orders that came together, so many at a time that custody of their members may be asked for in one go."""
    part: list[Delivery[Order]] = []
    room = MOST_TAKEN
    for delivery in deliveries:
        size = len(delivery.message.members)
        if part and size > room:
            yield part
            part, room = [], MOST_TAKEN
        part.append(delivery)
        room -= size
    if part:
        yield part


def within(lines: Sequence[str], most: int = MOST_LOGS) -> list[str]:
    """The last lines, as far as they have room in one message."""
    kept: list[str] = []
    for line in reversed(lines):
        most -= 6 * len(line) + 3  # as JSON, at worst
        if most < 0:
            break
        kept.append(line)
    return kept[::-1]


def key(order: Order) -> tuple[object, ...]:
    """An order, under its fences."""
    return (order.id, *(member.fence for member in order.members))


def given(order: Order, reply: TakeCustodyReply) -> dict[str, Fence]:
    """The members of an order that custody was given of; what was given may be of another order for the same ones."""
    own = {member.path: member.fence.raised() for member in order.members}
    return {path: fence for path, fence in own.items() if reply.fences.get(path) == fence}
