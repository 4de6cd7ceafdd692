"""What happens next: the rules that hold for every kind, each on the kind that shows it best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import ClaimChange, Code, Decision, EndedOperation, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import (
    Children,
    Connected,
    Disconnected,
    Event,
    FullState,
    OnConflict,
    Report,
    Request,
    Take,
    TimerDue,
)
from stead.lifecycle.rows import ABSENT, Actor, Trigger
from stead.lifecycle.snapshot import Fence, Holder, OnFailure, OnPartial, Operation, Phase, Snapshot, Work
from stead.lifecycle.timers import pending

VM, MCI = KINDS["vm"], KINDS["mci"]
CLUSTER, SITE = KINDS["clusterinst"], KINDS["cloudlet"]
MACHINE, CLOUDSPACE, NODE = KINDS["machine"], KINDS["cloudspace"], KINDS["node"]
LEASE, SYSTEM = KINDS["lease"], KINDS["system"]


def yes(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision:
    """The decision, which is not a refusal."""
    answer = decide(lifecycle, snapshot, event)
    assert isinstance(answer, Decision), answer
    return answer


def no(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Rejection:
    """The refusal, which is not a decision."""
    answer = decide(lifecycle, snapshot, event)
    assert isinstance(answer, Rejection), answer
    return answer


def after(lifecycle: Lifecycle, snapshot: Snapshot, *events: Event) -> Snapshot:
    """The snapshot after some events, each under the fence that is in force then."""
    for event in events:
        now = replace(event, fence=snapshot.fence) if isinstance(event, Take | Report | FullState) else event
        snapshot = yes(lifecycle, snapshot, now).after
    return snapshot


TAKE = Take(Fence())
STARTED, DONE, FAILED, DECLINED = (
    Report(kind, Fence()) for kind in (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED, Trigger.DECLINED)
)


def seen(what: str, revision: int | None = None) -> Report:
    return Report(Trigger.OBSERVED, Fence(), seen=what, revision=revision)


class TestAnOrdinaryAction:
    def test_it_moves_claims_orders_and_arms_its_timers(self) -> None:
        decision = yes(VM, Snapshot("Running"), Request("suspend", operation="op-1", by="ann"))
        assert [m.target for m in decision.transitions] == ["Suspending"]
        assert [o.verb for o in decision.orders] == ["suspend"]
        assert decision.claims == (ClaimChange.TAKE,)
        assert {t.name for t in decision.timers} == {"deadline", "resend"}
        assert decision.after.fence > Fence()

    def test_it_ends_when_the_agent_says_done_and_gives_the_claim_back(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("suspend", operation="op-1"), TAKE)
        decision = yes(VM, at_work, replace(DONE, fence=at_work.fence))
        assert decision.after.state == "Suspended"
        assert decision.ended == (EndedOperation("suspend", Outcome.SUCCEEDED, "op-1"),)
        assert decision.claims == (ClaimChange.RELEASE,)
        assert not pending(VM, decision.after)

    def test_a_failure_leads_where_the_lifecycle_says(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("suspend"), TAKE)
        decision = yes(VM, at_work, replace(FAILED, fence=at_work.fence))
        assert decision.after.state == "Failed"
        assert decision.ended[0].outcome is Outcome.FAILED

    @pytest.mark.req("S0-20")
    def test_another_action_is_refused_with_holder_and_time(self) -> None:
        busy = after(VM, Snapshot("Running"), Request("suspend", operation="op-1", by="ann", at="12:00"))
        refusal = no(VM, busy, Request("terminate"))
        assert refusal.code is Code.IN_PROGRESS
        assert refusal.holder == Holder("op-1", "suspend", "", "ann", "12:00")
        assert refusal.retry_after is not None
        assert "suspend by ann is under way since 12:00" in refusal.reasons[0].message

    @pytest.mark.req("S0-20")
    def test_a_claim_above_or_below_refuses_too(self) -> None:
        holder = Holder("op-9", "suspend", "/ns/mci", "bob", "11:00")
        refusal = no(VM, Snapshot("Running", blocked=holder), Request("suspend"))
        assert refusal.code is Code.HELD
        assert refusal.holder == holder

    @pytest.mark.req("S4-06")
    def test_what_outranks_a_claim_below_is_said_to_be_allowed(self) -> None:
        system, claim = KINDS["system"], Holder("op-9", "deploy", "/ns/town/api", "bob", "11:00")
        refusal = no(system, Snapshot("stable", blocked=claim), Request("deploy"))
        assert refusal.allowed == ()
        below = Snapshot("stable", blocked=replace(claim, below=True))
        assert no(system, below, Request("deploy")).allowed == ("delete",)
        assert yes(system, below, Request("delete")).cancels

    def test_a_caller_may_choose_to_queue(self) -> None:
        busy = after(VM, Snapshot("Running"), Request("suspend"))
        decision = yes(VM, busy, Request("terminate", on_conflict=OnConflict.QUEUE))
        assert decision.queued
        assert decision.after == busy

    @pytest.mark.req("S0-05")
    def test_the_same_action_again_joins_but_never_a_creation(self) -> None:
        busy = after(VM, Snapshot("Running"), Request("suspend"))
        assert yes(VM, busy, Request("suspend")).joined
        creating = after(VM, Snapshot("Absent"), Request("create"))
        assert no(VM, creating, Request("create")).code is Code.IN_PROGRESS

    def test_a_refusal_says_what_could_be_asked_instead(self) -> None:
        refusal = no(VM, Snapshot("Suspended"), Request("suspend"))
        assert refusal.code is Code.WRONG_STATE
        assert refusal.allowed == ("resume", "terminate", "refresh")
        assert "forced" in no(VM, Snapshot("Failed"), Request("terminate")).reasons[0].message


class TestForce:
    @pytest.mark.req("S0-06")
    def test_force_needs_a_reason_and_an_action_that_has_it(self) -> None:
        assert no(VM, Snapshot("Failed"), Request("terminate")).code is Code.WRONG_STATE
        assert no(VM, Snapshot("Failed"), Request("terminate", force=True)).code is Code.NEEDS_REASON
        decision = yes(VM, Snapshot("Failed"), Request("terminate", force=True, reason="broken host"))
        assert decision.after.state == "Terminating"
        assert no(VM, Snapshot("Absent"), Request("create", force=True, reason="x")).code is Code.NOT_FORCEABLE

    def test_force_never_skips_the_claim(self) -> None:
        busy = after(VM, Snapshot("Running"), Request("suspend"))
        assert no(VM, busy, Request("terminate", force=True, reason="now")).code is Code.IN_PROGRESS

    def test_what_was_forced_is_verified_afterwards(self) -> None:
        forced = Request("suspend", force=True, reason="belief is wrong")
        told = after(VM, Snapshot("Suspended"), forced, TAKE, DONE)
        assert told.state == "Suspending"
        assert told.work == Work("probe")
        assert after(VM, told, TAKE, seen("Suspended")).state == "Suspended"
        assert after(VM, told, TAKE, seen("Running")).state == "Running"


class TestFences:
    @pytest.mark.req("X-04")
    @pytest.mark.req("S1-03")
    def test_old_words_change_nothing(self) -> None:
        at_work = after(CLUSTER, Snapshot("NotPresent"), Request("create"), TAKE)
        old = Fence(0, at_work.fence.counter - 1)
        for event in (Take(old), replace(DONE, fence=old), replace(FAILED, fence=old), FullState(old, "Ready")):
            assert no(CLUSTER, at_work, event).code is Code.STALE

    @pytest.mark.req("X-04")
    def test_an_order_is_taken_once(self) -> None:
        ordered = after(VM, Snapshot("Running"), Request("suspend"))
        taken = yes(VM, ordered, Take(ordered.fence)).after
        assert taken.fence > ordered.fence
        assert no(VM, taken, Take(ordered.fence)).code is Code.STALE
        assert no(VM, taken, Take(taken.fence)).code is Code.TAKEN

    @pytest.mark.req("S1-03")
    def test_a_repeated_report_changes_nothing(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("suspend"), TAKE)
        report = replace(DONE, fence=at_work.fence)
        done = yes(VM, at_work, report).after
        assert no(VM, done, report).code is Code.NOT_EXPECTED
        busy = after(VM, done, Request("resume"))
        assert no(VM, busy, report).code is Code.STALE

    def test_a_cell_that_went_back_in_time_does_not_hear_its_future(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("suspend"), TAKE)
        restored = replace(at_work, fence=Fence(1, 0))
        assert no(VM, restored, replace(DONE, fence=at_work.fence)).code is Code.STALE


class TestSilence:
    def test_an_order_that_nobody_took_is_sent_anew_under_a_new_fence(self) -> None:
        ordered = after(VM, Snapshot("Running"), Request("suspend"))
        decision = yes(VM, ordered, TimerDue("resend"))
        assert decision.orders[0].again
        assert no(VM, decision.after, Take(ordered.fence)).code is Code.STALE

    def test_lost_custody_is_followed_by_a_look_not_by_a_second_deed(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("reboot"), TAKE)
        decision = yes(VM, at_work, TimerDue("custody"))
        assert [o.verb for o in decision.orders] == ["probe"]

    def test_a_deed_that_was_done_unheard_is_found_by_the_look(self) -> None:
        probed = after(VM, Snapshot("Running"), Request("suspend"), TAKE, TimerDue("custody"), TAKE)
        decision = yes(VM, probed, replace(seen("Suspended"), fence=probed.fence))
        assert decision.after.state == "Suspended"
        assert decision.ended[0].outcome is Outcome.SUCCEEDED

    def test_a_deed_that_was_not_done_is_done_again(self) -> None:
        probed = after(VM, Snapshot("Running"), Request("suspend"), TAKE, TimerDue("custody"), TAKE)
        again = yes(VM, probed, replace(seen("Running"), fence=probed.fence))
        assert [o.verb for o in again.orders] == ["suspend"]
        assert again.after.operation is not None
        assert again.after.operation.attempt == 2

    def test_past_the_deadline_the_truth_is_the_end(self) -> None:
        ordered = after(VM, Snapshot("Running"), Request("suspend"), TimerDue("deadline"), TAKE)
        decision = yes(VM, ordered, replace(seen("Running"), fence=ordered.fence))
        assert decision.after.state == "Running"
        assert decision.ended[0].outcome is Outcome.FAILED

    def test_whoever_is_at_work_is_fenced_off_before_the_look(self) -> None:
        at_work = after(VM, Snapshot("Running"), Request("suspend"), TAKE, TimerDue("deadline"))
        assert at_work.operation is not None
        assert at_work.operation.phase is Phase.FENCING
        assert at_work.work is None
        assert yes(VM, at_work, TimerDue("fenced")).orders[0].verb == "probe"

    @pytest.mark.parametrize(
        ("kind", "start", "action", "end"),
        [
            ("vm", "Running", "suspend", "Undefined"),
            ("machine", "RUNNING", "pause", "RUNNING"),
            ("clusterinst", "Ready", "update", "UpdateError"),
        ],
    )
    def test_where_nothing_can_be_known_the_lifecycle_says(
        self, kind: str, start: str, action: str, end: str
    ) -> None:
        probing = after(KINDS[kind], Snapshot(start), Request(action), TimerDue("deadline"))
        decision = yes(KINDS[kind], probing, TimerDue("deadline"))
        assert decision.transitions[-1].target == end
        assert decision.transitions[-1].actor is Actor.CLOCK

    def test_three_misses_make_it_gone_and_a_sight_starts_over(self) -> None:
        vm = Snapshot("Running")
        for misses in (1, 2):
            vm = after(VM, vm, seen(ABSENT))
            assert (vm.state, vm.misses) == ("Running", misses)
        assert after(VM, vm, seen(ABSENT)).state == "Terminated"
        assert after(VM, vm, seen("Running")).misses == 0

    def test_a_timer_that_does_not_run_is_not_due(self) -> None:
        assert no(VM, Snapshot("Running"), TimerDue("deadline")).code is Code.NOT_DUE

    def test_an_undefined_vm_is_looked_at_before_it_is_terminated(self) -> None:
        looking = after(VM, Snapshot("Undefined"), Request("terminate"))
        assert looking.work == Work("probe")
        assert after(VM, looking, TAKE, seen("Running")).work == Work("terminate")

    def test_what_the_provider_has_and_nobody_owns_is_an_orphan(self) -> None:
        assert no(VM, Snapshot("Terminated"), seen("Running")).code is Code.ORPHAN


class TestUndo:
    def failed(self, action: str, start: str, **extra: object) -> Snapshot:
        snapshot = Snapshot(start, revision=1, previous=1)
        request = Request(action, revision=2, operation="op-1", **extra)  # type: ignore[arg-type]
        snapshot = after(CLUSTER, snapshot, request)
        if action == "delete":
            snapshot = after(CLUSTER, snapshot, Children(()))
        return after(CLUSTER, snapshot, TAKE, FAILED)

    @pytest.mark.req("S1-05")
    def test_a_failed_creation_is_deleted(self) -> None:
        undoing = self.failed("create", "NotPresent")
        assert (undoing.state, undoing.work) == ("CreateError", Work("delete"))
        assert after(CLUSTER, undoing, TAKE, DONE).state == "NotPresent"

    @pytest.mark.req("S1-05")
    def test_a_failed_update_has_its_previous_spec_restored(self) -> None:
        undoing = self.failed("update", "Ready")
        assert (undoing.state, undoing.work, undoing.revision) == ("UpdateError", Work("restore"), 2)
        ready = after(CLUSTER, undoing, TAKE, DONE)
        assert (ready.state, ready.revision, ready.previous) == ("Ready", 1, 1)

    @pytest.mark.req("S1-05")
    @pytest.mark.parametrize(
        ("found", "state"), [("Ready", "Ready"), ("broken", "DeleteError"), (ABSENT, "NotPresent")]
    )
    def test_after_a_failed_deletion_a_look_decides(self, found: str, state: str) -> None:
        undoing = self.failed("delete", "Ready")
        assert (undoing.state, undoing.work) == ("DeleteError", Work("probe"))
        assert after(CLUSTER, undoing, TAKE, seen(found)).state == state

    @pytest.mark.req("S1-05")
    def test_keep_leaves_the_error_for_a_person_who_may_undo_it(self) -> None:
        kept = self.failed("create", "NotPresent", on_failure=OnFailure.KEEP)
        assert (kept.state, kept.operation, kept.work) == ("CreateError", None, None)
        assert after(CLUSTER, kept, Request("undo"), TAKE, DONE).state == "NotPresent"

    @pytest.mark.req("S1-05")
    def test_an_undo_that_is_lost_is_sent_again_and_one_that_fails_stays(self) -> None:
        undoing = self.failed("update", "Ready")
        assert yes(CLUSTER, undoing, TimerDue("resend")).orders[0].verb == "restore"
        stuck = after(CLUSTER, undoing, TAKE, FAILED)
        assert (stuck.state, stuck.operation) == ("UpdateError", None)

    def test_an_update_found_with_the_old_spec_was_not_done(self) -> None:
        probed = after(CLUSTER, Snapshot("Ready", revision=1, previous=1), Request("update", revision=2))
        probed = after(CLUSTER, probed, TAKE, STARTED, TimerDue("custody"), TAKE)
        assert after(CLUSTER, probed, seen("Ready", 2)).revision == 2
        assert after(CLUSTER, probed, seen("Ready", 1)).revision == 1

    @pytest.mark.req("S1-06")
    def test_dependents_that_cannot_be_deleted_restore_the_state_before(self) -> None:
        preparing = yes(CLUSTER, Snapshot("Ready"), Request("delete"))
        assert (preparing.after.state, preparing.members) == ("DeletePrepare", "delete")
        back = yes(CLUSTER, preparing.after, Children((("DeleteError", 1),), failed=1)).after
        assert (back.state, back.operation) == ("Ready", None)

    @pytest.mark.req("S1-06")
    @pytest.mark.req("S1-11")
    @pytest.mark.parametrize("state", ["DeletePrepare", "UpdateRequested", "UpdateError"])
    def test_nothing_new_below_what_is_not_ready(self, state: str) -> None:
        above = (("clusterinst", state if state == "DeletePrepare" else "Ready"), ("cloudlet", state))
        app = Snapshot("NotPresent", above=above)
        refused = no(KINDS["appinst"], app, Request("create"))
        assert refused.code is Code.PARENT
        assert refused.allowed == ()  # least of all what was asked for


class TestFullState:
    @pytest.mark.req("S1-08")
    @pytest.mark.req("S1-09")
    def test_what_was_requested_is_run_again(self) -> None:
        requested = after(CLUSTER, Snapshot("NotPresent"), Request("create"))
        decision = yes(CLUSTER, requested, FullState(requested.fence, ABSENT))
        assert decision.orders[0].again
        assert decision.after.state == "CreateRequested"

    @pytest.mark.req("S1-09")
    @pytest.mark.parametrize(("found", "state"), [("Ready", "Ready"), (ABSENT, "CreateError")])
    def test_what_was_moving_is_resolved_from_what_is_there(self, found: str, state: str) -> None:
        moving = after(CLUSTER, Snapshot("NotPresent"), Request("create"), TAKE, STARTED)
        line = FullState(moving.fence, found)
        assert no(CLUSTER, moving, line).code is Code.TAKEN  # its custody has to run out first
        looking = after(CLUSTER, moving, TimerDue("custody"))
        assert after(CLUSTER, looking, line).state == state

    @pytest.mark.req("S1-08")
    def test_live_work_goes_on_and_absence_needs_the_end_mark(self) -> None:
        moving = after(CLUSTER, Snapshot("NotPresent"), Request("create"), TAKE)
        assert yes(CLUSTER, moving, FullState(moving.fence, ABSENT, working=True)).after == moving
        half = FullState(Fence(), ABSENT, complete=False)
        assert no(CLUSTER, Snapshot("Ready"), half).code is Code.NOT_EXPECTED
        assert after(CLUSTER, Snapshot("Ready"), FullState(Fence(), ABSENT)).state == "UpdateError"


class TestOutranking:
    @pytest.mark.req("S3-01")
    def test_delete_takes_over_and_the_claim_is_handed_on(self) -> None:
        starting = after(LEASE, Snapshot("PENDING"), Request("start", Actor.CLOCK, operation="op-1"))
        decision = yes(LEASE, starting, Request("delete", operation="op-2"))
        assert decision.after.state == "DELETING"
        assert decision.ended == (EndedOperation("start", Outcome.PREEMPTED, "op-1"),)
        assert decision.claims == (ClaimChange.HAND_OVER,)

    def test_custody_is_waited_out_and_the_object_looked_up_before_it_acts(self) -> None:
        service = KINDS["service"]
        ask = Request("delete", Actor.CONTROLLER)
        at_work = after(service, Snapshot("stable"), Request("update", Actor.CONTROLLER, revision=1), TAKE)
        fenced = after(service, at_work, ask)
        assert fenced.operation is not None
        assert fenced.operation.phase is Phase.FENCING
        looking = after(service, fenced, TimerDue("fenced"))
        assert looking.work == Work("probe")
        assert after(service, looking, TAKE, seen("stable")).work == Work("delete")

    def test_an_order_that_nobody_took_is_withdrawn_at_once(self) -> None:
        service = KINDS["service"]
        ordered = after(service, Snapshot("stable"), Request("update", Actor.CONTROLLER, revision=1))
        deleting = after(service, ordered, Request("delete", Actor.CONTROLLER))
        assert deleting.work == Work("probe")
        assert no(service, deleting, Take(ordered.fence)).code is Code.STALE


class TestHiddenWork:
    def migrating(self) -> Snapshot:
        return after(MACHINE, Snapshot("RUNNING"), Request("migrate", Actor.CONTROLLER, operation="op-1"), TAKE)

    def test_nobody_sees_it_and_one_request_waits_for_it(self) -> None:
        migrating = self.migrating()
        assert migrating.state == "RUNNING"
        waiting = yes(MACHINE, migrating, Request("destroy", operation="op-2"))
        assert waiting.after.state == "DESTROYING"
        assert not waiting.orders
        assert no(MACHINE, waiting.after, Request("stop")).code is Code.IN_PROGRESS
        going = yes(MACHINE, waiting.after, replace(DONE, fence=waiting.after.fence))
        assert going.claims == (ClaimChange.HAND_OVER,)
        assert [o.verb for o in going.orders] == ["stop"]

    def test_destroy_is_stop_delete_destroy(self) -> None:
        machine = after(MACHINE, Snapshot("RUNNING"), Request("destroy"))
        verbs = []
        while machine.work is not None:
            verbs.append(machine.work.verb)
            machine = after(MACHINE, machine, TAKE, DONE)
        assert (verbs, machine.state) == (["stop", "delete", "destroy"], "DESTROYED")

    @pytest.mark.req("S2-05")
    def test_the_loser_is_told_what_is_going_on(self) -> None:
        busy = after(MACHINE, Snapshot("RUNNING"), Request("pause", by="ann"))
        assert "pause by ann is under way" in no(MACHINE, busy, Request("stop")).reasons[0].message

    @pytest.mark.req("S2-09")
    def test_some_things_are_for_admins(self) -> None:
        assert no(CLOUDSPACE, Snapshot("DEPLOYED"), Request("pause")).code is Code.NOT_THE_ACTOR
        assert yes(CLOUDSPACE, Snapshot("DEPLOYED"), Request("pause", Actor.ADMIN)).after.state == "PAUSING"

    def test_a_node_is_decommissioned_when_it_is_empty(self) -> None:
        ask = Request("decommission", Actor.ADMIN)
        assert no(NODE, Snapshot("MAINTENANCE", children=2), ask).code is Code.NOT_EMPTY
        assert yes(NODE, Snapshot("MAINTENANCE"), ask).after.state == "DECOMMISSIONING"

    def test_the_recycle_bin_is_emptied_by_the_clock(self) -> None:
        assert "expiry" in pending(MACHINE, Snapshot("DELETED"))
        decision = yes(MACHINE, Snapshot("DELETED"), TimerDue("expiry"))
        assert decision.transitions[0].actor is Actor.CLOCK
        assert decision.after.state == "DESTROYING"


def prepared(**how: Any) -> Snapshot:
    """An infrastructure that the controller has prepared."""
    preparing = after(MCI, Snapshot("Absent"), Request("create", **how))
    return after(MCI, preparing, Report(Trigger.SUCCEEDED, preparing.fence, actor=Actor.CONTROLLER))


class TestCreationOfAGroup:
    def test_its_phases(self) -> None:
        mci = yes(MCI, Snapshot("Absent"), Request("create"))
        assert (mci.after.state, mci.members, mci.step) == ("Preparing", "", True)
        assert set(pending(MCI, mci.after)) == {"deadline", "step"}
        ready = prepared()
        assert ready.state == "Prepared"
        creating = yes(MCI, ready, TimerDue("next"))
        assert (creating.after.state, creating.members) == ("Creating", "create")
        assert yes(MCI, creating.after, Children((("Running", 3),))).after.state == "Running"

    def test_a_failed_preparation_is_released_and_stays_failed(self) -> None:
        preparing = after(MCI, Snapshot("Absent"), Request("create"))
        failed = yes(MCI, preparing, Report(Trigger.FAILED, preparing.fence, actor=Actor.CONTROLLER))
        assert (failed.after.state, failed.members) == ("Failed", "remove")
        done = yes(MCI, failed.after, Children(()))
        assert (done.after.state, done.after.operation) == ("Failed", None)

    def held(self) -> Snapshot:
        return prepared(hold=True)

    def test_held_it_waits_for_continue_or_withdraw(self) -> None:
        held = self.held()
        assert held.state == "Prepared"
        assert set(pending(MCI, held)) == {"hold"}
        assert no(MCI, held, Request("suspend")).code in (Code.IN_PROGRESS, Code.WRONG_STATE)
        assert after(MCI, held, Request("continue")).state == "Creating"
        assert after(MCI, held, Request("withdraw"), Children(())).state == "Absent"
        assert after(MCI, held, TimerDue("hold"), Children(())).state == "Absent"

    def test_what_is_not_held_cannot_be_continued(self) -> None:
        assert no(MCI, prepared(), Request("continue")).code is Code.WRONG_STATE

    @pytest.mark.parametrize(
        ("policy", "asked", "state"),
        [(OnPartial.ROLLBACK, "remove", "Absent"), (OnPartial.REFINE, "refine", "Running")],
    )
    def test_policies_on_partial_failure(self, policy: OnPartial, asked: str, state: str) -> None:
        creating = after(MCI, prepared(on_partial=policy), TimerDue("next"))
        partial = yes(MCI, creating, Children((("Failed", 1), ("Running", 2)), failed=1))
        assert partial.members == asked
        rest = Children((("Running", 2),) if policy is OnPartial.REFINE else ())
        assert after(MCI, partial.after, rest).state == state

    def test_nothing_ends_before_the_last_member(self) -> None:
        creating = after(MCI, prepared(), TimerDue("next"))
        still = yes(MCI, creating, Children((("Running", 2), ("Creating", 1)), remaining=1))
        assert (still.after.state, still.transitions) == ("Creating", ())


class TestParentsFollow:
    @pytest.mark.req("S4-02")
    def test_a_system_is_as_bad_as_its_worst_service(self) -> None:
        stable = Snapshot("stable")
        assert after(SYSTEM, stable, Children((("stable", 9), ("scaling", 1)))).state == "scaling"
        assert after(SYSTEM, stable, Children((("updating", 1), ("scaling", 1)))).state == "updating"
        assert after(SYSTEM, stable, Children((("degraded", 1), ("updating", 5)))).state == "degraded"
        assert after(SYSTEM, Snapshot("degraded"), Children((("stable", 5),))).state == "stable"

    def test_deploys_run_beside_each_other_and_move_nothing(self) -> None:
        decision = yes(SYSTEM, Snapshot("stable"), Request("deploy"))
        assert not decision.transitions
        assert decision.after.operation is None

    @pytest.mark.req("S3-05")
    @pytest.mark.req("S3-07")
    def test_a_lease_is_checked_and_set_by_the_same_code(self) -> None:
        updating = after(LEASE, Snapshot("ACTIVE", revision=1, previous=1), Request("update", revision=2))
        says = Report(Trigger.SUCCEEDED, updating.fence, actor=Actor.CONTROLLER)
        done = replace(says, events=(("start_lease", "DONE"), ("end_lease", "UNDONE")))
        assert after(LEASE, updating, done).state == "ACTIVE"
        back = yes(LEASE, updating, replace(says, kind=Trigger.DECLINED)).after
        assert (back.state, back.revision) == ("ACTIVE", 1)
        assert after(LEASE, updating, replace(says, kind=Trigger.FAILED)).state == "ERROR"
        assert after(LEASE, updating, says).state == "ERROR"  # nobody knows its events

    @pytest.mark.req("S3-07")
    def test_a_lease_that_cannot_be_booked_was_never_there(self) -> None:
        creating = after(LEASE, Snapshot("ABSENT"), Request("create"))
        says = Report(Trigger.DECLINED, creating.fence, actor=Actor.CONTROLLER)
        assert after(LEASE, creating, says).state == "ABSENT"
        assert after(LEASE, creating, replace(says, kind=Trigger.SUCCEEDED)).state == "PENDING"

    @pytest.mark.req("S3-07")
    def test_an_update_out_of_error_goes_where_the_events_say(self) -> None:
        updating = after(LEASE, Snapshot("ERROR"), Request("update", revision=2))
        events = (("start_lease", "UNDONE"), ("end_lease", "UNDONE"))
        done = Report(Trigger.SUCCEEDED, updating.fence, actor=Actor.CONTROLLER, events=events)
        assert after(LEASE, updating, done).state == "PENDING"


class TestPresence:
    @pytest.mark.req("S1-10")
    def test_hello_answer_gather_ready(self) -> None:
        site = after(SITE, Snapshot("Offline"), Connected(1))
        assert site.state == "Init"
        site = after(SITE, site, TimerDue("next"))
        assert (site.state, site.work) == ("InitOk", Work("gather"))
        assert after(SITE, site, TAKE, DONE).state == "Ready"

    @pytest.mark.req("S1-10")
    def test_a_new_notify_id_supersedes_the_old(self) -> None:
        ready = after(SITE, Snapshot("Offline"), Connected(1), TimerDue("next"), TAKE, DONE)
        assert no(SITE, ready, Connected(1)).code is Code.STALE
        again = after(SITE, ready, Connected(2))
        assert again.state == "Init"
        assert no(SITE, again, Disconnected(1)).code is Code.STALE
        assert after(SITE, again, Disconnected(2)).state == "Offline"

    @pytest.mark.req("S1-10")
    def test_after_create_the_site_waits_for_its_agent(self) -> None:
        created = after(SITE, Snapshot("Offline"), Request("create"))
        assert created.state == "Init"
        assert "next" not in pending(SITE, created)
        assert "next" in pending(SITE, after(SITE, created, Connected(1)))

    def upgrading(self) -> Snapshot:
        ready = after(SITE, Snapshot("Offline"), Connected(1), TimerDue("next"), TAKE, DONE)
        return after(SITE, ready, Request("upgrade"), TAKE, STARTED)

    @pytest.mark.req("S1-11")
    def test_only_the_new_agent_ends_an_upgrade(self) -> None:
        updating = self.upgrading()
        assert updating.state == "Updating"
        assert no(SITE, updating, replace(DONE, fence=updating.fence)).code is Code.NOT_EXPECTED
        both = after(SITE, updating, Connected(2, successor=True))
        assert both.state == "InitOk"
        takeover = Report(Trigger.SUCCEEDED, Fence(), actor=Actor.SUCCESSOR, notify=2)
        ready = yes(SITE, both, takeover).after
        assert (ready.state, ready.notify, ready.successor) == ("Ready", 2, 0)
        assert no(SITE, both, replace(takeover, notify=3)).code is Code.STALE

    @pytest.mark.req("S1-11")
    def test_the_old_agent_says_that_it_failed_and_goes_on(self) -> None:
        both = after(SITE, self.upgrading(), Connected(2, successor=True))
        error = after(SITE, both, FAILED)
        assert error.state == "UpdateError"
        assert error.connected
        assert after(SITE, error, Connected(3)).state == "UpdateError"
        assert no(SITE, error, Request("resolve")).code is Code.NOT_THE_ACTOR
        assert after(SITE, error, Request("resolve", Actor.ADMIN)).state == "Ready"

    def test_a_new_agent_that_nobody_expects_is_turned_away(self) -> None:
        ready = after(SITE, Snapshot("Offline"), Connected(1), TimerDue("next"), TAKE, DONE)
        assert no(SITE, ready, Connected(2, successor=True)).code is Code.NOT_EXPECTED


class TestTheControllersOwnWork:
    EVENT = KINDS["event"]

    def test_it_is_reported_and_taken_up_again_after_a_crash(self) -> None:
        fired = yes(self.EVENT, Snapshot("UNDONE"), Request("fire", Actor.CLOCK))
        assert fired.step
        assert fired.after.state == "IN_PROGRESS"
        again = yes(self.EVENT, fired.after, TimerDue("step"))
        assert again.step
        mine = Report(Trigger.SUCCEEDED, fired.after.fence, actor=Actor.CONTROLLER)
        assert no(self.EVENT, again.after, mine).code is Code.STALE  # whoever did it before is fenced off
        done = yes(self.EVENT, again.after, replace(mine, fence=again.after.fence))
        assert done.after.state == "DONE"

    def test_a_deadline_that_is_due_starts_anew_where_children_are_counted_again(self) -> None:
        busy = after(MCI, Snapshot("Running"), Request("suspend"))
        decision = yes(MCI, busy, TimerDue("deadline"))
        assert decision.recount
        assert {t.name for t in decision.timers} == {"deadline"}


class TestWhatIsNotCertain:
    def test_a_reboot_that_nobody_took_is_not_called_done(self) -> None:
        looked = after(VM, Snapshot("Running"), Request("reboot"), TimerDue("deadline"), TAKE)
        decision = yes(VM, looked, replace(seen("Running"), fence=looked.fence))
        assert decision.after.state == "Running"
        assert decision.ended[0].outcome is Outcome.UNKNOWN

    def test_an_update_whose_spec_cannot_be_told_is_taken_back(self) -> None:
        looked = after(CLUSTER, Snapshot("Ready"), Request("update", revision=1), TimerDue("deadline"), TAKE)
        decision = yes(CLUSTER, looked, replace(seen("Ready"), fence=looked.fence))
        assert decision.after.state == "UpdateError"
        assert decision.orders[0].verb == "restore"

    def test_another_spec_than_believed_is_drift(self) -> None:
        assert after(CLUSTER, Snapshot("Ready", revision=1, previous=1), seen("Ready", 0)).state == "UpdateError"
        assert after(CLUSTER, Snapshot("Ready", revision=1, previous=1), seen("Ready", 1)).state == "Ready"

    def test_an_answer_that_was_given_up_on_is_not_believed_later(self) -> None:
        looking = after(MACHINE, Snapshot("RUNNING"), Request("pause"), TimerDue("deadline"), TAKE)
        settled = yes(MACHINE, looking, TimerDue("deadline")).after
        assert settled.state == "RUNNING"
        assert no(MACHINE, settled, replace(seen("PAUSED"), fence=looking.fence)).code is Code.STALE

    def test_after_its_own_word_an_agent_may_tell_what_it_has(self) -> None:
        taken = after(CLUSTER, Snapshot("NotPresent"), Request("create"), TAKE)
        ready = after(CLUSTER, taken, DONE)
        assert ready.fence == taken.fence
        assert after(CLUSTER, ready, FullState(taken.fence, ABSENT)).state == "UpdateError"


class TestKeptFailures:
    def test_the_action_that_failed_is_remembered_and_a_parent_that_is_not_ready_refuses(self) -> None:
        kept = after(
            CLUSTER, Snapshot("Ready"), Request("update", revision=1, on_failure=OnFailure.KEEP), TAKE, FAILED
        )
        assert kept.kept == ("update", "Ready")
        blocked = replace(kept, above=(("cloudlet", "Updating"),))
        assert no(CLUSTER, blocked, Request("undo")).code is Code.PARENT
        assert yes(CLUSTER, kept, Request("undo")).orders[0].verb == "restore"


class TestOutcomesOfChildren:
    def test_a_rollback_that_left_something_behind_has_failed(self) -> None:
        rolling = after(
            MCI,
            prepared(on_partial=OnPartial.ROLLBACK),
            TimerDue("next"),
            Children((("Failed", 1), ("Running", 1)), failed=1),
        )
        stuck = yes(MCI, rolling, Children((("Failed", 1),), failed=1))
        assert (stuck.after.state, stuck.ended[0].outcome) == ("Failed", Outcome.FAILED)

    def test_a_creation_that_left_nobody_has_failed(self) -> None:
        refined = after(
            MCI, prepared(on_partial=OnPartial.REFINE), TimerDue("next"), Children((("Failed", 2),), failed=1)
        )
        empty = yes(MCI, refined, Children(()))
        assert (empty.after.state, empty.ended[0].outcome) == ("Failed", Outcome.FAILED)

    def test_services_are_counted_by_what_they_make_of_their_system(self) -> None:
        assert no(SYSTEM, Snapshot("stable"), Children((("failed", 1),))).code is Code.NOT_EXPECTED

    def test_what_is_on_the_way_for_ever_does_not_keep_a_deletion_off(self) -> None:
        """Whoever had the order is waited out, and a look is tried; when that has no answer, the deletion acts."""
        lc = KINDS["service"]
        made = after(lc, Snapshot("absent"), Request("create", Actor.CONTROLLER, operation="op-0"), TAKE)
        looking = after(lc, made, Request("delete", Actor.CONTROLLER, operation="op-1"), TimerDue("fenced"), TAKE)
        assert looking.operation is not None
        assert looking.operation.phase is Phase.PROBING
        acts = yes(lc, looking, TimerDue("deadline"))
        assert (acts.after.state, [order.verb for order in acts.orders]) == ("deleting", ["delete"])
        late = yes(lc, after(lc, acts.after, TAKE), TimerDue("deadline"))
        assert late.ended == ()  # it is looked at once more
        silent = after(lc, acts.after, TAKE, TimerDue("deadline"), TimerDue("fenced"), TAKE, TimerDue("deadline"))
        assert (silent.state, silent.operation) == ("failed", None)

    def test_an_outranking_delete_does_not_pass_a_claim_above_it(self) -> None:
        above = Holder("op-1", "delete", "/ns", below=False)
        assert no(SYSTEM, Snapshot("stable", blocked=above), Request("delete")).code is Code.HELD
        below = Holder("op-1", "deploy", "/ns/s/a", below=True)
        assert yes(SYSTEM, Snapshot("stable", blocked=below), Request("delete")).cancels


def test_a_takeover_of_an_upgrade_that_is_over_is_not_heard() -> None:
    ready = after(SITE, Snapshot("Offline"), Connected(1), TimerDue("next"), TAKE, DONE)
    first = after(SITE, ready, Request("upgrade"), TAKE, STARTED, Connected(5, successor=True), FAILED)
    second = after(SITE, first, Request("resolve", Actor.ADMIN), Request("upgrade"))
    late = Report(Trigger.SUCCEEDED, Fence(), actor=Actor.SUCCESSOR, notify=5)
    assert no(SITE, second, late).code is Code.STALE


def test_resolving_a_site_that_nobody_is_at_takes_it_offline() -> None:
    assert after(SITE, Snapshot("UpdateError"), Request("resolve", Actor.ADMIN)).state == "Offline"
    assert after(SITE, Snapshot("UpdateError", connected=True), Request("resolve", Actor.ADMIN)).state == "Ready"


def test_an_operation_remembers_who_and_when() -> None:
    busy = after(VM, Snapshot("Running"), Request("suspend", operation="op-1", by="ann", at="12:00"))
    assert busy.operation is not None
    assert busy.operation == Operation("suspend", "Running", id="op-1", by="ann", since="12:00")


def overlaps() -> list[tuple[str, str, str, str]]:
    """Every kind, stable state, hidden action in it, and action that is accepted meanwhile and waits for it."""
    found: list[tuple[str, str, str, str]] = []
    for kind, lifecycle in KINDS.items():
        for hidden in [action for action in lifecycle.actions if action.hidden]:
            for state in hidden.source:
                acting = after(lifecycle, Snapshot(state), Request(hidden.name, Actor.ADMIN, operation="op-1"), TAKE)
                for action in lifecycle.actions:
                    answer = decide(lifecycle, acting, Request(action.name, action.actors[0], operation="op-2"))
                    if isinstance(answer, Decision) and answer.after.hidden is not None and answer.after.operation:
                        found.append((kind, state, hidden.name, action.name))
    return found


@pytest.mark.parametrize(("kind", "state", "hidden", "action"), overlaps())
def test_what_waits_for_hidden_work_runs_no_timer_of_its_own(kind: str, state: str, hidden: str, action: str) -> None:
    lifecycle = KINDS[kind]
    acting = after(lifecycle, Snapshot(state), Request(hidden, Actor.ADMIN, operation="op-1"), TAKE)
    row = lifecycle.action(action)
    assert row is not None
    waiting = after(lifecycle, acting, Request(action, row.actors[0], operation="op-2"))
    assert set(pending(lifecycle, waiting)) == {"custody", "deadline"}
    assert pending(lifecycle, waiting)["custody"] == pending(lifecycle, acting)["custody"]
