"""What the database cannot hold is refused, and no fault: a NUL wherever the description allows a text; times."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.access.house import House
from tests.access.test_every_endpoint import RULES, Rule
from tests.description import OPENAPI

NUL = "a\x00b"
OPERATIONS = {
    f"{method.upper()} {path}": said for path, methods in OPENAPI["paths"].items() for method, said in methods.items()
}

type Place = tuple[str | int, ...]


def texts(schema: dict[str, Any], seen: frozenset[str] = frozenset()) -> Iterator[Place]:
    """Where something that a schema describes may have a text, or anything at all."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in seen:
            yield from texts(OPENAPI["components"]["schemas"][name], seen | {name})
    for way in ("anyOf", "oneOf", "allOf"):
        for one in schema.get(way, ()):
            yield from texts(one, seen)
    if schema.get("type") == "string":
        yield ()
    for name, below in schema.get("properties", {}).items():
        yield from ((name, *place) for place in texts(below, seen))
    if "items" in schema:
        yield from ((0, *place) for place in texts(schema["items"], seen))
    if schema.get("additionalProperties"):
        yield ("odd",)


def put(whole: Any, place: Place) -> Any:
    """The same with a NUL at a place, for which room is made."""
    if not place:
        return NUL
    first, *rest = place
    if isinstance(first, int):
        had = whole[0] if isinstance(whole, list) and whole else None
        return [put(had, tuple(rest))]
    had = whole if isinstance(whole, dict) else {}
    return {**had, first: put(had.get(first), tuple(rest))}


def asked(endpoint: str, rule: Rule) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Requests to an endpoint, each with a NUL somewhere: where, its query, its body."""
    said, body = OPERATIONS[endpoint], copy.deepcopy(rule.body)
    for parameter in said.get("parameters", ()):
        if parameter["in"] == "query" and list(texts(parameter["schema"])):
            yield parameter["name"], {**rule.query, parameter["name"]: NUL}, body
    for content in said.get("requestBody", {}).get("content", {}).values():
        for place in dict.fromkeys(texts(content["schema"])):
            yield ".".join(map(str, place)), dict(rule.query), put(body, place)


@pytest.mark.parametrize("endpoint", [name for name in sorted(RULES) if not name.endswith("/events")])
def test_a_nul_is_no_fault(furnished: House, endpoint: str) -> None:
    rule = RULES[endpoint]
    method, path = endpoint.split(" ")
    wrong = []
    for where, query, body in asked(endpoint, rule):
        if rule.before is not None:
            rule.before(furnished)
        filled = path
        for name, fill in rule.fills.items():
            filled = filled.replace("{" + name + "}", fill(furnished))
        for role in ("viewer", "admin"):
            with furnished.as_(role) as web:
                answer = web.request(method, filled, params=query, json=body)
            if answer.status_code >= 500 and answer.json()["code"] == "internal-error":
                wrong.append(f"{where} by {role}: {answer.text}")
    assert not wrong


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize(
    ("address", "at_the_end"),
    [
        ("/v1/calendar?start=", 200),
        ("/v1/calendar?end=", 422),
        ("/v1/cells/-/journal/head?before=", 200),
        ("/v1/cells/-/journal/archives/next?before=", 200),
        ("/v1/resources/shop/web?at=", 200),
    ],
)
def test_a_time_at_the_end_of_the_calendar_is_no_fault(
    furnished: House, address: str, at_the_end: int, at: str
) -> None:
    with furnished.as_("admin") as web:
        answer = web.get(address + quote(at))
    assert answer.status_code == (at_the_end if at.endswith("Z") else 422), answer.text
