"""Groups explored with their members, on which operations overlap; and planted faults are caught."""

from __future__ import annotations

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide.group import Participation, participation
from stead.lifecycle.decision import Decision, Refusal
from stead.lifecycle.explore import explore_overlap
from stead.lifecycle.explore.overlap import Participate

GROUPS = {kind: KINDS[lifecycle.members] for kind, lifecycle in KINDS.items() if lifecycle.members}
LARGE = ("subgroup", "mci")
SOME = 15_000
"""Worlds of a large one that every run of the tests visits: more than it takes to find what is planted below."""


@pytest.mark.req("X-06")
@pytest.mark.parametrize("kind", GROUPS)
def test_group_never_goes_on_while_member_it_asked_is_in_progress(kind: str) -> None:
    result = explore_overlap(KINDS[kind], GROUPS[kind], most=SOME)
    assert result.violation is None, result.violation.story()
    assert result.complete is (kind not in LARGE)
    assert result.visited > 500


@pytest.mark.long
@pytest.mark.req("X-06")
@pytest.mark.parametrize("kind", LARGE)
def test_large_group_never_goes_on_while_member_it_asked_is_in_progress(kind: str) -> None:
    result = explore_overlap(KINDS[kind], GROUPS[kind])
    assert result.violation is None, result.violation.story()
    assert result.complete


def forgets_joined(answer: Decision | Refusal, operation: str) -> Participation:
    """Waits only for members that it began to act on."""
    found = participation(answer, operation)
    return Participation.NONE if found is Participation.JOINS else found


def forgets_acting(answer: Decision | Refusal, operation: str) -> Participation:
    found = participation(answer, operation)
    return Participation.NONE if found is Participation.ACTS else found


def takes_joined_for_acting(answer: Decision | Refusal, operation: str) -> Participation:
    """Counts a member that joined as one whose own operation will end."""
    found = participation(answer, operation)
    return Participation.ACTS if found is Participation.JOINS else found


@pytest.mark.parametrize("kind", GROUPS)
def test_group_that_forgets_joined_members_is_found(kind: str) -> None:
    result = explore_overlap(KINDS[kind], GROUPS[kind], participate=forgets_joined, most=SOME)
    assert result.violation is not None
    assert "was in progress on member 0, which it asked" in result.violation.says
    assert any("in the course of another operation" in step for step in result.violation.path)


@pytest.mark.parametrize(
    ("plant", "says"),
    [
        (forgets_acting, "was counted twice"),
        (takes_joined_for_acting, "waits for a member on which nothing is in progress"),
    ],
)
def test_group_that_counts_members_wrongly_is_found(plant: Participate, says: str) -> None:
    result = explore_overlap(KINDS["lease"], GROUPS["lease"], participate=plant)
    assert result.violation is not None
    assert says in result.violation.says
