"""Requests about a disk of a machine, and requests of a machine about its disks: two ways to the same operation.

A request for a disk that is attached, or is to be attached, becomes an action of its machine. So the machine's state
shows it, it waits in the machine's queue, and one thing is done at a time to a machine and its disks. Before, the
disk's own lifecycle decides whether it can follow: a request that the disk would reject is rejected at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from uuid import uuid4

from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.application.dry_run import as_of_disk, dry_run, explain, placed, rejected, with_path
from stead.application.explanation import DryRun, Explanation
from stead.application.models import InvalidRequest
from stead.application.reader import Reader
from stead.controller.admission.request import ActionRequest, NotFound
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
    reader: Reader, request: ActionRequest, row: Row | None, caller: Caller
) -> tuple[ActionRequest, Row] | Rejection | None:
    """The request as one of the disk's machine, and the machine; why the disk cannot follow; None where it stays the
    disk's own."""
    kind = row.kind if row is not None else request.kind
    action = VIA.get(request.action) if kind == DISK and request.kind in ("", DISK) else None
    if action is None or request.force or request.hold:
        return None
    row = row or new_row(reader, DISK, request)
    named = preconditions.related(reader.kinds[DISK], request.action, MACHINE, row, request.spec)
    machine = await reader.store.resources.read(named)
    if machine is None or machine.kind != MACHINE or request.lane not in ("", machine.lane):
        return None
    if request.action not in ATTACHES and not _acts(reader, machine, action):
        return None
    if request.action == "destroy" and row.snapshot.state not in DESTROYS:
        return None
    if (rejected := await _rejected(reader, row, request, caller)) is not None:
        return rejected
    spec = {name: value for name, value in request.spec.items() if name != MACHINE} | {DISK: row.path}
    if request.action == "destroy":
        spec["then"] = "destroy"
    return replace(request, path=machine.path, kind=MACHINE, action=action, spec=spec, lane="", tags=None), machine


async def of_machine(
    reader: Reader, request: ActionRequest, row: Row | None, caller: Caller
) -> ActionRequest | Rejection | InvalidRequest:
    """A request of a machine about a disk, with the disk's path in full; or why the disk cannot follow."""
    if row is not None and row.kind == MACHINE and request.action == "destroy":
        if request.spec.get("disks", "delete") not in ("keep", "delete"):
            return InvalidRequest("spec.disks", "keep, or delete: what becomes of the disks of the machine")
        return request
    if row is None or row.kind != MACHINE or request.action not in ASKS:
        return request
    named = request.spec.get(DISK)
    if not isinstance(named, str) or not named:
        return InvalidRequest("spec.disk", f"name the disk: {request.action} needs the name or the path of a disk")
    path = named if named.startswith("/") else f"{row.path.rpartition('/')[0]}/{named}"
    if not preconditions.PATH.fullmatch(path):
        return InvalidRequest("spec.disk", f"{named} is not the name or the path of a disk")
    request = replace(request, spec={**request.spec, DISK: path})
    disk = await reader.store.resources.read(path)
    if (
        disk is not None
        and request.action == "add-disk"
        and await preconditions.is_free(reader.store, reader.kinds, disk.summary)
    ):
        disk = None
    if disk is not None and disk.kind != DISK:
        return InvalidRequest("spec.disk", f"{path} is a {disk.kind}, not a disk")
    asks = asks_of(request.action, request.spec)
    state = disk.snapshot.state if disk is not None else reader.kinds[DISK].initial.name
    verb = asks.get(state) or next(iter(asks.values()))
    if disk is None and request.action != "add-disk":
        return InvalidRequest("spec.disk", f"there is no disk {path}")
    if disk is not None and request.action == "detach-disk" and machine_of(disk) not in ("", row.path):
        return InvalidRequest("spec.disk", f"{path} is attached to {machine_of(disk)}, not to {row.path}")
    own = ActionRequest(path, verb, DISK, {**spec_of_disk(request.spec), MACHINE: row.path}, row.lane)
    answer = await _rejected(reader, disk or new_row(reader, DISK, own), own, caller)
    return request if answer is None else replace(answer, reasons=with_path(answer.reasons, path))


type Authorize = Callable[[ActionRequest, Caller, Row | None], Awaitable[Authorized | Rejection | NotFound]]
"""Asks the policies about a request."""


async def onward(
    reader: Reader, request: ActionRequest, row: Row | None, authorized: Authorized, authorize: Authorize
) -> tuple[ActionRequest, Authorized] | Rejection | NotFound | InvalidRequest:
    """The request as it goes on, with what is there: one about a disk of a machine is the machine's."""
    caller = authorized.caller
    via = await via_machine(reader, request, row, caller)
    if isinstance(via, Rejection):
        return via
    if via is not None:
        onwards, machine = via
        found = await authorize(onwards, caller, machine)
        return (replace(onwards, row=machine), found) if isinstance(found, Authorized) else found
    fit = await of_machine(reader, request, row, caller)
    if not isinstance(fit, ActionRequest):
        return fit
    if row is not None and row.kind == MACHINE and request.action in ASKS:
        disk = await reader.store.resources.read(fit.spec[DISK])
        verb = next(iter(asks_of(request.action, fit.spec).values()))
        found = await authorize(ActionRequest(fit.spec[DISK], verb, DISK), caller, disk)
        if not isinstance(found, Authorized):
            return found
    return replace(fit, kind=row.kind if row is not None else fit.kind, row=row), authorized


async def admitted_as(
    reader: Reader, request: ActionRequest, row: Row | None, authorized: Authorized, authorize: Authorize
) -> tuple[ActionRequest, Authorized] | Rejection | NotFound | InvalidRequest:
    """The request that goes to admission, under the fingerprint of the one that the caller made."""
    about = await onward(reader, request, row, authorized, authorize)
    if not isinstance(about, tuple) or about[0].path == request.path:
        return about
    return replace(about[0], original=replace(request, kind=DISK).fingerprint()), about[1]


async def dry_run_onward(
    reader: Reader, request: ActionRequest, about: ActionRequest, caller: Caller
) -> DryRun | Rejection | NotFound:
    """What a request would do, by the request that it becomes."""
    found = await dry_run(reader, about, caller)
    if isinstance(found, Rejection) and about.path != request.path:
        return replace(found, reasons=with_path(found.reasons, about.path))
    return found


async def explain_disks(
    found: Explanation,
    reader: Reader,
    request: ActionRequest,
    row: Row | None,
    authorized: Authorized,
    authorize: Authorize,
) -> Explanation | NotFound:
    """With what the machine says, of a request about its disk; and with what the disk says, of one of a machine."""
    about = await onward(reader, request, row, authorized, authorize)
    if isinstance(about, tuple) and about[0].path != request.path:
        other = await explain(reader, about[0], about[1].caller)
        return other if isinstance(other, NotFound) else as_of_disk(found, other)
    return rejected(found, about.reasons, ()) if isinstance(about, Rejection) and found.allowed else found


def new_row(reader: Reader, kind: str, request: ActionRequest) -> Row:
    """What is not there yet."""
    return Row(request.path, kind, Snapshot(reader.kinds[kind].initial.name), request.lane, uuid4(), request.spec)


def _acts(reader: Reader, machine: Row, action: str) -> bool:
    """Whether the machine is where it can lose a disk, or on its way; otherwise the disk is by itself."""
    lifecycle = reader.kinds[MACHINE]
    known = lifecycle.action(action)
    state = lifecycle.state(machine.snapshot.state)
    return known is not None and (state.name in known.source or state.cls is StateClass.TRANSITIONAL)


async def _rejected(reader: Reader, row: Row, request: ActionRequest, caller: Caller) -> Rejection | None:
    """Why the disk itself cannot follow, whatever its machine is at."""
    event = request.event(caller)
    if request.action == "restore-with-machine":
        event = replace(event, actor=Actor.CONTROLLER)
    rows = {row.path: row}
    await preconditions.set_in(reader.store, reader.kinds, rows, [(row.path, event, request.spec)])
    snapshot = rows[row.path].snapshot
    above = tuple((kind, state) for kind, state in snapshot.above if kind != MACHINE)
    answer = decide(reader.kinds[DISK], replace(snapshot, above=above, blocked=row.snapshot.blocked), event)
    return placed(answer, row.path) if isinstance(answer, Rejection) else None
