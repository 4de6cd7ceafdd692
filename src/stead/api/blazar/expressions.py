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

from stead.api.blazar.dates import invalid_field
from stead.application.storable import storable

MAX_CHARACTERS = 10_000
BOOLEANS = {"True": "true", "False": "false"}
"""Truths as clients write them, and as ours are compared."""

_OPERATORS = {"==": "=", "=": "=", "!=": "!=", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
_CONDITION = re.compile(r"\s*(<=|>=|!=|<|>|=)\s*(.+)", re.DOTALL)


def properties(where: str, *expressions: tuple[str, str]) -> dict[str, str]:
    """What all of some expressions ask for, each given with its field."""
    found: dict[str, str] = {}
    for field, text in expressions:
        place = f"{where}.{field}"
        for name, condition in _conditions(place, _parsed(place, text)):
            if found.get(name, condition) != condition:
                raise invalid_field(
                    place, f"{name} has two conditions, {found[name]!r} and {condition!r}: one can be told here"
                )
            found[name] = condition
    return found


def expression(wanted: Mapping[str, Any]) -> str:
    """Properties of ours as an expression; empty where there is none."""
    conditions = [_condition_expression(name, value) for name, value in wanted.items()]
    return "" if not conditions else json.dumps(conditions[0] if len(conditions) == 1 else ["and", *conditions])


def _parsed(where: str, text: str) -> Any:
    if not text.strip():
        return []
    if len(text) > MAX_CHARACTERS:
        raise invalid_field(where, f"it has more than {MAX_CHARACTERS} characters")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise invalid_field(where, 'it is no JSON such as [">=", "$vcpus", "2"]') from None


def _conditions(where: str, given: Any, deep: int = 0) -> Iterator[tuple[str, str]]:
    if given == []:
        return
    if not isinstance(given, list) or not isinstance(given[0], str):
        raise invalid_field(where, f'{_brief(given)} is no expression such as [">=", "$vcpus", "2"]')
    operator, *rest = given
    if operator == "and" and deep < 10:
        for inner in rest:
            yield from _conditions(where, inner, deep + 1)
        return
    if operator not in _OPERATORS:
        message = f"{operator!r} cannot be asked for here, only 'and', {', '.join(map(repr, _OPERATORS))}"
        raise invalid_field(where, message)
    yield _condition(where, given, _OPERATORS[operator], rest)


def _condition(where: str, given: Any, operator: str, rest: list[Any]) -> tuple[str, str]:
    if len(rest) != 2 or not (isinstance(rest[0], str) and len(rest[0]) > 1 and rest[0].startswith("$")):
        raise invalid_field(where, f'{_brief(given)} is no condition such as [">=", "$vcpus", "2"]')
    name = rest[0][1:]
    value = _value(where, given, rest[1])
    if operator not in ("=", "!=") and not NUMBER.fullmatch(value):
        raise invalid_field(where, f"{_brief(given)}: {operator} compares numbers, and {value!r} is none")
    return name, f"{operator} {value}"


def _value(where: str, given: Any, value: Any) -> str:
    if isinstance(value, list | dict) or value is None or not str(value).strip():
        raise invalid_field(where, f"{_brief(given)} compares with nothing that a property can be")
    try:
        storable(given)
    except ValueError as error:
        raise invalid_field(where, str(error)) from None
    text = str(value).strip()
    return BOOLEANS.get(text, text)


def _condition_expression(name: str, value: Any) -> list[str]:
    found = _CONDITION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return ["=", f"${name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return [found[1], f"${name}", found[2].strip()]


def _brief(given: Any) -> str:
    text = json.dumps(given)
    return text if len(text) <= 80 else f"{text[:77]}..."
