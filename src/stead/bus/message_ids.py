"""The ids under which the bus stores an order once."""

from __future__ import annotations

import hashlib

from stead.bus.messages import Order


def message_id(order: Order, subject: str) -> str:
    """The same for the same order under the same fences to the same place; another as soon as any of it differs.

    So a repeat is not stored twice, and an order sent anew, which has new fences, is not taken for a repeat.
    """
    fences = sorted((member.path, *member.fence) for member in order.members)
    digest = hashlib.blake2b(repr((subject, fences)).encode(), digest_size=12).hexdigest()
    return f"{order.id}-{digest}"
