"""Requests about a disk of a machine, and requests of a machine about its disks: two ways to the same operation.

A request for a disk that is attached, or is to be attached, becomes an action of its machine. So the machine's state
shows it, it waits in the machine's queue, and one thing is done at a time to a machine and its disks. Before, the
disk's own lifecycle decides whether it can follow: a request that the disk would reject is rejected at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from uuid import uuid4

from stead.access.caller import Caller
from stead.application.acceptance import wish_of
from stead.application.dry_run import as_of_disk, explain, placed, rehearse, rejected, request_of, with_path
from stead.application.explanation import DryRun, Explanation
from stead.application.models import Asked, InvalidRequest, ResourceNotFound
from stead.application.queries import Queries
from stead.controller.admission.request import AdmissionRequest
from stead.controller.execution import preconditions
from stead.controller.steps.machine_disks import ASKS, DESTROYS, DISK, MACHINE, asks_of, machine_of, spec_of_disk
from stead.lifecycle.decide import decide
from stead.lifecycle.decision import Rejection
from stead.lifecycle.rows import Actor, StateClass
from stead.lifecycle.snapshot import Snapshot
from stead.store import Row

VIA: Mapping[str, str] = {
    "assign": "add-disk",
    "attach": "attach-disk",
    "detach": "detach-disk",
    "restore-with-machine": "attach-disk",
    "destroy": "detach-disk",
}
"""By action of a disk: the action of its machine."""

ATTACHES = ("assign", "attach")


async def via_machine(
    view: Queries, asked: Asked, row: Row | None, caller: Caller
) -> tuple[Asked, Row] | Rejection | None:
    """The request as one of the disk's machine, and the machine; why the disk cannot follow; None where it stays the
    disk's own."""
    kind = row.kind if row is not None else asked.kind
    action = VIA.get(asked.action) if kind == DISK and asked.kind in ("", DISK) else None
    if action is None or asked.force or asked.hold:
        return None
    row = row or new_row(view, DISK, asked)
    named = preconditions.related(view.kinds[DISK], asked.action, MACHINE, row, asked.spec)
    machine = await view.store.resources.read(named)
    if machine is None or machine.kind != MACHINE or asked.lane not in ("", machine.lane):
        return None
    if asked.action not in ATTACHES and not _acts(view, machine, action):
        return None
    if asked.action == "destroy" and row.snapshot.state not in DESTROYS:
        return None
    if (rejected := await _rejected(view, row, asked, caller)) is not None:
        return rejected
    spec = {name: value for name, value in asked.spec.items() if name != MACHINE} | {DISK: row.path}
    if asked.action == "destroy":
        spec["then"] = "destroy"
    return replace(asked, path=machine.path, kind=MACHINE, action=action, spec=spec, lane="", tags=None), machine


async def of_machine(
    view: Queries, asked: Asked, row: Row | None, caller: Caller
) -> Asked | Rejection | InvalidRequest:
    """A request of a machine about a disk, with the disk's path in full; or why the disk cannot follow."""
    if row is not None and row.kind == MACHINE and asked.action == "destroy":
        if asked.spec.get("disks", "delete") not in ("keep", "delete"):
            return InvalidRequest("spec.disks", "keep, or delete: what becomes of the disks of the machine")
        return asked
    if row is None or row.kind != MACHINE or asked.action not in ASKS:
        return asked
    named = asked.spec.get(DISK)
    if not isinstance(named, str) or not named:
        return InvalidRequest("spec.disk", f"name the disk: {asked.action} needs the name or the path of a disk")
    path = named if named.startswith("/") else f"{row.path.rpartition('/')[0]}/{named}"
    if not preconditions.PATH.fullmatch(path):
        return InvalidRequest("spec.disk", f"{named} is not the name or the path of a disk")
    asked = replace(asked, spec={**asked.spec, DISK: path})
    disk = await view.store.resources.read(path)
    if (
        disk is not None
        and asked.action == "add-disk"
        and await preconditions.is_free(view.store, view.kinds, disk.brief)
    ):
        disk = None
    if disk is not None and disk.kind != DISK:
        return InvalidRequest("spec.disk", f"{path} is a {disk.kind}, not a disk")
    asks = asks_of(asked.action, asked.spec)
    state = disk.snapshot.state if disk is not None else view.kinds[DISK].initial.name
    verb = asks.get(state) or next(iter(asks.values()))
    if disk is None and asked.action != "add-disk":
        return InvalidRequest("spec.disk", f"there is no disk {path}")
    if disk is not None and asked.action == "detach-disk" and machine_of(disk) not in ("", row.path):
        return InvalidRequest("spec.disk", f"{path} is attached to {machine_of(disk)}, not to {row.path}")
    own = Asked(path, verb, DISK, {**spec_of_disk(asked.spec), MACHINE: row.path}, row.lane)
    answer = await _rejected(view, disk or new_row(view, DISK, own), own, caller)
    return asked if answer is None else replace(answer, reasons=with_path(answer.reasons, path))


type Permitted = Callable[[Asked, Caller, Row | None], Awaitable[Caller | Rejection | ResourceNotFound]]
"""Says whether a caller may ask for something, and as which actor."""


async def onward(
    view: Queries, asked: Asked, row: Row | None, caller: Caller, permitted: Permitted
) -> tuple[Asked, Caller, str, Row | None] | Rejection | ResourceNotFound | InvalidRequest:
    """The request as it goes on, with its kind and what is there: one about a disk of a machine is the machine's."""
    via = await via_machine(view, asked, row, caller)
    if isinstance(via, Rejection):
        return via
    if via is not None:
        may = await permitted(via[0], caller, via[1])
        return (via[0], may, MACHINE, via[1]) if isinstance(may, Caller) else may
    fit = await of_machine(view, asked, row, caller)
    if isinstance(fit, Asked) and row is not None and row.kind == MACHINE and asked.action in ASKS:
        disk = await view.store.resources.read(fit.spec[DISK])
        verb = next(iter(asks_of(asked.action, fit.spec).values()))
        may = await permitted(Asked(fit.spec[DISK], verb, DISK), caller, disk)
        if not isinstance(may, Caller):
            return may
    return (fit, caller, row.kind if row is not None else fit.kind, row) if isinstance(fit, Asked) else fit


async def wished(
    view: Queries, asked: Asked, row: Row | None, caller: Caller, permitted: Permitted
) -> AdmissionRequest | Rejection | ResourceNotFound | InvalidRequest:
    """What is asked of admission."""
    about = await onward(view, asked, row, caller, permitted)
    if not isinstance(about, tuple):
        return about
    wish = wish_of(*about)
    same = about[0].path == asked.path
    return wish if same else replace(wish, said=wish_of(asked, caller, DISK).fingerprint())


async def rehearsed(
    view: Queries, asked: Asked, about: Asked, caller: Caller
) -> DryRun | Rejection | ResourceNotFound:
    """What a request would do, by the request that it becomes."""
    found = await rehearse(view, about, caller)
    if isinstance(found, Rejection) and about.path != asked.path:
        return replace(found, reasons=with_path(found.reasons, about.path))
    return found


async def explain_disks(
    found: Explanation, view: Queries, asked: Asked, row: Row | None, caller: Caller, permitted: Permitted
) -> Explanation | ResourceNotFound:
    """With what the machine says, of a request about its disk; and with what the disk says, of one of a machine."""
    about = await onward(view, asked, row, caller, permitted)
    if isinstance(about, tuple) and about[0].path != asked.path:
        other = await explain(view, about[0], about[1])
        return other if isinstance(other, ResourceNotFound) else as_of_disk(found, other)
    return rejected(found, about.reasons, ()) if isinstance(about, Rejection) and found.allowed else found


def new_row(view: Queries, kind: str, asked: Asked) -> Row:
    """What is not there yet."""
    return Row(asked.path, kind, Snapshot(view.kinds[kind].initial.name), asked.lane, uuid4(), asked.spec)


def _acts(view: Queries, machine: Row, action: str) -> bool:
    """Whether the machine is where it can lose a disk, or on its way; otherwise the disk is by itself."""
    lifecycle = view.kinds[MACHINE]
    known = lifecycle.action(action)
    state = lifecycle.state(machine.snapshot.state)
    return known is not None and (state.name in known.starts or state.cls is StateClass.TRANSITIONAL)


async def _rejected(view: Queries, row: Row, asked: Asked, caller: Caller) -> Rejection | None:
    """Why the disk itself cannot follow, whatever its machine is at."""
    request = request_of(asked, caller)
    if asked.action == "restore-with-machine":
        request = replace(request, actor=Actor.CONTROLLER)
    rows = {row.path: row}
    await preconditions.set_in(view.store, view.kinds, rows, [(row.path, request, asked.spec)])
    snapshot = rows[row.path].snapshot
    above = tuple((kind, state) for kind, state in snapshot.above if kind != MACHINE)
    answer = decide(view.kinds[DISK], replace(snapshot, above=above, blocked=row.snapshot.blocked), request)
    return placed(answer, row.path) if isinstance(answer, Rejection) else None
