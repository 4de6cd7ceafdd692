"""Parents from counts of their children, against an oracle that looks at every child."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise, product
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stead.lifecycle import aggregate
from stead.lifecycle.aggregate import (
    SYSTEM_ORDER,
    Counts,
    dominant,
    implied_by_events,
    is_stable,
    reached,
    service_condition,
    status_count,
    status_text,
    total,
    worst,
)
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import StateClass, absent, final, stable, transitional

TIES = (
    "Failed",
    "Suspended",
    "Running",
    "Terminated",
    "Creating",
    "Suspending",
    "Resuming",
    "Rebooting",
    "Terminating",
    "Undefined",
)

STRUCTURE = (
    "Creating",
    "Running",
    "Failed",
    "Suspended",
    "Rebooting",
    "Terminated",
    "Suspending",
    "Resuming",
    "Terminating",
    "Undefined",
)

VM = Lifecycle(
    kind="vm",
    description="A member with every class of state.",
    states=(
        absent("Absent", "Not there."),
        stable("Running", "Runs."),
        stable("Suspended", "Rests."),
        stable("Undefined", "Nobody knows."),
        final("Failed", "Did not work."),
        final("Terminated", "Gone."),
        *(transitional(name, "On its way.", 60) for name in TIES if name.endswith("ing") and name != "Running"),
    ),
    actions=(),
)

members = st.lists(st.sampled_from(TIES), max_size=12)


def counted(some: list[str]) -> dict[str, int]:
    """How many of each, in the order in which they are met first."""
    return {state: some.count(state) for state in dict.fromkeys(some)}


# The state most members have


@pytest.mark.req("S0-07")
@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"Running": 5}, "Running:5 (R:5/5)"),
        ({"Running": 3, "Suspended": 1, "Failed": 1}, "Partial-Running:3 (R:3/5)"),
        ({"Suspended": 4, "Running": 1}, "Partial-Suspended:4 (R:1/5)"),
        ({"Terminated": 5}, "Terminated:5 (R:0/5)"),
        ({"Running": 10}, "Running:10 (R:10/10)"),
        ({"Suspended": 6, "Running": 4}, "Partial-Suspended:6 (R:4/10)"),
        ({"Terminated": 10}, "Terminated:10 (R:0/10)"),
        ({"Running": 2, "Failed": 2, "Creating": 1}, "Partial-Failed:2 (R:2/5)"),
        ({}, "Empty"),
        ({"Running": 0}, "Empty"),
    ],
)
def test_status_text(counts: dict[str, int], text: str) -> None:
    assert status_text(counts, TIES) == text
    assert status_text(tuple(counts.items()), TIES) == text


@pytest.mark.req("S0-07")
@pytest.mark.parametrize(("first", "second"), list(pairwise(TIES)))
def test_ties_go_to_the_one_that_comes_first(first: str, second: str) -> None:
    assert dominant({second: 3, first: 3, "Unheard": 1}, TIES) == first
    assert dominant({second: 4, first: 3}, TIES) == second


@pytest.mark.req("S0-07")
def test_of_all_at_once_failed_is_said() -> None:
    assert dominant(dict.fromkeys(reversed(TIES), 7), TIES) == "Failed"


def test_a_state_that_the_order_does_not_know_loses_ties() -> None:
    assert dominant({"Alien": 2, "Undefined": 2}, TIES) == "Undefined"
    assert dominant({"Zulu": 2, "Alien": 2}, TIES) == "Alien"
    assert dominant({"Alien": 3, "Undefined": 2}, TIES) == "Alien"


@pytest.mark.req("S0-07")
@given(members)
def test_dominant_as_seen_by_looking_at_everyone(some: list[str]) -> None:
    best: str | None = None
    for state in TIES:
        if state in some and (best is None or some.count(state) > some.count(best)):
            best = state
    assert dominant(counted(some), TIES) == best
    if best is None:
        assert status_text(counted(some), TIES) == "Empty"
        return
    partial = any(state != best for state in some)
    running = len([state for state in some if state == "Running"])
    assert status_text(counted(some), TIES) == (
        ("Partial-" if partial else "") + f"{best}:{some.count(best)} (R:{running}/{len(some)})"
    )


@given(members, st.randoms(use_true_random=False))
def test_the_way_counts_are_stored_says_nothing(some: list[str], random: Any) -> None:
    """Rows of differences, shuffled, with comings and goings in between: the same as the sums."""
    rows = [(state, 1) for state in some]
    rows += [(state, change) for state in ("Running", "Creating") for change in (1, 1, -2)]
    random.shuffle(rows)
    assert status_text(rows, TIES) == status_text(counted(some), TIES)
    assert status_count(rows, STRUCTURE) == status_count(counted(some), STRUCTURE)
    assert total(iter(rows)) == len(some)


def test_fewer_than_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="-1 members in Running"):
        status_text((("Running", 1), ("Running", -2), ("Failed", 4)), TIES)


# Every count


@pytest.mark.req("S0-08")
def test_every_count_of_the_structure() -> None:
    counts = {state: place + 1 for place, state in enumerate(STRUCTURE)}
    assert list(status_count(counts, STRUCTURE).items()) == [
        ("countTotal", 55),
        ("countCreating", 1),
        ("countRunning", 2),
        ("countFailed", 3),
        ("countSuspended", 4),
        ("countRebooting", 5),
        ("countTerminated", 6),
        ("countSuspending", 7),
        ("countResuming", 8),
        ("countTerminating", 9),
        ("countUndefined", 10),
    ]


@pytest.mark.req("S0-08")
@given(st.lists(st.sampled_from((*TIES, "moved", "Alien"))))
def test_the_counts_make_the_total(some: list[str]) -> None:
    count = status_count(counted(some), STRUCTURE)
    assert count.pop("countTotal") == len(some) == sum(count.values())
    assert {f"count{state}" for state in STRUCTURE} <= set(count)
    for state in (*STRUCTURE, "Alien"):
        assert count.get(f"count{state}", 0) == some.count(state)
    assert count.get("countMoved", 0) == some.count("moved")


# Settled or not


@pytest.mark.req("S0-09")
@pytest.mark.parametrize(
    ("counts", "rests"),
    [
        ({"Running": 5}, True),
        ({"Creating": 5}, False),
        ({"Running": 3, "Failed": 2}, True),
        ({"Running": 99_999, "Suspending": 1}, False),
        ({"Running": 5, "Suspending": 0}, True),
        ({"Terminated": 1, "Undefined": 1, "Suspended": 1}, True),
        ({}, True),
    ],
)
def test_settled_only_if_every_member_is(counts: dict[str, int], rests: bool) -> None:
    assert is_stable(VM, counts) is rests


@pytest.mark.req("S0-09")
@given(members)
def test_settled_as_seen_by_looking_at_everyone(some: list[str]) -> None:
    on_their_way = [state for state in some if VM.state(state).cls is StateClass.TRANSITIONAL]
    assert is_stable(VM, counted(some)) is (len(on_their_way) == 0)


# A group action's target


@pytest.mark.req("S0-10")
@pytest.mark.parametrize(
    ("target", "there"), [("Suspended", 2 + 8 + 16 + 32), ("Running", 1 + 8 + 16 + 32), ("Terminated", 56)]
)
def test_members_that_never_get_there_count_as_there(target: str, there: int) -> None:
    counts = {"Running": 1, "Suspended": 2, "Suspending": 4, "Failed": 8, "Undefined": 16, "Terminated": 32}
    assert reached(counts, target) == there


@pytest.mark.req("S0-10")
@given(members, st.sampled_from(TIES), st.sets(st.sampled_from(TIES)))
def test_reached_as_seen_by_looking_at_everyone(some: list[str], target: str, also: set[str]) -> None:
    gone = ("Failed", "Undefined", "Terminated")
    assert reached(counted(some), target) == len([s for s in some if s == target or s in gone])
    assert reached(counted(some), target, tuple(also)) == len([s for s in some if s == target or s in also])
    assert (reached(counted(some), target) == total(counted(some))) is all(s in (target, *gone) for s in some)


# Systems


@pytest.mark.req("S4-02")
@pytest.mark.parametrize(
    ("state", "newer", "condition"),
    [
        ("failed", False, "degraded"),
        ("pending", False, "updating"),
        ("deleting", False, "updating"),
        ("updating", False, "updating"),
        ("scaling", False, "scaling"),
        ("stable", False, "stable"),
        ("stable", True, "updating"),
        ("scaling", True, "updating"),
        ("failed", True, "updating"),
    ],
)
def test_what_a_service_makes_of_its_system(state: str, newer: bool, condition: str) -> None:
    assert service_condition(state, newer) == condition


@pytest.mark.parametrize("newer", [False, True])
def test_a_service_has_no_other_states(newer: bool) -> None:
    with pytest.raises(ValueError, match="not a state of a service: 'Stable'"):
        service_condition("Stable", newer)


@pytest.mark.req("S4-02")
@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"stable": 9, "scaling": 9, "updating": 9, "degraded": 1}, "degraded"),
        ({"stable": 9, "scaling": 9, "updating": 1}, "updating"),
        ({"stable": 9, "scaling": 1}, "scaling"),
        ({"stable": 9}, "stable"),
        ({"stable": 9, "degraded": 0}, "stable"),
        ({}, "stable"),
    ],
)
def test_one_bad_service_is_enough(counts: dict[str, int], state: str) -> None:
    assert worst(counts, SYSTEM_ORDER, "stable") == state


@pytest.mark.req("S4-02")
@given(
    st.lists(
        st.tuples(st.sampled_from(("failed", "pending", "deleting", "updating", "scaling", "stable")), st.booleans())
    )
)
def test_a_system_as_seen_by_looking_at_every_service(services: list[tuple[str, bool]]) -> None:
    if any(state == "failed" and not newer for state, newer in services):
        expected = "degraded"
    elif any(newer or state in ("pending", "deleting", "updating") for state, newer in services):
        expected = "updating"
    elif any(state == "scaling" for state, newer in services):
        expected = "scaling"
    else:
        expected = "stable"
    assert worst(counted([service_condition(*s) for s in services]), SYSTEM_ORDER, "stable") == expected


def test_worst_goes_by_the_order_alone() -> None:
    assert worst({"b": 1, "a": 5, "x": 9}, ("b", "a"), "none") == "b"
    assert worst({"b": 1, "a": 5, "x": 9}, ("a", "b"), "none") == "a"
    assert worst({"x": 9}, ("a", "b"), "none") == "none"


# Leases


@pytest.mark.parametrize("start", ["UNDONE", "IN_PROGRESS", "DONE", "ERROR"])
@pytest.mark.parametrize("end", ["UNDONE", "IN_PROGRESS", "DONE", "ERROR"])
@pytest.mark.parametrize("before_end", ["UNDONE", "DONE"])
def test_the_status_that_events_imply(start: str, end: str, before_end: str) -> None:
    expected = "ERROR"
    if start == end == "UNDONE":
        expected = "PENDING"
    if start == "DONE" and end == "UNDONE":
        expected = "ACTIVE"
    if start == end == "DONE":
        expected = "TERMINATED"
    assert implied_by_events({"start_lease": start, "before_end_lease": before_end, "end_lease": end}) == expected


@pytest.mark.parametrize("events", [{}, {"start_lease": "UNDONE"}, {"end_lease": "UNDONE"}])
def test_a_lease_without_its_events_is_in_error(events: dict[str, str]) -> None:
    assert implied_by_events(events) == "ERROR"


# Cost

QUESTIONS: dict[str, Callable[[Counts], object]] = {
    "total": total,
    "dominant": lambda counts: dominant(counts, TIES),
    "status_text": lambda counts: status_text(counts, TIES),
    "status_count": lambda counts: status_count(counts, STRUCTURE),
    "is_stable": lambda counts: is_stable(VM, counts),
    "worst": lambda counts: worst(counts, TIES, "Running"),
    "reached": lambda counts: reached(counts, "Suspended"),
}


def lines_run(question: Callable[[Counts], object], counts: Counts) -> int:
    """How many lines of the module are run to answer."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != aggregate.__file__:
            return None
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        question(counts)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.req("S0-07", "S0-08", "S0-09", "S0-10")
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_hundred_thousand_members_cost_what_a_hundred_do(name: str) -> None:
    question = QUESTIONS[name]

    def group(size: int) -> dict[str, int]:
        return {"Running": size * 97 // 100, "Suspending": size * 2 // 100, "Failed": size // 100}

    few = lines_run(question, group(100))
    assert few > 0
    assert lines_run(question, group(100_000)) == few
    # More than could be listed anywhere, should one line hide a loop.
    assert lines_run(question, group(10**18)) == few


def test_cost_is_seen_where_there_is_some() -> None:
    """The measure itself: more states are more lines."""
    assert lines_run(total, dict.fromkeys(TIES, 1)) > lines_run(total, {"Running": 10})


def test_every_order_of_storage_gives_one_answer() -> None:
    for first, second, third in product(TIES[:4], repeat=3):
        if len({first, second, third}) == 3:
            counts = ((first, 2), (second, 2), (third, 2))
            assert dominant(counts, TIES) == min(first, second, third, key=TIES.index)
