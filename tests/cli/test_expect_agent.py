"""A mistyped lane at a terminal: rejected with the nearest name, unless `--expect-agent` is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import typer

from stead.catalog import KINDS
from stead.cli.main import app
from stead.cli.output import Code
from stead.store.agents import PresentAgent
from tests.api.cell import Cell, http
from tests.cli.remote import Stead, command
from tests.databases import Databases

TYPED = ("--provider", "aws", "--region", "us-east-9")


@pytest.fixture(scope="module")
def cell(databases: Databases) -> Iterator[Cell]:
    """One of its own, which knows what agents have served."""
    with databases.migrated() as dsn, Cell(dsn, served=True) as cell:
        cell.run(
            cell.store.agents.record_presence([PresentAgent("worker", 1, ["aws.us-east-1"], "1", False)], "edge.")
        )
        yield cell


@pytest.fixture
def stead(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> Stead:
    return command(cell, monkeypatch)


def test_mistyped_region_is_rejected_with_nearest_name_unless_agent_is_expected(cell: Cell, stead: Stead) -> None:
    ns = cell.namespace()
    for more in ((), ("--dry-run",)):
        answer = stead("vm", "create", f"{ns}/m/g/1", *TYPED, *more)
        assert (answer.code, answer.out) == (Code.REJECTED, "")
        assert "no agent has ever served the lane aws.us-east-9; did you mean aws.us-east-1?" in answer.err
        assert "--expect-agent" in answer.err
        assert "[lane-not-served]" in answer.err
    assert stead("vm", "create", f"{ns}/m/g/1", *TYPED, "--dry-run", "--expect-agent").code == Code.DONE
    assert stead("vm", "create", f"{ns}/m/g/1", *TYPED, "--expect-agent", "--detach").code == Code.DONE


def test_rejection_for_lane_is_in_the_journal(cell: Cell, stead: Stead) -> None:
    ns = cell.namespace()
    stead("vm", "create", f"{ns}/m/g/1", *TYPED)
    cell.numbered()
    assert "lane-not-served" in stead("journal", ns, "-o", "json").out


def test_request_over_http_says_that_an_agent_comes_later(cell: Cell) -> None:
    body = {"kind": "vm", "spec": {"provider": "aws", "region": "us-east-9"}}
    with http(cell) as web:
        answer = web.post(f"/v1/resources/{cell.namespace()}/m/g/1", json=body)
        assert (answer.status_code, answer.json()["type"]) == (409, "urn:stead:problem:lane-not-served")
        assert web.post(f"/v1/resources/{cell.namespace()}/m/g/1", json=body | {"expect_agent": True}).is_success


NO_LANE = {
    "account": "an account is on no lane",
    "cloudlet": "the lane follows from its path, and its agent comes later",
    "cluster": "the lane is the one of its site",
    "app": "the lane is the one of its site",
    "lease": "it names no lane: hosts do",
    "job": "it is made by a deploy",
    "service": "it is made by a deploy",
}
"""Commands that make something without naming a lane."""


def test_every_command_that_makes_something_accepts_expect_agent() -> None:
    root = typer.main.get_command(app)
    makes = re.compile("create|deploy|assign")
    lacking = set()
    for noun, group in root.commands.items():  # type: ignore[attr-defined]
        for verb, made in getattr(group, "commands", {}).items():
            options = {word for param in made.params for word in param.opts}
            if makes.fullmatch(verb) and "--dry-run" in options and "--expect-agent" not in options:
                lacking.add(noun)
    assert lacking <= NO_LANE.keys()
    assert KINDS.keys() >= {"vm", "mci"}
