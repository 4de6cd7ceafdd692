"""What lies around a resource, as far as what is asked of it depends on that.

The states of what it is in and of what its spec names, whether anything is in it or on it, and whether there is room
for it: they are read when a request is decided on, and looked at again when that is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from stead.controller.execution.placement import booked, namespace_of
from stead.lifecycle.claims import ancestors, below
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Event, Request
from stead.lifecycle.rows import Actor, AncestorCondition
from stead.store import ResourceSummary, Row, Store

PATH = re.compile("(/[^/]+)+")

type Spec = Mapping[str, Any]

MACHINE = "machine"
ITS = ("ASSIGNED", "TOBEDELETED")
"""States of a disk that is a machine's."""
BOOKED = "BOOKED"
"""What a node is for a machine of a namespace, while a lease of another has it."""

COUNTED = ("machine", "disk")
"""Kinds of which accounts and cloudspaces may have a quota."""


async def set_in(
    store: Store, kinds: Mapping[str, Lifecycle], rows: dict[str, Row], asked: Iterable[tuple[str, Request, Spec]]
) -> None:
    """Lay what is around resources into what was read of them, where somebody asks for something that needs it.

    Each asks something of a path, and with which spec."""
    asking = [(rows[path], request, spec) for path, request, spec in asked if path in rows]
    bound = {row.path: _places(kinds[row.kind], row, request, spec) for row, request, spec in asking}
    empty = [row.path for row, request, _ in asking if _empty_only(kinds[row.kind], request.action)]
    paths = sorted({path for places in bound.values() for _, where in places for path in where})
    states = await store.resources.read_states(paths) if paths else {}
    nodes = [(row.kind, row.path, r.action, {**row.spec, **spec}.get("node")) for row, r, spec in asking]
    others = await booked(store, nodes)
    for path, places in bound.items():
        if places:
            its = {n: (states[n][0], BOOKED) for n, space in others if space == namespace_of(path) and n in states}
            rows[path] = _in_place(rows[path], places, {**states, **its})
    for row, request, spec in asking:
        place = place_of(kinds[row.kind], request.action, row.path, spec)
        if place:
            await _at_place(store, rows, row.path, place, spec)
        if also := claimed_too(kinds[row.kind], request.action, row, spec):
            await _claim_too(store, rows, row.path, also)
        if row.kind in COUNTED and _begins(kinds[row.kind], request.action):
            await _find_room(store, rows, row.path, spec)
    held = [path for path in empty if kinds[rows[path].kind].occupants]
    full = (
        await store.resources.count_below([path for path in empty if path not in held])
        if len(held) < len(empty)
        else {}
    )
    full |= await store.nodes.count_machines(held) if held else {}
    for path in empty:
        row = rows[path]
        around = {**(row.around or {}), "vacant" if path in held else "empty": True}
        rows[path] = replace(row, snapshot=replace(row.snapshot, children=full.get(path, 0)), around=around)


def place_of(lifecycle: Lifecycle, name: str, path: str, spec: Spec) -> str:
    """Where an action that runs beside others works: at the path below the resource that its spec names."""
    action = lifecycle.action(name)
    return below(path, str(spec.get("path", ""))) if action is not None and action.scoped else ""


def claimed_too(lifecycle: Lifecycle, name: str, row: Row, spec: Spec) -> str:
    """The path of the other object that an action claims."""
    action = lifecycle.action(name)
    named = related(lifecycle, name, action.claims, row, spec) if action is not None and action.claims else ""
    return named if PATH.fullmatch(named) and named != row.path else ""


def related(lifecycle: Lifecycle, name: str, field: str, row: Row, spec: Spec) -> str:
    """The path of the object that a field names: as requested, else as observed, else as in the spec.

    An action that brings a spec leads to what the spec says, whatever was observed: a detached disk is attached to no
    machine, and is to be attached to that of its spec. A fact that is a bare name does not count.
    """
    action, facts = lifecycle.action(name), row.facts or {}
    if field in spec:
        named = spec[field]
    elif field in facts and not (action is not None and action.changes_spec) and _says(facts[field]):
        named = facts[field]
    else:
        named = row.spec.get(field)
    return named if isinstance(named, str) else ""


def _says(fact: object) -> bool:
    return fact is None or PATH.fullmatch(str(fact)) is not None


async def _claim_too(store: Store, rows: dict[str, Row], path: str, also: str) -> None:
    """Two paths are claimed: a claim in the way of either keeps it off."""
    row = rows[path]
    holder = row.snapshot.blocked or next(iter(await store.claims.find_holders(also, 1)), None)
    around = {**(row.around or {}), "claims": [also]}
    rows[path] = replace(row, snapshot=replace(row.snapshot, blocked=holder), around=around)


class NewResources(Protocol):
    """An event that may be for something that is not there yet."""

    @property
    def path(self) -> str:
        """Where."""

    @property
    def event(self) -> Event:
        """What happens."""

    @property
    def new(self) -> Row | None:
        """As what it begins."""

    @property
    def read(self) -> Row | None:
        """The object that it is about, where it was read for the request."""

    @property
    def spec(self) -> Spec | None:
        """What it brings."""


async def succeed(
    store: Store,
    kinds: Mapping[str, Lifecycle],
    rows: dict[str, Row],
    summaries: dict[str, ResourceSummary],
    told: Sequence[NewResources],
) -> None:
    """A name is free when its object is gone for good: what is made there takes the place of the record.

    A request that names no kind is about the object that is gone, and makes nothing.
    """
    for said in told:
        old, new = summaries.get(said.path), said.new if said.read is None else None
        if new is None or old is None or not isinstance(said.event, Request) or not old.id:
            continue
        if await is_free(store, kinds, old) and makes(kinds, new.kind, said.event.action):
            rows[said.path] = replace(new, instead={"id": old.id, "version": old.version})
            summaries[said.path] = rows[said.path].summary


async def is_free(store: Store, kinds: Mapping[str, Lifecycle], old: ResourceSummary) -> bool:
    """Whether what is on record is gone for good, and nothing refers to it: disks follow their machine first."""
    if old.operation is not None or old.kind not in kinds or not kinds[old.kind].frees(old.state):
        return False
    return old.kind != MACHINE or not any(
        disk["state"] in ITS for disk in await store.attachments.read_disks(old.path)
    )


def makes(kinds: Mapping[str, Lifecycle], kind: str, action: str) -> bool:
    """Whether an action makes an object of a kind."""
    return kind in kinds and _begins(kinds[kind], action)


async def make_room(store: Store, rows: dict[str, Row], told: Iterable[NewResources]) -> None:
    """The quotas of what is made in the course of another operation, which has seen to all else."""
    for said in told:
        row = rows.get(said.path)
        if row is not None and not row.exists and row.kind in COUNTED:
            await _find_room(store, rows, said.path, said.spec or {})


async def _at_place(store: Store, rows: dict[str, Row], path: str, place: str, spec: Spec) -> None:
    """What runs beside others is kept off by whoever has a claim in the way of its place, and by nobody else."""
    row = rows[path]
    holder = next(iter(await store.claims.find_holders(place)), None)
    around = {**(row.around or {}), "place": place, **({"mark": spec["mark"]} if spec.get("mark") else {})}
    rows[path] = replace(row, snapshot=replace(row.snapshot, blocked=holder), around=around)


async def _find_room(store: Store, rows: dict[str, Row], path: str, spec: Spec) -> None:
    """Something that counts is to be made: whether those have room for it that it will belong to."""
    row = rows[path]
    wanted = {**row.spec, **spec}
    quotas = await store.quotas.check(row.kind, path, wanted)
    if quotas:
        over = next((quota.says for quota in quotas if quota.over), "")
        around = {**(row.around or {}), "makes": {"kind": row.kind, "spec": wanted}}
        rows[path] = replace(row, snapshot=replace(row.snapshot, over=over), around=around)


def _places(
    lifecycle: Lifecycle, row: Row, request: Request, spec: Spec
) -> list[tuple[AncestorCondition, Sequence[str]]]:
    """What is needed for a request, each with the paths at one of which it is."""
    found: list[tuple[AncestorCondition, Sequence[str]]] = []
    for need in lifecycle.preconditions:
        if need.actions and request.action not in need.actions:
            continue
        if need.field:
            named = related(lifecycle, request.action, need.field, row, spec)
            found.append((need, [named] if named else []))
        elif request.actor is not Actor.CONTROLLER:
            found.append((need, ancestors(row.path)))
    return found


def _in_place(
    row: Row, places: Sequence[tuple[AncestorCondition, Sequence[str]]], states: Mapping[str, tuple[str, str]]
) -> Row:
    above: list[tuple[str, str]] = []
    checks: dict[str, list[dict[str, Any]]] = {"above": [], "beside": []}
    for need, where in places:
        path = next((path for path in where if path in states and states[path][0] == need.kind), None)
        if path is not None:
            above.append((need.kind, states[path][1]))
            checks["beside" if need.field else "above"].append({"path": path, "states": need.states})
        elif need.must_exist or (need.field and where):
            above.append((need.kind, ""))
    return replace(row, snapshot=replace(row.snapshot, above=tuple(above)), around=checks)


def _empty_only(lifecycle: Lifecycle, name: str) -> bool:
    action = lifecycle.action(name)
    return action is not None and action.empty_only and not lifecycle.members


def _begins(lifecycle: Lifecycle, name: str) -> bool:
    """Whether an action makes something of what is not there, or on paper only."""
    action = lifecycle.action(name)
    return action is not None and lifecycle.initial.name in action.source
