"""How often a call is made again: a few times, or until a time where the provider did nothing."""

from __future__ import annotations

import time

import pytest

from stead.agent.retry_budget import MAX_PAUSE, RetryBudget, give_up_at
from stead.bus.messages import Order
from stead.drivers.base import RetryableError, ThrottledError, UnreachableError

TRIES = 6


def calls(patience: RetryBudget, error: type[RetryableError], limit: int = 100) -> tuple[int, list[float]]:
    """How many calls are made in a row that all end in an error, and the pauses between them."""
    pauses: list[float] = []
    for made in range(1, limit + 1):
        failed = error("no", after=1.0)
        if not patience.left(failed):
            return made, pauses
        pauses.append(failed.after)
    return limit, pauses


@pytest.mark.parametrize("error", [ThrottledError, UnreachableError, RetryableError])
def test_call_without_time_left_is_made_a_few_times_with_short_pauses(error: type[RetryableError]) -> None:
    made, pauses = calls(RetryBudget(TRIES, 0.0), error)
    assert made == TRIES
    assert set(pauses) == {1.0}


@pytest.mark.parametrize("error", [ThrottledError, UnreachableError])
def test_call_that_a_provider_does_not_let_in_is_made_until_the_time(error: type[RetryableError]) -> None:
    made, pauses = calls(RetryBudget(TRIES, time.monotonic() + 3600), error)
    assert made == 100
    assert max(pauses) == (MAX_PAUSE if error is UnreachableError else 1.0)


def test_call_that_was_made_for_long_is_given_up_at_the_time() -> None:
    patience = RetryBudget(TRIES, time.monotonic() + 3600)
    assert calls(patience, UnreachableError, 20)[0] == 20
    patience._until = time.monotonic()
    assert not patience.left(UnreachableError("no"))


def test_call_whose_outcome_is_unknown_is_made_a_few_times_however_often_it_was_throttled() -> None:
    patience = RetryBudget(TRIES, time.monotonic() + 3600)
    calls(patience, ThrottledError, 20)
    assert calls(patience, RetryableError)[0] == TRIES


@pytest.mark.parametrize("hours", [-1, 1])
def test_time_of_an_order_is_counted_from_its_receipt_whatever_the_wall_clock_says(
    hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = time.time() + hours * 3600
    monkeypatch.setattr(time, "time", lambda: wall)
    order = Order(1, "aws.a", "vm", "suspend", "t.1", "op", 1, [], 300.0)
    assert give_up_at(order) - time.monotonic() == pytest.approx(270, abs=5)
    assert calls(RetryBudget(TRIES, give_up_at(order)), ThrottledError)[0] == 100
