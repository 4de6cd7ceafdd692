"""Times, as people write them."""

from __future__ import annotations

import re
from typing import Any

from stead.lifecycle.rows import DAY, HOUR, MINUTE

_DURATION = re.compile("([0-9]{1,9})([smhd]?)")
_UNITS = {"": 1, "s": 1, "m": MINUTE, "h": HOUR, "d": DAY}


def seconds(value: Any) -> int:
    """`90s`, `15m`, `2h`, `7d` or a whole number, in seconds."""
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a time such as 90s, 15m, 2h or 7d, or a whole number of seconds")
    return int(match[1]) * _UNITS[match[2]]


def duration(value: int) -> str:
    """The same the other way round, in the largest unit that fits without a rest."""
    unit = next(unit for unit in "dhms" if value % _UNITS[unit] == 0)
    return f"{value // _UNITS[unit]}{unit}" if value else "0s"
