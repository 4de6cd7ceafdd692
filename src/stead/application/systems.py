"""Systems as they are shown: the tree of services and jobs, what runs on it, and what a deploy would do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from stead.application.models import InvalidRequest
from stead.application.names import operation_id
from stead.catalog import tree
from stead.catalog.tree import TreeChange
from stead.controller.admission.limits import exceeded
from stead.controller.admission.request import ActionRequest, NotFound
from stead.controller.groups.deploys import lanes_in, planned
from stead.lifecycle.claims import ancestors, below
from stead.lifecycle.files.decoded import NAME, InvalidDescription
from stead.schema import Model
from stead.store import Row, Store

SYSTEM = "system"
DEPLOY, TEARDOWN = "deploy", "teardown"
FIELDS = ("path", "definition", "mark")
"""What a deploy brings."""


@dataclass(frozen=True, slots=True)
class SystemPart(Model):
    """A service or a job."""

    path: str
    kind: str
    """`service` or `job`."""
    state: str
    lane: str
    count: int
    """Copies that are to run."""
    running: int | None
    """Copies that were observed running; null before the first observation."""
    operation: str | None
    """What is under way."""


@dataclass(frozen=True, slots=True)
class RunningDeploy(Model):
    """A deploy or a teardown that is under way."""

    id: str
    action: str
    place: str
    """Where it works; no other operation does there, above it or below it."""
    principal: str
    since: datetime
    total: int
    """Services and jobs that follow, as far as they were asked."""
    remaining: int
    failed: int
    expanded: bool
    """All that are to follow have been asked."""
    cancelled: bool


@dataclass(frozen=True, slots=True)
class System(Model):
    """A system whole."""

    path: str
    state: str
    operation: str | None
    """What is under way on the system itself."""
    lanes: tuple[str, ...]
    """Where its services run."""
    parts: tuple[SystemPart, ...]
    running: tuple[RunningDeploy, ...]


@dataclass(frozen=True, slots=True)
class SystemChange(Model):
    """What becomes of a service or a job."""

    path: str
    kind: str
    action: str
    """What is asked of it."""
    change: str
    """`added`, `changed`, `scaled`, `restarted` or `removed`."""
    lane: str
    fields: tuple[str, ...]
    """What is not as it was."""


@dataclass(frozen=True, slots=True)
class SystemPlan(Model):
    """What a deploy would do with things as they are."""

    path: str
    place: str
    mark: str
    """A deploy that brings it in its spec is let in only while this is so."""
    changes: tuple[SystemChange, ...]


async def shown(store: Store, row: Row) -> System:
    """A system with all that is in it."""
    running = await store.systems.read_concurrent(row.path)
    parts = await store.systems.read_definitions(row.path)
    operation = row.snapshot.operation
    return System(
        path=row.path,
        state=row.snapshot.state,
        operation=operation_id(row.path, operation.id) if operation is not None else None,
        lanes=tuple(row.spec.get("lanes", ())),
        parts=tuple(map(_part, parts)),
        running=tuple(map(_beside, running)),
    )


async def plan(store: Store, row: Row, request: ActionRequest) -> SystemPlan | InvalidRequest:
    """What a deploy would do; the mark is read first, so that it is never newer than the plan."""
    place = below(row.path, str(request.spec.get("path", "/")))
    mark = await store.systems.read_revision(place)
    changes = await _changes(store, row, place, request)
    if isinstance(changes, InvalidRequest):
        return changes
    return SystemPlan(row.path, place, mark, tuple(map(_change, changes)))


def _change(found: TreeChange) -> SystemChange:
    return SystemChange(found.path, found.kind, found.action, found.how, found.lane, tuple(found.fields))


async def _changes(store: Store, row: Row, place: str, request: ActionRequest) -> list[TreeChange] | InvalidRequest:
    try:
        return list(await planned(store, row, place, request.spec.get("definition", {})))
    except InvalidDescription as wrong:
        return _unfit(wrong, row.path)


async def fit(store: Store, request: ActionRequest) -> ActionRequest | InvalidRequest | NotFound:
    """A deploy that makes sense: a place, and a definition that can be there."""
    unknown = [name for name in request.spec if name not in FIELDS]
    if unknown:
        return InvalidRequest(f"spec.{unknown[0]}", f"a deploy brings {', '.join(FIELDS)}, and nothing else")
    path, definition = request.spec.get("path", "/"), request.spec.get("definition")
    if not isinstance(path, str) or any(not tree.is_name(name) for name in path.strip("/").split("/") if path != "/"):
        return InvalidRequest(
            "spec.path", "a place is said like /data/db: names of a-z, 0-9 and dashes between slashes"
        )
    if not isinstance(definition, Mapping):
        return InvalidRequest("spec.definition", "say what is to be there; {} where nothing is")
    if not isinstance(request.spec.get("mark", ""), str):
        return InvalidRequest("spec.mark", "it is the one that a plan has")
    row = await store.resources.read(request.path)
    if row is None or row.kind != SYSTEM:
        return NotFound(f"there is no system {request.path}")
    place = below(request.path, path)
    above = [each for each in ancestors(place) if each.startswith(f"{request.path}/")]
    inside = [
        each for each, (kind, _) in (await store.resources.read_states(above)).items() if kind in ("service", "job")
    ]
    if inside:
        return InvalidRequest("spec.path", f"{inside[0]} is no branch: nothing can be below it")
    changes = await _changes(store, row, place, request)
    if isinstance(changes, InvalidRequest):
        return changes
    for change in changes:
        for field, says in exceeded(change.path, change.spec):
            return InvalidRequest("spec.definition", f"{change.path.removeprefix(request.path)}: {field}: {says}")
    spec = {**request.spec, "path": f"/{path.strip('/')}"}
    return replace(request, spec=spec, deploys=tuple(sorted(lanes_in(changes))))


def founded(request: ActionRequest) -> ActionRequest | InvalidRequest:
    """A system that can be set up: it lies in a namespace, and says on which lanes its services run."""
    names = request.path.split("/")[1:]
    if len(names) != 2 or not tree.is_name(names[1]):
        return InvalidRequest(
            "path", f"a system lies right below its namespace, as in /shop/web, with a name like {NAME}"
        )
    lanes = request.spec.get("lanes", [])
    if not isinstance(lanes, list) or not all(isinstance(lane, str) and lane for lane in lanes):
        return InvalidRequest("spec.lanes", "lanes are a list of names")
    unknown = [name for name in request.spec if name not in ("lanes", "labels")]
    if unknown:
        return InvalidRequest(f"spec.{unknown[0]}", "a system has lanes and labels; what runs in it is deployed")
    return request


def _unfit(wrong: InvalidDescription, system: str) -> InvalidRequest:
    """What is wrong with a definition, each with its place in it; what is wrong with what is there, with its path."""
    said = []
    for problem in wrong.problems:
        at = [str(step) for step in problem.path]
        where = ["spec", "path"] if at and at[0].startswith("/") else ["spec", "definition", *at]
        says = f"{at[0].removeprefix(system)}: {problem.message}" if at and at[0].startswith("/") else problem.message
        said.append((".".join(where), says))
    (field, says), *more = said
    return InvalidRequest(field, says, tuple(more))


def _part(record: Mapping[str, Any]) -> SystemPart:
    facts = record["facts"] or {}
    up = facts.get("up")
    return SystemPart.of_record(
        record,
        count=int(record["spec"].get("count", 1)),
        running=up if isinstance(up, int) else None,
        operation=operation_id(record["path"], record["operation"]) if record["operation"] else None,
    )


def _beside(record: Mapping[str, Any]) -> RunningDeploy:
    id = operation_id(record["place"], record["id"])
    return RunningDeploy.of_record(record, id=id, since=record["created_at"])
