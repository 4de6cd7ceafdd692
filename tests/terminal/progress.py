"""Which commands wait for an operation, and what they draw meanwhile."""

from __future__ import annotations

import re
from functools import cache

from tools.docs.commands import leaves, options

PROGRESS = r"^\S \S+ of /\S+: .*\d:\d\d:\d\d$"
"""A spinner, what an operation does, and the time elapsed."""


@cache
def waiting() -> frozenset[str]:
    """The commands that follow an operation to its end unless told otherwise."""
    by_default = {name for name, command in leaves() for option in options(command) if _waits(option)}
    return frozenset({*by_default, "stead operation wait"})


def _waits(option: object) -> bool:
    return getattr(option, "name", "") == "wait" and getattr(option, "default", False) is True


def waits(line: str) -> bool:
    """Whether one of the commands of a line follows an operation to its end."""
    calls = re.split(r"[|;&]", line.replace("\\\n", " "))
    return any(
        " ".join(call.split()[:3]) in waiting() and not re.search(r" --(detach|dry-run)\b| 2>", call)
        for call in calls
    )
