"""Which lanes a request would use, and what is said where its namespace may not use them.

A namespace may use the lanes that it was given, and those of its own sites. A request uses the lane of what it makes,
of what it starts for the first time, and of what it gives a new spec; and every lane that a spec names. Whether it
may is looked up by the statement that commits it: no admission costs a statement more, and a denial holds at every
controller at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stead.lifecycle.decide.group import makes
from stead.lifecycle.decision import Code, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Event, Request
from stead.lifecycle.rows import Action, Actor
from stead.store import ResourceSummary, Row

MAX_SHOWN_LANES = 20
"""Lanes that a refusal names."""

ORPHANS_PATH = "/orphans"
"""Where what is only adopted to be removed is on record: it may be on any lane."""

ADOPT = "adopt"

LEASE = "lease"


@dataclass(frozen=True, slots=True)
class LaneUse:
    """Lanes that something would be on, or would have new work on."""

    on: frozenset[str] = frozenset()
    books: bool = False
    """Hosts of some lane are to be had."""

    def __bool__(self) -> bool:
        return bool(self.on) or self.books

    def written(self, path: str) -> dict[str, Any]:
        """As the store takes it."""
        said: dict[str, Any] = {"of": path.split("/")[1], "on": sorted(self.on)}
        return said | ({"books": True} if self.books else {})


NONE = LaneUse()


def uses(
    kinds: Mapping[str, Lifecycle],
    kind: str,
    name: str,
    path: str,
    *,
    lane: str,
    state: str | None,
    spec: Mapping[str, Any],
    old: Mapping[str, Any] | None = None,
    actor: Actor = Actor.USER,
    deploys: Sequence[str] = (),
) -> LaneUse:
    """What an action uses: `state` is None where there is nothing yet, `deploys` are the lanes of a deploy's changes.

    What a controller brings to something that is there follows from a request that was looked at before, or moves it
    to where it is safe: only what is new is looked at again.
    """
    lifecycle = kinds[kind]
    action = lifecycle.action(name)
    if action is None or (name == ADOPT and path.startswith(f"{ORPHANS_PATH}/")):
        return NONE
    on: set[str] = set(deploys)
    asks = actor is not Actor.CONTROLLER
    new = state is None or (asks and state == lifecycle.initial.name and state in action.source)
    if new:
        on |= {lane} | named(kind, {**(old or {}), **spec})
    elif asks and action.changes_spec and not action.hidden:
        on |= {lane} | named(kind, spec)
    elif _makes(kinds, lifecycle, action):
        on |= named(kind, old or {})
    return LaneUse(frozenset(on - {""}), books=new and kind == LEASE)


def used_by(
    kinds: Mapping[str, Lifecycle],
    summary: ResourceSummary,
    event: Event,
    spec: Mapping[str, Any] | None,
    row: Row | None,
    deploys: Sequence[str],
) -> Mapping[str, Any] | None:
    """What an event for a resource uses, as the store takes it."""
    if not isinstance(event, Request) or (event.within and spec is None):  # a member that brings nothing
        return None
    found = uses(
        kinds,
        summary.kind,
        event.action,
        summary.path,
        lane=row.lane if row is not None else summary.lane,
        state=summary.state if summary.id else None,
        spec=spec or {},
        old=row.spec if row is not None else None,
        actor=event.actor,
        deploys=deploys,
    )
    return found.written(summary.path) if found else None


def named(kind: str, spec: Mapping[str, Any]) -> set[str]:
    """The lanes that a spec of any kind names: `lane`, `lanes`, `provider` with `region`, and what an infrastructure
    says of its subgroups."""
    found = {spec.get("lane"), _lane(spec, {})}
    if isinstance(lanes := spec.get("lanes"), list | tuple):
        found |= {lane for lane in lanes if isinstance(lane, str)}
    if kind == "mci" and isinstance(groups := spec.get("subgroups"), list | tuple):
        common = spec.get("defaults")
        found |= {_lane(group, common) for group in groups if isinstance(group, Mapping)}
    return {lane for lane in found if isinstance(lane, str) and lane}


def _lane(spec: Mapping[str, Any], common: Any) -> str:
    """The lane of a provider's region, where both are said, there or for all."""
    common = common if isinstance(common, Mapping) else {}
    provider, region = (spec.get(word) or common.get(word) for word in ("provider", "region"))
    return f"{provider}.{region}" if provider and region else ""


def lanes_on(kind: str, lane: str, spec: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The lanes that something is on, as policies see it: its own, or those that its spec names."""
    return (lane,) if lane else tuple(sorted(named(kind, spec or {})))


def asked_on(kind: str, action: str, row: Row | None, lane: str, spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The lanes that a request is about, as policies see it: those of what is there, and all that it names."""
    found = set(lanes_on(kind, lane, spec)) if row is None else {*lanes_on(row.kind, row.lane, row.spec)}
    found |= named(kind, spec)
    if action == "deploy" and "definition" in spec:
        found |= set(_in_tree(spec["definition"]))
    return tuple(sorted(found))


def _in_tree(node: Any) -> Iterator[str]:
    """The lanes that the nodes of a definition name."""
    if not isinstance(node, Mapping):
        return
    if all(isinstance(below, Mapping) for below in node.values()):
        for below in node.values():
            yield from _in_tree(below)
    elif isinstance(lane := node.get("lane"), str):
        yield lane


def _makes(kinds: Mapping[str, Lifecycle], lifecycle: Lifecycle, action: Action) -> bool:
    """Whether members are made: also where a creation that is held goes on."""
    asked = lifecycle.action(action.signals) if action.signals and action.via else action
    member = kinds.get(lifecycle.members)
    return asked is not None and member is not None and makes(member, asked.member_action)


def not_allowed(refused: Mapping[str, Any], state: str = "") -> Rejection:
    """A refusal that names the lanes which the namespace may use, and what to do."""
    space, lanes, allowed = refused["namespace"], refused["lanes"], refused["allowed"]
    more = " and more" if len(allowed) > MAX_SHOWN_LANES else ""
    may = f"it may use {', '.join(allowed[:MAX_SHOWN_LANES])}{more}" if allowed else "it may use none"
    return Rejection((Reason(Code.LANE_NOT_ALLOWED, f"{advice(space, lanes)}; {may}"),), state)


def advice(namespace: str, lanes: Sequence[str]) -> str:
    """That a namespace may not use some lanes, and how that is changed."""
    word = "lane" if len(lanes) == 1 else "lanes"
    return (
        f"namespace {namespace} may not use the {word} {', '.join(lanes[:MAX_SHOWN_LANES])} "
        f"(an admin can allow it: stead lane allow {lanes[0]} {namespace})"
    )
