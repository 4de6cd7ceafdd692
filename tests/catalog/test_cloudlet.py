"""Cloudlets against the edge document: how a site comes up, comes and goes, and is upgraded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Connected, Disconnected, Report, Request, TimerDue
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Holder, Operation, Snapshot, Work
from tests.catalog.asking import NO, WHO_ASKS, ask, misjudged, word
from tests.catalog.tables import Row, coded, differences, leads, lines, rows, sights, silences

INSTANCES = ["clusterinst", "appinst"]

SITE_CREATE = """
# state              word                     actor        next
Offline              request        create    user         Init
Offline              connected      connect   agent        Init
Ready/InitOk         connected      connect   agent        Init         # in Init a new id has nowhere else to go
Init                 next           create    controller   InitOk
Init                 next           connect   controller   InitOk
Init                 failed         create    controller   Offline      # resolved: it could not be answered
Init                 failed         connect   controller   Offline
InitOk               succeeded      create    agent        Ready
InitOk               succeeded      connect   agent        Ready
InitOk               failed         create    agent        Offline
InitOk               failed         connect   agent        Offline
Init/InitOk/Ready    disconnected   connect   controller   Offline      # resolved: unless a newer id has connected
"""

SITE_UPGRADE = """
Ready                request        upgrade   user         UpdateRequested
UpdateRequested      started        upgrade   agent        Updating
UpdateRequested      connected      upgrade   controller   InitOk
UpdateRequested      failed         upgrade   agent        UpdateError
Updating             connected      upgrade   controller   InitOk
Updating             succeeded      upgrade   successor    Ready
Updating             failed         upgrade   agent        UpdateError
InitOk               succeeded      upgrade   successor    Ready
InitOk               failed         upgrade   agent        UpdateError
UpdateError          request        resolve   admin        Ready        # resolved: an admin says that it is mended
"""

# resolved: a site that nothing is on can be forgotten
SITE_DELETE = """
Offline/Ready        request        delete    user         DeletePrepare
DeletePrepare        next           delete    controller   NotPresent
DeletePrepare        failed         delete    controller   Offline/Ready
"""

# resolved: an admin forgets a site whose agent will never come back, with all that is on record there
SITE_FORGET = """
Offline/UpdateError/Init/InitOk/UpdateRequested/Updating/DeletePrepare   request   forget   admin        Forgetting
Forgetting                                                               next      forget   controller   NotPresent
Forgetting                                                               failed    forget   controller   Offline
"""

SITE = rows(SITE_CREATE) | rows(SITE_UPGRADE) | rows(SITE_DELETE) | rows(SITE_FORGET)

SITE_SILENT = """
Init                       Offline
InitOk                     Offline/UpdateError   # of a site that comes up; of an upgrade
UpdateRequested/Updating   UpdateError
DeletePrepare              Offline/Ready
Forgetting                 Offline
"""

# The controller's state, what it is about, and where a hello under a new notify-id, or the loss of the last
# connection, leads. An upgrade goes by the controller's state alone, and its error is for an admin.
PRESENCE = """
# state           under way   new id            connection lost
Offline           -           Init              Offline
Init              create      Init              Offline
Init              connect     Init              Offline
InitOk            create      Init              Offline
InitOk            connect     Init              Offline
InitOk            upgrade     InitOk            InitOk
Ready             -           Init              Offline
UpdateRequested   upgrade     UpdateRequested   UpdateRequested
Updating          upgrade     Updating          Updating
UpdateError       -           UpdateError       UpdateError
DeletePrepare     delete      DeletePrepare     DeletePrepare
Forgetting        forget      Forgetting        Forgetting
"""

# The new agent of an upgrade says hello, and later that it has taken over.
SUCCESSOR = """
# state           under way   says hello   has taken over
Offline           -           no           no
Init              connect     no           no
InitOk            connect     no           no
InitOk            upgrade     InitOk       Ready
Ready             -           no           no
UpdateRequested   upgrade     InitOk       no
Updating          upgrade     InitOk       Ready
UpdateError       -           no           no
"""


def site(state: str, running: str, *, notify: int = 5, successor: int = 0) -> Snapshot:
    """A cloudlet whose agent is connected under a notify-id."""
    snapshot = Snapshot(state, connected=state != "Offline", notify=notify, successor=successor)
    if running == "-":
        return snapshot
    if running in ("delete", "forget"):
        return replace(snapshot, operation=Operation(running, "Offline"))
    origin = "Ready" if running == "upgrade" else "Offline"
    verb = "upgrade" if running == "upgrade" else "gather"
    return replace(snapshot, operation=Operation(running, origin), work=Work(verb, taken=True))


@pytest.mark.req("S1-10", "S1-11")
def test_a_cloudlet_has_every_row_of_its_two_tables_and_nobody_else_has_any() -> None:
    assert differences("cloudlet", SITE) == []


@pytest.mark.req("S1-10", "S1-11")
def test_a_cloudlet_at_rest_answers_every_request_of_everyone() -> None:
    assert misjudged("cloudlet", SITE) == []


@pytest.mark.req("S1-10", "S1-11")
def test_no_request_moves_a_cloudlet_that_is_on_its_way() -> None:
    for state, running, _, _ in lines(PRESENCE, 4):
        if running != "-":
            for action in ("create", "connect", "upgrade", "resolve", "delete", "forget"):
                for actor in WHO_ASKS:
                    answer = word(decide(KINDS["cloudlet"], site(state, running), Request(action, actor=actor)))
                    assert answer in ("no", "join"), (state, running, action, actor, answer)


@pytest.mark.req("S1-10")
@pytest.mark.parametrize(("state", "running", "hello", "lost"), lines(PRESENCE, 4))
def test_a_new_notify_id_is_let_in_at_any_time(state: str, running: str, hello: str, lost: str) -> None:
    snapshot = site(state, running)
    answer = decide(KINDS["cloudlet"], snapshot, Connected(6))
    assert isinstance(answer, Decision)
    assert answer.after.state == hello
    assert (answer.after.notify, answer.after.connected) == (6, True)
    for known in (5, 4):
        assert isinstance(decide(KINDS["cloudlet"], snapshot, Connected(known)), Rejection)


@pytest.mark.req("S1-10")
@pytest.mark.parametrize(("state", "running", "hello", "lost"), lines(PRESENCE, 4))
def test_a_lost_connection_counts_unless_a_newer_one_stands(state: str, running: str, hello: str, lost: str) -> None:
    snapshot = site(state, running)
    older = decide(KINDS["cloudlet"], snapshot, Disconnected(4))
    assert isinstance(older, Rejection) or older.after.state == state
    if snapshot.connected:
        answer = decide(KINDS["cloudlet"], snapshot, Disconnected(5))
        assert isinstance(answer, Decision)
        assert answer.after.state == lost
        assert not answer.after.connected
    again = decide(KINDS["cloudlet"], snapshot, Connected(6))
    assert isinstance(again, Decision)
    late = decide(KINDS["cloudlet"], again.after, Disconnected(5))
    assert isinstance(late, Rejection) or late.after == again.after


@pytest.mark.req("S1-10")
@pytest.mark.parametrize("running", ["create", "connect"])
def test_a_site_comes_up_in_three_steps(running: str) -> None:
    cloudlet = KINDS["cloudlet"]
    if running == "create":
        asked = decide(cloudlet, Snapshot("Offline"), Request("create"))
        assert isinstance(asked, Decision)
        assert [m.target for m in asked.transitions] == ["Init"]
        hello = decide(cloudlet, asked.after, Connected(1))
    else:
        hello = decide(cloudlet, Snapshot("Offline"), Connected(1))
    assert isinstance(hello, Decision)
    assert hello.after.state == "Init"
    answered = decide(cloudlet, hello.after, TimerDue("next"))
    assert isinstance(answered, Decision)
    assert [(m.target, m.actor) for m in answered.transitions] == [("InitOk", Actor.CONTROLLER)]
    assert answered.after.work is not None
    gathering = replace(answered.after, work=replace(answered.after.work, taken=True))
    for said, end in ((Trigger.SUCCEEDED, "Ready"), (Trigger.FAILED, "Offline")):
        answer = decide(cloudlet, gathering, Report(said, gathering.fence, notify=1))
        assert isinstance(answer, Decision)
        assert [(m.target, m.actor) for m in answer.transitions] == [(end, Actor.AGENT)]


@pytest.mark.req("S1-11")
@pytest.mark.parametrize(("state", "running", "hello", "over"), lines(SUCCESSOR, 4))
def test_the_new_agent_of_an_upgrade(state: str, running: str, hello: str, over: str) -> None:
    cloudlet = KINDS["cloudlet"]
    known = 6 if (state, running) == ("InitOk", "upgrade") else 0
    snapshot = site(state, running, successor=known)
    answer = decide(cloudlet, snapshot, Connected(7, successor=True))
    assert (NO if isinstance(answer, Rejection) else answer.after.state) == hello
    snapshot = site(state, running, successor=7)
    report = Report(Trigger.SUCCEEDED, snapshot.fence, actor=Actor.SUCCESSOR, notify=7)
    answer = decide(cloudlet, snapshot, report)
    assert (NO if isinstance(answer, Rejection) else answer.after.state) == over
    stranger = Report(Trigger.SUCCEEDED, snapshot.fence, actor=Actor.SUCCESSOR, notify=8)
    assert isinstance(decide(cloudlet, snapshot, stranger), Rejection)


OLD_AGENT = """
# state           started    done   failed
UpdateRequested   Updating   no     UpdateError
Updating          -          no     UpdateError
InitOk            -          no     UpdateError
"""


@pytest.mark.req("S1-11")
@pytest.mark.parametrize(("state", "started", "done", "failed"), lines(OLD_AGENT, 4))
def test_the_old_agent_of_an_upgrade(state: str, started: str, done: str, failed: str) -> None:
    snapshot = site(state, "upgrade", successor=6 if state == "InitOk" else 0)
    for said, wanted in ((Trigger.STARTED, started), (Trigger.SUCCEEDED, done), (Trigger.FAILED, failed)):
        answer = decide(KINDS["cloudlet"], snapshot, Report(said, snapshot.fence, notify=5))
        got = NO if isinstance(answer, Rejection) else ([m.target for m in answer.transitions] or ["-"])[0]
        assert got == wanted, said


@pytest.mark.req("S1-11")
def test_an_upgrade_error_is_left_by_an_admins_word_alone() -> None:
    assert {(m.trigger, m.on, m.actor) for m in KINDS["cloudlet"].table if m.source == "UpdateError"} == {
        (Trigger.REQUEST, "resolve", Actor.ADMIN),
        (Trigger.REQUEST, "forget", Actor.ADMIN),
    }
    assert ask("cloudlet", "UpdateError", "resolve", Actor.ADMIN) == "Ready"
    for actor in WHO_ASKS:
        assert (ask("cloudlet", "UpdateError", "resolve", actor) == "Ready") == (actor is Actor.ADMIN)
        assert isinstance(decide(KINDS["cloudlet"], Snapshot("UpdateError"), Request("undo", actor=actor)), Rejection)


FORGETTABLE = """
# state           under way   may be forgotten while no agent is connected
Offline           -           yes
Init              create      yes
InitOk            create      yes
InitOk            upgrade     yes
Ready             -           no
UpdateRequested   upgrade     yes
Updating          upgrade     yes
UpdateError       -           yes
DeletePrepare     delete      yes
"""


@pytest.mark.req("S1-10")
@pytest.mark.parametrize(("state", "running", "wanted"), lines(FORGETTABLE, 3))
def test_site_is_forgotten_by_an_admin_with_a_reason_while_its_agent_is_away(
    state: str, running: str, wanted: str
) -> None:
    cloudlet, there = KINDS["cloudlet"], site(state, running)
    away = replace(there, connected=False)
    forget = Request("forget", actor=Actor.ADMIN, reason="the machine burnt down")
    answer = decide(cloudlet, away, forget)
    assert isinstance(answer, Decision) == (wanted == "yes")
    if isinstance(answer, Decision):
        assert answer.after.state == "Forgetting"
        assert (answer.orders, answer.step) == ((), True)
    for changed in ({"reason": ""}, {"actor": Actor.USER}, {"actor": Actor.CONTROLLER}):
        assert isinstance(decide(cloudlet, away, replace(forget, **changed)), Rejection)
    connected = decide(cloudlet, replace(there, connected=True), forget)
    assert isinstance(connected, Rejection)
    assert "its agent is connected" in str(connected.reasons) or state == "Ready"


@pytest.mark.req("S1-10")
def test_site_with_changes_under_way_on_it_is_forgotten() -> None:
    holder = Holder("op", "create", "/ns/site/c", "ann", "", below=True)
    answer = decide(
        KINDS["cloudlet"],
        Snapshot("Offline", children=3, blocked=holder),
        Request("forget", actor=Actor.ADMIN, reason="the machine burnt down"),
    )
    assert isinstance(answer, Decision)
    assert (answer.after.state, answer.cancels) == ("Forgetting", True)


@pytest.mark.parametrize(("count", "says"), [(1, "1 resource remains below it"), (8, "8 resources remain below it")])
def test_site_that_is_not_empty_says_how_many_resources_are_below_it_at_any_depth(count: int, says: str) -> None:
    answer = decide(KINDS["cloudlet"], Snapshot("Ready", children=count), Request("delete"))
    assert isinstance(answer, Rejection)
    assert answer.reasons[0].message == says


SITE_TAKES_CHANGES = """
# the site is in   its instances may be changed
Ready              yes
UpdateRequested    no
Updating           no
Init               no
InitOk             no
UpdateError        no
"""


@pytest.mark.req("S1-11")
@pytest.mark.parametrize(("state", "wanted"), lines(SITE_TAKES_CHANGES, 2))
@pytest.mark.parametrize("action", ["create", "update", "delete"])
@pytest.mark.parametrize("kind", INSTANCES)
def test_instances_are_changed_only_while_their_site_is_ready(
    kind: str, action: str, state: str, wanted: str
) -> None:
    above = (("clusterinst", "Ready"), ("cloudlet", state))
    snapshot = Snapshot("NotPresent" if action == "create" else "Ready", above=above)
    for actor in (Actor.USER, Actor.ADMIN):
        answer = decide(KINDS[kind], snapshot, Request(action, actor=actor))
        assert isinstance(answer, Decision if wanted == "yes" else Rejection)
    if action == "delete":
        forced = Request(action, force=True, reason="in the way")
        answer = decide(KINDS[kind], snapshot, forced)
        assert isinstance(answer, Decision if wanted == "yes" else Rejection)


def test_silence_of_a_site() -> None:
    assert silences("cloudlet") == leads(SITE_SILENT)


def test_nobody_looks_at_a_site_from_outside() -> None:
    assert sights("cloudlet") == {}


def test_only_the_rows_of_an_upgrade_and_a_new_hello_are_contended() -> None:
    contended = {Row(m.source, m.trigger, m.on, m.actor, m.target) for m in KINDS["cloudlet"].table if m.contended}
    assert contended <= coded("cloudlet")
    assert {row.source for row in contended} <= {"UpdateRequested", "Updating", "InitOk"}
    for kind in INSTANCES:
        assert not any(m.contended for m in KINDS[kind].table)
