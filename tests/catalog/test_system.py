"""Systems against the diagram of the systems document, and the services they are made of."""

from __future__ import annotations

from itertools import product

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Children, Report, Request
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Operation, Snapshot
from tests.catalog.asking import NO, WHO_ASKS, ask, ask_meanwhile, misjudged, under_way, word
from tests.catalog.tables import coded, differences, leads, lines, rows, seen, sights, silences

SYSTEM = """
# state                                word                 actor        next
absent                                 request    create    user         pending
pending                                next       create    controller   stable
pending                                failed     create    controller   failed
stable                                 children   service   controller   updating/scaling/degraded
updating                               children   service   controller   stable/scaling/degraded
scaling                                children   service   controller   stable/updating/degraded
degraded                               children   service   controller   stable/updating/scaling
pending/failed                         request    delete    user         deleting
stable/updating/scaling/degraded       request    delete    user         deleting
deleting                               children   delete    controller   absent
deleting                               children   delete    controller   failed    # resolved: a way out on failure
"""

FREE = ("stable", "updating", "scaling", "degraded")

SYSTEM_SILENT = """
pending    failed
"""

# resolved: the document speaks of services without tabling them
SERVICE = """
absent                                 request    create    controller   pending
pending                                succeeded  create    agent        stable
pending                                failed     create    agent        failed
stable/failed                          request    update    controller   updating
updating                               succeeded  update    agent        stable
updating                               failed     update    agent        failed
stable                                 request    scale     controller   scaling
scaling                                succeeded  scale     agent        stable
scaling                                failed     scale     agent        failed
failed                                 rolled_back update    controller   stable
failed                                 rolled_back scale     controller   stable
stable/failed                          request    delete    controller   deleting
pending/updating/scaling               request    delete    controller   deleting
deleting                               succeeded  delete    agent        absent
deleting                               failed     delete    agent        failed
"""

# resolved: the document only says that jobs have no part in the state of their system
JOB = """
absent                                 request    create    controller        running
succeeded/failed                       request    run       user              running
succeeded/failed                       request    run       controller        running
running                                succeeded  create    agent             succeeded
running                                succeeded  run       agent             succeeded
running                                failed     create    agent             failed
running                                failed     run       agent             failed
succeeded/failed                       request    delete    controller        deleting
running                                request    delete    controller        deleting
deleting                               succeeded  delete    agent             absent
deleting                               failed     delete    agent             failed
"""

JOB_SEEN = """
running             succeeded   succeeded
running/deleting    broken      failed
running             absent      failed
deleting            succeeded   succeeded
deleting            absent      absent
succeeded           broken      failed
succeeded           absent      failed
failed              succeeded   succeeded
"""

SERVICE_UNDER_WAY = """
pending    create   absent   stable
updating   update   stable   stable
updating   update   failed   stable
scaling    scale    stable   stable
deleting   delete   stable   absent
deleting   delete   failed   absent
"""

SERVICE_SEEN = """
pending/updating/scaling/deleting   stable   stable
pending/updating/scaling/deleting   broken   failed
pending/updating/scaling            absent   failed
deleting                            absent   absent
stable                              broken   failed
stable                              absent   failed
failed                              stable   stable
"""

SERVICE_SILENT = """
pending/updating/scaling/deleting   failed
"""


@pytest.mark.req("S4-01")
def test_a_system_makes_the_moves_of_the_diagram_and_no_other() -> None:
    assert differences("system", rows(SYSTEM)) == []


@pytest.mark.req("S4-01")
def test_a_failed_system_can_only_be_deleted() -> None:
    assert {(m.trigger, m.on, m.target) for m in KINDS["system"].table if m.source == "failed"} == {
        (Trigger.REQUEST, "delete", "deleting")
    }
    for action in ("create", "deploy", "teardown"):
        assert ask("system", "failed", action) == NO


@pytest.mark.req("S4-01")
@pytest.mark.parametrize("state", ["failed", *FREE])
def test_a_system_without_anything_under_way_can_be_deleted(state: str) -> None:
    for actor in WHO_ASKS:
        wanted = "deleting" if actor in (Actor.USER, Actor.ADMIN) else NO
        assert ask("system", state, "delete", actor) == wanted


@pytest.mark.req("S4-01")
def test_a_system_that_is_being_made_can_be_deleted_and_one_being_deleted_need_not_be() -> None:
    assert ask_meanwhile("system", "pending", "create", "absent", "delete") == "deleting"
    for origin in ("pending", "failed", *FREE):
        answer = ask_meanwhile("system", "deleting", "delete", origin, "delete")
        assert answer in ("no", "join")
    assert ask("system", "absent", "delete") == NO


@pytest.mark.req("S4-01")
def test_a_deploy_and_a_teardown_move_nothing() -> None:
    for state, action in product((s.name for s in KINDS["system"].states), ("deploy", "teardown")):
        snapshot = Snapshot(state)
        if state in ("pending", "deleting"):
            running, origin = ("create", "absent") if state == "pending" else ("delete", "stable")
            snapshot = Snapshot(state, operation=Operation(running, origin))
        answer = decide(KINDS["system"], snapshot, Request(action))
        if state in FREE:
            assert isinstance(answer, Decision)
            assert (answer.transitions, answer.after.state) == ((), state)
        else:
            assert isinstance(answer, Rejection)
    own = [row for row in coded("system", Trigger) if row.on in ("deploy", "teardown")]
    assert [row for row in own if row.target != row.source] == []


@pytest.mark.req("S4-01")
def test_only_a_system_that_does_not_exist_is_created() -> None:
    for state in ("absent", "failed", *FREE):
        assert ask("system", state, "create") == ("pending" if state == "absent" else NO)
    for state, running, origin in (("pending", "create", "absent"), ("deleting", "delete", "stable")):
        assert ask_meanwhile("system", state, running, origin, "create") == NO


@pytest.mark.req("S4-01")
def test_a_new_system_becomes_stable_or_failed() -> None:
    begun = decide(KINDS["system"], Snapshot("absent"), Request("create"))
    assert isinstance(begun, Decision)
    assert begun.step
    made = decide(KINDS["system"], begun.after, Report(Trigger.SUCCEEDED, begun.after.fence, actor=Actor.CONTROLLER))
    assert isinstance(made, Decision)
    assert made.after.state == "stable"
    report = Report(Trigger.FAILED, begun.after.fence, actor=Actor.CONTROLLER)
    failed = decide(KINDS["system"], begun.after, report)
    assert isinstance(failed, Decision)
    assert failed.after.state == "failed"


@pytest.mark.req("S4-01")
def test_a_deleted_system_is_gone_once_its_services_are() -> None:
    deleting = Snapshot("deleting", operation=Operation("delete", "stable"))
    gone = decide(KINDS["system"], deleting, Children(()))
    assert isinstance(gone, Decision)
    assert gone.after.state == "absent"
    stuck = decide(KINDS["system"], deleting, Children((("failed", 1),), failed=1))
    assert isinstance(stuck, Decision)
    assert stuck.after.state == "failed"


def test_a_system_answers_every_request_of_everyone() -> None:
    beside = {(state, action, Actor.USER) for state in FREE for action in ("deploy", "teardown")}
    assert misjudged("system", rows(SYSTEM), beside) == []


def test_silence_in_the_controllers_own_step_fails_a_system() -> None:
    assert silences("system")["pending"] == leads(SYSTEM_SILENT)["pending"]
    assert sights("system") == {}


def test_a_service_makes_the_moves_of_the_table_and_no_other() -> None:
    assert differences("service", rows(SERVICE)) == []


@pytest.mark.req("S4-07")
def test_a_job_makes_the_moves_of_the_table_and_no_other() -> None:
    assert differences("job", rows(JOB)) == []
    assert misjudged("job", rows(JOB)) == []
    assert sights("job") == seen(JOB_SEEN)


def test_a_service_answers_every_request_of_everyone() -> None:
    assert misjudged("service", rows(SERVICE)) == []


@pytest.mark.parametrize(("state", "running", "origin", "end"), lines(SERVICE_UNDER_WAY, 4))
def test_a_moving_service_can_be_deleted_and_goes_where_its_agent_says(
    state: str, running: str, origin: str, end: str
) -> None:
    snapshot = under_way(state, running, origin)
    for said, wanted in ((Trigger.SUCCEEDED, end), (Trigger.FAILED, "failed")):
        answer = decide(KINDS["service"], snapshot, Report(said, snapshot.fence))
        assert isinstance(answer, Decision)
        assert answer.after.state == wanted
    for action, actor in product(KINDS["service"].actions, WHO_ASKS):
        got = word(decide(KINDS["service"], snapshot, Request(action.name, actor=actor)))
        if action.name == "delete" and actor is Actor.CONTROLLER and state != "deleting":
            assert got == "deleting"
        else:
            assert got == "no" or (got == "join" and action.name == running)


def test_a_service_goes_where_it_is_seen() -> None:
    assert sights("service") == seen(SERVICE_SEEN)


def test_silence_fails_a_service() -> None:
    assert silences("service") == leads(SERVICE_SILENT)
