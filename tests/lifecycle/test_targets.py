"""Target action and target status: there while something is under way, `None` once it is reached."""

from __future__ import annotations

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision
from stead.lifecycle.events import Children, Report, Request, Take
from stead.lifecycle.rows import Trigger
from stead.lifecycle.snapshot import Operation, Phase, Snapshot
from stead.lifecycle.targets import Target, target_of


@pytest.mark.req("S0-10")
@pytest.mark.parametrize(
    ("start", "action", "target"),
    [
        ("Absent", "create", Target("Create", "Running")),
        ("Running", "suspend", Target("Suspend", "Suspended")),
        ("Suspended", "resume", Target("Resume", "Running")),
        ("Running", "reboot", Target("Reboot", "Running")),
        ("Running", "terminate", Target("Terminate", "Terminated")),
    ],
)
def test_a_vm_has_a_target_until_it_is_reached(start: str, action: str, target: Target) -> None:
    vm = KINDS["vm"]
    assert target_of(vm, Snapshot(start)) == Target("None", "None")
    begun = decide(vm, Snapshot(start), Request(action))
    assert isinstance(begun, Decision)
    assert target_of(vm, begun.after) == target
    taken = decide(vm, begun.after, Take(begun.after.fence))
    assert isinstance(taken, Decision)
    done = decide(vm, taken.after, Report(Trigger.SUCCEEDED, taken.after.fence))
    assert isinstance(done, Decision)
    assert target_of(vm, done.after) == Target("None", "None")


@pytest.mark.req("S0-10")
def test_a_group_has_reached_its_target_when_nobody_is_left_to_wait_for() -> None:
    mci = KINDS["mci"]
    begun = decide(mci, Snapshot("Running"), Request("suspend"))
    assert isinstance(begun, Decision)
    assert target_of(mci, begun.after) == Target("Suspend", "Suspended")
    ended = decide(mci, begun.after, Children((("Suspended", 3), ("Failed", 1), ("Terminated", 1))))
    assert isinstance(ended, Decision)
    assert target_of(mci, ended.after) == Target("None", "None")


def test_what_is_being_undone_has_no_target() -> None:
    undoing = Operation("create", "NotPresent", phase=Phase.ROLLING_BACK)
    assert target_of(KINDS["clusterinst"], Snapshot("CreateError", operation=undoing)) == Target()
