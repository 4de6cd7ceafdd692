"""The judge judged on machines: one that moved unseen while somebody stopped it, and what may not be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.checker import Verdict, judge
from tests.chaos.datacenter import LANE
from tests.chaos.history import Ended, History, Instance, Line, Resource
from tests.chaos.load import Asked

MACHINE, DISK, TOKEN, NAME = "/acme/space/m", "/acme/space/d", "token-1", "stead-1"


def good() -> History:
    """A machine that was deployed and stopped while it was moved; it is in the recycle bin now, beside a disk."""
    moves = [
        ("VIRTUAL", "DEPLOYING", "request", "deploy", "user", "op-0", 0.0),
        ("DEPLOYING", "RUNNING", "succeeded", "deploy", "agent", "op-0", 2.0),
        ("RUNNING", "RUNNING", "request", "migrate", "controller", "op-1", 10.0),
        ("RUNNING", "STOPPING", "request", "stop", "user", "op-2", 11.0),
        ("STOPPING", "STOPPING", "succeeded", "migrate", "agent", "op-1", 12.0),
        ("STOPPING", "HALTED", "succeeded", "stop", "agent", "op-2", 13.0),
        ("HALTED", "DELETING", "request", "delete", "user", "op-3", 20.0),
        ("DELETING", "DELETED", "succeeded", "delete", "agent", "op-3", 21.0),
    ]
    journal = [
        Line(n, MACHINE, source, target, trigger, word, actor, operation, at, kind="machine")
        for n, (source, target, trigger, word, actor, operation, at) in enumerate(moves, 1)
    ]
    journal += [
        Line(9, DISK, "MODELED", "CREATING", "request", "create", "user", "op-4", 30.0, kind="disk"),
        Line(10, DISK, "CREATING", "CREATED", "succeeded", "create", "agent", "op-4", 31.0, kind="disk"),
    ]
    ended = [
        Ended("op-0", MACHINE, "deploy", "succeeded", 0.0, 2.0, kind="machine"),
        Ended("op-1", MACHINE, "migrate", "succeeded", 10.0, 12.0, "controller", kind="machine"),
        Ended("op-2", MACHINE, "stop", "succeeded", 11.0, 13.0, kind="machine"),
        Ended("op-3", MACHINE, "delete", "succeeded", 20.0, 21.0, kind="machine"),
        Ended("op-4", DISK, "create", "succeeded", 30.0, 31.0, kind="disk"),
    ]
    facts = {"id": NAME, "node": "n2"}
    bin = {"timers": {"expiry": 1e9}, "condition": {}}
    return History(
        accepted=[Asked(op.id, op.path, op.action) for op in ended if op.principal != "controller"],
        journal=journal,
        ended=ended,
        keys={op.id: op.id for op in ended},
        resources=[
            Resource(MACHINE, "DELETED", TOKEN, LANE, facts, bin, "machine"),
            Resource(DISK, "CREATED", "token-2", LANE, {}, kind="disk"),
        ],
        nodes=[
            Instance(NAME, TOKEN, MACHINE, "n2", "DELETED", kind="machine"),
            Instance("stead-2", "token-2", DISK, "", "CREATED", kind="disk"),
        ],
    )


def op(history: History, n: int, **changes: Any) -> History:
    ended = list(history.ended)
    ended[n] = replace(ended[n], **changes)
    return replace(history, ended=ended)


def line(history: History, n: int, **changes: Any) -> History:
    journal = list(history.journal)
    journal[n] = replace(journal[n], **changes)
    return replace(history, journal=journal)


def there(history: History, n: int, **changes: Any) -> History:
    nodes = list(history.nodes)
    nodes[n] = replace(nodes[n], **changes)
    return replace(history, nodes=nodes)


def left_over(history: History, state: str) -> History:
    """With the same machine on another node as well."""
    other = Instance(NAME, TOKEN, MACHINE, "n1, where it is not to be", state, kind="machine")
    return replace(history, nodes=[*history.nodes, other])


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h,
        lambda h: left_over(h, "HALTED"),
        lambda h: left_over(h, "RUNNING"),
    ],
)
def test_what_is_allowed_of_machines(change: Callable[[History], History]) -> None:
    assert judge(change(good())) == Verdict()


VIOLATIONS: dict[str, tuple[Callable[[History], History], str]] = {
    "moved beside another": (lambda h: line(op(h, 2, ended_at=22.0), 2, at=11.5), "was begun while stop"),
    "two seen at once": (lambda h: op(h, 2, ended_at=20.5), "delete of /acme/space/m (op-3) was begun while stop"),
    "two seen with one unseen between": (lambda h: line(op(h, 0, ended_at=11.5), 2, at=1.0), "stop of"),
    "seen ones interleaved": (lambda h: line(h, 7, operation="op-2"), "another had followed already"),
    "in the bin, and waits for something": (
        lambda h: replace(h, resources=[replace(h.resources[0], busy={"timers": {"expiry": 1.0, "resend": 2.0}})]),
        "has no operation, yet",
    ),
    "out of the bin, and its time runs": (
        lambda h: replace(h, resources=[h.resources[0], replace(h.resources[1], busy={"timers": {"expiry": 1.0}})]),
        "has no operation, yet",
    ),
    "runs twice": (lambda h: left_over(there(h, 0, state="RUNNING"), "PAUSED"), "runs 2 times"),
    "runs, and is believed deleted": (lambda h: there(h, 0, state="RUNNING"), "libvirt has it as RUNNING"),
    "is elsewhere": (lambda h: there(h, 0, lane="n1"), "is believed to be on n2, and is on n1"),
    "is gone": (lambda h: replace(h, nodes=h.nodes[1:]), "libvirt has it as absent"),
    "is nobody's": (lambda h: there(h, 0, token="token-9"), "is DELETED and nobody's"),
    "a disk is not where it should be": (lambda h: there(h, 1, state="ASSIGNED"), "libvirt has it as ASSIGNED"),
    "a disk is left": (
        lambda h: replace(h, resources=[h.resources[0], replace(h.resources[1], state="DESTROYED")]),
        "of /acme/space/d, which is DESTROYED",
    ),
}


@pytest.mark.parametrize("name", VIOLATIONS)
def test_what_is_a_violation_of_machines(name: str) -> None:
    change, says = VIOLATIONS[name]
    assert [sentence for sentence in judge(change(good())).violations if says in sentence] != []


def test_what_died_with_its_libvirt_may_still_be_found() -> None:
    lost = judge(replace(good(), nodes=[]))
    assert lost.drift == lost.violations != []
    assert judge(left_over(there(good(), 0, state="RUNNING"), "RUNNING")).final
