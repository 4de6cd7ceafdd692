"""Leases, reservations and events against the lease document: statuses, moves, and what goes with what."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations_with_replacement, product

import pytest

from stead.catalog import KINDS
from stead.catalog.reservation import EVENT_KINDS, disagreements
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Children, Report, Request
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Operation, Snapshot, Work
from tests.catalog.asking import WHO_ASKS, misjudged, word
from tests.catalog.tables import coded, differences, leads, lines, rows, seen, sights, silences

LEASE = """
# status                            word                   actor        next
ABSENT                              request    create      user         CREATING
PENDING                             request    start       clock        STARTING
PENDING/ACTIVE/TERMINATED/ERROR     request    update      user         UPDATING
PENDING/ACTIVE/TERMINATED/ERROR     request    update      controller   UPDATING          # resolved: another host
ACTIVE/ERROR                        request    terminate   clock        TERMINATING
ACTIVE/ERROR                        request    terminate   user         TERMINATING       # resolved: before its time
PENDING/ACTIVE/TERMINATED/ERROR     request    delete      user         DELETING
CREATING/STARTING/UPDATING          request    delete      user         DELETING          # delete outranks
TERMINATING                         request    delete      user         DELETING
CREATING                            next       create      controller   PENDING
CREATING                            failed     create      controller   ERROR
STARTING                            children   start       controller   ACTIVE/ERROR
TERMINATING                         children   terminate   controller   TERMINATED/ERROR
UPDATING                            next       update      controller   PENDING/ACTIVE/TERMINATED
UPDATING                            failed     update      controller   ERROR
DELETING                            children   delete      controller   ABSENT/ERROR      # resolved: ERROR on failure
"""

LEASE_DECLINED = """
CREATING                            declined   create      controller   ABSENT            # resolved: no host is free
UPDATING                            declined   update      controller   PENDING/ACTIVE/TERMINATED/ERROR
"""

LEASE_UNDER_WAY = """
# status      action      began in
CREATING      create      ABSENT
STARTING      start       PENDING
UPDATING      update      PENDING/ACTIVE/TERMINATED/ERROR
TERMINATING   terminate   ACTIVE/ERROR
DELETING      delete      PENDING/ACTIVE/TERMINATED/ERROR
"""

LEASE_SILENT = """
CREATING   ERROR
"""

RESERVATION = """
# status                 word                actor        next
pending/error            succeeded start     agent        active
pending/error            failed    start     agent        error
pending/active/error     succeeded release   agent        deleted
pending/active/error     failed    release   agent        error
pending                  succeeded update    agent        pending     # resolved: an update changes no status
active                   succeeded update    agent        active
pending/active           failed    update    agent        error
error                    succeeded rearm     agent        pending     # resolved: taken back, and made ready anew
error                    failed    rearm     agent        error
"""

RESERVATION_BEGINS = """
pending/error          start
pending/active         update
pending/active/error   release
error                  rearm
"""

# resolved: while something is done about it, what is there counts. Nothing is held for a pending one yet.
RESERVATION_SEEN = """
pending   active   active            # started
pending   absent   pending/deleted   # not started, or updated; released
pending   broken   error
active    active   active            # updated, or not released
active    absent   error/deleted     # lost; released
active    broken   error
error     active   active            # started, or not released
error     absent   error/deleted/pending   # not started; released; taken back
error     broken   error
"""

# What is held for it was lost though nobody had asked: an error. Only the controller starts and releases.
RESERVATION_UNASKED = """
# status   seen     then
pending    active   pending
pending    absent   pending
pending    broken   pending
active     active   active
active     absent   error
active     broken   error
error      active   error
error      absent   error
error      broken   error
deleted    active   deleted
deleted    absent   deleted
deleted    broken   deleted
"""

EVENT = """
UNDONE                   request   fire      clock        IN_PROGRESS
IN_PROGRESS              next      fire      controller   DONE
IN_PROGRESS              failed    fire      controller   ERROR
DONE/ERROR               request   rearm     controller   UNDONE      # resolved: its time was moved
"""


@pytest.mark.req("S3-01")
def test_a_lease_makes_the_changes_of_the_table_and_no_other() -> None:
    assert differences("lease", rows(LEASE)) == []


@pytest.mark.req("S3-01")
def test_what_its_check_declines_leaves_a_lease_as_it_was() -> None:
    assert differences("lease", rows(LEASE_DECLINED), [Trigger.DECLINED]) == []


@pytest.mark.req("S3-01")
def test_a_resting_lease_answers_every_request_of_everyone() -> None:
    assert misjudged("lease", rows(LEASE)) == []


@pytest.mark.req("S3-01")
@pytest.mark.parametrize(("state", "running", "began"), lines(LEASE_UNDER_WAY, 3))
def test_a_moving_lease_can_be_deleted_and_nothing_else(state: str, running: str, began: str) -> None:
    for origin, action, actor in product(began.split("/"), KINDS["lease"].actions, WHO_ASKS):
        snapshot = Snapshot(state, operation=Operation(running, origin))
        answer = word(decide(KINDS["lease"], snapshot, Request(action.name, actor=actor)))
        deletes = action.name == "delete" and actor in (Actor.USER, Actor.ADMIN) and state != "DELETING"
        if deletes:
            assert answer == "DELETING"
        else:
            assert answer == "no" or (answer == "join" and action.name == running), (action.name, actor)


@pytest.mark.req("S3-01")
def test_delete_is_reachable_from_every_status() -> None:
    sources = {row.source for row in coded("lease", [Trigger.REQUEST]) if row.target == "DELETING"}
    assert sources == {s.name for s in KINDS["lease"].states} - {"ABSENT", "DELETING"}


def test_an_update_to_other_terms_is_not_taken_for_the_one_under_way() -> None:
    updating = Snapshot("UPDATING", operation=Operation("update", "ACTIVE"), revision=2, previous=1)
    assert word(decide(KINDS["lease"], updating, Request("update", revision=3))) == "no"


IMPLIED = """
# start_lease   end_lease   an updated lease is
UNDONE          UNDONE      PENDING
DONE            UNDONE      ACTIVE
DONE            DONE        TERMINATED
"""


@pytest.mark.req("S3-01")
@pytest.mark.parametrize(("start", "end", "implied"), lines(IMPLIED, 3))
@pytest.mark.parametrize("origin", ["PENDING", "ACTIVE", "TERMINATED", "ERROR"])
def test_an_updated_lease_is_what_its_events_imply(start: str, end: str, implied: str, origin: str) -> None:
    events = (("start_lease", start), ("end_lease", end))
    snapshot = Snapshot("UPDATING", operation=Operation("update", origin))
    done = Report(Trigger.SUCCEEDED, snapshot.fence, actor=Actor.CONTROLLER, events=events)
    answer = decide(KINDS["lease"], snapshot, done)
    assert isinstance(answer, Decision)
    assert answer.after.state == implied
    failed = decide(KINDS["lease"], snapshot, replace(done, kind=Trigger.FAILED))
    assert isinstance(failed, Decision)
    assert failed.after.state == "ERROR"


OUTCOMES = """
# status      action      began in     all went well   something failed
STARTING      start       PENDING      ACTIVE          ERROR
TERMINATING   terminate   ACTIVE       TERMINATED      ERROR
TERMINATING   terminate   ERROR        TERMINATED      ERROR
DELETING      delete      ACTIVE       ABSENT          ERROR
DELETING      delete      ERROR        ABSENT          ERROR
"""


@pytest.mark.req("S3-01")
@pytest.mark.parametrize(("state", "action", "origin", "well", "ill"), lines(OUTCOMES, 5))
def test_a_moving_lease_ends_in_its_outcome_or_in_error(
    state: str, action: str, origin: str, well: str, ill: str
) -> None:
    snapshot = Snapshot(state, operation=Operation(action, origin))
    for failed, wanted in ((0, well), (1, ill)):
        answer = decide(KINDS["lease"], snapshot, Children((("active", 1),), failed=failed))
        assert isinstance(answer, Decision)
        assert answer.after.state == wanted


def test_nobody_looks_at_leases_and_events_from_outside() -> None:
    assert sights("lease") == sights("event") == {}


def test_silence_in_the_controllers_own_step_is_an_error_of_the_lease() -> None:
    assert silences("lease")["CREATING"] == leads(LEASE_SILENT)["CREATING"]


@pytest.mark.req("S3-02")
def test_a_reservation_has_four_statuses_in_small_letters() -> None:
    assert [s.name for s in KINDS["reservation"].states] == ["pending", "active", "deleted", "error"]


@pytest.mark.req("S3-02")
def test_a_reservation_makes_the_moves_of_the_table_and_no_other() -> None:
    assert differences("reservation", rows(RESERVATION)) == []


@pytest.mark.req("S3-02")
def test_a_reservation_answers_every_request_of_everyone() -> None:
    begins = {
        (state, action, Actor.CONTROLLER)
        for states, action in lines(RESERVATION_BEGINS, 2)
        for state in states.split("/")
    }
    idle = "deleted, release by controller: typed no, decided idle"  # resolved: what is released already is done
    assert misjudged("reservation", rows(RESERVATION), begins) == [idle]


@pytest.mark.req("S3-02")
@pytest.mark.parametrize(("states", "action"), lines(RESERVATION_BEGINS, 2))
@pytest.mark.parametrize("said", [Trigger.SUCCEEDED, Trigger.FAILED])
def test_a_reservation_is_moved_by_what_its_agent_says(states: str, action: str, said: Trigger) -> None:
    for state in states.split("/"):
        (row,) = [r for r in rows(RESERVATION) if (r.source, r.trigger, r.on) == (state, said, action)]
        snapshot = Snapshot(state, operation=Operation(action, state), work=Work(action, taken=True))
        answer = decide(KINDS["reservation"], snapshot, Report(said, snapshot.fence))
        assert isinstance(answer, Decision)
        assert answer.after.state == row.target
        assert answer.after.operation is None


def test_a_reservation_goes_where_it_is_seen() -> None:
    assert sights("reservation") == seen(RESERVATION_SEEN)


@pytest.mark.req("S3-02")
@pytest.mark.parametrize(("state", "sight", "wanted"), lines(RESERVATION_UNASKED, 3))
def test_nobody_starts_or_releases_a_reservation_by_looking_at_it(state: str, sight: str, wanted: str) -> None:
    snapshot = Snapshot(state, misses=2)
    answer = decide(KINDS["reservation"], snapshot, Report(Trigger.OBSERVED, snapshot.fence, seen=sight))
    assert (state if isinstance(answer, Rejection) else answer.after.state) == wanted


def test_silence_is_an_error_of_the_reservation() -> None:
    assert silences("reservation") == {"pending": {"error"}, "active": {"error"}}


@pytest.mark.req("S3-03")
def test_an_event_has_four_statuses_and_three_kinds() -> None:
    assert [s.name for s in KINDS["event"].states] == ["UNDONE", "IN_PROGRESS", "DONE", "ERROR"]
    assert EVENT_KINDS == ("start_lease", "before_end_lease", "end_lease")


@pytest.mark.req("S3-03")
def test_an_event_makes_the_moves_of_the_table_and_no_other() -> None:
    assert differences("event", rows(EVENT)) == []


@pytest.mark.req("S3-03")
def test_an_event_answers_every_request_of_everyone() -> None:
    assert misjudged("event", rows(EVENT)) == []


@pytest.mark.req("S3-03")
def test_nothing_is_asked_of_an_event_that_is_in_progress() -> None:
    fired = Snapshot("IN_PROGRESS", operation=Operation("fire", "UNDONE"))
    for action, actor in product(("fire", "rearm"), WHO_ASKS):
        answer = word(decide(KINDS["event"], fired, Request(action, actor=actor)))
        assert answer == "no" or (answer, action) == ("join", "fire")


def test_silence_is_an_error_of_the_event() -> None:
    assert silences("event") == {"IN_PROGRESS": {"ERROR"}}


# What goes with what

TOGETHER = """
# lease       each reservation                start_lease   end_lease
CREATING      pending                         UNDONE        UNDONE
PENDING       pending                         UNDONE        UNDONE
STARTING      pending/active/error            IN_PROGRESS   UNDONE
ACTIVE        active                          DONE          UNDONE
TERMINATING   active/deleted/error            DONE          IN_PROGRESS
TERMINATED    deleted                         DONE          DONE
DELETING      pending/active/deleted/error    any           any
UPDATING      pending/active/deleted/error    quiet         quiet
ERROR         pending/active/deleted/error    quiet         quiet
"""

STATUSES = ("UNDONE", "IN_PROGRESS", "DONE", "ERROR")
MEANT = {"any": set(STATUSES), "quiet": {"UNDONE", "DONE", "ERROR"}}

# before_end_lease is bound to nothing, except where no event at all may be in progress.
QUIET = ("UPDATING", "ERROR")
# booking has not made its parts yet, or failed; an update that books anew, or a deletion, may follow such a failure
WITHOUT_PARTS = ("CREATING", "UPDATING", "ERROR", "DELETING")


def goes(
    lease: str, reservations: tuple[str, ...], start: str | None, before_end: str | None, end: str | None
) -> bool:
    """Whether the typed table lets these go together."""
    if lease in WITHOUT_PARTS and not reservations and (start, before_end, end) == (None, None, None):
        return True
    if not reservations or start is None or end is None:
        return False
    _, each, starts, ends = next(line for line in lines(TOGETHER, 4) if line[0] == lease)
    return (
        all(r in each.split("/") for r in reservations)
        and start in MEANT.get(starts, {starts})
        and end in MEANT.get(ends, {ends})
        and not (lease in QUIET and before_end == "IN_PROGRESS")
        # resolved: in error because of a reservation, or because none could be made
        and not (lease == "ERROR" and reservations and "error" not in reservations)
    )


@pytest.mark.req("S3-04")
@pytest.mark.parametrize("lease", [line[0] for line in lines(TOGETHER, 4)])
def test_a_lease_its_reservations_and_its_events_go_together_as_tabled(lease: str) -> None:
    small = ("pending", "active", "deleted", "error")
    wrong, allowed = [], 0
    for count in (0, 1, 2):
        for reservations in combinations_with_replacement(small, count):
            for start, before_end, end in product((None, *STATUSES), repeat=3):
                every = {"start_lease": start, "before_end_lease": before_end, "end_lease": end}
                events = {kind: status for kind, status in every.items() if status is not None}
                wanted = goes(lease, reservations, start, before_end, end)
                allowed += wanted
                for order in (reservations, reservations[::-1]):
                    found = disagreements(lease, order, events)
                    if (not found) is not wanted:
                        wrong.append((order, events, found))
    assert wrong == []
    assert allowed


@pytest.mark.req("S3-04")
def test_every_status_of_a_lease_that_exists_is_in_the_table() -> None:
    typed = [line[0] for line in lines(TOGETHER, 4)]
    assert sorted(typed) == sorted(s.name for s in KINDS["lease"].states if s.name != "ABSENT")
    assert disagreements("ABSENT", ["pending"], {"start_lease": "UNDONE", "end_lease": "UNDONE"})


@pytest.mark.req("S3-01")
def test_a_declined_update_leaves_a_lease_in_the_status_it_had() -> None:
    for origin in ("PENDING", "ACTIVE", "TERMINATED", "ERROR"):
        snapshot = replace(Snapshot("UPDATING", operation=Operation("update", origin)), revision=2, previous=1)
        report = Report(Trigger.DECLINED, snapshot.fence, actor=Actor.CONTROLLER)
        answer = decide(KINDS["lease"], snapshot, report)
        assert isinstance(answer, Decision)
        assert answer.after.state == origin
        assert answer.after.revision == 1
