"""One request, through real processes: its id is in the log of each, and it is one trace."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from stead.dev.children import Server, wait_until
from stead.dev.engines import Nats, Postgres
from tests.telemetry.collector import Collector, collector
from tests.telemetry.house import House, house
from tests.telemetry.test_processes import VM

pytestmark = pytest.mark.long

REQUEST = "mine-4711"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@dataclass(frozen=True)
class Seen:
    """What was done, and what was said of it."""

    house: House
    collector: Collector
    operation: str

    def lines(self, of: Server) -> list[dict[str, Any]]:
        return [json.loads(line) for line in of.log.read_text().splitlines() if line]


@pytest.fixture(scope="module")
def seen(postgres: Postgres, template: str, nats_server: Nats) -> Iterator[Seen]:
    name = f"test_{secrets.token_hex(6)}"
    with collector() as traces:
        told = {
            "STEAD_LOG_FORMAT": "json",
            "OTEL_EXPORTER_OTLP_ENDPOINT": traces.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }
        with house(postgres.create_database(name, template), nats_server, told) as one:
            header = {"X-Request-Id": REQUEST, "traceparent": f"00-{TRACE}-{PARENT}-01"}
            answer = httpx.post(f"{one.url}/v1/resources/shop/one", json=VM, headers=header)
            operation = answer.json()["operation"]["id"]
            where = f"{one.url}/v1/operations/{operation}"
            wait_until(lambda: httpx.get(where).json()["outcome"] == "done", "the operation to end")
            names = {"apply report"}
            wait_until(lambda: names <= {s.name for s in traces.spans if s.trace == TRACE}, "the last span")
            yield Seen(one, traces, operation)
    postgres.drop_database(name)


def test_its_id_is_in_the_log_of_everybody_on_its_way(seen: Seen) -> None:
    of = [*seen.lines(seen.house.server), *seen.lines(seen.house.agent)]
    found = {(line["part"], line["logger"]) for line in of if line.get("request_id") == REQUEST}
    assert found >= {
        ("server", "stead.api.request_ids"),
        ("controller", "stead.controller.observation.listener"),
        ("agent", "stead.agent.lane_worker"),
        ("agent", "stead.drivers.guard"),
    }


def test_a_line_says_what_it_is_about(seen: Seen) -> None:
    (asked,) = [line for line in seen.lines(seen.house.server) if line["message"].startswith("POST /v1/resources")]
    assert asked["operation"] == seen.operation
    assert asked["path"] == "/shop/one"
    assert {"time", "level", "logger", "message", "part"} <= asked.keys()
    (taken,) = [line for line in seen.lines(seen.house.agent) if "is taken: create" in line["message"]]
    assert taken["operation"] == seen.operation
    assert (taken["path"], taken["lane"], taken["agent"]) == ("/shop/one", "aws.us-east-1", "a1")


def test_another_request_has_another_id(seen: Seen) -> None:
    asked = [line for line in seen.lines(seen.house.server) if line["message"].startswith("GET /v1/operations")]
    assert asked
    assert all(line["request_id"] != REQUEST for line in asked)


def test_it_is_one_trace_from_the_caller_to_the_report(seen: Seen) -> None:
    spans = {span.id: span for span in seen.collector.spans if span.trace == TRACE}

    def way(name: str) -> list[tuple[str, str]]:
        """From a span to the caller."""
        (one, *_) = [span for span in spans.values() if span.name == name]
        steps = [(one.service, one.name)]
        while one.parent != PARENT:
            one = spans[one.parent]
            steps.append((one.service, one.name))
        return [("", name) if name == "publish order" else (service, name) for service, name in steps]

    asked = [("stead-server", "admit"), ("stead-server", "POST /v1/resources/{path}")]
    published = [("", "publish order"), *asked]  # a controller that has just begun may send it once more
    order = [("stead-agent", "order"), *published]
    assert way("publish order") == published
    assert way("take") == [("stead-agent", "take"), *order]
    assert way("driver create") == [("stead-agent", "driver create"), *order]
    assert way("apply report") == [("stead-controller", "apply report"), *order]


def test_whoever_only_looks_whether_it_lives_is_not_traced(seen: Seen) -> None:
    assert not [span for span in seen.collector.spans if "readyz" in span.name or span.name == "GET none"]
