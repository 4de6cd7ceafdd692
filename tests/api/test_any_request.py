"""Any request that the description allows, and any that it does not, to a real server with a cloud below.

Whatever is sent, there is an answer: one that its schema describes, or a problem; never a fault, and no traceback in
the log. `make fuzz` sends many more.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from stead.access.direct import create_token
from stead.dev.engines import Nats, Postgres
from tests.description import ENDPOINTS, OPENAPI
from tests.drivers.cloud import SimCloud
from tests.integration.test_processes import Stead
from tests.lanes import every_lane
from tests.tiers import examples

EXAMPLES = int(os.environ.get("STEAD_FUZZ", examples(3)))
"""Requests to each endpoint, of each mode, by each caller."""

ROLES = {"admin": "*", "viewer": "shop"}
"""Those who show a token, by what it is for; two more show none, and one that is none."""

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(OPENAPI)
STREAM = "/v1/events"
DAY = timedelta(days=1)

type Served = tuple[Stead, Sequence[Mapping[str, str]]]
"""A server, and what each caller sends along with every request."""


@pytest.fixture(scope="module")
def server(postgres: Postgres, nats_server: Nats) -> Iterator[Served]:
    dsn = postgres.create_database(f"any_{secrets.token_hex(4)}")
    every_lane(dsn)
    bus = ("--nats", nats_server.url, "--cell", f"f{secrets.token_hex(4)}")
    unlimited = [word for name in ("changes", "namespace-changes", "reads") for word in ("--rate", f"{name}=0")]
    tokens = [asyncio.run(create_token(dsn, role, [(role, where)], DAY)) for role, where in ROLES.items()]
    with (
        SimCloud() as cloud,
        Stead("server", "--database", dsn, *bus, *unlimited, port_option=True) as server,
        Stead("agent", "run", *bus, "--lane", "sim.a", "--set", f"url={cloud.url}", "--name", "a1"),
    ):
        yield server, [{}, *({"Authorization": f"Bearer {token}"} for token in ("none.such.token", *tokens))]


def send(case: Case[Any], address: str, headers: Mapping[str, str]) -> requests.Response:
    asked: dict[str, Any] = case.as_transport_kwargs(base_url=address, headers=dict(headers))
    answer = requests.request(**{**asked, "timeout": 20, "stream": True, "allow_redirects": False})
    if answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream"):
        answer.raw.close()
        answer._content = b""
    return answer


def check(case: Case[Any], answer: requests.Response) -> None:
    assert answer.status_code < 500, (answer.status_code, answer.text)
    assert answer.headers["x-request-id"]
    if answer.status_code >= 400:
        problem = answer.json()
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["status"] == answer.status_code
        assert problem["code"] != "internal-error"
    if case.path != STREAM:
        case.validate_response(answer, checks=CHECKS)


@pytest.mark.parametrize("mode", GenerationMode, ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), ENDPOINTS, ids=lambda part: part)
def test_any_request_has_an_answer(server: Served, method: str, path: str, mode: GenerationMode) -> None:
    if mode is GenerationMode.NEGATIVE and not may_be_wrong(method, path):
        pytest.skip("there is nothing that could be wrong")
    process, callers = server
    began = process.log.stat().st_size

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(SCHEMA[path][method].as_strategy(generation_mode=mode))
    def each(case: Case[Any]) -> None:
        for headers in callers:
            check(case, send(case, f"http://127.0.0.1:{process.port}", headers))

    each()
    with process.log.open("rb") as log:
        log.seek(began)
        said = log.read()
    assert b"Traceback" not in said, said.decode(errors="replace")[-4000:]


def may_be_wrong(method: str, path: str) -> bool:
    operation = OPENAPI["paths"][path][method.lower()]
    return bool(operation.get("parameters") or operation.get("requestBody"))
