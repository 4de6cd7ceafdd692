"""VMs, subgroups and infrastructures (MCI) against the multi-cloud document's tables and diagrams."""

from __future__ import annotations

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Code, Decision, Order, Rejection
from stead.lifecycle.events import Children, Report, Request, TimerDue
from stead.lifecycle.rows import Actor, StateClass, Trigger
from stead.lifecycle.snapshot import OnPartial, Operation, Phase, Snapshot
from tests.catalog.asking import IDLE, JOIN, NO, ask, ask_meanwhile, misjudged, under_way
from tests.catalog.declined import DECLINED
from tests.catalog.tables import (
    coded,
    differences,
    grid,
    leads,
    lines,
    rows,
    seen,
    sights,
    silences,
)

# VM

VM = """
# state              word                 actor        next
Absent               request  create      user         Creating
Absent               request  create      controller   Creating      # resolved: for the group it belongs to
Absent               request  adopt       controller   Undefined     # resolved: found at the provider, nobody's
Creating             succeeded create      agent        Running
Creating             failed   create      agent        Failed
Running              request  suspend     user         Suspending
Suspending           succeeded suspend     agent        Suspended
Suspending           failed   suspend     agent        Failed
Suspended            request  resume      user         Resuming
Resuming             succeeded resume      agent        Running
Resuming             failed   resume      agent        Failed
Running              request  reboot      user         Rebooting
Rebooting            succeeded reboot      agent        Running
Rebooting            failed   reboot      agent        Failed
Running/Suspended    request  terminate   user         Terminating
Undefined            request  terminate   user         Terminating   # resolved: probed first
Failed               request  terminate   user+force   Terminating
Terminating          succeeded terminate   agent        Terminated
Terminating          failed   terminate   agent        Failed
Failed/Undefined     request  refine      controller   Terminating   # resolved: what was made there goes first
Terminating          succeeded refine      agent        Absent
Terminating          failed   refine      agent        Failed
Running/Suspended    request  remove      controller   Terminating   # resolved: with its group, or as one too many
Undefined            request  remove      controller   Terminating
Failed/Terminated    request  remove      controller   Terminating
Terminating          succeeded remove      agent        Absent
Terminating          failed   remove      agent        Failed
Suspended/Undefined  request  suspend     user+force   Suspending    # resolved: force skips the check of the
Running/Undefined    request  resume      user+force   Resuming      # state where there is something to act on,
Suspended/Undefined  request  reboot      user+force   Rebooting     # but a final state is left as tabled only
"""

VM_CLASSES = """
Creating      transitional
Running       stable
Suspending    transitional
Suspended     stable
Resuming      transitional
Rebooting     transitional
Terminating   transitional
Terminated    final
Failed        final
Undefined     stable
"""

VM_MATRIX = """
              suspend  resume  reboot  terminate
Running       yes      no      yes     yes
Suspended     no       yes     no      yes
Terminated    no       no      no      idle        # resolved: succeeds and does nothing
Failed        no       no      no      no          # by force only
Undefined     no       no      no      look        # resolved: probed first
Absent        no       no      no      no          # resolved: there is nothing to act on
"""

VM_MATRIX_FORCED = """
              suspend  resume  reboot  terminate
Running       yes      yes     yes     yes
Suspended     yes      yes     yes     yes
Terminated    no       no      no      idle
Failed        no       no      no      yes
Undefined     look     look    look    look
Absent        no       no      no      no
"""

# The same action again joins the running one; on Terminating the resolution overrides the document's cell.
VM_MATRIX_MOVING = """
              create   suspend  resume  reboot  terminate
Creating      no       no       no      no      no
Suspending    no       join     no      no      no
Resuming      no       no       join    no      no
Rebooting     no       no       no      join    no
Terminating   no       no       no      no      join
"""

VM_UNDER_WAY = """
# state       action      began in
Creating      create      Absent
Suspending    suspend     Running
Resuming      resume      Suspended
Rebooting     reboot      Running
Terminating   terminate   Running
"""

VM_GOES_TO = {"suspend": "Suspending", "resume": "Resuming", "reboot": "Rebooting", "terminate": "Terminating"}

# resolved: nobody knows what became of it
VM_SILENT = """
Creating/Suspending/Resuming/Rebooting/Terminating   Undefined
"""

# resolved: what is there counts; absence is believed after three misses
VM_SEEN = """
Creating                        Running     Running
Creating                        Suspended   Suspended
Creating                        absent      Failed
Creating                        broken      Failed
Suspending/Resuming/Rebooting   Running     Running
Suspending/Resuming/Rebooting   Suspended   Suspended
Suspending/Resuming/Rebooting   absent      Terminated
Suspending/Resuming/Rebooting   broken      Failed
Terminating                     Running     Running
Terminating                     Suspended   Suspended
Terminating                     absent      Terminated/Absent   # terminated, or refined
Terminating                     broken      Failed
Running                         Suspended   Suspended
Suspended                       Running     Running
Undefined                       Running     Running
Undefined                       Suspended   Suspended
Running/Suspended/Undefined     absent      Terminated
Running/Suspended               broken      Undefined
"""


@pytest.mark.req("S0-02")
def test_a_vm_has_the_statuses_of_the_table_each_in_its_class() -> None:
    typed = {name: StateClass(cls) for name, cls in lines(VM_CLASSES, 2)}
    assert typed | {"Absent": StateClass.ABSENT} == {s.name: s.cls for s in KINDS["vm"].states}


@pytest.mark.req("S0-02", "S0-05", "S0-06")
def test_a_vm_makes_the_moves_of_the_diagram_and_no_other() -> None:
    assert differences("vm", rows(VM)) == []
    assert coded("vm", [Trigger.DECLINED]) == rows(DECLINED)


@pytest.mark.req("S0-02")
def test_only_requests_of_users_lead_out_of_failed_and_terminated_unless_the_group_goes() -> None:
    out = {(m.source, m.trigger, m.on) for m in KINDS["vm"].table if m.source in ("Failed", "Terminated")}
    with_its_group = {("Failed", Trigger.REQUEST, "remove"), ("Terminated", Trigger.REQUEST, "remove")}
    accepted = {("Failed", Trigger.ACCEPTED, seen) for seen in ("Running", "Suspended", "absent", "broken")}
    assert out - with_its_group - accepted == {
        ("Failed", Trigger.REQUEST, "terminate"),
        ("Failed", Trigger.REQUEST, "refine"),
    }
    assert {m.target for m in KINDS["vm"].table if m.on == "remove" and m.trigger is Trigger.SUCCEEDED} == {"Absent"}


@pytest.mark.req("S0-05")
@pytest.mark.parametrize(("state", "action", "wanted"), grid(VM_MATRIX))
def test_a_vm_answers_every_action_as_the_matrix_says(state: str, action: str, wanted: str) -> None:
    goes = {"yes": VM_GOES_TO[action], "look": VM_GOES_TO[action], "no": NO, "idle": IDLE}[wanted]
    assert ask("vm", state, action) == ask("vm", state, action, Actor.ADMIN) == goes
    for stranger in (Actor.CONTROLLER, Actor.AGENT, Actor.SUCCESSOR, Actor.CLOCK):
        assert ask("vm", state, action, stranger) == NO


@pytest.mark.req("S0-05", "S0-06")
@pytest.mark.parametrize(("state", "action", "wanted"), grid(VM_MATRIX_FORCED))
def test_a_vm_answers_every_forced_action(state: str, action: str, wanted: str) -> None:
    goes = {"yes": VM_GOES_TO[action], "look": VM_GOES_TO[action], "no": NO, "idle": IDLE}[wanted]
    assert ask("vm", state, action, force=True) == goes


@pytest.mark.req("S0-05")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(("state", "action", "wanted"), grid(VM_MATRIX_MOVING))
def test_a_moving_vm_refuses_everything_but_the_same_again(state: str, action: str, wanted: str, force: bool) -> None:
    running, origin = {s: (a, o) for s, a, o in lines(VM_UNDER_WAY, 3)}[state]
    assert ask_meanwhile("vm", state, running, origin, action, force=force) == wanted


@pytest.mark.req("S0-05")
def test_while_a_vm_is_refined_nothing_else_can_be_asked() -> None:
    for action in VM_GOES_TO:
        assert ask_meanwhile("vm", "Terminating", "refine", "Failed", action) == NO
    assert ask_meanwhile("vm", "Terminating", "refine", "Failed", "refine", Actor.CONTROLLER) == JOIN
    assert ask_meanwhile("vm", "Terminating", "terminate", "Running", "refine", Actor.CONTROLLER) == NO


@pytest.mark.req("S0-05")
@pytest.mark.parametrize(("action", "actor"), [("terminate", Actor.USER), ("refine", Actor.CONTROLLER)])
def test_an_undefined_vm_is_looked_at_before_it_is_acted_upon(action: str, actor: Actor) -> None:
    answer = decide(KINDS["vm"], Snapshot("Undefined"), Request(action, actor=actor))
    assert isinstance(answer, Decision)
    assert [m.target for m in answer.transitions] == ["Terminating"]
    assert answer.orders == (Order("probe"),)
    assert answer.after.operation is not None
    assert answer.after.operation.phase is Phase.PROBING


@pytest.mark.req("S0-05")
def test_only_the_controller_refines_a_vm_and_only_a_broken_one() -> None:
    for state in (s.name for s in KINDS["vm"].states if s.cls is not StateClass.TRANSITIONAL):
        goes = "Terminating" if state in ("Failed", "Undefined") else NO
        assert ask("vm", state, "refine", Actor.CONTROLLER) == goes
        assert ask("vm", state, "refine", Actor.USER) == NO


@pytest.mark.req("S0-05")
def test_terminating_what_is_terminated_succeeds_and_moves_nothing() -> None:
    answer = decide(KINDS["vm"], Snapshot("Terminated"), Request("terminate"))
    assert isinstance(answer, Decision)
    assert (answer.transitions, answer.orders, answer.claims) == ((), (), ())
    assert answer.after == Snapshot("Terminated")


@pytest.mark.req("S0-06")
def test_a_failed_vm_is_terminated_by_force_alone_and_force_needs_a_reason() -> None:
    vm, failed = KINDS["vm"], Snapshot("Failed")
    plain = decide(vm, failed, Request("terminate"))
    unreasoned = decide(vm, failed, Request("terminate", force=True))
    forced = decide(vm, failed, Request("terminate", force=True, reason="its disk is needed elsewhere"))
    assert isinstance(plain, Rejection)
    assert plain.code is Code.WRONG_STATE
    assert isinstance(unreasoned, Rejection)
    assert unreasoned.code is Code.NEEDS_REASON
    assert isinstance(forced, Decision)
    assert [(m.source, m.target, m.forced) for m in forced.transitions] == [("Failed", "Terminating", True)]


@pytest.mark.parametrize(("state", "action", "origin"), lines(VM_UNDER_WAY, 3))
@pytest.mark.parametrize("said", [Trigger.SUCCEEDED, Trigger.FAILED])
def test_an_agents_word_leads_a_moving_vm_where_the_diagram_says(
    state: str, action: str, origin: str, said: Trigger
) -> None:
    wanted = [row.target for row in rows(VM) if (row.source, row.trigger, row.on) == (state, said, action)]
    snapshot = under_way(state, action, origin)
    answer = decide(KINDS["vm"], snapshot, Report(said, snapshot.fence))
    assert isinstance(answer, Decision)
    assert [m.target for m in answer.transitions] == wanted


def test_silence_leaves_a_vm_undefined() -> None:
    assert silences("vm") == leads(VM_SILENT)


def test_a_vm_goes_where_it_is_seen() -> None:
    assert sights("vm") == seen(VM_SEEN)


# Subgroup and infrastructure

BY_MEMBERS = """
# state                                           word                  actor   next
# resolved: the members decide who can follow, so a group may be asked in whatever state it rests
Running/Suspended/Undefined/Failed/Terminated     request  suspend      user    Suspending
Running/Suspended/Undefined/Failed/Terminated     request  resume       user    Resuming
Running/Suspended/Undefined/Failed/Terminated     request  reboot       user    Rebooting
Running/Suspended/Undefined/Failed/Terminated     request  terminate    user    Terminating
# resolved: a group ends up in the status that most of its members have
Suspending    children  suspend     controller   Running/Suspended/Undefined/Failed/Terminated
Resuming      children  resume      controller   Running/Suspended/Undefined/Failed/Terminated
Rebooting     children  reboot      controller   Running/Suspended/Undefined/Failed/Terminated
Terminating   children  terminate   controller   Running/Suspended/Undefined/Failed/Terminated
# resolved: to refine has no status of its own
Running       children  refine      controller   Suspended/Undefined/Failed/Terminated
Suspended     children  refine      controller   Running/Undefined/Failed/Terminated
Undefined     children  refine      controller   Running/Suspended/Failed/Terminated
Failed        children  refine      controller   Running/Suspended/Undefined/Terminated
Terminated    children  refine      controller   Running/Suspended/Undefined/Failed
# resolved: members change by themselves or one by one, and a group that nothing is done to follows: also out of
# Failed and Terminated, which say no more of a group than that most of its members are in them
Running       children  vm          controller   Suspended/Undefined/Failed/Terminated
Suspended     children  vm          controller   Running/Undefined/Failed/Terminated
Undefined     children  vm          controller   Running/Suspended/Failed/Terminated
Failed        children  vm          controller   Running/Suspended/Undefined/Terminated
Terminated    children  vm          controller   Running/Suspended/Undefined/Failed
"""

SUBGROUP = """
Absent        request   create      controller   Running                      # resolved: its infrastructure makes it,
Running/Suspended/Undefined/Failed/Terminated   request  remove      controller   Absent    # and takes it away again
Running/Suspended/Undefined/Failed/Terminated   request  scale-out   user         ScalingOut
Running/Suspended/Undefined/Failed/Terminated   request  scale-in    user         ScalingIn
ScalingOut    children  scale-out   controller   Running/Suspended/Undefined/Failed/Terminated
Absent        request   add         user         Preparing                    # resolved: one more
Preparing     next      add         controller   ScalingOut
Preparing     failed    add         controller   Absent                       # resolved: nothing was made
ScalingOut    children  add         controller   Absent/Running/Suspended/Undefined/Failed/Terminated
ScalingIn     children  scale-in    controller   Running/Suspended/Undefined/Failed/Terminated
"""

MCI = """
Absent        request   create      user         Preparing
Preparing     next      create      controller   Prepared
Preparing     failed    create      controller   Failed
Prepared      next      create      controller   Creating
Prepared      request   continue    user         Creating                     # when held
Prepared      failed    create      controller   Failed
Preparing/Prepared   rolled_back create   controller   Absent                    # resolved: withdrawn
Creating      children  create      controller   Running/Failed
Creating      children  create      controller   Suspended/Undefined/Terminated   # resolved: as most members are
Creating      rolled_back create      controller   Absent                       # resolved: rolled back
Running/Suspended/Undefined/Failed/Terminated   request  delete   user   Terminating   # resolved: its end
Terminating   children  delete      controller   Absent/Running/Suspended/Undefined/Failed/Terminated
"""

GROUP_ACTIONS = {
    "subgroup": ["suspend", "resume", "reboot", "terminate", "refine", "add", "scale-out", "scale-in"],
    "mci": ["create", "suspend", "resume", "reboot", "terminate", "refine", "continue", "withdraw", "delete"],
    "vm": ["create", "suspend", "resume", "reboot", "terminate"],
}

GROUP_UNDER_WAY = """
Suspending    suspend     Running
Resuming      resume      Suspended
Rebooting     reboot      Running
Terminating   terminate   Running
"""


@pytest.mark.req("S0-04")
@pytest.mark.parametrize("kind", list(GROUP_ACTIONS))
def test_a_user_has_the_actions_of_the_level_and_no_other(kind: str) -> None:
    users = [action.name for action in KINDS[kind].actions if Actor.USER in action.actors and not action.observes]
    assert sorted(users) == sorted(GROUP_ACTIONS[kind])


@pytest.mark.req("S0-04")
def test_a_subgroup_makes_the_moves_of_its_table_and_no_other() -> None:
    assert differences("subgroup", rows(BY_MEMBERS) | rows(SUBGROUP)) == []


@pytest.mark.req("S0-03", "S0-04")
def test_an_infrastructure_makes_the_moves_of_the_diagram_and_no_other() -> None:
    assert differences("mci", rows(BY_MEMBERS) | rows(MCI)) == []


@pytest.mark.req("S0-04")
@pytest.mark.parametrize("kind", ["subgroup", "mci"])
def test_a_resting_group_answers_every_action(kind: str) -> None:
    own = {"subgroup": SUBGROUP, "mci": MCI}[kind]
    refine = {(s, "refine", Actor.USER) for s in ("Running", "Suspended", "Undefined", "Failed", "Terminated")}
    assert misjudged(kind, rows(BY_MEMBERS) | rows(own), refine) == []


@pytest.mark.req("S0-04")
@pytest.mark.parametrize("kind", ["subgroup", "mci"])
@pytest.mark.parametrize(("state", "running", "origin"), lines(GROUP_UNDER_WAY, 3))
def test_a_moving_group_lets_no_other_action_in(kind: str, state: str, running: str, origin: str) -> None:
    for action in (*GROUP_ACTIONS[kind], "create"):
        for force in (False, True):
            answer = ask_meanwhile(kind, state, running, origin, action, force=force)
            assert answer == NO or (answer == JOIN and action == running != "create"), action


@pytest.mark.req("S0-04")
@pytest.mark.parametrize("state", ["Preparing", "Creating"])
def test_an_infrastructure_that_is_being_made_lets_no_action_in(state: str) -> None:
    for action in {*GROUP_ACTIONS["mci"]} - {"withdraw"}:
        for force in (False, True):
            assert ask_meanwhile("mci", state, "create", "Absent", action, force=force) == NO


@pytest.mark.req("S0-04")
def test_only_a_held_infrastructure_is_continued() -> None:
    mci = KINDS["mci"]
    held = Snapshot("Prepared", operation=Operation("create", "Absent", phase=Phase.HELD, hold=True))
    go_on = decide(mci, held, Request("continue"))
    assert isinstance(go_on, Decision)
    assert [m.target for m in go_on.transitions] == ["Creating"]
    for state in ("Preparing", "Prepared", "Creating"):
        acting = Snapshot(state, operation=Operation("create", "Absent"))
        assert isinstance(decide(mci, acting, Request("continue")), Rejection)
    for state in ("Absent", "Running", "Suspended", "Undefined", "Failed", "Terminated"):
        assert ask("mci", state, "continue") == NO


@pytest.mark.req("S0-17")
@pytest.mark.parametrize(("state", "phase"), [("Preparing", "acting"), ("Prepared", "acting"), ("Prepared", "held")])
def test_withdraw_takes_a_creation_back_before_the_first_vm(state: str, phase: str) -> None:
    mci = KINDS["mci"]
    making = Snapshot(state, operation=Operation("create", "Absent", phase=Phase(phase), hold=phase == "held"))
    give_up = decide(mci, making, Request("withdraw"))
    assert isinstance(give_up, Decision)
    assert give_up.transitions == ()
    late = Report(Trigger.SUCCEEDED, give_up.after.fence, actor=Actor.CONTROLLER)
    assert isinstance(decide(mci, give_up.after, late), Rejection)  # the step that was at it is not heard any more
    taken_back = decide(mci, give_up.after, Children((), remaining=0))
    assert isinstance(taken_back, Decision)
    assert [m.target for m in taken_back.transitions] == ["Absent"]


@pytest.mark.req("S0-17")
@pytest.mark.parametrize("state", ["Creating", "Absent", "Running", "Suspended", "Undefined", "Failed", "Terminated"])
def test_withdraw_is_rejected_where_no_creation_waits_for_its_first_vm(state: str) -> None:
    operation = Operation("create", "Absent") if state == "Creating" else None
    assert isinstance(decide(KINDS["mci"], Snapshot(state, operation=operation), Request("withdraw")), Rejection)


def test_a_group_that_holds_back_goes_on_by_itself_otherwise() -> None:
    acting = Snapshot("Prepared", operation=Operation("create", "Absent"))
    answer = decide(KINDS["mci"], acting, TimerDue("next"))
    assert isinstance(answer, Decision)
    assert [m.target for m in answer.transitions] == ["Creating"]


def test_a_creation_that_partly_failed_can_be_rolled_back_to_absence() -> None:
    creating = Snapshot("Creating", operation=Operation("create", "Absent", on_partial=OnPartial.ROLLBACK))
    counts = (("Running", 2), ("Failed", 1))
    failed = decide(KINDS["mci"], creating, Children(counts, failed=1))
    assert isinstance(failed, Decision)
    assert failed.transitions == ()
    rolled_back = decide(KINDS["mci"], failed.after, Children(()))
    assert isinstance(rolled_back, Decision)
    assert [m.target for m in rolled_back.transitions] == ["Absent"]


def test_a_group_is_led_by_its_members_and_the_controller_alone() -> None:
    for kind in ("subgroup", "mci"):
        triggers = {m.trigger for m in KINDS[kind].table} - {Trigger.REQUEST, Trigger.TIMED_OUT}
        assert triggers <= {Trigger.CHILDREN, Trigger.NEXT, Trigger.FAILED, Trigger.ROLLED_BACK}
        assert {row.actor for row in coded(kind, triggers)} == {Actor.CONTROLLER}
        assert sights(kind) == {}


def test_silence_in_the_controllers_own_step_fails_an_infrastructure() -> None:
    assert silences("mci") == {"Preparing": {"Failed"}, "Prepared": {"Failed"}}
