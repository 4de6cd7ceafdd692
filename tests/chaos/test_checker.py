"""The judge judged: a history in order, and each way in which one can be out of order, made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.checker import Verdict, ends, judge, keys
from tests.chaos.history import Deed, Ended, History, Instance, Line, Resource
from tests.chaos.load import Asked
from tests.chaos.walks import requests

PATH, TOKEN, LANE = "/ns/m/g/1", "token-1", "aws.east"

STEPS = [
    # The action, what it leads from, through and to, and what the instance is afterwards.
    ("create", "Absent", "Creating", "Running", "running"),
    ("suspend", "Running", "Suspending", "Suspended", "stopped"),
    ("resume", "Suspended", "Resuming", "Running", "running"),
    ("reboot", "Running", "Rebooting", "Running", "running"),
]


def good() -> History:
    """A VM that was made, suspended, resumed and rebooted: an operation every ten seconds, each lasting two."""
    journal: list[Line] = []
    ended: list[Ended] = []
    deeds: list[Deed] = []
    for n, (action, source, through, target, state) in enumerate(STEPS):
        at, id = 10.0 * n, f"op-{n}"
        journal.append(Line(2 * n + 1, PATH, source, through, "request", action, "user", id, at))
        deeds.append(Deed(at + 1, action, state, f"{TOKEN}.{n}"))
        journal.append(Line(2 * n + 2, PATH, through, target, "succeeded", action, "agent", id, at + 2))
        ended.append(Ended(id, PATH, action, "succeeded", at, at + 2))
    return History(
        accepted=[Asked(op.id, op.path, op.action) for op in ended],
        journal=journal,
        ended=ended,
        keys={f"key-{n}": op.id for n, op in enumerate(ended)},
        resources=[Resource(PATH, "Running", TOKEN, LANE, {"id": "i-1"})],
        instances=[Instance("i-1", TOKEN, PATH, LANE, "running", deeds)],
    )


def line(history: History, n: int, **changes: Any) -> History:
    """With a line of the journal changed."""
    journal = list(history.journal)
    journal[n] = replace(journal[n], **changes)
    return replace(history, journal=journal)


def end(history: History, n: int, **changes: Any) -> History:
    """With an operation changed."""
    ended = list(history.ended)
    ended[n] = replace(ended[n], **changes)
    return replace(history, ended=ended)


def resource(history: History, **changes: Any) -> History:
    return replace(history, resources=[replace(history.resources[0], **changes)])


def instance(history: History, **changes: Any) -> History:
    return replace(history, instances=[replace(history.instances[0], **changes)])


def without_deed(history: History, n: int) -> History:
    deeds = list(history.instances[0].deeds)
    del deeds[n]
    return instance(history, deeds=deeds)


def running(history: History) -> History:
    """The last operation has not ended."""
    op = history.ended[-1]
    row = {"id": op.id, "path": op.path, "action": op.action, "forced": False}
    busy = {"operation": op.id, "order": 7, "timers": {"custody": 1.0}, "condition": {"op": {"phase": "acting"}}}
    return replace(
        resource(history, state="Rebooting", busy=busy),
        ended=history.ended[:-1],
        running=[row],
        journal=history.journal[:-1],
        claims=[{"path": op.path, "operation": op.id, "mode": "x"}],
        orders=[{"id": 7, "operation": op.id, "verb": "reboot", "lane": LANE}],
    )


def beside(history: History, path: str, begun: float, over: float) -> History:
    """With an operation on another path beside the others."""
    ops = [*history.ended, Ended("op-9", path, "create", "succeeded", begun, over)]
    lines = [
        *history.journal,
        Line(len(history.journal) + 1, path, "Absent", "Creating", "request", "create", "user", "op-9", begun),
        Line(len(history.journal) + 2, path, "Creating", "Running", "succeeded", "create", "agent", "op-9", over),
    ]
    other = Instance("i-2", "token-2", path, LANE, "running", [Deed(begun, "create", "running")])
    return replace(
        history,
        ended=ops,
        journal=lines,
        keys={**history.keys, "key-9": "op-9"},
        resources=[*history.resources, Resource(path, "Running", "token-2", LANE)],
        instances=[*history.instances, other],
    )


def forced(history: History, force: bool) -> History:
    """The reboot failed, and a terminate led out of that."""
    at = 40.0
    ops = [*history.ended, Ended("op-4", PATH, "terminate", "succeeded", at, at + 2, forced=force)]
    lines = [
        *history.journal[:-1],
        replace(history.journal[-1], trigger="failed", target="Failed"),
        Line(9, PATH, "Failed", "Terminating", "request", "terminate", "user", "op-4", at),
        Line(10, PATH, "Terminating", "Terminated", "succeeded", "terminate", "agent", "op-4", at + 2),
    ]
    gone = [*history.instances[0].deeds, Deed(at + 1, "terminate", "terminated")]
    changed = replace(history, ended=ops, journal=lines, keys={**history.keys, "key-4": "op-4"})
    changed = end(changed, 3, outcome="failed")
    return instance(resource(changed, state="Terminated"), state="terminated", deeds=gone)


GROUP, FIRST = "/ns/f", 40.0
"""A group, and when it is suspended."""


def grouped() -> History:
    """Beside the VM a group of two, made together and then suspended together."""
    history = good()
    lines = list(history.journal)

    def line(path: str, kind: str, source: str, target: str, said: str, op: str, at: float) -> None:
        trigger, word, actor = said.split()
        lines.append(Line(len(lines) + 1, path, source, target, trigger, word, actor, op, at, kind=kind))

    vms = [f"{GROUP}/g/{n}" for n in (1, 2)]
    line(GROUP, "mci", "Absent", "Preparing", "request create user", "", 5.0)
    line(GROUP, "mci", "Preparing", "Prepared", "next create controller", "", 5.1)
    line(GROUP, "mci", "Prepared", "Creating", "next create controller", "", 5.2)
    line(GROUP, "mci", "Creating", "Running", "children create controller", "", 5.3)
    for path in vms:
        line(path, "vm", "Absent", "Creating", "request create user", "", 5.4)
        line(path, "vm", "Creating", "Running", "succeeded create agent", "", 5.5)
    line(GROUP, "mci", "Running", "Suspending", "request suspend user", "op-7", FIRST)
    for path in vms:
        line(path, "vm", "Running", "Suspending", "request suspend user", "op-7", FIRST + 0.1)
    for path in vms:
        line(path, "vm", "Suspending", "Suspended", "succeeded suspend agent", "op-7", FIRST + 3)
    line(GROUP, "mci", "Suspending", "Suspended", "children suspend controller", "op-7", FIRST + 3.1)
    deeds = [
        Deed(5.0, "create", "running"),
        Deed(FIRST + 1, "suspend", "stopping", "7"),
        Deed(FIRST + 2, "arrive", "stopped"),
    ]
    instances = [Instance(f"i-g{n}", f"token-g{n}", path, LANE, "stopped", deeds) for n, path in enumerate(vms)]
    resources = [Resource(path, "Suspended", f"token-g{n}", LANE) for n, path in enumerate(vms)]
    return replace(
        history,
        accepted=[*history.accepted, Asked("op-7", GROUP, "suspend"), Asked("op-7", vms[0], "suspend")],
        journal=lines,
        ended=[*history.ended, Ended("op-7", GROUP, "suspend", "succeeded", FIRST, FIRST + 3.1, kind="mci")],
        keys={**history.keys, "key-7": "op-7"},
        resources=[*history.resources, Resource(GROUP, "Suspended", "token-g", "", kind="mci"), *resources],
        instances=[*history.instances, *instances],
        limits={"aws": (2, 1)},
    )


def moved(history: History, n: int, lane: str) -> History:
    """With an instance in another region, and its resource too."""
    instances, token = list(history.instances), history.instances[n].token
    instances[n] = replace(instances[n], lane=lane)
    resources = [replace(one, lane=lane) if one.token == token else one for one in history.resources]
    return replace(history, instances=instances, resources=resources)


def late(history: History, n: int, by: float) -> History:
    """With what was done to an instance of the group done later."""
    instances = list(history.instances)
    made, *rest = instances[n].deeds
    instances[n] = replace(instances[n], deeds=[made, *(replace(deed, at=deed.at + by) for deed in rest)])
    return replace(history, instances=instances)


def failed_member(outcome: str) -> dict[str, str]:
    return {"operation": "op-7", "path": f"{GROUP}/g/1", "outcome": outcome, "says": ""}


def single(history: History, begun: float) -> History:
    """With an operation on a member of the group beside that of the group."""
    path = f"{GROUP}/g/1"
    lines = [
        *history.journal,
        Line(len(history.journal) + 1, path, "Suspended", "Resuming", "request", "resume", "user", "op-9", begun),
        Line(
            len(history.journal) + 2, path, "Resuming", "Running", "succeeded", "resume", "agent", "op-9", begun + 2
        ),
    ]
    ended = [*history.ended, Ended("op-9", path, "resume", "succeeded", begun, begun + 2)]
    deeds = [*history.instances[1].deeds, Deed(begun + 1, "resume", "running")]
    instances = list(history.instances)
    instances[1] = replace(instances[1], state="running", deeds=deeds)
    resources = [replace(one, state="Running") if one.path == path else one for one in history.resources]
    keys = {**history.keys, "key-9": "op-9"}
    return replace(history, journal=lines, ended=ended, instances=instances, resources=resources, keys=keys)


def test_a_history_in_order_is_clean() -> None:
    assert judge(good(), calm=True) == Verdict()


@pytest.mark.parametrize(
    "change",
    [
        lambda h: beside(h, "/ns/m/g/2", 10.5, 11.5),  # beside it is not above it
        lambda h: beside(h, "/ns/m", 4.0, 5.0),  # above it, when nothing goes on below
        lambda h: forced(h, True),
        lambda h: replace(h, journal=[*h.journal, replace(h.journal[0], position=9, source="Running", rejections=3)]),
        lambda h: replace(h, journal=[*h.journal, line(h, 7, position=9, source="Running", operation="").journal[7]]),
    ],
)
def test_what_is_allowed(change: Callable[[History], History]) -> None:
    assert judge(change(good())) == Verdict()


LOST: dict[str, tuple[Callable[[History], History], str]] = {
    "vanished": (lambda h: replace(h, accepted=[*h.accepted, Asked("op-5", PATH, "suspend")]), "nobody knows of it"),
    "stuck": (running, "has not ended"),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost(name: str) -> None:
    change, says = LOST[name]
    verdict = judge(change(good()))
    assert len(verdict.lost) == 1
    assert says in verdict.lost[0]
    assert verdict.violations == []


def test_a_lost_operation_is_told_with_its_row() -> None:
    (told,) = judge(running(good())).lost
    for part in ("Rebooting", "custody", "acting", "'verb': 'reboot'"):
        assert part in told


VIOLATIONS: dict[str, tuple[Callable[[History], History], str]] = {
    "a claim is left": (lambda h: replace(h, claims=[{"path": PATH, "operation": "op-1"}]), "a claim on"),
    "an order is left": (
        lambda h: replace(h, orders=[{"id": 3, "operation": "op-1", "verb": "suspend", "lane": LANE}]),
        "an order is left",
    ),
    "a timer is left": (lambda h: resource(h, busy={"timers": {"resend": 1.0}}), "has no operation, yet"),
    "nothing moves it": (
        lambda h: resource(replace(h, journal=h.journal[:-1]), state="Rebooting"),
        "nothing goes on about it",
    ),
    "ended twice": (lambda h: replace(h, ended=[*h.ended, h.ended[0]]), "has ended twice"),
    "no outcome": (lambda h: end(h, 1, outcome="maybe"), "is no outcome"),
    "done elsewhere": (
        lambda h: line(line(h, 3, target="Running", trigger="observed", detail="Running"), 4, source="Running"),
        "is done, and led to Running, not Suspended",
    ),
    "let in as another": (lambda h: replace(h, accepted=[Asked("op-1", PATH, "reboot")]), "which was suspend"),
    "let in twice": (lambda h: replace(h, keys={"key-0": "op-0", "key-2": "op-2", "key-3": "op-3"}), "begun another"),
    "two at once": (lambda h: end(h, 0, ended_at=15.0), "was begun while create"),
    "one above": (lambda h: beside(h, "/ns/m", 10.0, 12.0), "which is above it"),
    "one above, by the journal": (lambda h: beside(h, "/ns", 11.5, 12.5), "at the same time"),
    "interleaved": (lambda h: line(h, 5, operation="op-1"), "another had followed already"),
    "a gap": (lambda h: line(h, 4, position=11), "position 5 is missing"),
    "a position twice": (lambda h: line(h, 4, position=4), "position 5 is missing"),
    "no position": (lambda h: line(h, 7, position=None), "no position"),
    "lines do not join": (
        lambda h: line(h, 4, source="Running", detail="reboot", target="Rebooting"),
        "was Suspended",
    ),
    "not from the beginning": (lambda h: replace(h, journal=h.journal[2:]), "was Absent"),
    "no such move": (lambda h: line(h, 3, target="Terminated"), "is no move of a vm"),
    "not that actor": (lambda h: line(h, 3, actor="user"), "is no move of a vm"),
    "without force": (lambda h: forced(h, False), "Failed to Terminating on request terminate"),
    "ends elsewhere": (lambda h: resource(h, state="Suspended"), "its journal ends in Running"),
    "not in the journal": (
        lambda h: replace(h, resources=[*h.resources, Resource("/ns/x", "Undefined", "t", LANE)]),
        "the journal does not know it",
    ),
    "gone, says the table": (lambda h: replace(h, resources=[]), "is nowhere"),
    "begun twice": (lambda h: line(h, 7, trigger="request"), "begun 2 times"),
    "of nobody": (lambda h: line(h, 7, operation="op-8"), "which is nowhere"),
    "two instances": (
        lambda h: replace(h, instances=[*h.instances, replace(h.instances[0], id="i-2", lane="gcp.west")]),
        "has 2 instances",
    ),
    "two for a path": (
        lambda h: replace(h, instances=[*h.instances, replace(h.instances[0], id="i-2", token="t")]),
        "2 instances that live",
    ),
    "an order twice": (
        lambda h: replace(h, twice=[{"id": "i-1", "verb": "suspend", "times": 2, "order": "t.1"}]),
        "one order did suspend",
    ),
    "rebooted too often": (
        lambda h: instance(h, deeds=[*h.instances[0].deeds, Deed(60, "reboot", "running")]),
        "was rebooted 2 times and asked to 1 times",
    ),
    "nobody's": (
        lambda h: replace(h, instances=[*h.instances, Instance("i-9", "t-9", "/ns/y", LANE, "running")]),
        "nobody owns instance i-9",
    ),
    "left over": (
        lambda h: instance(forced(h, True), state="running"),
        "is Terminated, and instance i-1 is running",
    ),
    "at another place": (lambda h: instance(h, lane="gcp.west"), "is at gcp.west"),
    "not as believed": (lambda h: instance(h, state="stopped"), "is believed Running"),
    "another instance": (lambda h: resource(h, facts={"id": "i-7"}), "is believed to be instance i-7"),
    "said and not so": (lambda h: without_deed(h, 1), "it was not Suspended at any time"),
    "said too early": (lambda h: line(h, 5, at=20.5), "it was not Running at any time"),
    "seen and not so": (
        lambda h: line(without_deed(h, 1), 3, trigger="observed", detail="Suspended"),
        "it was not Suspended at any time",
    ),
    "not rebooted": (lambda h: without_deed(h, 3), "nobody had rebooted it"),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_is_a_violation(name: str) -> None:
    change, says = VIOLATIONS[name]
    assert [sentence for sentence in judge(change(good())).violations if says in sentence] != []


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h,
        lambda h: single(h, 50.0),  # after the group, its members are their own
        lambda h: beside(h, f"{GROUP}/g/3", FIRST - 1, FIRST + 2),  # left out: it came first
        lambda h: replace(h, members=[failed_member("skipped")]),
        lambda h: end(replace(h, members=[failed_member("failed")]), 4, outcome="failed"),
        lambda h: replace(h, limits={"aws": (1, 1)}, instances=late(h, 1, 1.0).instances),  # one leaves, one comes
        lambda h: replace(late(moved(h, 1, "aws.west"), 1, 1.0), limits={"aws": (1, 1)}),
        lambda h: replace(moved(h, 1, "gcp.west"), limits={"aws": (1, 1), "gcp": (1, None)}),
    ],
)
def test_what_is_allowed_of_groups(change: Callable[[History], History]) -> None:
    assert judge(change(grouped())) == Verdict()


GROUPS: dict[str, tuple[Callable[[History], History], str]] = {
    "too many at once": (lambda h: replace(h, limits={"aws": (1, 1)}), "aws.east bears 1 at once, and had 2"),
    "and for ever": (
        lambda h: replace(
            h, limits={"aws": (1, None)}, instances=[replace(i, deeds=i.deeds[:2]) for i in h.instances]
        ),
        "aws.east bears 1 at once, and had 2",
    ),
    "too many regions": (
        lambda h: moved(h, 1, "aws.west"),
        "aws bears 1 regions at once, and had 1 in aws.east and 1 in aws.west",
    ),
    "done, and a member failed": (lambda h: replace(h, members=[failed_member("failed")]), "/ns/f/g/1 ended failed"),
    "done, and a member is elsewhere": (lambda h: line(h, 19, target="Failed", trigger="failed"), "led /ns/f/g/1 to"),
    "a member asked twice": (
        lambda h: line(h, 19, trigger="request", detail="suspend"),
        "has asked /ns/f/g/1 to suspend 2 times",
    ),
    "never begun": (lambda h: line(h, 16, operation=""), "was begun 2 times"),
    "members not asked": (
        lambda h: replace(h, expansions=[{"operation": "op-7", "path": GROUP, "after": ""}]),
        "members of /ns/f are still to be asked",
    ),
    "a member that came later, and was not asked": (
        lambda h: beside(h, f"{GROUP}/g/3", FIRST + 1, FIRST + 2),
        "which is above it",
    ),
    "a member on its own": (lambda h: single(h, 42.0), "which is above it"),
    "a member on its own, by the journal": (lambda h: single(h, 42.0), "at the same time"),
    "a member let in as another": (
        lambda h: replace(h, accepted=[Asked("op-7", f"{GROUP}/g/1", "reboot")]),
        "which was suspend of /ns/f",
    ),
    "another group's member": (
        lambda h: replace(h, accepted=[Asked("op-7", "/ns/x/g/1", "suspend")]),
        "which was suspend of /ns/f",
    ),
    "a member was rebooted too": (
        lambda h: instance_of(h, 1, Deed(6.0, "reboot", "running")),
        "was rebooted 1 times and asked to 0 times",
    ),
}


def instance_of(history: History, n: int, deed: Deed) -> History:
    """With one more thing done to an instance, early."""
    instances = list(history.instances)
    made, *rest = instances[n].deeds
    instances[n] = replace(instances[n], deeds=[made, deed, *rest])
    return replace(history, instances=instances)


@pytest.mark.parametrize("name", GROUPS)
def test_what_is_a_violation_of_groups(name: str) -> None:
    change, says = GROUPS[name]
    assert [sentence for sentence in judge(change(grouped())).violations if says in sentence] != []


def test_a_group_that_has_not_ended_is_told_with_its_members() -> None:
    history = grouped()
    row = {"id": "op-7", "path": GROUP, "action": "suspend", "forced": False}
    counts = {"total": 2, "remaining": 1, "failed": 0, "expanded": True}
    (told,) = judge(replace(history, ended=history.ended[:-1], running=[row | counts])).lost
    assert "'remaining': 1" in told


def test_drift_may_still_be_found_and_the_rest_is_final() -> None:
    drifted = judge(instance(good(), state="stopped"))
    assert drifted.drift == drifted.violations != []
    assert not drifted.final
    assert judge(line(good(), 4, position=11)).final


def test_in_a_calm_run_every_end_is_known() -> None:
    unknown = end(good(), 3, outcome="unknown")
    assert judge(unknown) == Verdict()
    (says,) = judge(unknown, calm=True).violations
    assert "nobody knowing how" in says


def test_what_is_asked_of_a_disk_is_an_operation_of_its_machine() -> None:
    made = Ended("op-1", "/ns/m", "add-disk", "succeeded", 0, 1, kind="machine", disk="/ns/d")
    own = Ended("op-2", "/ns/d", "assign", "succeeded", 0, 1, kind="disk", under="op-1")
    history = History(accepted=[Asked("op-1", "/ns/d", "assign")], ended=[made, own], keys={"key": "op-1"})
    assert [*ends(history), *keys(history)] == []
    assert len(list(keys(replace(history, keys={})))) == 2
    assert len(list(ends(replace(history, accepted=[Asked("op-1", "/ns/d", "detach")])))) == 1
    assert len(list(ends(replace(history, accepted=[Asked("op-1", "/ns/e", "assign")])))) == 1


@pytest.mark.parametrize(("trigger", "violations"), [("connected", 0), ("request", 1)])
def test_agent_that_connects_while_its_site_is_created_begins_nothing(trigger: str, violations: int) -> None:
    site = "/ns/berlin"
    lines = [
        Line(1, site, "Offline", "Init", "request", "create", "user", "op-1", 0.0, kind="cloudlet"),
        Line(2, site, "Init", "Init", trigger, "create", "agent", "op-1", 1.0, kind="cloudlet"),
    ]
    ended = [Ended("op-1", site, "create", "succeeded", 0.0, 2.0, kind="cloudlet")]
    assert len(list(requests(History(journal=lines, ended=ended)))) == violations
