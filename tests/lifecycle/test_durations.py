"""What is read from a histogram of durations is true to within a span, and it never grows."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.catalog import KINDS
from stead.lifecycle.durations import (
    BOUNDS,
    MEDIAN,
    NEARLY_ALL,
    UNSEEN,
    WEIGHT,
    Histogram,
    end_of,
    key_state,
    span_of,
    well,
)
from stead.lifecycle.rows import StateClass

SECONDS = st.floats(0.0, 1_000_000.0, allow_nan=False)


def ranked(took: list[float], part: float) -> float:
    """The true percentile: the shortest time within which that part of them was over."""
    return sorted(took)[max(ceil(part * len(took) - 1e-9), 1) - 1]


def of(took: list[float]) -> Histogram:
    return Histogram().plus(Counter(map(span_of, took)))


@pytest.mark.req("X-12")
@given(st.lists(SECONDS, min_size=1, max_size=900), st.sampled_from([MEDIAN, 0.9, NEARLY_ALL]))
def test_the_learned_percentile_is_within_a_span_of_the_true_one(took: list[float], part: float) -> None:
    true = ranked(took, part)
    assert of(took).within(part) == end_of(span_of(true))


@given(SECONDS)
def test_a_move_lies_in_its_span_and_a_span_is_a_fifth_wide(seconds: float) -> None:
    span = span_of(seconds)
    assert seconds < end_of(span) or span == len(BOUNDS)
    assert span == 0 or seconds >= BOUNDS[span - 1]
    assert all(after / before < 1.2 for before, after in pairwise(BOUNDS))


@pytest.mark.req("X-12")
@given(st.lists(st.dictionaries(st.integers(0, len(BOUNDS)), st.integers(1, 3000), min_size=1), max_size=30))
def test_it_weighs_no_more_than_it_may_however_much_comes(batches: list[dict[int, int]]) -> None:
    known = Histogram()
    for batch in batches:
        known = known.plus(batch)
        assert known.moves <= WEIGHT * 1.0001
        assert len(known.counts) <= len(BOUNDS) + 1


@pytest.mark.req("X-12")
def test_what_changes_is_learned_and_what_was_is_forgotten() -> None:
    known = of([1.0] * 1000)
    for _ in range(10):
        known = known.plus({span_of(60.0): 500})
    assert known.within(MEDIAN) == end_of(span_of(60.0))
    assert of([1.0] * 98 + [60.0] * 2).within(NEARLY_ALL) == end_of(span_of(60.0))
    assert of([1.0] * 99 + [60.0]).within(NEARLY_ALL) == end_of(span_of(1.0))


def test_every_moving_state_of_every_action_can_be_learned() -> None:
    for kind in KINDS.values():
        found = list(well(kind))
        for name, source, target in found:
            action = kind.action(name)
            assert action is not None
            if source == UNSEEN:
                assert not action.via
                continue
            assert kind.state(source).cls is StateClass.TRANSITIONAL
            assert key_state(kind, name, source) == source
            assert target not in (action.on_failure,) or action.on_failure == action.target
        for action in kind.actions:
            if not action.signals and not action.scoped and (action.via or action.verbs):
                left = {source for name, source, _ in found if name == action.name}
                assert left == (set(action.via) or {UNSEEN}), (kind.kind, action.name)


def test_while_the_visible_state_is_anothers_the_action_is_kept_by_itself() -> None:
    assert key_state(KINDS["machine"], "migrate", "RUNNING") == UNSEEN
    assert key_state(KINDS["machine"], "migrate", "STOPPING") == UNSEEN
    assert key_state(KINDS["machine"], "stop", "STOPPING") == "STOPPING"
