"""Lines of the log: for programs and for people, and what each is about."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Sequence

import pytest

from stead.batcher import Batcher
from stead.secrets.scrubbing import KNOWN
from stead.telemetry.context import add_context, current_context, log_context
from stead.telemetry.logs import Json, Text, drop_traceback


def record(message: str, *values: object) -> logging.LogRecord:
    return logging.LogRecord("stead.some", logging.INFO, "f", 1, message, values, None)


def test_a_line_for_programs_is_one_object_whatever_is_in_it() -> None:
    with log_context(request_id="r-1", lane=""):
        line = Json("agent").format(record("two\nlines of %s", '"it"'))
    assert "\n" not in line
    said = json.loads(line)
    assert said["message"] == 'two\nlines of "it"'
    assert (said["level"], said["part"], said["logger"], said["request_id"]) == ("info", "agent", "stead.some", "r-1")
    assert "lane" not in said
    assert said["time"].endswith("+00:00")


def test_a_line_for_programs_has_no_secret_and_stays_one() -> None:
    KNOWN.remember('hush"hush')
    said = json.loads(Json("agent").format(record("with %s", 'hush"hush')))
    assert said["message"] == "with ***"


def test_an_error_is_in_the_same_line() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        one = logging.LogRecord("stead.some", logging.ERROR, "f", 1, "it failed", (), sys.exc_info())
    assert "ValueError: broken" in json.loads(Json("server").format(one))["error"]


def test_a_line_for_people_ends_with_the_request() -> None:
    form = Text("%(levelname)s %(message)s")
    assert form.format(record("done")) == "INFO done"
    with log_context(request_id="r-1"):
        assert form.format(record("done")) == "INFO done [r-1]"


def test_a_pool_whose_database_is_away_takes_one_line() -> None:
    one = record("it is tried %s", "again")
    try:
        raise ConnectionRefusedError("nobody there")
    except ConnectionRefusedError:
        one.exc_info = sys.exc_info()
    assert drop_traceback(one)
    assert Text("%(message)s").format(one) == "it is tried again: ConnectionRefusedError('nobody there')"


def test_what_is_noted_is_known_to_who_began() -> None:
    with log_context(request_id="r-1"):
        with log_context(lane="a"):
            assert current_context() == {"request_id": "r-1", "lane": "a"}
        add_context(operation="o-1")
        assert current_context() == {"request_id": "r-1", "operation": "o-1"}
    assert current_context() == {}


async def test_what_is_done_for_many_is_about_none_of_them() -> None:
    heard: list[str] = []

    async def each(items: Sequence[int]) -> list[int]:
        heard.append(current_context().get("request_id", ""))
        return list(items)

    together = Batcher(each, 10)
    with log_context(request_id="r-1"):
        await asyncio.gather(together(1), together(2))
        assert current_context()["request_id"] == "r-1"
    assert set(heard) == {""}


def test_nothing_of_it_is_loaded_by_who_only_asks() -> None:
    program = "import sys, stead.cli.main; print([m for m in sys.modules if m.split('.')[0] in sys.argv[1:]])"
    words = [sys.executable, "-c", program, "opentelemetry", "prometheus_client"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.long
def test_a_server_without_a_collector_loads_no_opentelemetry() -> None:
    program = (
        "import sys, stead.cli.processes.server; from stead.telemetry import tracing; tracing.begin('server'); "
        "print(tracing.on(), [m for m in sys.modules if m.startswith('opentelemetry.sdk')])"
    )
    words = ["env", "-u", "OTEL_EXPORTER_OTLP_ENDPOINT", sys.executable, "-c", program]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False []\n"
