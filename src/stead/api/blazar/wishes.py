"""What hosts are to have: expressions of the dialect beside our properties.

An expression is JSON in a text: `[">=", "$vcpus", "2"]`, or several of them after `"and"`. Ours is one condition by
name of property, such as `{"vcpus": ">= 2"}`. What cannot be said so is refused by name: nobody gets a host that has
less than was asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from stead.api.blazar.dates import wrong
from stead.application.storable import storable

LONGEST = 10_000
TRUTHS = {"True": "true", "False": "false"}
"""Truths as clients write them, and as ours are compared."""

_OPERATORS = {"==": "=", "=": "=", "!=": "!=", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_WISH = re.compile(r"\s*(<=|>=|!=|<|>|=)\s*(.+)", re.DOTALL)


def properties(where: str, *expressions: tuple[str, str]) -> dict[str, str]:
    """What all of some expressions ask for, each given with its field."""
    found: dict[str, str] = {}
    for field, text in expressions:
        place = f"{where}.{field}"
        for name, wish in _wishes(place, _parsed(place, text)):
            if found.get(name, wish) != wish:
                raise wrong(place, f"{name} has two conditions, {found[name]!r} and {wish!r}: one can be told here")
            found[name] = wish
    return found


def expression(wanted: Mapping[str, Any]) -> str:
    """Properties of ours as an expression; empty where there is none."""
    told = [_told(name, value) for name, value in wanted.items()]
    return "" if not told else json.dumps(told[0] if len(told) == 1 else ["and", *told])


def _parsed(where: str, text: str) -> Any:
    if not text.strip():
        return []
    if len(text) > LONGEST:
        raise wrong(where, f"it has more than {LONGEST} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise wrong(where, 'it is no JSON such as [">=", "$vcpus", "2"]') from None


def _wishes(where: str, said: Any, deep: int = 0) -> Iterator[tuple[str, str]]:
    if said == []:
        return
    if not isinstance(said, list) or not isinstance(said[0], str):
        raise wrong(where, f'{_brief(said)} is no expression such as [">=", "$vcpus", "2"]')
    operator, *rest = said
    if operator == "and" and deep < 10:
        for inner in rest:
            yield from _wishes(where, inner, deep + 1)
        return
    if operator not in _OPERATORS:
        says = f"{operator!r} cannot be asked for here, only 'and', {', '.join(map(repr, _OPERATORS))}"
        raise wrong(where, says)
    yield _wish(where, said, _OPERATORS[operator], rest)


def _wish(where: str, said: Any, operator: str, rest: list[Any]) -> tuple[str, str]:
    if len(rest) != 2 or not (isinstance(rest[0], str) and len(rest[0]) > 1 and rest[0].startswith("$")):
        raise wrong(where, f'{_brief(said)} is no condition such as [">=", "$vcpus", "2"]')
    name = rest[0][1:]
    value = _value(where, said, rest[1])
    if operator not in ("=", "!=") and not NUMBER.fullmatch(value):
        raise wrong(where, f"{_brief(said)}: {operator} compares numbers, and {value!r} is none")
    return name, f"{operator} {value}"


def _value(where: str, said: Any, value: Any) -> str:
    if isinstance(value, list | dict) or value is None or not str(value).strip():
        raise wrong(where, f"{_brief(said)} compares with nothing that a property can be")
    try:
        storable(said)
    except ValueError as error:
        raise wrong(where, str(error)) from None
    text = str(value).strip()
    return TRUTHS.get(text, text)


def _told(name: str, value: Any) -> list[str]:
    found = _WISH.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return ["=", f"${name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return [found[1], f"${name}", found[2].strip()]


def _brief(said: Any) -> str:
    text = json.dumps(said)
    return text if len(text) <= 80 else f"{text[:77]}..."
