"""What does not fit one message goes in several: lists in parts that are bounded by number and by size."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MAX_PART_BYTES = 500_000
"""Bytes of a list in one message; the bus carries a million, and one item may have nearly half of that."""

_encoder = msgspec.json.Encoder()


def parts_of[T](items: Iterable[T], max_items: int, max_bytes: int = MAX_PART_BYTES) -> list[list[T]]:
    """Items in their order, in as few lists as fit messages; an item that is too large for any is alone."""
    parts: list[list[T]] = []
    size = 0
    for item in items:
        length = len(_encoder.encode(item))
        if not parts or size + length > max_bytes or len(parts[-1]) == max_items:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += length
    return parts
