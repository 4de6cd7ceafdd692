"""`stead lifecycle register` and `stead resource`: a kind of one's own from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from stead.cli.output import Code
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_registering import NOTE, UNSAFE
from tests.cli.remote import Stead, command
from tests.databases import Databases


@pytest.fixture(scope="module")
def cell(databases: Databases) -> Iterator[Cell]:
    """One that no other tests have, since kinds are everybody's."""
    with databases.migrated() as dsn, Cell(dsn) as one:
        yield one


@pytest.fixture
def stead(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Stead:
    return command(cell, monkeypatch)


@pytest.fixture
def note(stead: Stead) -> None:
    assert stead("lifecycle", "register", "-", stdin=NOTE).code == Code.DONE


def test_a_kind_comes_and_goes(stead: Stead, tmp_path: Path) -> None:
    file = tmp_path / "memo.yaml"
    file.write_text(NOTE.replace("kind: note", "kind: memo"))
    done = stead("lifecycle", "register", str(file))
    assert (done.code, done.rows[0][:4], done.rows[1][:4]) == (
        Code.DONE,
        ["KIND", "VERSION", "WORLDS", "BY"],
        ["memo", "1", "3", "ann"],
    )
    assert "memo" in stead("lifecycle", "registered", "-o", "name").out.split()
    assert yaml.safe_load(stead("lifecycle", "registered", "memo").out)["kind"] == "memo"
    assert json.loads(stead("lifecycle", "registered", "memo", "-o", "json").out)["version"] == 1
    assert stead("lifecycle", "registered", "vm").code == Code.NOT_FOUND
    gone = stead("lifecycle", "unregister", "memo")
    assert (gone.code, gone.out) == (Code.DONE, "memo is removed\n")
    assert stead("lifecycle", "unregister", "memo").code == Code.NOT_FOUND


def test_why_not_is_told(stead: Stead, tmp_path: Path) -> None:
    nonsense = stead("lifecycle", "register", "-", stdin="kind: [")
    assert (nonsense.code, "not YAML" in nonsense.err) == (Code.USAGE, True)
    unsound = stead("lifecycle", "register", "-", stdin=NOTE.replace("source: [Open, Closed]", "source: Open"))
    assert (unsound.code, "[dead-end]" in unsound.err, "[not-sound]" in unsound.err) == (Code.USAGE, True, True)
    unsafe = stead("lifecycle", "register", "-", stdin=UNSAFE).err.splitlines()
    assert unsafe[0].endswith("is this: [not-safe]")
    assert unsafe[1].startswith("  1. it is ")
    taken = stead("lifecycle", "register", "-", stdin=NOTE.replace("kind: note", "kind: vm"))
    assert (taken.code, "vm is built in" in taken.err) == (Code.REJECTED, True)


def test_resources_of_it_are_made_asked_and_looked_at(stead: Stead, note: None, cell: Cell, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("text: milk\nwhere: shop\n")
    made = stead("resource", "create", "note", "desk/n1", "-f", str(spec), "--set", "where=market")
    assert (made.code, made.rows[1][1:]) == (Code.DONE, ["create", "/desk/n1", "succeeded"])
    assert stead("resource", "list", "note", "desk").rows[1] == ["/desk/n1", "Open", "stable"]
    shown = json.loads(stead("resource", "show", "desk/n1", "-o", "json").out)
    assert (shown["kind"], shown["spec"]) == ("note", {"text": "milk", "where": "market"})
    rehearsed = stead("resource", "request", "desk/n1", "close", "--dry-run")
    assert (rehearsed.code, "Closed" in rehearsed.out) == (Code.DONE, True)
    assert stead("resource", "request", "desk/n1", "close").code == Code.DONE
    refused = stead("resource", "request", "desk/n1", "close")
    assert (refused.code, "allowed actions: delete" in refused.err) == (Code.REJECTED, True)
    unheard = stead("resource", "request", "desk/n1", "burn")
    assert (unheard.code, "[unknown-action]" in unheard.err) == (Code.USAGE, True)
    explained = stead("explain", "desk/n1", "close")
    assert (explained.code, "allowed actions: delete" in explained.out) == (Code.REJECTED, True)
    cell.numbered()
    assert [row[4] for row in stead("journal", "desk/n1").rows[1:3]] == ["create", "close"]
    assert stead("resource", "delete", "desk/n1").code == Code.DONE
    assert stead("resource", "show", "desk/n1").code == Code.NOT_FOUND
    assert stead("resource", "create", "scroll", "desk/s1").code == Code.NOT_FOUND


def test_it_is_for_every_kind(stead: Stead, cell: Cell) -> None:
    cell.obey("net", Trigger.SUCCEEDED)
    made = stead("resource", "create", "network", "net/networks/sim.a.own", "--lane", "sim.a")
    assert made.code == Code.DONE
    assert stead("resource", "list", "network", "net").rows[1][:2] == ["/net/networks/sim.a.own", "Available"]
    assert stead("resource", "delete", "net/networks/sim.a.own", "--detach").code == Code.DONE


def test_a_path_in_the_place_of_a_kind_is_told(stead: Stead) -> None:
    answer = stead("resource", "create", "shop/x", "vm")
    assert answer.code == Code.USAGE
    assert "shop/x is not a kind: the kind comes first" in answer.err
