"""Cluster and app instances against the edge document's tables of create, update and delete."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stead.catalog import KINDS
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Code, Decision, Order, Rejection
from stead.lifecycle.events import Children, Report, Request
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import OnFailure, Operation, Phase, Snapshot, Work
from tests.catalog.asking import NO, WHO_ASKS, ask_meanwhile, misjudged, under_way, ways, word
from tests.catalog.tables import differences, leads, lines, rows, seen, sights, silences

INSTANCES = ["clusterinst", "appinst"]

CREATE = """
# state           word               actor        next
NotPresent        request   create   user         CreateRequested
CreateRequested   started   create   agent        Creating
CreateRequested   succeeded create   agent        Ready             # the word of Creating was missed
CreateRequested   failed    create   agent        CreateError
Creating          succeeded create   agent        Ready
Creating          failed    create   agent        CreateError
CreateError       rolled_back create   controller   NotPresent
"""

UPDATE = """
Ready             request   update   user         UpdateRequested
UpdateRequested   started   update   agent        Updating
UpdateRequested   succeeded update   agent        Ready             # the word of Updating was missed
UpdateRequested   failed    update   agent        UpdateError
Updating          succeeded update   agent        Ready
Updating          failed    update   agent        UpdateError
UpdateError       rolled_back update   controller   Ready
"""

DELETE = """
Ready             request   delete   user         DeletePrepare
DeletePrepare     children  delete   controller   DeleteRequested   # once nothing depends on it any more
DeletePrepare     children  delete   controller   Ready             # resolved: back to the state before
DeleteRequested   started   delete   agent        Deleting
DeleteRequested   succeeded delete   agent        NotPresent        # resolved: Deleted is no state of its own
DeleteRequested   failed    delete   agent        DeleteError
Deleting          succeeded delete   agent        NotPresent
Deleting          failed    delete   agent        DeleteError
DeleteError       rolled_back delete   controller   Ready
"""

# resolved: an error that was kept for a person is got rid of by a forced delete, which fails back to that error
KEPT = """
CreateError/UpdateError/DeleteError   request    delete   user+force   DeletePrepare
DeletePrepare                         children   delete   controller   CreateError/UpdateError/DeleteError
"""

# resolved: what depends on a cluster is deleted with it by the controller, whatever has become of it
CASCADE = """
Ready/CreateError/UpdateError/DeleteError   request    delete   controller         DeletePrepare
CreateError/UpdateError/DeleteError         request    delete   controller+force   DeletePrepare
"""

# resolved: the records of a site that is forgotten leave, whatever state they are in
FORGET = """
Ready/CreateError/UpdateError/DeleteError         request    forget   controller   NotPresent
CreateRequested/Creating                          request    forget   controller   NotPresent
UpdateRequested/Updating                          request    forget   controller   NotPresent
DeletePrepare/DeleteRequested/Deleting            request    forget   controller   NotPresent
"""

COMMON = rows(CREATE) | rows(UPDATE) | rows(DELETE) | rows(KEPT) | rows(FORGET)

TYPED = {"clusterinst": COMMON, "appinst": COMMON | rows(CASCADE)}

MISSED = """
# state           said    of       next    the state that nobody heard of
CreateRequested   succeeded create   Ready        Creating
UpdateRequested   succeeded update   Ready        Updating
DeleteRequested   succeeded delete   NotPresent   Deleting
"""

SEEN = """
# state                     seen     next
CreateRequested/Creating    Ready    Ready
CreateRequested/Creating    absent   CreateError
CreateRequested/Creating    broken   CreateError
UpdateRequested/Updating    Ready    Ready
UpdateRequested/Updating    absent   UpdateError
UpdateRequested/Updating    broken   UpdateError
DeleteRequested/Deleting    Ready    Ready
DeleteRequested/Deleting    absent   NotPresent
DeleteRequested/Deleting    broken   DeleteError
DeleteError                 absent   NotPresent    # resolved: gone after all
Ready                       absent   UpdateError   # resolved: it vanished and nobody had asked for that
Ready                       broken   UpdateError   # resolved: nor had anybody asked for that
"""

SILENT = """
CreateRequested/Creating   CreateError
UpdateRequested/Updating   UpdateError
DeleteRequested/Deleting   DeleteError
"""


@pytest.mark.req("S1-01", "S1-02", "S1-05", "S1-06", "S1-07")
@pytest.mark.parametrize("kind", INSTANCES)
def test_an_instance_has_every_row_of_the_three_tables_and_nobody_else_has_any(kind: str) -> None:
    assert differences(kind, TYPED[kind]) == []


@pytest.mark.req("S1-01")
@pytest.mark.parametrize("kind", INSTANCES)
def test_an_instance_at_rest_answers_every_request_of_everyone(kind: str) -> None:
    assert misjudged(kind, TYPED[kind]) == []


@pytest.mark.req("S1-01")
@pytest.mark.parametrize("kind", INSTANCES)
def test_no_request_moves_an_instance_that_is_on_its_way(kind: str) -> None:
    for state, running, origin in sorted(ways(TYPED[kind])):
        if KINDS[kind].state(state).timeout:
            for action in ("create", "update", "delete"):
                for actor in WHO_ASKS:
                    for force in (False, True):
                        answer = ask_meanwhile(kind, state, running, origin, action, actor, force=force)
                        assert answer in ("no", "join"), (state, running, action, actor, answer)
                        assert answer == "no" or action == running


@pytest.mark.parametrize("kind", INSTANCES)
def test_instance_on_its_way_is_forgotten_by_the_controller_alone(kind: str) -> None:
    for state, running, origin in sorted(ways(TYPED[kind])):
        if KINDS[kind].state(state).timeout:
            for actor in WHO_ASKS:
                snapshot = replace(under_way(state, running, origin), revision=7, previous=6)
                answer = decide(KINDS[kind], snapshot, Request("forget", actor=actor))
                assert isinstance(answer, Decision) == (actor is Actor.CONTROLLER), (state, running, actor)
                if isinstance(answer, Decision):
                    assert (answer.after.state, answer.after.operation, answer.orders) == ("NotPresent", None, ())
                    assert answer.after.work is None


@pytest.mark.req("S1-04")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("state", ["UpdateRequested", "Updating"])
def test_an_update_to_another_spec_is_not_taken_for_the_one_under_way(kind: str, state: str) -> None:
    updating = replace(under_way(state, "update", "Ready"), revision=2, previous=1)
    assert word(decide(KINDS[kind], updating, Request("update", revision=3))) == NO


@pytest.mark.req("S1-01", "S1-02")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("said", [Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED])
def test_an_instance_is_moved_by_the_words_of_its_agent_as_tabled(kind: str, said: Trigger) -> None:
    states = ["CreateRequested", "Creating", "UpdateRequested", "Updating", "DeleteRequested", "Deleting"]
    for state in states:
        action = next(a for a in ("create", "update", "delete") if state.lower().startswith(a[:5]))
        snapshot = under_way(state, action, "NotPresent" if action == "create" else "Ready")
        wanted = [r.target for r in TYPED[kind] if (r.source, r.trigger, r.on) == (state, said, action)]
        answer = decide(KINDS[kind], snapshot, Report(said, snapshot.fence))
        assert isinstance(answer, Decision)
        assert [m.target for m in answer.transitions] == wanted, state


@pytest.mark.req("S1-01")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("actor", [a for a in Actor if a is not Actor.AGENT])
def test_nobody_else_speaks_for_the_agent(kind: str, actor: Actor) -> None:
    for state, action, origin in [
        ("CreateRequested", "create", "NotPresent"),
        ("Creating", "create", "NotPresent"),
        ("UpdateRequested", "update", "Ready"),
        ("Updating", "update", "Ready"),
        ("DeleteRequested", "delete", "Ready"),
        ("Deleting", "delete", "Ready"),
    ]:
        snapshot = under_way(state, action, origin)
        for said in (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED):
            answer = decide(KINDS[kind], snapshot, Report(said, snapshot.fence, actor=actor))
            assert isinstance(answer, Rejection), (state, said)


@pytest.mark.req("S1-02", "S1-07")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize(("state", "said", "action", "target", "skipped"), lines(MISSED, 5))
def test_a_missed_word_holds_nothing_up(
    kind: str, state: str, said: str, action: str, target: str, skipped: str
) -> None:
    snapshot = under_way(state, action, "NotPresent" if action == "create" else "Ready")
    answer = decide(KINDS[kind], snapshot, Report(Trigger(said), snapshot.fence))
    assert isinstance(answer, Decision)
    assert [(m.source, m.target) for m in answer.transitions] == [(state, target)]
    assert answer.after.operation is None
    late = Report(Trigger.STARTED, snapshot.fence)
    assert isinstance(decide(KINDS[kind], answer.after, late), Rejection), f"{skipped} came late and was believed"


@pytest.mark.req("S1-05")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize(
    ("state", "action", "origin", "error", "verb", "back"),
    [
        ("Creating", "create", "NotPresent", "CreateError", "delete", "NotPresent"),
        ("Updating", "update", "Ready", "UpdateError", "restore", "Ready"),
    ],
)
def test_the_controller_undoes_a_failed_create_and_a_failed_update(
    kind: str, state: str, action: str, origin: str, error: str, verb: str, back: str
) -> None:
    pending = 7 if action == "update" else 6  # only an update brings a spec that can be dropped
    snapshot = replace(under_way(state, action, origin), revision=pending, previous=6)
    failed = decide(KINDS[kind], snapshot, Report(Trigger.FAILED, snapshot.fence))
    assert isinstance(failed, Decision)
    assert [m.target for m in failed.transitions] == [error]
    assert failed.orders == (Order(verb),)
    assert failed.after.operation is not None
    assert failed.after.operation.phase is Phase.ROLLING_BACK
    taken = replace(failed.after, work=Work(verb, taken=True))
    undone = decide(KINDS[kind], taken, Report(Trigger.SUCCEEDED, taken.fence))
    assert isinstance(undone, Decision)
    assert [(m.target, m.actor) for m in undone.transitions] == [(back, Actor.CONTROLLER)]
    assert undone.after.revision == 6
    assert undone.after.operation is None


@pytest.mark.req("S1-05")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize(("sight", "end"), [("Ready", "Ready"), ("absent", "NotPresent"), ("broken", "DeleteError")])
def test_a_failed_delete_is_looked_at_and_undone_only_where_the_object_is_whole(
    kind: str, sight: str, end: str
) -> None:
    snapshot = under_way("Deleting", "delete", "Ready")
    failed = decide(KINDS[kind], snapshot, Report(Trigger.FAILED, snapshot.fence))
    assert isinstance(failed, Decision)
    assert [m.target for m in failed.transitions] == ["DeleteError"]
    assert failed.orders == (Order("probe"),)
    looked = replace(failed.after, work=Work("probe", taken=True))
    answer = decide(KINDS[kind], looked, Report(Trigger.OBSERVED, looked.fence, seen=sight))
    assert isinstance(answer, Decision)
    assert answer.after.state == end
    assert answer.after.operation is None


@pytest.mark.req("S1-05")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize(
    ("state", "action", "origin", "error"),
    [
        ("Creating", "create", "NotPresent", "CreateError"),
        ("Updating", "update", "Ready", "UpdateError"),
        ("Deleting", "delete", "Ready", "DeleteError"),
    ],
)
def test_an_error_that_is_to_be_kept_waits_for_a_person(
    kind: str, state: str, action: str, origin: str, error: str
) -> None:
    snapshot = under_way(state, action, origin)
    assert snapshot.operation is not None
    snapshot = replace(snapshot, operation=replace(snapshot.operation, on_failure=OnFailure.KEEP))
    kept = decide(KINDS[kind], snapshot, Report(Trigger.FAILED, snapshot.fence))
    assert isinstance(kept, Decision)
    assert kept.after.state == error
    assert (kept.after.operation, kept.orders) == (None, ())
    for actor in (Actor.USER, Actor.ADMIN):
        undo = decide(KINDS[kind], kept.after, Request("undo", actor=actor))
        assert isinstance(undo, Decision)
        assert undo.after.operation is not None
        assert undo.after.operation.phase is Phase.ROLLING_BACK


@pytest.mark.req("S1-01", "S1-05")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("error", ["CreateError", "UpdateError", "DeleteError"])
@pytest.mark.parametrize("actor", [Actor.AGENT, Actor.SUCCESSOR, Actor.CLOCK])
def test_who_is_no_person_does_not_undo_what_was_kept_for_one(kind: str, error: str, actor: Actor) -> None:
    assert isinstance(decide(KINDS[kind], Snapshot(error), Request("undo", actor=actor)), Rejection)


CLUSTER_TAKES_NEW = """
# the cluster is in   an app may be made in it
NotPresent            no
CreateRequested       no
Creating              no
CreateError           no
Ready                 yes
UpdateRequested       no
Updating              no
UpdateError           no
DeletePrepare         no
DeleteRequested       no
Deleting              no
DeleteError           no
"""


@pytest.mark.req("S1-06")
@pytest.mark.parametrize(("state", "wanted"), lines(CLUSTER_TAKES_NEW, 2))
def test_a_cluster_takes_new_dependents_while_it_is_ready_alone(state: str, wanted: str) -> None:
    snapshot = Snapshot("NotPresent", above=(("clusterinst", state), ("cloudlet", "Ready")))
    answer = decide(KINDS["appinst"], snapshot, Request("create"))
    assert isinstance(answer, Decision if wanted == "yes" else Rejection)
    if isinstance(answer, Rejection):
        assert answer.code is Code.PARENT


@pytest.mark.req("S1-06")
def test_what_nothing_depends_on_is_deleted_without_a_wait() -> None:
    begun = decide(KINDS["appinst"], Snapshot("Ready"), Request("delete"))
    assert isinstance(begun, Decision)
    assert [m.target for m in begun.transitions] == ["DeletePrepare", "DeleteRequested"]
    assert [order.verb for order in begun.orders] == ["delete"]


@pytest.mark.req("S1-06")
def test_a_cascade_goes_on_when_the_dependents_are_gone_and_back_when_one_could_not() -> None:
    kind = "clusterinst"
    begun = decide(KINDS[kind], Snapshot("Ready", children=2), Request("delete"))
    assert isinstance(begun, Decision)
    assert [m.target for m in begun.transitions] == ["DeletePrepare"]
    assert begun.members == "delete"
    waiting = decide(KINDS[kind], begun.after, Children((("Deleting", 1),), remaining=1))
    assert isinstance(waiting, Decision)
    assert waiting.transitions == ()
    gone = decide(KINDS[kind], begun.after, Children(()))
    assert isinstance(gone, Decision)
    assert [(m.target, m.actor) for m in gone.transitions] == [("DeleteRequested", Actor.CONTROLLER)]
    stuck = decide(KINDS[kind], begun.after, Children((("Ready", 1),), failed=1))
    assert isinstance(stuck, Decision)
    assert [(m.target, m.actor) for m in stuck.transitions] == [("Ready", Actor.CONTROLLER)]
    assert stuck.after.operation is None


@pytest.mark.req("S1-07")
@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("state", ["DeleteRequested", "Deleting"])
def test_gone_means_gone_from_either_state_of_deletion(kind: str, state: str) -> None:
    snapshot = under_way(state, "delete", "Ready")
    done = decide(KINDS[kind], snapshot, Report(Trigger.SUCCEEDED, snapshot.fence))
    looked = replace(snapshot, operation=Operation("delete", "Ready", phase=Phase.PROBING), work=Work("probe", True))
    absent = decide(KINDS[kind], looked, Report(Trigger.OBSERVED, looked.fence, seen="absent"))
    for answer in (done, absent):
        assert isinstance(answer, Decision)
        assert [m.target for m in answer.transitions] == ["NotPresent"]
        assert answer.after.operation is None
        assert answer.ended


@pytest.mark.req("S1-07")
@pytest.mark.parametrize("kind", INSTANCES)
def test_an_instance_goes_where_it_is_seen(kind: str) -> None:
    assert sights(kind) == seen(SEEN)


@pytest.mark.parametrize("kind", INSTANCES)
def test_silence_of_the_agent_leads_to_the_error_of_the_action(kind: str) -> None:
    found = silences(kind)
    found.pop("DeletePrepare", None)
    assert found == leads(SILENT)
