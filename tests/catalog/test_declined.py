"""Where nothing was done, a VM is where it was; and refine spares a VM that runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Outcome
from stead.lifecycle.events import Cancel, Event, Report, Request, Take
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Fence, Snapshot
from tests.catalog.asking import under_way
from tests.catalog.declined import DECLINED
from tests.catalog.tables import rows


@pytest.mark.req("S0-02")
@pytest.mark.parametrize(("state", "action", "origin"), [(r.source, r.on, r.target) for r in sorted(rows(DECLINED))])
def test_what_the_provider_rejected_without_effect_leaves_a_vm_where_it_came_from(
    state: str, action: str, origin: str
) -> None:
    snapshot = under_way(state, action, origin)
    answer = decide(KINDS["vm"], snapshot, Report(Trigger.DECLINED, snapshot.fence))
    assert isinstance(answer, Decision)
    assert [(m.trigger, m.target) for m in answer.transitions] == [(Trigger.DECLINED, origin)]
    assert [ended.outcome for ended in answer.ended] == [Outcome.FAILED]


@pytest.mark.req("S0-15")
@pytest.mark.parametrize("origin", ["Failed", "Undefined"])
def test_refine_looks_first_and_spares_a_vm_that_runs(origin: str) -> None:
    vm = KINDS["vm"]
    begun = decide(vm, Snapshot(origin), Request("refine", Actor.CONTROLLER))
    assert isinstance(begun, Decision)
    assert [order.verb for order in begun.orders] == ["probe"]
    taken = decide(vm, begun.after, Take(begun.after.fence))
    assert isinstance(taken, Decision)
    spared = decide(vm, taken.after, Report(Trigger.OBSERVED, taken.after.fence, seen="Running"))
    assert isinstance(spared, Decision)
    assert (spared.after.state, spared.orders) == (origin, ())
    assert "refine spares" in spared.message
    assert "Running" in spared.message
    for there in ("Suspended", "absent", "broken"):
        goes = decide(vm, taken.after, Report(Trigger.OBSERVED, taken.after.fence, seen=there))
        assert isinstance(goes, Decision)
        assert [order.verb for order in goes.orders] == ["terminate"]
    unknown = decide(vm, taken.after, Report(Trigger.DECLINED, taken.after.fence))
    assert isinstance(unknown, Decision)
    assert unknown.after.state == origin


@pytest.mark.req("S0-15")
@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("there", ["Running", "Suspended", "absent", "broken"])
@pytest.mark.parametrize("origin", ["Failed", "Undefined"])
def test_refine_that_is_cancelled_before_the_look_is_answered_removes_nothing(
    origin: str, there: str, taken: bool
) -> None:
    vm = KINDS["vm"]
    snapshot = Snapshot(origin)
    events: list[Event] = [Request("refine", Actor.CONTROLLER, operation="op-1")]
    events += [Take(Fence())] if taken else []
    events += [Cancel("op-1", Actor.ADMIN)] + ([] if taken else [Take(Fence())])
    for event in events:
        now = replace(event, fence=snapshot.fence) if isinstance(event, Take) else event
        answer = decide(vm, snapshot, now)
        assert isinstance(answer, Decision), answer
        snapshot = answer.after
    looked = decide(vm, snapshot, Report(Trigger.OBSERVED, snapshot.fence, seen=there))
    assert isinstance(looked, Decision)
    assert (looked.after.state, looked.orders) == (origin, ())
    assert [ended.outcome for ended in looked.ended] == [Outcome.CANCELLED]
