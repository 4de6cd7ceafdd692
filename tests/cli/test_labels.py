"""Labels, and other fields within fields, set on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stead.cli import spec_options
from stead.cli.output import Code
from tests.api.cell import Cell
from tests.cli.remote import Stead

COMMAND = ("--", "sleep", "1000")


def spec(stead: Stead, noun: str, path: str) -> Any:
    """The spec of a resource."""
    return json.loads(stead(noun, "show", path, "-o", "json").out)["spec"]


def test_label_set_of_a_vm_is_under_labels(cell: Cell, ns: str, stead: Stead) -> None:
    cell.obey(ns)
    at = ("--provider", "sim", "--region", "a", "--set", "labels.keep=yes", "--set", "labels.tier=2")
    assert stead("vm", "create", f"{ns}/m/g/1", *at).code == Code.DONE
    assert spec(stead, "vm", f"{ns}/m/g/1") == {
        "provider": "sim",
        "region": "a",
        "labels": {"keep": "yes", "tier": "2"},
    }


def test_label_set_of_what_has_others_leaves_them(cell: Cell, ns: str, stead: Stead) -> None:
    cell.obey(ns)
    assert stead("cloudlet", "create", f"{ns}/berlin", "--set", "labels.town=Berlin").code == Code.DONE
    assert spec(stead, "cloudlet", f"{ns}/berlin") == {"labels": {"town": "Berlin"}}
    cell.rest(f"/{ns}/berlin", "Ready")
    cluster = f"{ns}/berlin/one"
    assert stead("cluster", "create", cluster, "--set", "labels.keep=yes", "--set", "labels.tier=web").code == 0
    assert stead("cluster", "update", cluster, "--set", "labels.tier=db", "--set", "labels.keep=null").code == 0
    assert spec(stead, "cluster", cluster) == {"labels": {"tier": "db"}}
    app = f"{cluster}/app"
    assert stead("app", "create", app, "--set", "labels.keep=yes", *COMMAND).code == 0
    assert stead("app", "update", app, "--set", "labels.tier=web").code == 0
    assert spec(stead, "app", app) == {"command": list(COMMAND[1:]), "labels": {"keep": "yes", "tier": "web"}}


def test_fields_within_fields_are_set_in_turn() -> None:
    fields = spec_options.set_fields(["health.tcp.port=80", "health.every=5", "labels={a: b}", "labels.c=d"])
    assert spec_options.merged({"health": {"grace": 9}}, fields) == {
        "health": {"grace": 9, "tcp": {"port": 80}, "every": 5},
        "labels": {"a": "b", "c": "d"},
    }
    assert spec_options.merged({"labels": {"a": "b"}}, spec_options.set_fields(["labels=null"])) == {}


@pytest.mark.parametrize("said", ["cpu.cores=2", ".=1", "labels.=1", ".keep=1", "labels..keep=1"])
def test_field_within_what_has_none_is_a_wrong_use(stead: Stead, ns: str, said: str) -> None:
    answer = stead("vm", "create", f"{ns}/m/g/1", "--set", "cpu=1", "--set", said, "--dry-run")
    assert answer.code == Code.USAGE
    assert f"--set {said.partition('=')[0]}" in answer.err
