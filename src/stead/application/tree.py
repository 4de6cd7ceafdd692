"""What lies directly below a path, each thing with how all that is below it stands; the worst first."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from stead.application.health import Health, rank
from stead.application.models import Page, StateClassName
from stead.application.reader import Reader
from stead.controller.groups.counts import amounts
from stead.lifecycle.decide.children import followed
from stead.schema import Model, one_of

MAX_DIGITS = 15
"""Of a name that is a number: so that they sort as numbers."""


@dataclass(frozen=True, slots=True)
class TreeNode(Model):
    """A resource, or only a part of paths, such as a namespace."""

    name: str
    path: str
    kind: str | None
    """Null where it is no resource."""
    state: str | None
    state_class: StateClassName | None
    health: Annotated[str, one_of(Health)]
    """The worst of its own and of all below it."""
    worst: str
    """The state that is the worst."""
    total: int
    """Resources below it."""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of those, by kind and state, a moment ago at most."""


async def tree(reader: Reader, below: str, after: str | None, limit: int) -> Page[TreeNode]:
    """A page of what lies directly below a path."""
    place = _place(after)
    if not await reader.store.tree.has_branches(below):
        return await _leaves(reader, below, place, limit)
    start = len(below.rstrip("/")) + 1
    nodes = [_branch(reader, record, start) for record in await reader.store.tree.read_branches(below)]
    ranked = sorted((rank(Health(node.health)), _key(node.name), node) for node in nodes)
    rest = [(f"{at} {key}", node) for at, key, node in ranked if (at, key) > place]
    more = len(rest) > limit
    return Page(tuple(node for _, node in rest[:limit]), rest[limit - 1][0] if more else None, more)


async def _leaves(reader: Reader, below: str, place: tuple[int, str], limit: int) -> Page[TreeNode]:
    records = await reader.store.tree.read_leaves(below, reader.healths.ranks, place, limit + 1)
    start = len(below.rstrip("/")) + 1
    page = records[:limit]
    nodes = tuple(_leaf(reader, record, start) for record in page if "/" not in record["path"][start:])
    more = len(records) > limit
    return Page(nodes, f"{page[-1]['rank']} {page[-1]['key']}" if more else None, more)


def _leaf(reader: Reader, record: Mapping[str, Any], start: int) -> TreeNode:
    kind, state = record["kind"], record["state"]
    cls = reader.kinds[kind].state(state).cls
    return TreeNode(
        record["path"][start:], record["path"], kind, state, cls, reader.healths.of(kind, state), state, 0
    )


def _branch(reader: Reader, record: Mapping[str, Any], start: int) -> TreeNode:
    kind, state = record["kind"], record["state"]
    lifecycle = reader.kinds[kind] if kind else None
    counts: dict[str, dict[str, int]] = {}
    for of, name, members in record["counts"]:
        if reader.healths.of(of, name) is not Health.EMPTY:
            counts.setdefault(of, {})[name] = members
    if lifecycle is not None and record["rests"]:
        state = followed(lifecycle, state, amounts(lifecycle, counts.get(lifecycle.members, {})))
    states = [(of, name, members) for of, by_state in counts.items() for name, members in by_state.items()]
    own = [(kind, state, sys.maxsize)] if kind else []
    health, worst = reader.healths.worst([*states, *own])
    return TreeNode(
        name=record["path"][start:],
        path=record["path"],
        kind=kind,
        state=state,
        state_class=lifecycle.state(state).cls if lifecycle is not None else None,
        health=health,
        worst=worst,
        total=sum(sum(by_state.values()) for by_state in counts.values()),
        counts=counts,
    )


def _key(name: str) -> str:
    return name.rjust(MAX_DIGITS, "0") if name.isdigit() and len(name) <= MAX_DIGITS else name


def _place(after: str | None) -> tuple[int, str]:
    """From after where a page is wanted."""
    if after is None:
        return -1, ""
    at, _, key = after.partition(" ")
    return int(at) if at.isdigit() else -1, key
