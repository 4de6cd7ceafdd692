"""How large and how deep may be what an agent says of an object: it is kept, and others read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_FACTS_CHARS = 65_536
"""Characters, roughly as they are written."""

MAX_DEPTH = 16
"""Levels of lists and objects."""

MAX_INTEGER = 2**63 - 1


def check_facts(facts: Mapping[str, Any]) -> None:
    """Raise where facts are larger, deeper or of greater numbers than can be kept."""
    if facts and _size(facts, 0) > MAX_FACTS_CHARS:
        raise ValueError("the facts are too large")


def _size(value: Any, depth: int) -> int:
    kind = type(value)
    if kind is str:
        return len(value) + 2
    if kind is dict or kind is list:
        return _within(value, depth + 1)
    if kind is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise ValueError("a number among the facts is too great")
    return 8


def _within(value: dict[str, Any] | list[Any], depth: int) -> int:
    if depth > MAX_DEPTH:
        raise ValueError("the facts are nested too deeply")
    size = 2
    for one in value.items() if isinstance(value, dict) else value:
        size += len(one[0]) + 4 + _size(one[1], depth) if isinstance(one, tuple) else 1 + _size(one, depth)
        if size > MAX_FACTS_CHARS:
            raise ValueError("the facts are too large")
    return size
