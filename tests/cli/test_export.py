"""The whole journal, exported by command: nothing is missing, and all that there is can be made from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stead.client import SyncClient
from stead.lifecycle.rows import Trigger
from tests.api.cell import Cell
from tests.cli.remote import Stead

PAGE = 7


@pytest.mark.req("X-03")
def test_what_is_there_can_be_made_from_the_export_alone(
    cell: Cell, ns: str, stead: Stead, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: Any = SyncClient.journal_page

    def small(self: SyncClient, **query: Any) -> Any:
        return whole(self, **{**query, "limit": PAGE})

    monkeypatch.setattr(SyncClient, "journal_page", small)
    with SyncClient(cell.url) as client:
        for i in range(PAGE):
            client.request_action(f"/{ns}/m/g/{i}", "create", kind="vm", spec={"cpu": i}, lane="sim.a")
            cell.settle(f"/{ns}/m/g/{i}", id=f"i-{i}")
        cell.put(f"/{ns}/s", "cloudlet")
        client.request_action(f"/{ns}/s/c", "create", kind="clusterinst", spec={"nodes": 1})
        cell.settle(f"/{ns}/s/c")
        for nodes, word in ((2, Trigger.SUCCEEDED), (3, Trigger.FAILED)):
            client.request_action(f"/{ns}/s/c", "update", spec={"nodes": nodes})
            cell.settle(f"/{ns}/s/c", word)
        cell.told(f"/{ns}/m/g/0", "Running", id="i-0", address="10.0.0.7")
    end = cell.numbered()
    lines = [json.loads(line) for line in stead("journal", "--all", "-o", "json").out.splitlines()]
    assert [line["position"] for line in lines][:end] == list(range(1, end + 1))
    made: dict[str, dict[str, Any]] = {}
    for line in lines:
        if line["path"].startswith(f"/{ns}/") and not line["rejections"]:
            thing = made.setdefault(line["path"], {"spec": {}, "next_spec": None, "facts": {}})
            thing |= {name: line["change"][name] for name in ("spec", "next_spec") if name in line["change"]}
            thing["facts"] |= line["change"].get("facts", {})
            thing["state"] = line["target"]
    with SyncClient(cell.url) as client:
        there = {
            r.path: {"spec": r.spec, "next_spec": r.next_spec, "facts": r.facts, "state": r.state}
            for r in client.resources(below=f"/{ns}", specs=True)
            if r.kind != "cloudlet"  # nobody asked for it
        }
    assert made == there
    assert there[f"/{ns}/s/c"]["state"] == "UpdateError"
