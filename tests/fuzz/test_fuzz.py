"""Bad input to everything that reads, for some seconds; `make fuzz-long` goes on for half an hour."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stead.dev.engines import Nats, Postgres
from tests.fuzz.ground import Ground, ground
from tests.fuzz.parsers import bad_files
from tests.fuzz.requests import bad_requests
from tests.fuzz.result import Result
from tests.fuzz.through import bad_on_the_bus
from tests.fuzz.wire import bad_messages

SEED = 20_301


@pytest.fixture(scope="module")
def running(postgres: Postgres, nats_server: Nats) -> Iterator[Ground]:
    with ground(postgres, nats_server) as found:
        yield found


def no_failures(result: Result) -> None:
    assert not result.failures, f"{result.line}\n{result.failures[0]}"


def test_bad_messages_are_read_or_refused() -> None:
    no_failures(bad_messages(30_000, SEED))


def test_bad_files_and_words_are_read_or_refused() -> None:
    no_failures(bad_files(1500, SEED))


@pytest.mark.slow
@pytest.mark.long
def test_bad_messages_on_the_bus_end_nobody(running: Ground) -> None:
    no_failures(bad_on_the_bus(running, 3000, SEED))


@pytest.mark.slow
@pytest.mark.long
def test_bad_requests_have_an_answer(running: Ground) -> None:
    no_failures(bad_requests(running, 700, SEED))


def test_what_a_parser_may_not_raise_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(_: str) -> None:
        raise KeyError("x")

    monkeypatch.setattr("stead.cli.durations.seconds", careless)
    failures = bad_files(100, SEED).failures
    assert failures
    assert failures[0].startswith("duration:")


def test_memory_that_grows_is_told() -> None:
    flat = Result("any", 1, 1, {}, [], {"10%": 300.0, "50%": 330.0, "100%": 340.0})
    growing = Result("any", 1, 1, {}, [], {"10%": 300.0, "50%": 330.0, "100%": 430.0})
    assert (flat.clean, growing.clean) == (True, False)
