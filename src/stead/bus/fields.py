"""The bounds of what fields of messages hold.

A value beyond its bound is a mistake of the sender, and is rejected before it reaches the database.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from stead.lifecycle.snapshot import Fence

MAX_NUMBER = 2**63 - 1
"""What a bigint of the database holds."""

MAX_INCARNATION = 2**31 - 1
MAX_COUNTER = 2**62
"""Of a fence: it can still be raised."""

Number = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Word = Annotated[str, msgspec.Meta(max_length=1000)]
Timestamp = Annotated[float, msgspec.Meta(ge=0, le=1e11)]
"""In seconds of Unix time."""
Text = Annotated[str, msgspec.Meta(max_length=100_000)]
MAX_ITEMS = 20_000
"""Items of a list in one message."""
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Values = dict[str, Any]


def check_fence(fence: Fence) -> None:
    """The parts of a fence are plain numbers to the decoder; hold them to what a fence can be."""
    if not (0 <= fence.incarnation <= MAX_INCARNATION and 0 <= fence.counter <= MAX_COUNTER):
        raise ValueError(f"{tuple(fence)} is not a fence")
