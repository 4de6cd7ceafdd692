"""Which node a machine goes to: of those that take machines, the one with the fewest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store import Row, Store

TAKES = "ENABLED"
"""The state of a node that machines are put on."""

MIGRATES = ("RUNNING", "PAUSED", "HALTED")
"""The states of a machine in which it can go to another node."""


async def found_for(
    store: Store, kind: str, row: Row | None, action: str, spec: Mapping[str, Any], lane: str
) -> dict[str, Any]:
    """What a spec lacks and somebody has to choose. Where no node takes machines, one that does not is named all the
    same: the refusal says of it what it is."""
    if kind != "machine" or action not in ("deploy", "migrate") or "node" in spec:
        return {}
    if action == "migrate" and (row is None or row.snapshot.state not in MIGRATES):
        return {}  # it is refused for that
    row = row if action == "migrate" else None
    nodes = await store.nodes(row.lane if row is not None else lane)
    away = [node for node in nodes if row is None or node["path"] != row.spec.get("node")]
    away.sort(key=lambda node: node["state"] != TAKES)
    if row is not None and not away:
        return {"node": ""}  # of which it is said that it is not there
    return {"node": away[0]["path"]} if away else {}


async def others(store: Store, lane: str, node: str) -> list[str]:
    """Where machines can go from a node, the emptiest first."""
    return [found["path"] for found in await store.nodes(lane) if found["state"] == TAKES and found["path"] != node]
