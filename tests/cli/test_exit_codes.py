"""What the exit code of a command that waits says, for every such command and every way in which an operation ends.

All of them end in one function, as `test_waiting` shows; so what holds for one that waits holds for all.
"""

from __future__ import annotations

import json
from uuid import uuid4

import httpx
import pytest

from stead.application.names import operation_id
from stead.catalog import KINDS
from stead.cli import progress
from stead.cli.output import Code
from stead.lifecycle.decision import Outcome
from stead.lifecycle.rows import Trigger
from tests.api.cell import INFRASTRUCTURE, Cell
from tests.api.test_groups import group
from tests.api.test_resources import running
from tests.cli.remote import Stead
from tests.cli.test_waiting import asking, calls, waiting

INSERT = """
INSERT INTO ended_operations (id, path, kind, action, principal, total, remaining, failed, outcome)
VALUES ($1, $2, $3, $4, 'ann', 3, 0, $5, $6)
"""
MEMBER = "INSERT INTO operation_members (operation, path, outcome, says) VALUES ($1, $2, $3, $4)"
OTHERWISE = {Outcome.SUCCEEDED: Code.DONE, Outcome.REJECTED: Code.REJECTED}


def ended(cell: Cell, outcome: str, kind: str = "mci", action: str = "suspend", members: tuple[str, ...] = ()) -> str:
    """An operation that has ended, with what became of some of its members."""
    id, path = uuid4(), f"/{cell.namespace()}/web"

    async def insert() -> None:
        await cell._hand.execute(INSERT, id, path, kind, action, members.count("failed"), outcome)
        for number, how in enumerate(members):
            await cell._hand.execute(MEMBER, id, f"{path}/g/{number}", how, f"{action} cannot start in Failed")

    cell.run(insert())
    return operation_id(path, id)


def test_every_command_that_waits_ends_through_the_function_that_judges() -> None:
    assert {name for name in waiting() | asking() if progress.conclude not in calls(name)} == set()
    assert progress.conclude in calls("stead operation watch")
    assert progress.conclude in calls("stead operation wait")


@pytest.mark.parametrize("outcome", Outcome)
def test_outcome_of_any_operation_decides_the_exit_code(cell: Cell, stead: Stead, outcome: Outcome) -> None:
    for verb in ("wait", "watch"):
        answer = stead("operation", verb, ended(cell, outcome))
        assert answer.code == OTHERWISE.get(outcome, Code.FAILED), (verb, answer.err)


MEMBERS = {
    (): Code.DONE,
    ("unchanged",): Code.DONE,
    ("skipped", "unchanged"): Code.PARTIAL,
    ("skipped", "skipped"): Code.PARTIAL,
}


@pytest.mark.parametrize("kind", sorted(kind.kind for kind in KINDS.values() if kind.members))
def test_members_that_were_skipped_make_a_partial_success_of_every_kind_of_group(
    cell: Cell, stead: Stead, kind: str
) -> None:
    for members, code in MEMBERS.items():
        answer = stead("operation", "wait", ended(cell, Outcome.SUCCEEDED, kind, members=members))
        skipped = members.count("skipped")
        assert answer.code == code, (members, answer.err)
        assert (f"{skipped} member{'s' * (skipped > 1)} skipped" in answer.err) == bool(skipped)
        assert (f"{skipped}: suspend cannot start in Failed" in answer.err) == bool(skipped)
    answer = stead("operation", "wait", ended(cell, Outcome.FAILED, kind, members=("skipped", "failed")))
    assert answer.code == Code.FAILED
    assert "1 member skipped" in answer.err


def test_rollback_that_was_asked_for_is_success_for_every_kind(cell: Cell, stead: Stead) -> None:
    taking_back = {
        (kind.kind, action.name) for kind in KINDS.values() for action in kind.actions if action.signals
    } | {(kind, "undo") for kind in KINDS}
    found = set()
    for kind, action in taking_back:
        id = ended(cell, Outcome.ROLLED_BACK, kind, action)
        if stead("operation", "wait", id).code == Code.DONE:
            found.add((kind, action))
    going_on = {("mci", "continue")}
    assert found == taking_back - going_on


def test_group_action_with_a_member_that_cannot_act_ends_with_6(
    cell: Cell, ns: str, web: httpx.Client, stead: Stead
) -> None:
    path = group(cell, web, ns, 3)
    running(cell, web, f"{path}/g/3")
    cell.rest(f"{path}/g/3", "Failed")
    cell.obey(ns)
    assert stead("mci", "suspend", path, "--detach").code == Code.DONE
    cell.run(cell.idle())
    cell.rest(path, "Suspended")
    resumed = stead("mci", "resume", path)
    assert resumed.code == Code.PARTIAL
    assert "1 member skipped" in resumed.err
    assert "1: resume cannot start in Failed" in resumed.err
    cell.rest(path, "Running")
    web.post(f"/v1/resources{path}/g/1?action=suspend")
    cell.run(cell.idle())
    again = stead("mci", "resume", path, "-o", "json")  # two run already: there is nothing to do with them
    assert again.code == Code.PARTIAL
    (operation,) = json.loads(again.out)
    assert list(operation["skipped"].values()) == [1]
    cell.rest(path, "Running")
    cell.shows(ns, "broken")
    refined = stead("mci", "refine", path)  # it is about members that failed, and about no others
    assert (refined.code, "skipped" in refined.err) == (Code.DONE, False)


def test_group_action_with_a_member_that_fails_ends_with_1(
    cell: Cell, ns: str, web: httpx.Client, stead: Stead
) -> None:
    path = group(cell, web, ns, 2)
    cell.rest(f"{path}/g/0", "Failed")
    cell.obey(ns, Trigger.FAILED)
    answer = stead("mci", "suspend", path)
    assert answer.code == Code.FAILED
    assert "1 member skipped" in answer.err


def test_withdraw_that_worked_ends_with_0(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"/{ns}/held"
    assert stead("mci", "create", path, "-f", "-", "--hold", stdin=json.dumps(INFRASTRUCTURE)).code == Code.DONE
    cell.prepared(path)
    cell.obey(ns)
    answer = stead("mci", "withdraw", path)
    assert (answer.code, "error" in answer.err) == (Code.DONE, False), answer.err
