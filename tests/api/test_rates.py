"""Token buckets: what they grant, and what they remember."""

from __future__ import annotations

import math

import pytest

from stead.api import rates
from stead.api.rates import RateLimits, TokenBuckets, said


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def granted(buckets: TokenBuckets, name: str, asked: int) -> int:
    count = 0
    for _ in range(asked):
        if not buckets.wait(name):
            buckets.take(name)
            count += 1
    return count


def test_a_burst_and_then_the_rate(clock: Clock) -> None:
    buckets = TokenBuckets(10, 2, clock)
    assert granted(buckets, "ann", 100) == 20
    assert buckets.wait("ann") == pytest.approx(0.1)
    clock.now += 1
    assert granted(buckets, "ann", 100) == 10
    clock.now += 60
    assert granted(buckets, "ann", 100) == 20


def test_who_waits_as_long_as_told_is_let_in(clock: Clock) -> None:
    buckets = TokenBuckets(3, 1, clock)
    granted(buckets, "ann", 10)
    clock.now += math.nextafter(buckets.wait("ann"), 1)
    assert granted(buckets, "ann", 10) == 1


def test_one_takes_nothing_from_another(clock: Clock) -> None:
    buckets = TokenBuckets(10, 2, clock)
    granted(buckets, "ann", 100)
    assert granted(buckets, "bob", 100) == 20


def test_a_slow_rate_still_grants_one(clock: Clock) -> None:
    assert granted(TokenBuckets(0.1, 1, clock), "ann", 5) == 1


def test_no_limit_remembers_nothing(clock: Clock) -> None:
    buckets = TokenBuckets(0, 2, clock)
    assert granted(buckets, "ann", 1000) == 1000
    assert len(buckets) == 0


def test_full_buckets_are_forgotten(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST", 100)
    buckets = TokenBuckets(10, 2, clock)
    for number in range(100):
        granted(buckets, f"c{number}", 1)
    clock.now += 10
    granted(buckets, "ann", 1)
    assert len(buckets) == 1


def test_there_are_never_too_many_and_who_asks_often_is_not_forgotten(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "MOST", 100)
    buckets = TokenBuckets(10, 2, clock)
    granted(buckets, "ann", 19)
    for number in range(1000):
        granted(buckets, f"c{number}", 1)
        clock.now += 0.1
        assert len(buckets) <= 100
        granted(buckets, "ann", 1)
    assert granted(buckets, "ann", 100) <= 1


def test_rates_by_name() -> None:
    assert said({}) == RateLimits()
    assert said({"changes": 5, "namespace-reads": 0}) == RateLimits(changes=5, namespace_reads=0)
    with pytest.raises(ValueError, match="there is no rate writes; there are changes, reads"):
        said({"writes": 5})
    with pytest.raises(ValueError, match="changes is a number"):
        said({"changes": -1})
    with pytest.raises(ValueError, match="changes is a number"):
        said({"changes": math.nan})
