"""Groups explored with their members, on which operations overlap; and planted faults are caught."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decide.group import Participation, participation
from stead.lifecycle.decision import Code, Decision, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Event, Request
from stead.lifecycle.explore import explore_overlap
from stead.lifecycle.explore.overlap import Participate
from stead.lifecycle.rows import ConflictPolicy
from stead.lifecycle.snapshot import Snapshot

GROUPS = {kind: KINDS[lifecycle.members] for kind, lifecycle in KINDS.items() if lifecycle.members}
LARGE = ("subgroup", "mci")
SOME = 20_000
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


def forgets_joined(answer: Decision | Rejection, operation: str) -> Participation:
    """Waits only for members that it began to act on."""
    found = participation(answer, operation)
    return Participation.NONE if found is Participation.JOINS else found


def forgets_acting(answer: Decision | Rejection, operation: str) -> Participation:
    found = participation(answer, operation)
    return Participation.NONE if found is Participation.ACTS else found


def takes_joined_for_acting(answer: Decision | Rejection, operation: str) -> Participation:
    """Counts a member that joined as one whose own operation will end."""
    found = participation(answer, operation)
    return Participation.ACTS if found is Participation.JOINS else found


@pytest.mark.parametrize("kind", GROUPS)
def test_group_that_forgets_joined_members_is_found(kind: str) -> None:
    result = explore_overlap(KINDS[kind], GROUPS[kind], participate=forgets_joined, most=SOME)
    assert result.violation is not None
    assert "was in progress on member 0, which it asked" in result.violation.says
    assert any("in the course of another operation" in step for step in result.violation.path)


@pytest.mark.parametrize("kind", LARGE)
def test_group_that_changes_members_that_others_hold_is_found(kind: str) -> None:
    member = GROUPS[kind]
    actions = tuple(
        replace(action, conflict=ConflictPolicy.PREEMPT if action.name == "terminate" else ConflictPolicy.REJECT)
        for action in member.actions
    )
    result = explore_overlap(KINDS[kind], replace(member, actions=actions), most=SOME)
    assert result.violation is not None
    assert "on which an operation with a claim of its own is in progress" in result.violation.says


@pytest.mark.parametrize("kind", LARGE)
def test_group_that_members_of_others_keep_off_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept_off(lifecycle: Lifecycle, snap: Snapshot, event: Event) -> Decision | Rejection:
        if lifecycle.kind == kind and snap.blocked is not None and isinstance(event, Request):
            return Rejection((Reason(Code.HELD, "planted"),), snap.state, holder=snap.blocked)
        return decide(lifecycle, snap, event)

    monkeypatch.setattr("stead.lifecycle.explore.overlap.decide", kept_off)
    result = explore_overlap(KINDS[kind], GROUPS[kind], most=SOME)
    assert result.violation is not None
    assert "is kept off by what is claimed below" in result.violation.says


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
