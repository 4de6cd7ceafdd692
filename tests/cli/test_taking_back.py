"""A rollback that was asked for and worked is success, for every kind and action that takes something back."""

from __future__ import annotations

import json
from uuid import uuid4

from stead.application.names import operation_id
from stead.catalog import KINDS
from stead.cli.output import Code
from tests.api.cell import INFRASTRUCTURE, Cell
from tests.cli.remote import Stead

INSERT = """
INSERT INTO ended_operations (id, path, kind, action, principal, total, remaining, failed, outcome)
VALUES ($1, $2, $3, $4, 'ann', 3, 0, 0, 'rolled_back')
"""


def undone(cell: Cell, kind: str, action: str) -> str:
    """An operation that was rolled back."""
    id = uuid4()
    path = f"/{cell.namespace()}/web"

    async def insert() -> None:
        await cell._hand.execute(INSERT, id, path, kind, action)

    cell.run(insert())
    return operation_id(path, id)


def test_rollback_that_was_asked_for_is_success_for_every_kind(cell: Cell, stead: Stead) -> None:
    steers = {(kind.kind, action.name) for kind in KINDS.values() for action in kind.actions if action.signals}
    asked = steers | {(kind, "undo") for kind in KINDS} | {("vm", "suspend"), ("mci", "create")}
    found = {one for one in asked if stead("operation", "wait", undone(cell, *one)).code == Code.DONE}
    assert found == asked - {("mci", "continue"), ("vm", "suspend"), ("mci", "create")}


def test_withdraw_that_worked_ends_with_0(cell: Cell, ns: str, stead: Stead) -> None:
    path = f"/{ns}/held"
    created = stead("mci", "create", path, "-f", "-", "--hold", stdin=json.dumps(INFRASTRUCTURE))
    assert created.code == Code.DONE
    cell.prepared(path)
    cell.obey(ns)
    answer = stead("mci", "withdraw", path)
    assert (answer.code, "error" in answer.err) == (Code.DONE, False), answer.err
