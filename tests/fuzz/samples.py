"""Requests that are right, or nearly: what bad ones are made of.

Some are the house's own, one for every endpoint, about things that are there; the others are made by schemathesis of
the description, right and wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case, GenerationMode

from tests.access.test_every_endpoint import RULES
from tests.api.test_any_request import SCHEMA, may_be_wrong
from tests.description import ENDPOINTS

HOST = "http://127.0.0.1"


@dataclass(frozen=True)
class Asked:
    """A request, before anything is wrong with it."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


def own(known: Mapping[str, str]) -> list[Asked]:
    """One for each endpoint, about what is there: `known` says what stands in the paths."""
    found = []
    for endpoint, rule in RULES.items():
        method, path = endpoint.split(" ")
        for name in re.findall(r"{(\w+)}", path):
            place = f"{path}#{name}" if f"{path}#{name}" in known else name
            path = path.replace("{" + name + "}", quote(known.get(place, "shop"), safe="/"))
        body = json.dumps(rule.body).encode() if rule.body is not None else b""
        kind = {"Content-Type": "application/json"} if body else {}
        found.append(Asked(method, path, urlencode(dict(rule.query)), body, kind))
    return found


def made(count: int, number: int) -> list[Asked]:
    """So many for each endpoint and each of right and wrong, by schemathesis."""
    found: list[Asked] = []
    for method, path in ENDPOINTS:
        for mode in GenerationMode:
            if mode is GenerationMode.NEGATIVE and not may_be_wrong(method, path):
                continue

            @seed(number)
            @settings(
                max_examples=count,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
                phases=[Phase.generate],
            )
            @given(SCHEMA[path][method].as_strategy(generation_mode=mode))
            def each(case: Case[Any]) -> None:
                found.append(_asked(case))

            each()
    return found


def _asked(case: Case[Any]) -> Asked:
    sent: dict[str, Any] = case.as_transport_kwargs(base_url=HOST)
    sent.pop("timeout", None)
    sent.pop("allow_redirects", None)
    request = requests.Request(**sent).prepare()
    body = request.body or b""
    path, _, query = str(request.path_url).partition("?")
    headers = {str(name): _plain(value) for name, value in request.headers.items() if name.lower() not in OWN}
    return Asked(
        request.method or "GET", path, query, body if isinstance(body, bytes) else str(body).encode(), headers
    )


OWN = ("content-length", "connection", "host", "transfer-encoding", "authorization")
"""Headers that are set by whoever sends."""


def _plain(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def described() -> int:
    """How many endpoints there are."""
    return len(ENDPOINTS)


__all__ = ["Asked", "described", "made", "own", "schemathesis"]
