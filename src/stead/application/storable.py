"""What a request may say so that the database can keep it: JSON can say more than that."""

from __future__ import annotations

import re
from typing import Any

MAX_DEPTH = 50
_UNKEPT = re.compile("[\0\ud800-\udfff]")


def storable(value: Any, depth: int = 0) -> Any:
    """The value, if the database can keep it as it is: JSON can say more than that."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
    match value:
        case str():
            if _UNKEPT.search(value):
                raise ValueError("a text has a character that cannot be kept")
        case bool() | None:
            pass
        case int() | float():
            if not -(2**63) <= value < 2**63:
                raise ValueError("a number is too large, or none")
        case dict():
            for name, inner in value.items():
                storable(name, depth)
                storable(inner, depth + 1)
        case list():
            for inner in value:
                storable(inner, depth + 1)
    return value
