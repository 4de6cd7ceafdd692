"""The commands of the private cloud, as somebody at a terminal or a script sees them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stead.application.names import uuid_of
from stead.build import Authenticator
from stead.catalog import KINDS
from stead.cli.main import app
from stead.cli.output import Code
from stead.lifecycle.rows import Actor, Trigger
from tests.api.cell import Cell
from tests.cli.remote import Stead, command
from tests.databases import Databases

NOUNS = ("account", "cloudspace", "machine", "disk", "image", "node")


@pytest.fixture(scope="module")
def cell(databases: Databases) -> Iterator[Cell]:
    """A server that asks nobody who they are: everybody is an admin."""
    with databases.migrated() as dsn, Cell(dsn, Authenticator(open=True)) as cell:
        yield cell


@pytest.fixture
def stead(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Stead:
    return command(cell, monkeypatch)


@pytest.fixture
def dc(cell: Cell, stead: Stead) -> str:
    """A datacenter of two nodes; its agent obeys."""
    name = cell.namespace()
    cell.obey(name)
    for node in ("n1", "n2"):
        assert stead("node", "create", f"{name}/{node}").code == Code.DONE
    return name


@pytest.fixture
def space(cell: Cell, ns: str, stead: Stead, dc: str) -> str:
    """A cloudspace."""
    cell.obey(ns)
    assert stead("account", "create", ns).code == Code.DONE
    assert stead("cloudspace", "deploy", f"{ns}/space", "--datacenter", dc).code == Code.DONE
    for image in (f"/{dc}/debian", "/elsewhere/alpine"):
        cell.put(image, "image", "CREATED")
    return f"{ns}/space"


@pytest.fixture
def machine(space: str, stead: Stead) -> str:
    assert stead("machine", "deploy", f"{space}/web", "--node", "n1", "--image", "debian").code == Code.DONE
    return f"{space}/web"


def shown(stead: Stead, noun: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stead(noun, "show", path, "-o", "json").out)
    return found


def verbs(noun: str) -> dict[str, Any]:
    nouns = getattr(typer.main.get_command(app), "commands", {})
    found: dict[str, Any] = nouns[noun].commands
    return found


@pytest.mark.req("S2-01")
@pytest.mark.parametrize("kind", NOUNS)
def test_every_action_has_a_verb(kind: str) -> None:
    asked = {action.name for action in KINDS[kind].actions if {*action.actors} & {Actor.USER, Actor.ADMIN}}
    assert asked == set(verbs(kind)) - {"list", "show"}


# Accounts and cloudspaces


def test_a_cloudspace_is_in_an_account_and_in_a_datacenter(stead: Stead, ns: str, dc: str, cell: Cell) -> None:
    words = ("cloudspace", "deploy", f"{ns}/space", "--datacenter", dc)
    assert stead(*words[:-2]).code == Code.USAGE
    cell.obey(ns)
    assert stead("account", "create", ns, "--set", "owner=ann").code == Code.DONE
    assert stead(*words, "--set", "cidr=10.0.0.0/24").code == Code.DONE
    assert shown(stead, "account", ns)["spec"] == {"owner": "ann"}
    found = shown(stead, "cloudspace", f"{ns}/space")
    assert (found["lane"], found["spec"]) == (f"libvirt.{dc}", {"cidr": "10.0.0.0/24"})
    head, row = stead("cloudspace", "list", ns).rows
    assert (head, row) == (["PATH", "STATE", "DATACENTER", "OPERATION"], [f"/{ns}/space", "DEPLOYED", dc])
    head, row = stead("account", "list", ns).rows  # this, and below it
    assert (head, row[:2]) == (["PATH", "STATE", "CLOUDSPACES", "OPERATION"], [f"/{ns}", "CONFIRMED"])
    assert stead("cloudspace", "list", f"{ns}/space", "-o", "name").out == f"/{ns}/space\n"


# Machines


@pytest.mark.req("S2-01")
def test_a_machine_is_where_its_cloudspace_is(stead: Stead, space: str, dc: str) -> None:
    path = f"{space}/web"
    asked = ("--image", "debian", "--cpus", "2", "--memory", "4G", "--disk", "20480", "--set", "kernel=/boot/vmlinuz")
    made = stead("machine", "deploy", path, *asked)
    assert (made.code, made.rows[1][1:]) == (Code.DONE, ["deploy", f"/{path}", "succeeded"])
    found = shown(stead, "machine", path)
    rest = {"cpu": 2, "memory": 4096, "disk": 20480, "kernel": "/boot/vmlinuz"}
    assert found["spec"] == {"image": f"/{dc}/debian", "node": f"/{dc}/n1", **rest}
    assert (found["state"], found["lane"]) == ("RUNNING", f"libvirt.{dc}")
    head, row = stead("machine", "list", space).rows
    assert (head, row) == (["PATH", "STATE", "NODE", "IMAGE", "OPERATION"], [f"/{path}", "RUNNING", "n1", "debian"])
    head, row = stead("machine", "list", space, "-o", "wide").rows
    assert row[4:7] == ["2", "4G", dc]


def test_what_is_said_counts_more_than_what_a_file_says(stead: Stead, space: str, dc: str, tmp_path: Path) -> None:
    file = tmp_path / "machine.yaml"
    file.write_text("{cpu: 4, memory: 1024, image: /other/debian}\n")
    asked = ("-f", str(file), "--memory", "2G", "--image", "elsewhere/alpine", "--node", f"{dc}/n2")
    assert stead("machine", "deploy", f"{space}/web", *asked, "--set", "cpu=null").code == Code.DONE
    spec = {"memory": 2048, "image": "/elsewhere/alpine", "node": f"/{dc}/n2"}
    assert shown(stead, "machine", f"{space}/web")["spec"] == spec


@pytest.mark.parametrize(
    "words",
    [
        ("machine", "deploy", "a/b"),
        ("machine", "deploy", "a/b/c", "--memory", "much"),
        ("machine", "deploy", "a/b/c", "--memory", "0"),
        ("machine", "deploy", "a/b/c", "--cpus", "0"),
        ("machine", "deploy", "a/b/c", "--datacenter", "dc", "--image", "no good"),
        ("disk", "create", "a/b/c", "--size", "2T"),
        ("disk", "assign", "a/b/c", "--datacenter", "dc"),
        ("image", "create", "a/b"),
        ("node", "create", "a"),
        ("account", "create", "a/b"),
    ],
)
def test_what_makes_no_sense_is_not_asked_for(stead: Stead, words: tuple[str, ...]) -> None:
    told = stead(*words)
    assert (told.code, told.out) == (Code.USAGE, "")


def test_a_machine_needs_a_cloudspace(stead: Stead, ns: str) -> None:
    told = stead("machine", "deploy", f"{ns}/space/web")
    assert (told.code, f"there is nothing at /{ns}/space" in told.err) == (Code.NOT_FOUND, True)


@pytest.mark.req("S2-05")
def test_a_second_action_is_told_of_the_first(stead: Stead, cell: Cell, ns: str, space: str, machine: str) -> None:
    del cell.obeyed[ns]
    first = stead("machine", "pause", machine, "--detach", "-o", "name").out.strip()
    refused = stead("machine", "stop", machine)
    assert refused.code == Code.REJECTED
    assert f"held by: pause of /{machine} by anonymous since " in refused.err
    assert f"operation {first}" in refused.err
    assert stead("machine", "list", space).rows[1][4:] == ["pause", "to", "PAUSED"]
    cell.settle(f"/{machine}")
    assert shown(stead, "machine", machine)["state"] == "PAUSED"


@pytest.mark.req("S2-06")
def test_a_machine_moves_and_its_state_does_not_show_it(
    stead: Stead, cell: Cell, ns: str, dc: str, space: str, machine: str
) -> None:
    del cell.obeyed[ns]
    assert stead("machine", "migrate", machine, "--detach").code == Code.DONE  # there is one other node
    assert stead("machine", "list", space).rows[1] == [f"/{machine}", "RUNNING", "n1", "debian"]
    assert stead("machine", "list", space, "-o", "wide").rows[1][4:6] == ["n2", dc]
    (order,) = (o for o in cell.sent if o["verb"] == "migrate" and o["members"][0]["path"] == f"/{machine}")
    assert order["members"][0]["spec"] == {"image": f"/{dc}/debian", "node": f"/{dc}/n2"}
    for node in ("n1", "n2"):
        told = stead("node", "show", f"{dc}/{node}")
        assert told.rows[-2:] == [["MACHINE", "STATE", "FROM", "TO"], [f"/{machine}", "RUNNING", "n1", "n2"]]
    cell.settle(f"/{machine}", node="n2")
    assert stead("machine", "list", space).rows[1][2] == "n2"
    assert stead("node", "show", f"{dc}/n1").rows[-1] == ["machines", "0"]
    assert stead("node", "create", f"{dc}/n3").code == Code.DONE
    stead("machine", "migrate", machine, "--to", "n3", "--detach")
    assert shown(stead, "machine", machine)["next_spec"]["node"] == f"/{dc}/n3"
    assert stead("machine", "migrate", f"{dc}/n1/x").code == Code.NOT_FOUND


def test_there_has_to_be_somewhere_to_go(stead: Stead, dc: str, machine: str) -> None:
    assert stead("node", "decommission", f"{dc}/n2").code == Code.DONE
    nowhere = stead("machine", "migrate", machine)
    assert (nowhere.code, "its node is DECOMMISSIONED" in nowhere.err) == (Code.REJECTED, True)


@pytest.mark.req("S2-01")
def test_image_that_cannot_be_used_is_rejected_at_admission(stead: Stead, cell: Cell, space: str, dc: str) -> None:
    words = ("machine", "deploy", f"{space}/web", "--node", "n1", "--image")
    for state in ("DISABLED", "DELETED", "CREATING"):
        cell.put(f"/{dc}/debian", "image", state)
        told = stead(*words, "debian")
        assert (told.code, f"its image is {state}" in told.err) == (Code.REJECTED, True)
    none = stead(*words, "none")
    assert (none.code, "its image is not there" in none.err) == (Code.REJECTED, True)
    cell.put(f"/{dc}/debian", "image", "CREATED")
    assert stead(*words, "debian").code == Code.DONE


def test_claims_above_a_path_are_listed_with_it(stead: Stead, cell: Cell, ns: str, space: str, machine: str) -> None:
    assert stead("claim", "list", "--below", machine).rows[1:] == []
    del cell.obeyed[ns]
    assert stead("cloudspace", "disable", space, "--detach").code == Code.DONE
    rows = stead("claim", "list", "--below", machine).rows[1:]
    assert [row[:3] for row in rows if row[0] == f"/{space}"] == [[f"/{space}", "exclusive", "disable"]]


# Disks


@pytest.mark.req("S2-01")
def test_a_disk_is_made_for_a_machine_or_for_none(stead: Stead, cell: Cell, space: str, machine: str) -> None:
    data, spare = f"{space}/data", f"{space}/spare"
    assert stead("disk", "assign", data, "--machine", "web", "--size", "2G").code == Code.DONE
    assert shown(stead, "disk", data)["spec"] == {"size": 2048, "machine": f"/{machine}"}
    assert stead("disk", "create", spare, "--size", "100").code == Code.DONE
    head, *rows = stead("disk", "list", space).rows
    assert head == ["PATH", "STATE", "MACHINE", "SIZE", "OPERATION"]
    assert rows == [[f"/{data}", "ASSIGNED", f"/{machine}", "2G"], [f"/{spare}", "CREATED", "100M"]]
    cell.told(f"/{data}", "ASSIGNED", machine=f"/{machine}")
    assert stead("disk", "detach", data).code == Code.DONE
    cell.told(f"/{data}", "CREATED", machine=None)
    assert stead("disk", "list", space).rows[1] == [f"/{data}", "CREATED", "2G"]


def test_a_disk_is_attached_to_the_machine_that_is_named(stead: Stead, space: str, machine: str) -> None:
    data = f"{space}/data"
    stead("disk", "create", f"{space}/spare")
    assert stead("disk", "attach", f"{space}/spare").code == Code.USAGE  # to which?
    stead("disk", "create", data, "--machine", "web")
    assert shown(stead, "disk", data)["spec"] == {"machine": f"/{machine}"}
    attached = stead("disk", "attach", data, "--machine", "web", "-o", "json")
    told = json.loads(attached.out)[0]
    assert (told["action"], told["path"], told["request"]["spec"]) == (
        "attach-disk",
        f"/{machine}",
        {"disk": f"/{data}"},
    )
    assert shown(stead, "disk", data)["state"] == "ASSIGNED"
    assert stead("disk", "attach", machine).code == Code.NOT_FOUND


def test_a_disk_goes_from_one_machine_to_another(stead: Stead, cell: Cell, space: str, machine: str) -> None:
    data = f"{space}/data"
    stead("disk", "create", data, "--size", "2G", "--machine", "web")
    cell.put(f"/{space}/db", "machine", "RUNNING")
    assert stead("disk", "attach", data, "--machine", "db").code == Code.DONE
    assert shown(stead, "disk", data)["spec"] == {"size": 2048, "machine": f"/{space}/db"}


# Images and nodes


def test_an_image_is_a_copy_of_a_file(stead: Stead, dc: str) -> None:
    assert stead("image", "create", f"{dc}/debian", "--from", "/srv/debian.qcow2").code == Code.DONE
    found = shown(stead, "image", f"{dc}/debian")
    assert (found["lane"], found["spec"]) == (f"libvirt.{dc}", {"file": "/srv/debian.qcow2"})
    head, row = stead("image", "list", dc).rows
    assert (head, row) == (
        ["PATH", "STATE", "SOURCE", "OPERATION"],
        [f"/{dc}/debian", "CREATED", "/srv/debian.qcow2"],
    )


@pytest.mark.req("S2-11")
def test_a_node_shows_its_machines_and_how_far_its_maintenance_is(
    stead: Stead, cell: Cell, dc: str, machine: str
) -> None:
    node = f"{dc}/n1"
    assert stead("node", "list", dc).rows[1] == [f"/{node}", "ENABLED", f"libvirt.{dc}"]
    refused = stead("node", "decommission", node)
    assert (refused.code, "[not-empty]" in refused.err) == (Code.REJECTED, True)
    operation = stead("node", "maintain", node, "--detach", "-o", "name").out.strip()
    cell.run(cell.store.operations.set_message(uuid_of(operation), "1 machine still on it"))
    told = stead("node", "show", node)
    assert ["message", "1", "machine", "still", "on", "it"] in told.rows
    assert told.rows[-1] == [f"/{machine}", "RUNNING", "n1"]
    found = shown(stead, "node", node)
    assert (found["state"], found["machines"]) == ("PUTTING_IN_MAINTENANCE", [f"/{machine}"])
    assert found["message"] == "1 machine still on it"
    assert stead("node", "show", node, "-o", "name").out == f"/{node}\n"
    cell.numbered()
    past = stead("node", "show", node, "--at", "2999-01-01T00:00:00Z")
    assert ["state", "PUTTING_IN_MAINTENANCE"] in past.rows
    assert "machines" not in past.out
    assert stead("node", "show", machine.rpartition("/")[0]).code == Code.NOT_FOUND
    assert stead("node", "show", f"{dc}/none").code == Code.NOT_FOUND


# The recycle bin


@pytest.mark.req("S2-08")
def test_what_was_deleted_lies_in_the_bin_until_it_is_destroyed(
    stead: Stead, cell: Cell, ns: str, space: str, machine: str
) -> None:
    stead("disk", "create", f"{space}/data")
    assert stead("bin", ns).rows == [["PATH", "KIND", "STATE", "SINCE", "DESTROYED", "AT"]]
    assert stead("machine", "delete", machine).code == Code.DONE
    assert stead("disk", "delete", f"{space}/data").code == Code.DONE
    _, disk, deleted = stead("bin", ns).rows
    assert (disk[:3], deleted[:3]) == ([f"/{space}/data", "disk", "DELETED"], [f"/{machine}", "machine", "DELETED"])
    since, until = deleted[3:]
    assert since[:10] < until[:10]
    assert shown(stead, "machine", machine)["timers"]["expiry"].startswith(until[:19])
    assert stead("bin", space, "-o", "name").out == f"/{space}/data\n/{machine}\n"
    assert stead("machine", "restore", machine).code == Code.DONE
    assert stead("bin", space, "-o", "name").out == f"/{space}/data\n"
    cell.obey(ns, Trigger.FAILED)
    failed = stead("machine", "start", machine)
    assert (failed.code, shown(stead, "machine", machine)["state"]) == (Code.FAILED, "ERROR")


# Help

BEGINS = {
    "resume": "pause",
    "start": "stop",
    "enable": "disable",
    "restore": "delete",
    "detach": "attach",
    "detach-disk": "attach-disk",
}
"""What has to be done before."""
WHOLE = {"cloudspace": "DEPLOYED", "machine": "RUNNING", "disk": "CREATED", "image": "CREATED"}
"""What an agent observes of each."""


WITH_MACHINE = {
    ("disk", "delete-with-machine"): ("DELETED", "ASSIGNED"),
    ("disk", "restore-with-machine"): ("HALTED", "TOBEDELETED"),
    ("disk", "restore-after-machine"): ("DESTROYED", "TOBEDELETED"),
}
"""What a disk's machine is, and the disk, where the disk follows the machine."""


def examples() -> list[str]:
    """The example in the help of every command."""
    return [str(leaf.epilog) for noun in NOUNS for leaf in verbs(noun).values()] + ["Example: stead bin acme/space"]


@pytest.mark.parametrize("example", examples())
def test_the_example_in_the_help_works(cell: Cell, ns: str, stead: Stead, example: str) -> None:
    dc = cell.namespace()
    for namespace in (ns, dc):
        cell.obey(namespace)
    for node in ("n1", "n2"):
        cell.put_in(f"libvirt.{dc}", f"/{dc}/{node}", "node", "ENABLED")
    words = shlex.split(example.removeprefix("Example: stead "))
    noun, verb = words[:2]
    makes = ("create", "deploy", "assign")
    there: dict[str, tuple[str, str, dict[str, str]]] = {
        "image": (f"/{dc}/debian", "CREATED", {}),
        "account": (f"/{ns}", "CONFIRMED", {}),
        "cloudspace": (f"/{ns}/space", "DEPLOYED", {}),
        "machine": (f"/{ns}/space/web", "RUNNING", {"node": f"/{dc}/n1"}),
        "disk": (f"/{ns}/space/data", "CREATED", {"machine": f"/{ns}/space/web"}),
    }
    for kind, (path, state, spec) in there.items():
        if verb in makes and kind == noun:
            break
        cell.put_in("" if kind == "account" else f"libvirt.{dc}", path, kind, state, **spec)
    if (noun, verb) in WITH_MACHINE:
        cell.put(f"/{ns}/space/web", "machine", WITH_MACHINE[noun, verb][0])
        cell.put(f"/{ns}/space/data", "disk", WITH_MACHINE[noun, verb][1], machine=f"/{ns}/space/web")
    elif noun == "node" and verb != "create":
        stead("machine", "destroy", f"{ns}/space/web")
        if verb == "enable":
            cell.rest(f"/{dc}/n1", "MAINTENANCE")
    elif (noun, verb) == ("cloudspace", "destroy"):
        stead("cloudspace", "delete", f"{ns}/space")
    else:
        before = BEGINS.get(verb, "")
        for earlier in filter(None, (BEGINS.get(before, ""), before)):
            more = {"attach": ("--machine", "web"), "attach-disk": ("--disk", "data")}.get(earlier, ())
            assert stead(noun, earlier, words[2].replace("acme", ns).replace("dc", dc), *more).code == Code.DONE
    words = [word.replace("acme", ns) if word.startswith("acme") else word for word in words if word != "--watch"]
    words = [dc if word == "dc" else word.replace("dc/", f"{dc}/") for word in words]
    if verb in ("refresh", "accept-observed"):
        cell.shows(words[2].split("/")[0], WHOLE[noun])
    if verb == "accept-observed":  # what is as recorded has nothing to accept
        cell.state(f"/{words[2]}", "ERROR")
    if verb == "maintain" or (noun == "account" and verb not in ("list", "show")):  # nobody is there who would do it
        words.append("--detach")
    if (noun, verb) == ("node", "create"):
        words[2] = f"{dc}/n9"
    assert stead(*words).code == Code.DONE
