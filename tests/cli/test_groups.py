"""`stead operation members` and `stead operation retry --force`, as somebody at a terminal sees them."""

from __future__ import annotations

import httpx
import pytest

from stead.cli.output import Code
from stead.client import Client
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.api.test_groups import ask, group
from tests.cli.remote import Stead


@pytest.mark.req("S0-11", "X-09")
def test_members_that_failed_are_shown_and_tried_once_more(
    cell: Cell, ns: str, web: httpx.Client, stead: Stead
) -> None:
    path = group(cell, web, ns, 2)
    id = ask(cell, web, path, "terminate")
    cell.settle(f"{path}/g/0")
    cell.settle(f"{path}/g/1", Trigger.FAILED)
    shown = stead("operation", "members", id)
    assert (shown.code, [row[:2] for row in shown.rows]) == (
        Code.DONE,
        [["PATH", "OUTCOME"], [f"{path}/g/1", "failed"]],
    )
    refused = stead("operation", "retry", id)
    assert refused.code == Code.REJECTED
    assert "it could be forced, with a reason" in refused.err
    again = stead("operation", "retry", id, "--force", "--reason", "mended", "--detach")
    assert again.code == Code.DONE
    cell.run(cell.idle())
    assert [member["path"] for member in cell.sent[-1]["members"]] == [f"{path}/g/1"]


async def test_a_program_reads_them_page_by_page(cell: Cell, ns: str, web: httpx.Client) -> None:
    path = group(cell, web, ns, 3)
    id = ask(cell, web, path, "suspend")
    for i in range(3):
        cell.settle(f"{path}/g/{i}", Trigger.FAILED)
    async with Client(cell.url) as client:
        found = [member.path async for member in client.members(id, limit=2)]
    assert found == [f"{path}/g/{i}" for i in range(3)]
