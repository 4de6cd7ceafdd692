"""The dialect of document 000 over the wire: its paths, its query parameters and its JSON, field by field."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import datetime
from typing import Any

import httpx
import pytest

from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Actor, Trigger
from tests.api.cell import AGENT, MCI, Cell, http
from tests.api.test_resources import problem

EXAMPLE = """
{
  "id": "mci-01",
  "name": "mci-01",
  "status": "Running:5 (R:5/5)",
  "statusCount": {
    "countTotal": 5,
    "countRunning": 5,
    "countFailed": 0,
    ...
  },
  "targetStatus": "None",
  "targetAction": "None",
  "vm": [...]
}
"""
"""As the document has it."""

COUNTS = (
    "Total",
    "Creating",
    "Running",
    "Failed",
    "Suspended",
    "Rebooting",
    "Terminated",
    "Suspending",
    "Resuming",
    "Terminating",
    "Undefined",
)
"""Of the structure in the document."""

COMMAND = 'curl -X POST "http://localhost:1323/tumblebug/ns/default/mci/my-mci?action=refine"'
"""As the document has it."""

ACTIONS = ("suspend", "resume", "reboot", "terminate", "refine", "continue", "withdraw")
"""As the document lists them; the first four also for one VM."""


def body(name: str, **more: Any) -> dict[str, Any]:
    """What makes an MCI."""
    group = {"name": "g", "subGroupSize": "2", "specId": "sim+a+small", "imageId": "debian-12"}
    return {"name": name, "subGroups": [group], **more}


def group(cell: Cell, web: httpx.Client, ns: str, name: str, **sizes: int) -> str:
    """An MCI at rest, of VMs that run; its address in the dialect. Subgroups come by their names, _ for a dash."""
    path = f"/{ns}/{name}"
    place = {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"}
    for word, size in sizes.items():
        below = f"{path}/{word.replace('_', '-')}"
        for n in range(1, size + 1):
            assert web.post(f"/v1/resources{below}/{n}", json={"kind": "vm", "spec": place}).status_code == 202
            cell.settle(f"{below}/{n}", id=f"i-{n}")
        made = {"kind": "subgroup", "spec": place}
        answer = web.post(f"/v1/resources{below}", json=made, headers={"x-actor": "controller"})
        assert answer.is_success, answer.text
    assert web.post(f"/v1/resources{path}", json=MCI).status_code == 202
    cell.rest(path, "Running")
    cell.numbered()
    return f"/tumblebug/ns/{ns}/mci/{name}"


def stands(cell: Cell, web: httpx.Client, mci: str) -> dict[str, Any]:
    """How an MCI stands when all that was said has been counted."""
    cell.run(cell.idle())
    cell.numbered()
    said: dict[str, Any] = web.get(f"{mci}?option=status").raise_for_status().json()
    return said


def targets(said: dict[str, Any]) -> tuple[str, str, str]:
    return said["status"], said["targetAction"], said["targetStatus"]


async def failed(cell: Cell, path: str, error: str) -> None:
    """An agent says why it could not do what was asked."""
    row = await cell.store.resources.read(path)
    assert row is not None
    taken = await cell.custody.take(AGENT, {path: row.snapshot.fence})
    await cell.executor.apply([TransitionInput(path, Report(Trigger.FAILED, taken[path]), detail={"error": error})])


# Looking


@pytest.mark.req("S0-19", "S0-08", "S0-10")
def test_the_status_of_an_mci_is_as_the_document_shows_it(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "mci-01", front=3, back=2)
    said = web.get(f"{mci}?option=status").json()
    shown = json.loads(EXAMPLE.replace(",\n    ...", "").replace("[...]", "[]"))
    assert list(said) == list(shown)
    assert {k: v for k, v in said.items() if k not in ("vm", "statusCount")} == {
        k: v for k, v in shown.items() if k not in ("vm", "statusCount")
    }
    assert said["statusCount"].items() >= shown["statusCount"].items()
    assert said["statusCount"] == {f"count{state}": 5 if state in ("Total", "Running") else 0 for state in COUNTS}
    assert [vm["id"] for vm in said["vm"]] == ["back-1", "back-2", "front-1", "front-2", "front-3"]
    vm = said["vm"][0]
    assert vm.pop("createdTime")
    assert vm == {
        "id": "back-1",
        "name": "back-1",
        "subGroupId": "back",
        "status": "Running",
        "targetStatus": "None",
        "targetAction": "None",
        "connectionName": "sim-a",
        "cspResourceId": "i-1",
        "publicIP": "",
        "systemMessage": "",
    }


@pytest.mark.req("S0-19")
def test_what_there_is_can_be_looked_at(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", front=2, back=1)
    group(cell, web, ns, "other", g=1)
    whole = web.get(mci).json()
    assert whole["spec"] == MCI["spec"]
    assert [(one["id"], one["subGroupSize"], one["status"]) for one in whole["subGroups"]] == [
        ("back", "1", "Running:1 (R:1/1)"),
        ("front", "2", "Running:2 (R:2/2)"),
    ]
    assert whole["vm"][0].items() >= {"id": "back-1", "specId": "sim+a+small", "imageId": "debian-12"}.items()
    assert web.get(f"{mci}?option=default").json() == whole
    assert web.get(f"{mci}?option=id").json() == {"output": ["back-1", "front-1", "front-2"]}
    assert web.get(f"{mci}/vm/front-2").json() == whole["vm"][2]
    assert web.get(f"{mci}/vm/front-2?option=status").json() == web.get(f"{mci}?option=status").json()["vm"][2]
    assert web.get(f"{mci}/subgroup").json() == {"output": ["back", "front"]}
    front = web.get(f"{mci}/subgroup/front").json()
    assert front == whole["subGroups"][1] | {"output": ["front-1", "front-2"]}
    every = f"/tumblebug/ns/{ns}/mci"
    assert web.get(f"{every}?option=id").json() == {"output": ["other", "web"]}
    listed = web.get(f"{every}?option=status").json()["mci"]
    assert [(one["id"], one["status"], one["vm"]) for one in listed] == [
        ("other", "Running:1 (R:1/1)", []),
        ("web", "Running:3 (R:3/3)", []),
    ]
    assert [one["subGroups"] for one in web.get(every).json()["mci"]][1] == whole["subGroups"]
    assert web.get(f"/tumblebug/ns/{cell.namespace()}/mci").json() == {"mci": []}


def test_as_many_vms_are_shown_as_are_asked_for_and_all_are_counted(
    cell: Cell, web: httpx.Client, ns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stead.application.group_status.PAGE", 2)
    mci = group(cell, web, ns, "web", g=5)
    for limit, there in ((0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (9, 5)):
        said = web.get(f"{mci}?option=status&limit={limit}").json()
        assert [vm["id"] for vm in said["vm"]] == [f"g-{n}" for n in range(1, there + 1)]
        assert said["statusCount"]["countTotal"] == 5
    assert len(web.get(mci).json()["vm"]) == 5


def test_a_vm_is_found_wherever_its_id_splits(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", a=1, a_b=1, a_b_c=2)
    assert web.get(f"{mci}/vm/a-1").json()["subGroupId"] == "a"
    assert web.get(f"{mci}/vm/a-b-1").json()["subGroupId"] == "a-b"
    assert web.get(f"{mci}/vm/a-b-c-2").json()["subGroupId"] == "a-b-c"
    web.post(f"/v1/resources/{ns}/web/a/b-1", json={"kind": "vm", "lane": "sim.a"})
    for answer in (web.get(f"{mci}/vm/a-b-1"), web.post(f"{mci}/vm/a-b-1?action=terminate")):
        said = problem(answer, 422, "invalid")
        assert said["message"] == f"a-b-1 is both /{ns}/web/a-b/1 and /{ns}/web/a/b-1"


def test_what_is_not_there_is_said(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=1)
    for answer in (
        web.get(f"/tumblebug/ns/{ns}/mci/no"),
        web.get(f"/tumblebug/ns/{ns}/mci/no?option=status"),
        web.post(f"/tumblebug/ns/{ns}/mci/no?action=suspend"),
        web.delete(f"/tumblebug/ns/{ns}/mci/no"),
        web.get(f"{mci}/vm/g-2"),
        web.get(f"{mci}/vm/g"),
        web.post(f"{mci}/vm/g-2?action=suspend"),
        web.get(f"{mci}/subgroup/no"),
        web.post(f"{mci}/subgroup/no", json={"numVMsToAdd": "1"}),
    ):
        said = problem(answer, 404, "not-found")
        assert said["message"] == said["detail"]
    assert problem(web.get("/tumblebug/ns/a/b"), 404, "no-such-address")["message"] == "GET /tumblebug/ns/a/b"
    assert "message" not in problem(web.get(f"/v1/resources/{ns}/no"), 404, "not-found")


# Acting


@pytest.mark.req("S0-04", "S0-19")
@pytest.mark.parametrize(
    ("where", "words"), [("?action=", ACTIONS), ("/vm/g-1?action=", ACTIONS[:4]), ("?option=", ("status", "id"))]
)
def test_a_word_that_is_none_is_told_those_that_are(
    cell: Cell, web: httpx.Client, ns: str, where: str, words: tuple[str, ...]
) -> None:
    mci = group(cell, web, ns, "web", g=1)
    send = web.get if "option" in where else web.post
    said = problem(send(f"{mci}{where}explode"), 422, "invalid")
    assert all(f"'{word}'" in said["message"] for word in words)
    if "action" in where:
        assert said["message"].count("'") == 2 * len(words)
        problem(web.post(f"{mci}{where.partition('?')[0]}"), 422, "invalid")


@pytest.mark.req("S0-04", "S0-10", "S0-19")
def test_an_mci_is_suspended_resumed_rebooted_and_terminated(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", front=1, back=1)
    vms = [f"/{ns}/web/{name}/1" for name in ("back", "front")]
    for action, moving, target in (
        ("suspend", "Suspending", "Suspended"),
        ("resume", "Resuming", "Running"),
        ("reboot", "Rebooting", "Running"),
        ("terminate", "Terminating", "Terminated"),
    ):
        answer = web.post(f"{mci}?action={action}")
        assert answer.status_code == 200, answer.text
        said = answer.json()
        assert said["message"] == f"{action.capitalize()} of /{ns}/web is under way"
        assert answer.headers["location"] == f"/v1/operations/{said['operation']}"
        under = stands(cell, web, mci)
        assert targets(under) == (f"{moving}:2 (R:0/2)", action.capitalize(), target)
        assert {targets(vm) for vm in under["vm"]} == {(moving, action.capitalize(), target)}
        cell.settle(vms[0])
        half = stands(cell, web, mci)
        assert targets(half)[1:] == (action.capitalize(), target)
        assert targets(half["vm"][0]) == (target, "None", "None")
        cell.settle(vms[1])
        running = 2 if target == "Running" else 0
        assert targets(stands(cell, web, mci)) == (f"{target}:2 (R:{running}/2)", "None", "None")
        assert web.get(f"/v1/operations/{said['operation']}").json()["outcome"] == "succeeded"
    idle = web.post(f"{mci}/vm/front-1?action=terminate")
    assert (idle.status_code, idle.json()) == (
        200,
        {
            "message": f"Terminate of /{ns}/web/front/1: there is nothing to do",
            "operation": None,
            "status": "Terminated",
        },
    )


@pytest.mark.req("S0-10")
@pytest.mark.parametrize("lost", ["Failed", "Undefined", "Terminated"])
def test_members_that_never_get_there_count_as_there(cell: Cell, web: httpx.Client, ns: str, lost: str) -> None:
    mci = group(cell, web, ns, "web", g=3)
    cell.rest(f"/{ns}/web/g/3", lost)
    assert web.post(f"{mci}?action=suspend").status_code == 200
    cell.run(cell.idle())
    cell.settle(f"/{ns}/web/g/1")
    assert targets(stands(cell, web, mci))[1:] == ("Suspend", "Suspended")
    cell.settle(f"/{ns}/web/g/2", Trigger.FAILED)
    said = stands(cell, web, mci)
    assert targets(said)[1:] == ("None", "None")
    assert [targets(vm) for vm in said["vm"]] == [(state, "None", "None") for state in ("Suspended", "Failed", lost)]


@pytest.mark.req("S0-20")
def test_an_action_under_way_keeps_others_out_and_is_named(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    with http(cell, **{"x-name": "bob"}) as bob:
        operation = bob.post(f"{mci}?action=suspend").json()["operation"]
    cell.run(cell.idle())
    since = datetime.fromisoformat(web.get(f"/v1/resources/{ns}/web").json()["operation"]["since"])
    for answer, code in (
        (web.post(f"{mci}?action=reboot"), "in-progress"),
        (web.post(f"{mci}?action=terminate&force=true"), "in-progress"),
        (web.delete(f"{mci}?option=terminate"), "in-progress"),
        (web.post(f"{mci}/subgroup/g", json={"numVMsToAdd": 1}), "held"),
    ):
        said = problem(answer, 409, code)
        told = re.fullmatch(r"MCI is under Suspend by bob since (\S+), please try later", said["message"])
        assert told, said["message"]
        assert datetime.fromisoformat(told[1]) == since
        assert said["message"] == said["detail"]
        assert said["holder"].items() >= {"operation": operation, "action": "suspend", "principal": "bob"}.items()
        assert datetime.fromisoformat(said["holder"]["since"]) == since
        assert answer.headers["retry-after"]
    one = problem(web.post(f"{mci}/vm/g-1?action=terminate"), 409, "in-progress")
    assert one["message"].startswith("VM g-1 is under Suspend by bob since ")
    joined = web.post(f"{mci}?action=suspend")
    assert joined.json()["operation"] == operation
    assert joined.json()["message"] == f"Suspend of /{ns}/web was under way already"


def test_who_forces_and_gives_no_reason_is_given_one(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    for n in (1, 2):
        web.post(f"{mci}/vm/g-{n}?action=suspend")
        cell.settle(f"/{ns}/web/g/{n}", Trigger.FAILED)
    said = problem(web.post(f"{mci}/vm/g-1?action=terminate"), 409, "wrong-state")
    assert said["message"] == "terminate cannot start in Failed; it could be forced, with a reason"
    for n, query, reason in (
        (1, "", "forced through the tumblebug interface"),
        (2, "&reason=the+disk+is+gone", "the disk is gone"),
    ):
        done = web.post(f"{mci}/vm/g-{n}?action=terminate&force=true{query}").json()
        assert done["status"] == "Terminating"
        assert web.get(f"/v1/operations/{done['operation']}").json()["reason"] == reason
    assert targets(stands(cell, web, mci)) == ("Terminating:2 (R:0/2)", "Terminate", "Terminated")
    other = group(cell, web, ns, "other", g=1)
    web.post(f"{other}/vm/g-1?action=suspend")
    cell.settle(f"/{ns}/other/g/1", Trigger.FAILED)
    problem(web.post(f"{other}?action=terminate"), 409, "no-member")
    done = web.post(f"{other}?action=terminate&force=true").json()
    assert web.get(f"/v1/operations/{done['operation']}").json()["reason"] == "forced through the tumblebug interface"
    assert targets(stands(cell, web, other)) == ("Terminating:1 (R:0/1)", "Terminate", "Terminated")
    problem(web.post(f"{mci}?action=refine&force=true"), 422, "not-forceable")


@pytest.mark.req("S0-04", "S0-19")
def test_the_command_of_the_document_works_as_it_stands_there(cell: Cell, web: httpx.Client) -> None:
    mci = group(cell, web, "default", "my-mci", g=3)
    web.post(f"{mci}/vm/g-2?action=suspend")
    cell.settle("/default/my-mci/g/2", Trigger.FAILED)
    command = shlex.split(COMMAND.replace("http://localhost:1323", cell.url))
    run = subprocess.run(
        [*command, "--silent", "--fail", "--noproxy", "*"], capture_output=True, text=True, check=True
    )
    said = json.loads(run.stdout)
    assert said["message"] == "Refine of /default/my-mci is under way"
    under = stands(cell, web, mci)
    assert targets(under) == ("Partial-Running:2 (R:2/3)", "Refine", "None")
    assert targets(under["vm"][1]) == ("Terminating", "Refine", "None")
    cell.look("/default/my-mci/g/2", "broken")  # refine observes before it removes
    cell.settle("/default/my-mci/g/2")
    after = stands(cell, web, mci)
    assert targets(after) == ("Running:2 (R:2/2)", "None", "None")
    assert [vm["id"] for vm in after["vm"]] == ["g-1", "g-3"]


def test_the_last_error_of_a_vm_is_its_message(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    web.post(f"{mci}/vm/g-2?action=suspend")
    cell.run(failed(cell, f"/{ns}/web/g/2", "QuotaExceeded: no more of these"))
    told = [vm["systemMessage"] for vm in stands(cell, web, mci)["vm"]]
    assert told == ["", "QuotaExceeded: no more of these"]


def test_failed_mci_says_why_it_failed(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = f"/tumblebug/ns/{ns}/mci/web"
    assert web.post(f"/tumblebug/ns/{ns}/mci", json=body("web")).is_success
    assert web.get(mci).json()["systemMessage"] == ""
    cell.run(unprepared(cell, f"/{ns}/web", "sim.a has no spec smal; did you mean small?"))
    said = web.get(mci).json()
    assert (said["status"], said["systemMessage"]) == ("Failed", "sim.a has no spec smal; did you mean small?")


async def unprepared(cell: Cell, path: str, error: str) -> None:
    """The controller says why it could not prepare an infrastructure."""
    row = await cell.store.resources.read(path)
    assert row is not None
    word = Report(Trigger.FAILED, row.snapshot.fence, actor=Actor.CONTROLLER)
    await cell.executor.apply([TransitionInput(path, word, principal="controller", detail={"error": error})])


# Making and removing


@pytest.mark.req("S0-19")
@pytest.mark.parametrize("where", ["mci", "mciDynamic"])
def test_an_mci_is_made_from_the_words_of_the_dialect(cell: Cell, web: httpx.Client, ns: str, where: str) -> None:
    older = {"name": "b", "commonSpec": "sim+eu-west-1+t3.small", "commonImage": "sim+eu-west-1+debian-12"}
    apart = {"name": "c", "subGroupSize": 4, "specId": "m1", "imageId": "debian-12", "connectionName": "sim-eu-1"}
    plain = {"name": "d", "subGroupSize": "", "specId": "x+m1", "imageId": "i", "provider": "sim", "region": "r"}
    nothing = {"rootDiskSize": "default", "rootDiskType": "", "label": {"role": "head"}, "description": "a"}
    groups = [body("")["subGroups"][0] | nothing, older, apart, plain]
    asked = {"name": "web", "description": "Made here", "installMonAgent": "no", "vm": groups, "label": {}}
    answer = web.post(f"/tumblebug/ns/{ns}/{where}", json=asked | {"policyOnPartialFailure": "refine"})
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert answer.headers["location"] == f"/v1/operations/{said['operation']}"
    assert (said["id"], said["vm"], *targets(said)) == ("web", [], "Preparing", "Create", "Running")
    assert web.get(f"/v1/operations/{said['operation']}").json()["request"]["on_partial"] == "refine"
    shown = web.get(f"/tumblebug/ns/{ns}/mci/web").json()
    assert shown["description"] == "Made here"
    assert shown["spec"]["subgroups"][0].pop("labels") == {"role": "head"}
    assert shown["spec"]["subgroups"] == [
        {"name": name, "size": size, "provider": "sim", "region": region, "spec": spec, "image": image}
        for name, size, region, spec, image in (
            ("g", 2, "a", "small", "debian-12"),
            ("b", 1, "eu-west-1", "t3.small", "debian-12"),
            ("c", 4, "eu-1", "m1", "debian-12"),
            ("d", 1, "r", "x+m1", "i"),
        )
    ]
    again = problem(web.post(f"/tumblebug/ns/{ns}/{where}", json=asked), 409, "in-progress")
    assert again["message"].startswith("MCI is under Create by ann since ")


def test_the_same_request_under_the_same_key_makes_one_mci(cell: Cell, web: httpx.Client, ns: str) -> None:
    key = {"Idempotency-Key": ns}
    answers = [web.post(f"/tumblebug/ns/{ns}/mci", json=body("web"), headers=key) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("wrong", "where", "says"),
    [
        ({"specId": "sim+a+small", "region": "b"}, "body.subGroups.0.region", "it is said to be b and a"),
        ({"specId": "small"}, "body.subGroups.0.specId", "it needs specId"),
        ({"imageId": ""}, "body.subGroups.0.imageId", "it needs imageId"),
        ({"rootDiskSize": "50"}, "body.subGroups.0.rootDiskSize", "there is no such thing here; leave it out"),
        ({"vmUserPassword": "x"}, "body.subGroups.0.vmUserPassword", "there is no such thing here; leave it out"),
        ({"subGroupSize": "0"}, "body.subGroups.0.subGroupSize", "it has to be >= 1"),
        ({"subGroupSize": "many"}, "body.subGroups.0.subGroupSize", "Input should be a valid integer"),
        ({"name": "A_B"}, "body.subGroups.0.name", "a name has a-z, 0-9 and dashes"),
        ({"zone": "a"}, "body.subGroups.0.zone", "Extra inputs are not permitted"),
    ],
)
def test_a_subgroup_that_makes_no_sense_is_told_in_its_own_words(
    cell: Cell, web: httpx.Client, ns: str, wrong: dict[str, str], where: str, says: str
) -> None:
    asked = body("web")
    asked["subGroups"][0] |= wrong
    said = problem(web.post(f"/tumblebug/ns/{ns}/mci", json=asked), 422, "invalid")
    assert any(e["location"] == where and e["message"].startswith(says) for e in said["errors"]), said["errors"]
    assert where in said["message"]


def test_each_problem_of_a_subgroup_is_told_once_with_its_field(cell: Cell, web: httpx.Client, ns: str) -> None:
    asked = {"name": "web", "subGroups": [{"name": "a"}, {"name": "b", "specId": "sim+a+small"}]}
    said = problem(web.post(f"/tumblebug/ns/{ns}/mci", json=asked), 422, "invalid")
    assert [(e["location"], e["message"]) for e in said["errors"]] == [
        ("body.subGroups.0.specId", "it needs specId"),
        ("body.subGroups.0.imageId", "it needs imageId"),
        ("body.subGroups.1.imageId", "it needs imageId"),
    ]


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"subGroups": []}, "body.subGroups"),
        ({"vm": body("")["subGroups"]}, "body.vm"),
        ({"installMonAgent": "yes"}, "body.installMonAgent"),
        ({"postCommand": {"command": ["uname"]}}, "body.postCommand"),
        ({"policyOnPartialFailure": "explode"}, "body.policyOnPartialFailure"),
        ({"name": "networks"}, "body.name"),
    ],
)
def test_an_mci_that_makes_no_sense_is_refused(
    cell: Cell, web: httpx.Client, ns: str, wrong: dict[str, Any], where: str
) -> None:
    said = problem(web.post(f"/tumblebug/ns/{ns}/mci", json=body("web") | wrong), 422, "invalid")
    assert [e["location"] for e in said["errors"]] == [where]
    assert problem(web.get(f"/tumblebug/ns/{ns}/mci/web"), 404, "not-found")


@pytest.mark.req("S0-04", "S0-20")
def test_a_held_creation_takes_a_word_and_nothing_else(cell: Cell, web: httpx.Client, ns: str) -> None:
    problem(web.post(f"/tumblebug/ns/{ns}/mci?option=wait", json=body("web")), 422, "invalid")
    operation = web.post(f"/tumblebug/ns/{ns}/mci?option=hold", json=body("web")).json()["operation"]
    mci = f"/tumblebug/ns/{ns}/mci/web"
    early = problem(web.post(f"{mci}?action=continue"), 409, "wrong-state")
    assert early["message"].startswith("MCI is under Create by ann since ")
    assert early["message"].endswith(", please try later: continue cannot start in Preparing")
    cell.prepared(f"/{ns}/web")
    assert targets(stands(cell, web, mci)) == ("Prepared", "Create", "Running")
    held = problem(web.post(f"{mci}?action=suspend"), 409, "in-progress")
    assert held["message"].startswith("MCI is under Create by ann since ")
    assert held["allowed_actions"] == ["continue", "withdraw"]
    assert web.post(f"{mci}?action=continue").json()["operation"] == operation
    assert targets(stands(cell, web, mci)) == ("Creating:2 (R:0/2)", "Create", "Running")


def test_an_mci_with_vms_is_deleted_only_where_that_is_said(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=1)
    said = problem(web.delete(mci), 409, "not-empty")
    assert said["message"] == "it is Running:1 (R:1/1): terminate it first, or say option=terminate"
    problem(web.delete(f"{mci}?option=explode"), 422, "invalid")
    done = web.delete(f"{mci}?option=terminate")
    assert (done.status_code, done.json()["message"]) == (200, f"Terminate of /{ns}/web is under way")
    assert targets(stands(cell, web, mci)) == ("Terminating:1 (R:0/1)", "Terminate", "Terminated")
    other = group(cell, web, ns, "other", g=1)
    web.post(f"{other}?action=terminate")
    cell.run(cell.idle())
    cell.settle(f"/{ns}/other/g/1")
    assert targets(stands(cell, web, other))[0] == "Terminated:1 (R:0/1)"
    cell.obey(ns)
    assert web.delete(other).status_code == 200
    cell.run(cell.idle())
    problem(web.get(other), 404, "not-found")


def test_a_subgroup_is_scaled_out(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=1)
    for wrong in ({}, {"numVMsToAdd": "0"}, {"numVMsToAdd": "x"}, {"numVMsToAdd": 1, "more": 1}):
        problem(web.post(f"{mci}/subgroup/g", json=wrong), 422, "invalid")
    said = web.post(f"{mci}/subgroup/g?action=scaleOut", json={"numVMsToAdd": "2"})
    assert said.status_code == 200, said.text
    assert said.json()["message"] == f"ScaleOut of /{ns}/web/g is under way"
    assert web.get(f"/v1/operations/{said.json()['operation']}").json()["action"] == "scale-out"
    assert [vm["id"] for vm in stands(cell, web, mci)["vm"]] == ["g-1", "g-2", "g-3"]
    under = problem(web.delete(f"{mci}?option=terminate"), 409, "held")
    assert under["message"].startswith("subgroup g is under ScaleOut by ann since ")
    kept = problem(web.post(f"{mci}?action=suspend"), 409, "no-member")
    assert (kept["holder"]["path"], kept["holder"]["action"], kept["holder"]["principal"]) == (
        f"/{ns}/web/g",
        "scale-out",
        "ann",
    )


def test_a_subgroup_is_scaled_in(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=3)
    for wrong in ({}, {"numVMsToAdd": 1}, {"numVMsToRemove": 1, "numVMsToAdd": 1}, {"numVMsToRemove": 0}):
        problem(web.post(f"{mci}/subgroup/g?action=scaleIn", json=wrong), 422, "invalid")
    problem(web.post(f"{mci}/subgroup/g", json={"numVMsToRemove": 1}), 422, "invalid")
    cell.obey(ns)
    said = web.post(f"{mci}/subgroup/g?action=scaleIn", json={"numVMsToRemove": "2"})
    assert (said.status_code, said.json()["message"]) == (200, f"ScaleIn of /{ns}/web/g is under way"), said.text
    cell.run(cell.idle())
    assert [vm["id"] for vm in stands(cell, web, mci)["vm"]] == ["g-1"]


def test_namespaces_are_listed(cell: Cell, web: httpx.Client, ns: str) -> None:
    group(cell, web, ns, "web", g=1)
    listed = web.get("/tumblebug/ns").json()["ns"]
    assert {"id": ns, "name": ns, "description": ""} in listed
    assert ns in web.get("/tumblebug/ns?option=id").json()["output"]
    assert web.get(f"/tumblebug/ns/{ns}").json()["id"] == ns
    problem(web.get("/tumblebug/ns/nothing-is-here"), 404, "not-found")
    problem(web.get("/tumblebug/ns?option=status"), 422, "invalid")


def test_the_vms_of_an_mci_are_listed_by_themselves(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    whole = web.get(mci).json()["vm"]
    assert web.get(f"{mci}/vm").json() == {"vm": whole}
    assert web.get(f"{mci}/vm?option=id").json() == {"output": ["g-1", "g-2"]}
    assert web.get(f"{mci}/vm?option=status").json() == {"vm": web.get(f"{mci}?option=status").json()["vm"]}
    problem(web.get(f"/tumblebug/ns/{ns}/mci/other/vm"), 404, "not-found")


def test_control_addresses_act_like_those_of_the_mci_and_the_vm(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    control = f"/tumblebug/ns/{ns}/control/mci/web"
    cell.obey(ns)
    said = web.get(f"{control}?action=suspend")
    assert (said.status_code, said.json()["message"]) == (200, f"Suspend of /{ns}/web is under way"), said.text
    cell.run(cell.idle())
    assert targets(stands(cell, web, mci))[0] == "Suspended:2 (R:0/2)"
    assert web.get(f"{control}/vm/g-1?action=resume").status_code == 200
    cell.run(cell.idle())
    assert web.get(f"{mci}/vm/g-1?option=status").json()["status"] == "Running"
    problem(web.get(f"{control}?action=explode"), 422, "invalid")
    problem(web.get(control), 422, "invalid")


@pytest.mark.parametrize("shows", [{"sec-fetch-site": "cross-site"}, {"cookie": "stead_session=x"}])
def test_control_by_get_is_not_for_browsers(cell: Cell, web: httpx.Client, ns: str, shows: dict[str, str]) -> None:
    mci = group(cell, web, ns, "web", g=1)
    for place in ("", "/vm/g-1"):
        answer = web.get(f"/tumblebug/ns/{ns}/control/mci/web{place}?action=suspend", headers=shows)
        problem(answer, 403, "cross-origin")
    assert targets(stands(cell, web, mci))[0] == "Running:1 (R:1/1)"


def test_a_vm_is_deleted_by_being_terminated(cell: Cell, web: httpx.Client, ns: str) -> None:
    mci = group(cell, web, ns, "web", g=2)
    cell.obey(ns)
    said = web.delete(f"{mci}/vm/g-1")
    assert (said.status_code, said.json()["message"]) == (200, f"Terminate of /{ns}/web/g/1 is under way"), said.text
    cell.run(cell.idle())
    assert web.get(f"{mci}/vm/g-1?option=status").json()["status"] == "Terminated"
    cell.rest(f"/{ns}/web/g/2", "Failed")
    problem(web.delete(f"{mci}/vm/g-2"), 409, "wrong-state")
    assert web.delete(f"{mci}/vm/g-2?option=force").status_code == 200
    problem(web.delete(f"{mci}/vm/g-9"), 404, "not-found")


def test_labels_are_kept_and_shown(cell: Cell, web: httpx.Client, ns: str) -> None:
    asked = body("web", label={"env": "prod"})
    asked["subGroups"][0]["label"] = {"role": "front"}
    assert web.post(f"/tumblebug/ns/{ns}/mci", json=asked).status_code == 200
    spec = web.get(f"/v1/resources/{ns}/web").json()["spec"]
    assert (spec["labels"], spec["subgroups"][0]["labels"]) == ({"env": "prod"}, {"role": "front"})
    cell.prepared(f"/{ns}/web")
    while cell.run(TimerService(cell.executor).tick()):  # it goes on by itself
        cell.run(cell.idle())
    whole = web.get(f"/tumblebug/ns/{ns}/mci/web").json()
    assert whole["label"] == {"env": "prod"}
    first = asked["subGroups"][0]["name"]
    labels = [vm["label"] for vm in whole["vm"] if vm["subGroupId"] == first]
    assert labels
    assert all(label == {"env": "prod", "role": "front"} for label in labels)
    for wrong in ("text", {"a": 1}):
        said = problem(web.post(f"/tumblebug/ns/{ns}/mci", json=body("other", label=wrong)), 422, "invalid")
        assert all(error["location"].startswith("body.label") for error in said["errors"]), said
