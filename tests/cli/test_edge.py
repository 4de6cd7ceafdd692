"""`stead cloudlet`, `stead cluster` and `stead app`, as somebody at a terminal or a script sees them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer

from stead.catalog import KINDS
from stead.cli.main import app
from stead.cli.output import Code
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.cli.remote import Stead, process, until
from tools.docs.commands import leaves, options

NOUNS = {"cloudlet": "cloudlet", "cluster": "clusterinst", "app": "appinst"}
"""The kind of each noun."""
COMMAND = ("--", "sleep", "1000")


@pytest.fixture
def site(cell: Cell, ns: str, stead: Stead) -> str:
    """A site that is ready; its agent obeys."""
    cell.obey(ns)
    assert stead("cloudlet", "create", f"{ns}/berlin").code == Code.DONE
    cell.rest(f"/{ns}/berlin", "Ready")
    return f"{ns}/berlin"


@pytest.fixture
def cluster(site: str, stead: Stead) -> str:
    path = f"{site}/one"
    assert stead("cluster", "create", path).code == Code.DONE
    return path


def shown(stead: Stead, noun: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stead(noun, "show", path, "-o", "json").out)
    return found


# Sites


@pytest.mark.req("S1-10")
def test_a_site_is_made_and_waits_for_its_agent(ns: str, stead: Stead) -> None:
    made = stead("cloudlet", "create", f"{ns}/berlin", "--set", "town=Berlin", "--reason", "a trial")
    assert made.code == Code.DONE
    assert made.rows[1][1:] == ["create", f"/{ns}/berlin", "running"]
    assert made.err.endswith(f"/{ns}/berlin waits for its agent: stead cloudlet invite {ns}/berlin\n")
    found = shown(stead, "cloudlet", f"{ns}/berlin")
    assert (found["state"], found["lane"], found["spec"]) == ("Init", f"edge.{ns}.berlin", {"town": "Berlin"})
    waited = stead("cloudlet", "create", f"{ns}/bonn", "--wait", "--timeout", "1s")
    assert (waited.code, "It waits" in waited.err) == (Code.TIMED_OUT, False)
    refused = stead("cluster", "create", f"{ns}/berlin/one")
    assert refused.code == Code.REJECTED
    assert "its cloudlet is Init" in refused.err


def test_sites_are_listed_with_their_agents(cell: Cell, ns: str, stead: Stead, site: str) -> None:
    cell.told(f"/{site}", "", agent=f"{ns}-berlin", version="1.2.3")
    head, row = stead("cloudlet", "list", ns).rows
    assert head == ["PATH", "STATE", "SINCE", "AGENT", "VERSION", "OPERATION"]
    assert [*row[:2], *row[3:]] == [f"/{site}", "Ready", f"{ns}-berlin", "1.2.3"]
    assert row[2].startswith("20")
    assert stead("cloudlet", "list", "nowhere").rows == [head]


def test_a_site_on_which_there_is_something_is_not_forgotten(cluster: str, site: str, stead: Stead) -> None:
    refused = stead("cloudlet", "delete", site)
    assert (refused.code, "1 resource remains below it" in refused.err) == (Code.REJECTED, True)
    assert stead("cluster", "delete", cluster).code == Code.DONE
    assert stead("cloudlet", "delete", site, "--detach").code == Code.DONE
    assert shown(stead, "cloudlet", site)["state"] == "DeletePrepare"  # from where a controller's clock leads it on


@pytest.mark.req("S1-10")
def test_site_of_a_lost_agent_is_forgotten_by_an_admin_with_a_reason(
    cell: Cell, web: httpx.Client, stead: Stead, cluster: str, site: str
) -> None:
    cell.state(f"/{site}", "Offline")
    assert stead("cloudlet", "forget", site).code == Code.USAGE  # it needs a reason
    rejected = stead("cloudlet", "forget", site, "--reason", "the machine burnt down")
    assert rejected.code == Code.NOT_ALLOWED
    assert "forget is for admin, not for user" in rejected.err
    body = {"kind": "cloudlet", "reason": "the machine burnt down"}
    accepted = web.post(f"/v1/resources/{site}?action=forget", json=body, headers={"x-actor": "admin"})
    assert accepted.status_code == 202
    assert stead("operation", "wait", accepted.json()["operation"]["id"]).code == Code.DONE
    assert stead("cloudlet", "show", site).code == stead("cluster", "show", cluster).code == Code.NOT_FOUND
    (left,) = json.loads(stead("orphan", "list", "--lane", f"edge.{site.replace('/', '.')}", "-o", "json").out)
    assert (left["path"], left["facts"]["kind"], left["state"]) == (f"/{cluster}", "clusterinst", "Ready")
    assert "the machine burnt down" in stead("journal", site, "-o", "wide").out
    assert stead("cloudlet", "create", site).code == Code.DONE


@pytest.mark.req("S1-11")
def test_an_upgrade_names_a_version_and_a_failed_one_is_resolved(
    cell: Cell, ns: str, stead: Stead, site: str
) -> None:
    cell.obey(ns, Trigger.FAILED)
    failed = stead("cloudlet", "upgrade", site, "--to", "1.2.0")
    assert (failed.code, failed.rows[1][-1]) == (Code.FAILED, "failed")
    (order,) = (o for o in cell.sent if o["verb"] == "upgrade" and o["members"][0]["path"] == f"/{site}")
    assert order["members"][0]["spec"] == {"version": "1.2.0"}
    assert shown(stead, "cloudlet", site)["state"] == "UpdateError"
    assert "its cloudlet is UpdateError" in stead("cluster", "create", f"{site}/one").err
    assert stead("cloudlet", "resolve", site).code == Code.USAGE  # it needs a reason
    refused = stead("cloudlet", "resolve", site, "--reason", "seen to")
    assert refused.code == Code.NOT_ALLOWED
    assert "resolve is for admin, not for user" in refused.err
    assert stead("cloudlet", "upgrade", site).code == Code.USAGE


def test_where_the_bus_lets_everybody_in_nobody_is_invited(ns: str, stead: Stead) -> None:
    told = stead("cloudlet", "invite", f"{ns}/berlin")
    assert (told.code, told.out) == (Code.REJECTED, "")
    assert f"site /{ns}/berlin does not exist yet; create it: stead cloudlet create {ns}/berlin" in told.err
    assert f"--lane edge.{ns}.berlin --name {ns}-berlin --driver process" in told.err


# Clusters and apps


@pytest.mark.req("S1-01")
def test_a_cluster_is_made_changed_and_deleted(cluster: str, site: str, stead: Stead, tmp_path: Path) -> None:
    assert shown(stead, "cluster", cluster)["spec"] == {}
    changed = stead("cluster", "update", cluster, "--set", "memory=64M", "--set", "net=own")
    assert (changed.code, changed.rows[1][1:]) == (Code.DONE, ["update", f"/{cluster}", "succeeded"])
    assert shown(stead, "cluster", cluster)["spec"] == {"memory": "64M", "net": "own"}
    assert stead("cluster", "update", cluster, "--set", "net=null").code == Code.DONE
    assert shown(stead, "cluster", cluster)["spec"] == {"memory": "64M"}
    (tmp_path / "spec.yaml").write_text("{memory: 1G}\n")
    assert stead("cluster", "update", cluster, "-f", str(tmp_path / "spec.yaml"), "--set", "cpu=2").code == Code.DONE
    assert shown(stead, "cluster", cluster)["spec"] == {"memory": "1G", "cpu": 2}
    same = stead("cluster", "update", cluster, "--set", "cpu=2")
    assert (same.code, "has these values already" in same.err) == (Code.USAGE, True)
    assert stead("cluster", "update", cluster).code == Code.USAGE
    stead("app", "create", f"{cluster}/web", *COMMAND)
    head, row = stead("cluster", "list", site).rows
    assert head == ["PATH", "STATE", "CLASS", "APPS", "OPERATION"]
    assert row == [f"/{cluster}", "Ready", "stable", "Ready:1"]
    assert stead("cluster", "delete", cluster).code == Code.DONE
    assert stead("app", "show", f"{cluster}/web").code == Code.NOT_FOUND


@pytest.mark.req("S1-01")
def test_an_app_is_made_changed_and_deleted(cluster: str, stead: Stead, tmp_path: Path) -> None:
    path = f"{cluster}/web"
    made = stead(
        "app", "create", path, "--env", "A=1", "--env", "B=x=y", "--restart", "never", "--", "serve", "-f", "x"
    )
    assert (made.code, made.rows[1][1:]) == (Code.DONE, ["create", f"/{path}", "succeeded"])
    spec = {"command": ["serve", "-f", "x"], "env": {"A": "1", "B": "x=y"}, "restart": "never"}
    assert shown(stead, "app", path)["spec"] == spec
    assert stead("app", "update", path, "--env", "A=2", "--", "serve").code == Code.DONE
    spec |= {"command": ["serve"], "env": {"A": "2", "B": "x=y"}}
    assert shown(stead, "app", path)["spec"] == spec
    assert stead("app", "update", path, "-f", "-", stdin="command: [sleep, '1']").code == Code.DONE
    assert shown(stead, "app", path)["spec"] == {"command": ["sleep", "1"]}
    assert stead("app", "create", f"{cluster}/of-an-image", "--set", "image=nginx").code == Code.DONE
    assert shown(stead, "app", f"{cluster}/of-an-image")["spec"] == {"image": "nginx"}
    assert stead("app", "delete", f"{cluster}/of-an-image").code == Code.DONE
    head, row = stead("app", "list", cluster, "-o", "wide").rows
    assert (head[-2:], row[-2:]) == (["COMMAND", "FAILURE"], ["sleep", "1"])
    assert stead("app", "delete", path).code == Code.DONE
    assert stead("app", "list", cluster, "-o", "name").out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("create", "a/b/c/d"),
        ("create", "a/b/c/d", "-f", "/nowhere.yaml"),
        ("create", "a/b/c/d", "--env", "A", *COMMAND),
        ("create", "a/b/c/d", "--restart", "sometimes", *COMMAND),
        ("create", "a/b/c", *COMMAND),
        ("update", "a/b/c/d"),
        ("logs", "a/b/c"),
    ],
)
def test_an_app_that_makes_no_sense_is_not_asked_for(stead: Stead, words: tuple[str, ...]) -> None:
    told = stead("app", *words)
    assert (told.code, told.out) == (Code.USAGE, "")


@pytest.mark.req("S1-05")
def test_an_error_that_is_kept_is_undone_later(cell: Cell, ns: str, stead: Stead, cluster: str) -> None:
    path = f"{cluster}/web"
    stead("app", "create", path, *COMMAND)
    cell.obey(ns, Trigger.FAILED)
    kept = stead("app", "update", path, "--on-failure", "keep", "--", "bad")
    assert (kept.code, kept.rows[1][-1]) == (Code.FAILED, "failed")
    assert shown(stead, "app", path)["state"] == "UpdateError"
    assert [o["verb"] for o in cell.sent if o["members"][0]["path"] == f"/{path}"] == ["create", "update"]
    cell.obey(ns)
    undone = stead("app", "undo", path, "-o", "json")
    assert (undone.code, json.loads(undone.out)[0]["outcome"]) == (Code.DONE, "rolled_back")
    assert "error" not in undone.err
    found = shown(stead, "app", path)
    assert (found["state"], found["spec"]) == ("Ready", {"command": ["sleep", "1000"]})


def test_what_others_change_meanwhile_is_not_lost(cell: Cell, ns: str, stead: Stead, cluster: str) -> None:
    path = f"{cluster}/web"
    stead("app", "create", path, *COMMAND)
    del cell.obeyed[ns]
    stead("app", "update", path, "--env", "A=1", "--detach")
    assert stead("app", "update", path, "--env", "B=1").code == Code.REJECTED
    cell.settle(f"/{path}")
    assert shown(stead, "app", path)["spec"]["env"] == {"A": "1"}


def test_a_rehearsal_changes_nothing(stead: Stead, cluster: str) -> None:
    path = f"{cluster}/web"
    stead("app", "create", path, *COMMAND)
    before = shown(stead, "app", path)
    assert stead("app", "update", path, "--dry-run", "--env", "A=1").code == Code.DONE
    assert shown(stead, "app", path) == before


@pytest.mark.req("S1-13")
def test_apps_are_watched(cell: Cell, stead: Stead, cluster: str) -> None:
    path = f"{cluster}/web"
    with process(cell, "app", "list", cluster, "--watch") as child:
        assert child.stdout is not None
        assert child.stdout.readline().split()[0] == "PATH"
        stead("app", "create", path, *COMMAND)
        until(child.stdout, [f"/{path}", "Ready", "stable"])
        stead("app", "delete", path)
        until(child.stdout, [f"/{path}", "NotPresent", "absent"])


# Help


def examples() -> list[str]:
    """The example in the help of every command, but of those that need more than a server."""
    nouns = getattr(typer.main.get_command(app), "commands", {})
    leaves = [leaf for noun in NOUNS for leaf in nouns[noun].commands.values()]
    return [str(leaf.epilog) for leaf in leaves if leaf.name not in ("forget", "invite", "logs", "resolve", "undo")]


@pytest.mark.parametrize("example", examples())
def test_the_example_in_the_help_works(cell: Cell, ns: str, stead: Stead, example: str) -> None:
    cell.obey(ns)
    words = shlex.split(example.removeprefix("Example: stead "))
    noun, verb = words[:2]
    if (noun, verb) != ("cloudlet", "create"):
        stead("cloudlet", "create", f"{ns}/berlin")
        cell.rest(f"/{ns}/berlin", "Ready")
        if noun != "cloudlet" and (noun, verb) != ("cluster", "create"):
            stead("cluster", "create", f"{ns}/berlin/one")
        if noun == "app" and verb != "create":
            stead("app", "create", f"{ns}/berlin/one/web", *COMMAND)
    words = [f"{ns}{word.removeprefix('lab')}" if word.startswith("lab") else word for word in words]
    if verb in ("refresh", "accept-observed"):
        cell.shows(ns, "Ready")
    if verb == "accept-observed":  # what is as recorded has nothing to accept
        cell.state(f"/{words[2]}", "UpdateError")
    if verb in ("upgrade", "create", "delete") and noun == "cloudlet":  # nobody is there
        words = [*(word for word in words if word not in ("--wait", "--timeout", "10m", "1h")), "--detach"]
    assert stead(*(word for word in words if word != "--watch")).code == Code.DONE


def test_force_is_offered_only_where_the_action_can_be_forced() -> None:
    commands = dict(leaves())
    edge = [(noun, verb) for noun in NOUNS for verb in ("delete", "undo") if f"stead {noun} {verb}" in commands]
    assert len(edge) == 5
    for noun, verb in edge:
        found = KINDS[NOUNS[noun]].action(verb)
        forceable = "force" in {option.name for option in options(commands[f"stead {noun} {verb}"])}
        assert forceable == (found is not None and found.forceable), (noun, verb)


def test_delete_of_a_site_has_no_option_force(stead: Stead, ns: str) -> None:
    told = stead("cloudlet", "delete", f"{ns}/berlin", "--force")
    assert told.code == Code.USAGE
    assert "--force" in told.err
