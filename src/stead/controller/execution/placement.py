"""Which node a machine goes to: of those that take machines, the one with the fewest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.store import Row, Store

AVAILABLE = "ENABLED"
"""The state of a node that machines are put on."""


async def found_for(
    store: Store, lifecycle: Lifecycle, row: Row | None, action: str, spec: Mapping[str, Any], lane: str, path: str
) -> dict[str, Any]:
    """What a spec lacks and somebody has to choose. Where no node takes machines, one that does not is named all the
    same: the refusal says of it what it is."""
    if not places(lifecycle.kind, action) or "node" in spec:
        return {}
    if action == "migrate" and (row is None or row.snapshot.state not in starts(lifecycle, action)):
        return {}  # it is refused for that
    row = row if action == "migrate" else None
    nodes = await store.nodes.list_on_lane(row.lane if row is not None else lane, namespace_of(path))
    away = [node for node in nodes if row is None or node["path"] != row.spec.get("node")]
    away.sort(key=lambda node: node["state"] != AVAILABLE or node["booked"])
    if row is not None and not away:
        return {"node": ""}  # of which it is said that it is not there
    return {"node": away[0]["path"]} if away else {}


def places(kind: str, action: str) -> bool:
    """Whether somebody has to choose a node for it."""
    return kind == "machine" and action in ("deploy", "migrate")


def starts(lifecycle: Lifecycle, action: str) -> tuple[str, ...]:
    """The states in which an action can begin."""
    known = lifecycle.action(action)
    return known.source if known is not None else ()


async def others(store: Store, lane: str, node: str, namespace: str) -> list[str]:
    """Where machines of a namespace can go from a node, the emptiest first: not to what another has booked."""
    nodes = await store.nodes.list_on_lane(lane, namespace)
    return [n["path"] for n in nodes if n["state"] == AVAILABLE and not n["booked"] and n["path"] != node]


async def booked(store: Store, asked: Iterable[tuple[str, str, str, object]]) -> set[tuple[str, str]]:
    """Nodes that requests would put machines on, and that a lease of another namespace has, each with the machine's
    namespace. Each request has the kind and the path of its resource, its action and its node."""
    wanted = [
        (node, namespace_of(path))
        for kind, path, action, node in asked
        if places(kind, action) and isinstance(node, str)
    ]
    return await store.nodes.filter_booked(wanted) if wanted else set()


def namespace_of(path: str) -> str:
    """The namespace that a path lies in."""
    return path.split("/")[1]
