"""Pages of lists, bounded in bytes: a thousand small items are one page, and so are two large ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

MAX_PAGE_BYTES = 1024 * 1024
"""Bytes of specs, facts, changes and requests on one page of a list, with the item that exceeds them."""


def size_of(content: Mapping[str, Any]) -> int:
    """Bytes of a value as JSON."""
    return len(msgspec.json.encode(content, enc_hook=str))
