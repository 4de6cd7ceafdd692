"""Machines, cloudspaces, accounts, disks, images and nodes against the private cloud document's tables.

The tables have the document's three columns, with the action and whoever asks for it in between. What they mean is
the same everywhere: the request leads to the moving state at once, success to the desired state, failure to ERROR,
and silence back to where the object was.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from stead.catalog import KINDS
from stead.catalog.transition import validate_transition
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Decision, Rejection
from stead.lifecycle.events import Report, Request, TimerDue
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import DAY, HOUR, Actor, StateClass, Trigger
from stead.lifecycle.snapshot import Operation, Snapshot
from stead.lifecycle.timers import pending
from tests.catalog.asking import NO, STAYS, WHO_ASKS, ask, ask_meanwhile, misjudged, under_way
from tests.catalog.tables import Row, coded, differences, leads, lines, sights, silences

SAME = "same"
"""In place of a desired state: the initial one."""

MACHINE = """
# initial                by      action        moving           desired
VIRTUAL                  user    deploy        DEPLOYING        RUNNING
RUNNING                  user    pause         PAUSING          PAUSED
PAUSED                   user    resume        RESUMING         RUNNING
RUNNING/PAUSED           user    stop          STOPPING         HALTED
HALTED                   user    start         STARTING         RUNNING      # resolved: the way back from HALTED
RUNNING/PAUSED           user    delete        DELETING         DELETED
HALTED                   user    delete        DELETING         DELETED
ERROR                    user    delete        DELETING         DELETED      # resolved: a way out of ERROR
RUNNING/PAUSED           user    destroy       DESTROYING       DESTROYED
HALTED                   user    destroy       DESTROYING       DESTROYED
ERROR                    user    destroy       DESTROYING       DESTROYED    # resolved: a way out of ERROR
DELETED                  user    destroy       DESTROYING       DESTROYED    # resolved: out of the recycle bin
DELETED                  clock   destroy       DESTROYING       DESTROYED    # resolved: its retention is over
DELETED                  user    restore       RESTORING        HALTED       # resolved: out of the recycle bin
RUNNING                  user    reboot        REBOOTING        RUNNING
PAUSED                   user    reboot        REBOOTING        RUNNING
RUNNING                  user    reset         RESETTING        RUNNING
RUNNING/PAUSED/HALTED    user    add-disk      ADDING_DISK      same
RUNNING/PAUSED/HALTED    user    attach-disk   ATTACHING_DISK   same
RUNNING/PAUSED/HALTED    user    detach-disk   DETACHING_DISK   same
"""

CLOUDSPACE = """
VIRTUAL                  user    deploy        DEPLOYING        DEPLOYED
DEPLOYED                 user    disable       DISABLING        DISABLED
DISABLED                 user    enable        ENABLING         DEPLOYED
DEPLOYED/DISABLED        user    delete        DELETING         DELETED
ERROR                    user    delete        DELETING         DELETED      # resolved: a way out of ERROR
DELETED                  user    destroy       DESTROYING       DESTROYED    # and from nowhere else
DELETED                  clock   destroy       DESTROYING       DESTROYED    # resolved: its retention is over
DELETED                  user    restore       RESTORING        DEPLOYED
DEPLOYED                 admin   pause         PAUSING          PAUSED
PAUSED                   admin   resume        RESUMING         DEPLOYED
DEPLOYED                 admin   reset         RESETTING        DEPLOYED
PAUSED                   admin   reset         RESETTING        DEPLOYED     # the document's note on PAUSED says so
"""

ACCOUNT = """
CONFIRMED                user    disable       DISABLING        DISABLED
DISABLED                 user    enable        ENABLING         CONFIRMED
CONFIRMED/DISABLED       user    destroy       DESTROYING       DESTROYED
CONFIRMED/DISABLED       user    delete        DELETING         DELETED
ERROR                    user    delete        DELETING         DELETED      # resolved: ways out of ERROR
ERROR                    user    destroy       DESTROYING       DESTROYED
DELETED                  user    destroy       DESTROYING       DESTROYED    # resolved: out of the recycle bin
DELETED                  clock   destroy       DESTROYING       DESTROYED    # resolved: its retention is over
DELETED                  user    restore       RESTORING        CONFIRMED    # resolved: out of the recycle bin
"""

DISK = """
MODELED                  user         create                 CREATING     CREATED
MODELED                  user         assign                 ASSIGNING    ASSIGNED
CREATED                  user         attach                 ATTACHING    ASSIGNED
ASSIGNED                 user         detach                 DETACHING    CREATED
CREATED                  user         delete                 DELETING     DELETED
CREATED                  user         destroy                DESTROYING   DESTROYED
ASSIGNED                 user         delete-with-machine    DELETING     TOBEDELETED
ASSIGNED                 controller   delete-with-machine    DELETING     TOBEDELETED   # resolved: with its machine
ASSIGNED                 user         destroy                DESTROYING   DESTROYED
ERROR                    user         delete                 DELETING     DELETED       # resolved: ways out of ERROR
ERROR                    user         destroy                DESTROYING   DESTROYED
DELETED                  user         restore                RESTORING    CREATED       # resolved: the same as before
ASSIGNED/TOBEDELETED     controller   delete-after-machine   DELETING     DELETED       # resolved: machine destroyed
TOBEDELETED              user         restore-after-machine  RESTORING    CREATED       # resolved: machine destroyed
TOBEDELETED              controller   restore-after-machine  RESTORING    CREATED       # resolved: machine destroyed
TOBEDELETED              user         restore-with-machine   RESTORING    ASSIGNED
TOBEDELETED              controller   restore-with-machine   RESTORING    ASSIGNED
DELETED/TOBEDELETED      user         destroy                DESTROYING   DESTROYED
DELETED/TOBEDELETED      clock        destroy                DESTROYING   DESTROYED     # resolved: retention is over
"""

IMAGE = """
VIRTUAL                  user    create        CREATING         CREATED
CREATED                  user    disable       DISABLING        DISABLED
DISABLED                 user    enable        ENABLING         CREATED      # resolved: not through DISABLING
CREATED/DISABLED         user    delete        DELETING         DELETED
CREATED/DISABLED         user    destroy       DESTROYING       DESTROYED
ERROR                    user    delete        DELETING         DELETED      # resolved: ways out of ERROR
ERROR                    user    destroy       DESTROYING       DESTROYED
DELETED                  user    destroy       DESTROYING       DESTROYED    # resolved: out of the recycle bin
DELETED                  clock   destroy       DESTROYING       DESTROYED    # resolved: its retention is over
DELETED                  user    restore       RESTORING        CREATED      # resolved: out of the recycle bin
"""

NODE = """
ENABLED                  admin   maintain      PUTTING_IN_MAINTENANCE   MAINTENANCE
MAINTENANCE              admin   enable        ENABLING                 ENABLED
ERROR                    admin   enable        ENABLING                 ENABLED          # resolved: ways out of ERROR
ENABLED/MAINTENANCE      admin   decommission  DECOMMISSIONING          DECOMMISSIONED
ERROR                    admin   decommission  DECOMMISSIONING          DECOMMISSIONED   # resolved
"""

TABLES = {
    "machine": MACHINE,
    "cloudspace": CLOUDSPACE,
    "account": ACCOUNT,
    "disk": DISK,
    "image": IMAGE,
    "node": NODE,
}

THEN = {
    "cloudspace": {
        "disable": ("DISABLING", "CLOSING"),
        "enable": ("ENABLING", "WAKING"),
        "delete": ("DELETING", "SHELVING"),
        "restore": ("RESTORING", "REFILLING"),
        "destroy": ("DESTROYING", "REMOVING"),
    }
}
"""resolved: chained transitions, where what is in an object has to move before it or after it."""

BY_STEP = {
    "machine": {"ADDING_DISK", "ATTACHING_DISK", "DETACHING_DISK"},
    "node": {"PUTTING_IN_MAINTENANCE"},
    "account": {"DISABLING", "ENABLING", "DELETING", "RESTORING", "DESTROYING"},
    "cloudspace": {"DISABLING", "WAKING", "DELETING", "REFILLING", "DESTROYING"},
}
"""resolved: the controller has what is on or in an object moved, and says when that is done."""

STAYS_AT = {"cloudspace": {"WAKING": "DEPLOYED", "REFILLING": "DEPLOYED"}, "account": {"DESTROYING": "ERROR"}}
"""resolved: where such a step does not lead back to where the object was; an agent's failure leads to ERROR."""

TAKEN_IN = {"account": ("user", "CONFIRMED"), "node": ("admin", "ENABLED")}
"""resolved: what nobody makes is taken in, at once."""

MIGRATE = {
    Row(state, trigger, "migrate", Actor.AGENT, state)
    for state in ("RUNNING", "PAUSED", "HALTED")
    for trigger in (Trigger.SUCCEEDED, Trigger.FAILED)
}
"""A migration is hidden: wherever the machine was, there it is, whether it went well or not."""

HEALED = """
# kind       seen in ERROR as, and then in
machine      RUNNING/PAUSED/HALTED/DELETED
cloudspace   DEPLOYED/DISABLED/PAUSED/DELETED
disk         CREATED/ASSIGNED/DELETED/TOBEDELETED
image        CREATED/DISABLED/DELETED
"""

# The document's outer columns once more, on their own: one action leads from here to there.
PAIRS = {
    "machine": """
VIRTUAL       RUNNING
RUNNING       RUNNING/PAUSED/HALTED/DELETED/DESTROYED
PAUSED        RUNNING/PAUSED/HALTED/DELETED/DESTROYED
HALTED        RUNNING/HALTED/DELETED/DESTROYED
DELETED       HALTED/DESTROYED                          # resolved
ERROR         DELETED/DESTROYED                         # resolved
""",
    "cloudspace": """
VIRTUAL       DEPLOYED
DEPLOYED      DEPLOYED/DISABLED/PAUSED/DELETED
DISABLED      DEPLOYED/DELETED
PAUSED        DEPLOYED
DELETED       DEPLOYED/DESTROYED
ERROR         DELETED                                   # resolved
""",
    "account": """
NONE          CONFIRMED                                 # resolved
CONFIRMED     DISABLED/DELETED/DESTROYED
DISABLED      CONFIRMED/DELETED/DESTROYED
DELETED       CONFIRMED/DESTROYED                       # resolved
ERROR         DELETED/DESTROYED                         # resolved
""",
    "disk": """
MODELED       CREATED/ASSIGNED
CREATED       ASSIGNED/DELETED/DESTROYED
ASSIGNED      CREATED/TOBEDELETED/DELETED/DESTROYED     # resolved: DELETED, when the machine was destroyed
DELETED       CREATED/DESTROYED                         # resolved
TOBEDELETED   ASSIGNED/CREATED/DELETED/DESTROYED        # resolved
ERROR         DELETED/DESTROYED                         # resolved
""",
    "image": """
VIRTUAL       CREATED
CREATED       DISABLED/DELETED/DESTROYED
DISABLED      CREATED/DELETED/DESTROYED
DELETED       CREATED/DESTROYED                         # resolved
ERROR         DELETED/DESTROYED                         # resolved
""",
    "node": """
NONE          ENABLED                                   # resolved
ENABLED       MAINTENANCE/DECOMMISSIONED
MAINTENANCE   ENABLED/DECOMMISSIONED
ERROR         ENABLED/DECOMMISSIONED                    # resolved
""",
}


def chains(kind: str) -> list[tuple[str, Actor, str, str, str]]:
    """Initial state, actor, action, moving state, desired state; one initial state at a time."""
    return [
        (start, Actor(actor), action, moving, start if desired == SAME else desired)
        for starts, actor, action, moving, desired in lines(TABLES[kind], 5)
        for start in starts.split("/")
    ]


def stages(kind: str) -> list[tuple[str, str, str, str, str]]:
    """Initial state, action, one moving state, what follows it, and where failure leads."""
    found = []
    for start, _, action, moving, desired in chains(kind):
        states = THEN.get(kind, {}).get(action, (moving,))
        assert states[0] == moving
        for state, follows in zip(states, (*states[1:], desired), strict=True):
            failed = STAYS_AT.get(kind, {}).get(state, start) if state in BY_STEP.get(kind, ()) else "ERROR"
            found.append((start, action, state, follows, failed))
    return found


def meant(kind: str) -> set[Row]:
    """The rows that a table of the document means."""
    found = {Row(start, Trigger.REQUEST, action, actor, moving) for start, actor, action, moving, _ in chains(kind)}
    for _, action, state, follows, failed in stages(kind):
        if state in BY_STEP.get(kind, ()):
            found.add(Row(state, Trigger.NEXT, action, Actor.CONTROLLER, follows))
            found.add(Row(state, Trigger.FAILED, action, Actor.CONTROLLER, failed))
        else:
            found.add(Row(state, Trigger.SUCCEEDED, action, Actor.AGENT, follows))
            found.add(Row(state, Trigger.FAILED, action, Actor.AGENT, failed))
    if kind in TAKEN_IN:
        who, state = TAKEN_IN[kind]
        found.add(Row("NONE", Trigger.REQUEST, "create", Actor(who), state))
    return found | MIGRATE if kind == "machine" else found


def origins(kind: str) -> dict[str, set[str]]:
    """For each moving state, where silence leads; resolved: what may have been made is in error."""
    found: dict[str, set[str]] = {}
    for start, _, state, _, _ in stages(kind):
        back = STAYS_AT.get(kind, {}).get(state, start)
        found.setdefault(state, set()).add("ERROR" if back in ("VIRTUAL", "MODELED") else back)
    return found


@pytest.mark.req("S2-01")
@pytest.mark.parametrize("kind", list(TABLES))
def test_an_object_has_every_row_of_its_table_and_no_other(kind: str) -> None:
    assert differences(kind, meant(kind)) == []


@pytest.mark.req("S2-01")
@pytest.mark.parametrize("kind", list(TABLES))
def test_an_object_at_rest_answers_every_request_of_everyone(kind: str) -> None:
    hidden = product(("RUNNING", "PAUSED", "HALTED"), ["migrate"], (Actor.CONTROLLER, Actor.ADMIN))
    assert misjudged(kind, meant(kind), set(hidden) if kind == "machine" else None) == []


@pytest.mark.req("S2-01")
@pytest.mark.parametrize("kind", list(TABLES))
def test_a_word_leads_to_the_desired_state_or_to_failure(kind: str) -> None:
    for start, action, moving, follows, failed in stages(kind):
        known = KINDS[kind].action(action)
        assert known is not None
        step = moving in BY_STEP.get(kind, ())
        last = Operation(action, start, step=0 if step else len(known.verbs) - 1)
        work = None if step else under_way(moving, action, start).work
        snapshot = Snapshot(moving, operation=last, work=work)
        for said, end in ((Trigger.SUCCEEDED, follows), (Trigger.FAILED, failed)):
            actor = Actor.CONTROLLER if step else Actor.AGENT
            answer = decide(KINDS[kind], snapshot, Report(said, snapshot.fence, actor=actor))
            assert isinstance(answer, Decision)
            assert answer.after.state == end, (start, action, said)
            assert (answer.after.operation is None) == (KINDS[kind].state(end).cls is not StateClass.TRANSITIONAL)


@pytest.mark.req("S2-01", "S2-04")
@pytest.mark.parametrize("kind", list(TABLES))
def test_an_object_that_moves_refuses_everything(kind: str) -> None:
    accepted = []
    for start, _, running, moving, _ in chains(kind):
        for action in KINDS[kind].actions:
            for actor in WHO_ASKS:
                answer = ask_meanwhile(kind, moving, running, start, action.name, actor)
                if answer != NO:
                    accepted.append(f"{action.name} by {actor} while {moving}: {answer}")
    assert accepted == []


@pytest.mark.req("S2-01")
def test_a_machine_is_destroyed_in_three_steps() -> None:
    snapshot = Snapshot("RUNNING")
    answer = decide(KINDS["machine"], snapshot, Request("destroy"))
    told = []
    while isinstance(answer, Decision) and answer.after.work is not None:
        told.append(answer.after.work.verb)
        assert answer.after.state == "DESTROYING"
        under = under_way("DESTROYING", "destroy", "RUNNING")
        step = Snapshot("DESTROYING", answer.after.fence, operation=answer.after.operation, work=under.work)
        answer = decide(KINDS["machine"], step, Report(Trigger.SUCCEEDED, step.fence))
    assert told == ["stop", "delete", "destroy"]
    assert isinstance(answer, Decision)
    assert answer.after.state == "DESTROYED"


@pytest.mark.req("S2-01")
@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("machine", "DELETED"),
        ("cloudspace", "DELETED"),
        ("account", "DELETED"),
        ("disk", "DELETED"),
        ("disk", "TOBEDELETED"),
        ("image", "DELETED"),
    ],
)
def test_the_recycle_bin_is_emptied_by_the_clock(kind: str, state: str) -> None:
    expires = KINDS[kind].state(state).expiry
    assert expires is not None
    assert (expires.action, expires.after > 0) == ("destroy", True)
    answer = decide(KINDS[kind], Snapshot(state), TimerDue("expiry"))
    assert isinstance(answer, Decision)
    assert [(m.target, m.actor) for m in answer.transitions] == [("DESTROYING", Actor.CLOCK)]
    others = {s.name for s in KINDS[kind].states if s.expiry is not None} - {"DELETED", "TOBEDELETED"}
    assert others == set()


@pytest.mark.req("S2-02")
@pytest.mark.parametrize("kind", list(PAIRS))
def test_a_transition_is_valid_for_the_listed_pairs_and_for_no_other(kind: str) -> None:
    typed = leads(PAIRS[kind])
    states = [state.name for state in KINDS[kind].states]
    assert set(typed) <= set(states)
    for here, there in product([*states, "NOWHERE"], repeat=2):
        wanted = there in typed.get(here, ())
        assert validate_transition(kind, here, there) is wanted, f"{here} to {there}"


@pytest.mark.req("S2-02")
def test_a_transition_of_an_unknown_type_of_object_is_not_valid() -> None:
    assert validate_transition("router", "RUNNING", "HALTED") is False


@pytest.mark.req("S2-02")
@pytest.mark.parametrize("kind", list(PAIRS))
def test_the_pairs_are_those_of_the_tables(kind: str) -> None:
    pairs = {(start, desired) for start, _, _, _, desired in chains(kind)}
    pairs |= {("NONE", state) for _, state in [TAKEN_IN[kind]]} if kind in TAKEN_IN else set()
    assert pairs == {(here, there) for here, ends in leads(PAIRS[kind]).items() for there in ends}


@pytest.mark.req("S2-09")
@pytest.mark.parametrize(
    ("state", "action", "moving"),
    [
        ("DEPLOYED", "pause", "PAUSING"),
        ("PAUSED", "resume", "RESUMING"),
        ("DEPLOYED", "reset", "RESETTING"),
        ("PAUSED", "reset", "RESETTING"),
    ],
)
def test_pausing_resuming_and_resetting_a_cloudspace_are_for_admins(state: str, action: str, moving: str) -> None:
    for actor in WHO_ASKS:
        assert ask("cloudspace", state, action, actor) == (moving if actor is Actor.ADMIN else NO)
    assert {row.actor for row in coded("cloudspace", [Trigger.REQUEST]) if row.on == action} == {Actor.ADMIN}


@pytest.mark.req("S2-01")
def test_a_migration_is_not_for_users_and_shows_nothing() -> None:
    for state in ("RUNNING", "PAUSED", "HALTED"):
        assert ask("machine", state, "migrate", Actor.USER) == NO
        answer = decide(KINDS["machine"], Snapshot(state), Request("migrate", actor=Actor.CONTROLLER))
        assert isinstance(answer, Decision)
        assert (answer.transitions, answer.after.state, answer.after.operation) == ((), state, None)
        assert answer.after.hidden is not None
    for state in ("VIRTUAL", "DELETED", "DESTROYED", "ERROR"):
        assert ask("machine", state, "migrate", Actor.CONTROLLER) == NO
    assert ask("machine", "RUNNING", "migrate", Actor.CONTROLLER) == STAYS


@pytest.mark.parametrize("kind", list(TABLES))
def test_silence_leads_back_to_the_state_before(kind: str) -> None:
    assert silences(kind) == origins(kind)


@pytest.mark.req("S2-01")
@pytest.mark.parametrize(("kind", "healthy"), lines(HEALED, 2))
def test_an_object_in_error_is_healed_by_being_seen_healthy(kind: str, healthy: str) -> None:
    assert sights("account") == {}
    found = {seen: ends for (state, seen), ends in sights(kind).items() if state == "ERROR"}
    assert {seen for seen in found if seen != "absent"} == set(healthy.split("/"))
    assert all(ends == {seen} for seen, ends in found.items() if seen != "absent")


NOTHING_THERE = ("VIRTUAL", "MODELED", "DESTROYED", "DECOMMISSIONED")


def looks_like(state: str) -> str:
    """What an agent sees of an object in that state: nothing tells that it is in ERROR."""
    if state == "ERROR":
        return ""
    return "absent" if state in NOTHING_THERE else state


def shown(kind: str) -> dict[tuple[str, str], set[str]]:
    """resolved: a look leads to the end, or back where all is as before, or to what healthy is there, or to ERROR."""
    resting = {state.name for state in KINDS[kind].states if state.cls is not StateClass.TRANSITIONAL}
    healthy = dict(lines(HEALED, 2))[kind].split("/")
    found: dict[tuple[str, str], set[str]] = {}
    for sight in {"broken"} | {looks_like(state) for state in resting} - {""}:
        for start, action, moving, follows, failed in stages(kind):
            if moving not in BY_STEP.get(kind, ()):
                desired = next(end for begin, _, name, _, end in chains(kind) if (begin, name) == (start, action))
                ends = [follows] if looks_like(desired) == sight else []
                ends += [state for state in (start, *healthy) if looks_like(state) == sight]
                found.setdefault((moving, sight), set()).add([*ends, failed][0])
        for state in (*healthy, "ERROR"):
            if sight in healthy and sight != state:
                found[state, sight] = {sight}
            elif sight in ("absent", "broken") and state != "ERROR":
                found[state, sight] = {"ERROR"}
    if kind == "machine":  # resolved: a migration that leaves it broken is none of the visible state's business
        for state in ("RUNNING", "PAUSED", "HALTED"):
            found |= {(state, state): {state}, (state, "broken"): {state, "ERROR"}}
    return found


@pytest.mark.parametrize("kind", [kind for kind, _ in lines(HEALED, 2)])
def test_an_object_goes_where_it_is_seen(kind: str) -> None:
    assert sights(kind) == shown(kind)


def test_nobody_but_an_admin_manages_nodes() -> None:
    assert {row.actor for row in coded("node", [Trigger.REQUEST])} == {Actor.ADMIN}


@pytest.mark.req("S2-01")
def test_a_failed_request_says_so() -> None:
    answer = decide(KINDS["machine"], Snapshot("HALTED"), Request("pause"))
    assert isinstance(answer, Rejection)
    assert answer.state == "HALTED"
    assert set(answer.allowed) == {"start", "add-disk", "attach-disk", "detach-disk", "delete", "destroy", "refresh"}


@pytest.mark.req("S2-08")
@pytest.mark.parametrize("kind", ["machine", "disk", "image", "cloudspace", "account"])
def test_retention_of_the_recycle_bin_is_configured(kind: str) -> None:
    lifecycle = KINDS[kind]
    assert pending(lifecycle, Snapshot("DELETED"))["expiry"].after == 7 * DAY
    shorter = replace(lifecycle, pace=replace(Pace(), retention=HOUR).scaled(0.1))
    assert pending(shorter, Snapshot("DELETED"))["expiry"].after == HOUR
