"""One answer about a group is of one moment: its text, its counts, its target and its members agree."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import cycle
from typing import Any

import httpx
import pytest

from stead.catalog.multicloud import TIES, VM
from stead.controller.reconcilers.group_state import GroupStateReconciler
from stead.lifecycle.rows import StateClass, Trigger
from tests.api.cell import Cell
from tests.api.test_tumblebug import group

MOVING = {state.name for state in VM.states if state.cls is StateClass.TRANSITIONAL}
NONE = "None"
CLIENTS = 3
FEW, MANY = 500, 10_000
"""Answers that are read while groups change, by all tests together."""
SHARES = (("dialect", "status"), ("dialect in full", "status of a subgroup"))
"""What is read in which test: all in one would take too long for one test."""


def text_of(members: Counter[str]) -> str:
    """The status text that some members make."""
    members = +members
    if not members:
        return "Empty"
    state = min(members, key=lambda name: (-members[name], TIES.index(name)))
    partial = "Partial-" if len(members) > 1 else ""
    return f"{partial}{state}:{members[state]} (R:{members['Running']}/{members.total()})"


def tumblebug_faults(said: dict[str, Any]) -> Iterator[str]:
    """What contradicts itself in an answer of the dialect."""
    members = Counter(vm["status"] for vm in said["vm"])
    counts = Counter({name.removeprefix("count"): n for name, n in said["statusCount"].items() if n})
    if counts.pop("Total", 0) != members.total() or counts != members:
        yield f"counts {dict(counts)} beside members {dict(members)}"
    if said["status"] != text_of(members):
        yield f"summary {said['status']} beside members {dict(members)}"
    if (said["targetAction"] == NONE) != (said["targetStatus"] == NONE) and said["targetAction"] != "Refine":
        yield f"target {said['targetAction']} to {said['targetStatus']}"
    if MOVING & set(members) and said["targetAction"] == NONE:
        yield f"no target, and members {dict(members)}"
    for vm in said["vm"]:
        if (vm["status"] in MOVING) != (vm["targetAction"] != NONE):
            yield f"VM {vm['id']} is {vm['status']}, its target {vm['targetAction']}"
    groups: dict[str, Counter[str]] = {part["id"]: Counter() for part in said.get("subGroups", ())}
    for vm in said["vm"]:
        groups.setdefault(vm["subGroupId"], Counter())[vm["status"]] += 1
    for part in said.get("subGroups", ()):
        if part["status"] != text_of(groups[part["id"]]) or int(part["subGroupSize"]) != groups[part["id"]].total():
            yield f"subgroup {part['status']} of {part['subGroupSize']} beside members {dict(groups[part['id']])}"


def status_faults(said: dict[str, Any]) -> Iterator[str]:
    """What contradicts itself in an answer of `/v1/status`."""
    members = Counter({name.removeprefix("count"): n for name, n in said["counts"].items() if n})
    total = members.pop("Total", 0)
    if total != members.total() or said["summary"] != text_of(members):
        yield f"summary {said['summary']} beside counts {said['counts']}"
    for parts in (said["groups"], said["lanes"]) if said["resource"]["kind"] == "mci" else ():
        sums: Counter[str] = sum((Counter(part["counts"]) for part in parts), Counter())
        if sums != members:
            yield f"parts {dict(sums)} beside counts {dict(members)}"
        if any(part["summary"] != text_of(Counter(part["counts"])) for part in parts):
            yield f"parts {parts}"
    if MOVING & set(members) and said["target_action"] == NONE:
        yield f"no target, and counts {said['counts']}"
    if (said["operation"] is None) != (said["resource"]["operation"] is None):
        yield f"operation {said['operation']} beside {said['resource']['operation']}"
    if said["stable"] != (said["operation"] is None and not MOVING & set(members)):
        yield f"stable {said['stable']} beside counts {said['counts']}"
    yield from word_faults(said["resource"], members)


def word_faults(resource: dict[str, Any], members: Counter[str]) -> Iterator[str]:
    """A group at rest is in the state that its text begins with."""
    members = +members
    if resource["operation"] is None and members and not MOVING & set(members):
        word = text_of(members).removeprefix("Partial-").partition(":")[0]
        if resource["state"] != word:
            yield f"state {resource['state']} beside members {dict(members)}"


def resource_faults(said: dict[str, Any]) -> Iterator[str]:
    """What contradicts itself in an answer about a group as a resource."""
    members = +Counter(said["members"] or {})
    if MOVING & set(members) and said["operation"] is None:
        yield f"no operation, and members {dict(members)}"
    yield from word_faults(said, members)


ACTIONS = (
    ("suspend", ""),
    ("resume", ""),
    ("reboot", "/back/1"),
    ("scale-out", "/front"),
    ("scale-in", "/front"),
    ("suspend", "/back"),
    ("resume", "/back"),
    ("reboot", ""),
)
"""What is done with an infrastructure, or with something in it, while others read; each share begins elsewhere."""


class Reader:
    """Reads one kind of answer about an infrastructure."""

    def __init__(self, name: str, address: str, faults: Callable[[dict[str, Any]], Iterator[str]]) -> None:
        self.name = name
        self.address = address
        self.faults = faults


def readers(ns: str, name: str, sub: str) -> list[Reader]:
    return [
        Reader("dialect", f"/tumblebug/ns/{ns}/mci/{name}?option=status", tumblebug_faults),
        Reader("dialect in full", f"/tumblebug/ns/{ns}/mci/{name}", tumblebug_faults),
        Reader("status", f"/v1/status/{ns}/{name}", status_faults),
        Reader("status of a subgroup", f"/v1/status/{ns}/{name}/{sub}", status_faults),
    ]


class Answers:
    """What several clients read, and what was wrong with it."""

    def __init__(self, cell: Cell, read: list[Reader]) -> None:
        self.cell = cell
        self.read = read
        self.count = 0
        self.wrong: list[str] = []
        self.over = threading.Event()
        self._news = threading.Condition()

    def more(self) -> None:
        """Wait until several more answers were read."""
        with self._news:
            enough = self.count + 2 * CLIENTS
            assert self._news.wait_for(lambda: self.count >= enough or bool(self.wrong), 60)

    def _client(self, first: int) -> None:
        web = HTTPConnection(self.cell.url.removeprefix("http://"), timeout=60)  # httpx costs more than the server
        turn = first
        while not self.over.is_set():
            reader = self.read[turn % len(self.read)]
            turn += 1
            web.request("GET", reader.address)
            answer = web.getresponse()
            said = answer.read()
            with self._news:
                self.count += 1
                self._news.notify()
            if answer.status != 200:
                self.wrong.append(f"{reader.name}: {answer.status} {said!r}")
            else:
                self.wrong += [f"{reader.name}: {fault}" for fault in reader.faults(json.loads(said))]
        web.close()

    @contextmanager
    def clients(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._client, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.over.set()
            for thread in threads:
                thread.join(60)


async def settle(cell: Cell, path: str, word: Trigger = Trigger.SUCCEEDED) -> None:
    """An agent ends the work on one member."""
    await cell.report(path, word, {"id": "i-1"})


def moving(cell: Cell, path: str) -> list[str]:
    """Members with an order, in an order that goes from subgroup to subgroup."""
    names = cell.run(cell.store.resources.list_paths("vm", f"{path}/", "", 100))
    rows = cell.run(cell.store.resources.read_many(names))
    return sorted((p for p in names if rows[p].snapshot.state in MOVING), key=lambda p: p.rpartition("/")[::-1])


def asked(web: httpx.Client, path: str, action: str, **body: Any) -> str:
    answer = web.post(f"/v1/resources{path}?action={action}", json=body or None)
    assert answer.status_code == 202, answer.text
    operation: str = answer.json()["operation"]["id"]
    return operation


def carried(
    cell: Cell,
    web: httpx.Client,
    path: str,
    read: list[Reader],
    action: str,
    on: str = "",
    more: Callable[[], object] = int,
) -> list[str]:
    """An action on a group, or on something in it, is carried out member by member, with `more` before each; what
    was read of it after its end, and was older."""
    body = {"spec": {"by": 1}} if action.startswith("scale") else {}
    operation = asked(web, on or path, action, **body)
    cell.run(cell.idle())
    for member in moving(cell, path):
        more()
        cell.run(settle(cell, member))
    until = time.monotonic() + 60
    while web.get(f"/v1/operations/{operation}").json()["outcome"] is None:
        assert time.monotonic() < until
    stale = []
    for reader in read:
        said = web.get(reader.address).json()
        target = said.get("targetAction", said.get("target_action"))
        members = (
            {vm["status"] for vm in said["vm"]}
            if "vm" in said
            else {name.removeprefix("count") for name, n in said["counts"].items() if n}
        )
        if target != NONE or MOVING & members:
            stale.append(f"{reader.name} after {action}: target {target}, members {sorted(members)}")
    return stale


def agree(cell: Cell, web: httpx.Client, ns: str, share: tuple[str, ...], many: int) -> None:
    group(cell, web, ns, "web", front=3, back=2)
    path, read = f"/{ns}/web", [reader for reader in readers(ns, "web", "front") if reader.name in share]
    first = SHARES.index(share) * len(ACTIONS) // len(SHARES)
    answers = Answers(cell, read)
    stale: list[str] = []
    with answers.clients():
        for action, below in cycle(ACTIONS[first:] + ACTIONS[:first]):
            if answers.count >= many // len(SHARES) or answers.wrong or stale:
                break
            stale += carried(cell, web, path, read, action, path + below, answers.more)
    assert not answers.wrong, Counter(answers.wrong).most_common(5)
    assert not stale, stale[:5]


@pytest.mark.req("S0-07", "S0-08", "S0-10")
@pytest.mark.parametrize("share", SHARES, ids="+".join)
def test_answers_during_actions_contain_no_contradiction(
    cell: Cell, web: httpx.Client, ns: str, share: tuple[str, ...]
) -> None:
    agree(cell, web, ns, share, FEW)


@pytest.mark.long
@pytest.mark.req("S0-07", "S0-08", "S0-10")
@pytest.mark.parametrize("share", SHARES, ids="+".join)
def test_ten_thousand_answers_during_actions_contain_no_contradiction(
    cell: Cell, web: httpx.Client, ns: str, share: tuple[str, ...]
) -> None:
    agree(cell, web, ns, share, MANY)


@pytest.mark.req("S0-10")
def test_answer_after_end_is_not_older_though_nothing_was_counted_yet(cell: Cell, web: httpx.Client, ns: str) -> None:
    group(cell, web, ns, "web", front=2, back=1)
    path, read = f"/{ns}/web", readers(ns, "web", "front")
    with cell.unnumbered():
        for action in ("suspend", "resume", "terminate"):
            assert carried(cell, web, path, read, action) == []
            for reader in read:
                assert list(reader.faults(web.get(reader.address).json())) == []
            resource = web.get(f"/v1/resources{path}").json()
            assert list(resource_faults(resource)) == []
            listed = web.get("/v1/resources", params={"kind": "mci", "below": f"/{ns}"}).json()["items"]
            assert [item["members"] for item in listed] == [resource["members"]]
            (node,) = web.get("/v1/tree", params={"below": f"/{ns}"}).json()["items"]
            assert node["counts"]["vm"] == resource["members"]
        assert web.delete(f"/tumblebug/ns/{ns}/mci/web").status_code == 200


@pytest.mark.req("S0-10")
def test_infrastructure_has_a_target_while_members_move(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", front=2, back=1)
    path = f"/{ns}/web"
    for on, action, target in (
        (f"{path}/front", "scale-out", ("ScaleOut", "Running")),
        (f"{path}/front", "suspend", ("Suspend", "Suspended")),
        (f"{path}/back/1", "reboot", ("Reboot", "Running")),
    ):
        asked(web, on, action, **({"spec": {"by": 1}} if action == "scale-out" else {}))
        cell.run(cell.idle())
        said = web.get(f"{mci}?option=status").json()
        assert (said["targetAction"], said["targetStatus"]) == target
        shown = web.get(f"/v1/status{path}").json()
        assert (shown["target_action"], shown["target_status"]) == (action.capitalize(), target[1])
        assert not shown["stable"]
        for member in moving(cell, path):
            cell.settle(member)
        said = web.get(f"{mci}?option=status").json()
        assert (said["targetAction"], said["targetStatus"]) == (NONE, NONE)


@pytest.mark.req("S0-07")
def test_group_has_one_state_word_everywhere_after_every_change(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", front=1, back=2)
    path = f"/{ns}/web"

    def words(of: str) -> set[str]:
        """The state of a group, wherever one is shown; as the controller records it last."""
        cell.run(cell.idle())
        counts = web.get(f"/v1/status{of}").json()
        nodes = web.get("/v1/tree", params={"below": of.rpartition("/")[0]}).json()["items"]
        listed = web.get("/v1/resources", params={"below": of.rpartition("/")[0], "limit": 1000}).json()["items"]
        shown = {
            web.get(f"/v1/resources{of}").json()["state"],
            counts["resource"]["state"],
            counts["summary"].removeprefix("Partial-").partition(":")[0],
            *(node["state"] for node in nodes if node["path"] == of),
            *(item["state"] for item in listed if item["path"] == of),
        }
        if of == path:
            shown.add(web.get(mci).json()["status"].removeprefix("Partial-").partition(":")[0])
        cell.run(GroupStateReconciler(cell.executor)([f"{path}/front", f"{path}/back"]))
        row = cell.run(cell.store.resources.read(of))
        assert row is not None
        return shown | {row.snapshot.state}

    cell.rest(f"{path}/front", "Running")
    cell.rest(f"{path}/back", "Running")
    asked(web, f"{path}/back", "reboot")
    cell.run(cell.idle())
    cell.settle(f"{path}/back/1", Trigger.FAILED)
    cell.settle(f"{path}/back/2")
    assert (words(path), words(f"{path}/back")) == ({"Running"}, {"Failed"})
    asked(web, path, "refine")
    cell.run(cell.idle())
    cell.look(f"{path}/back/1", "broken")  # refine observes before it removes
    cell.settle(f"{path}/back/1")
    assert (words(path), words(f"{path}/back")) == ({"Running"}, {"Running"})
    asked(web, path, "terminate")
    cell.run(cell.idle())
    for vm in ("back/2", "front/1"):
        cell.settle(f"{path}/{vm}")
    assert (words(path), words(f"{path}/front"), words(f"{path}/back")) == ({"Terminated"},) * 3
    trouble = web.get("/v1/overview").json()["unhealthy"]
    assert not [one for one in trouble if one["path"].startswith(path)]
