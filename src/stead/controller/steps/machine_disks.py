"""What a machine's disks do while the machine gets one or loses one.

A request to attach a disk and a request to a machine to attach it lead to the same operation: one of the machine,
whose state shows it, and in the course of which the disk has an operation of its own. The claim of the machine keeps
every other change off the machine and its other disks; that of the disk, every other change of the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.execution.preconditions import is_free
from stead.controller.execution.steps import Answer, Done, Failed, Requested, Waits
from stead.lifecycle.decision import Code
from stead.lifecycle.events import OnConflict
from stead.lifecycle.rows import Actor
from stead.store import Row

DISK, MACHINE = "disk", "machine"

ASKS: Mapping[str, Mapping[str, str]] = {
    "add-disk": {"MODELED": "assign"},
    "attach-disk": {"CREATED": "attach", "TOBEDELETED": "restore-with-machine"},
    "detach-disk": {"ASSIGNED": "detach"},
}
"""By action of a machine: what is asked of the disk, by the state that the disk is in."""

DESTROYS = {"ASSIGNED": "destroy", "ERROR": "destroy"}
"""The same for a disk that is not only to be detached."""

STATES = {"ADDING_DISK": "add-disk", "ATTACHING_DISK": "attach-disk", "DETACHING_DISK": "detach-disk"}
"""The states of a machine in which its disk is at work."""

GONE = ("DESTROYED", "MODELED")


def machine_of(row: Row) -> str:
    """The machine that a disk is attached to: as observed, else as in its spec."""
    named = next((said[MACHINE] for said in (row.facts or {}, row.spec) if MACHINE in said), None)
    return named if isinstance(named, str) else ""


def asks_of(action: str, spec: Mapping[str, Any]) -> Mapping[str, str]:
    """What a machine's action asks of the disk, by the disk's state."""
    return DESTROYS if spec.get("then") == "destroy" else ASKS[action]


def spec_of_disk(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What a request of a machine says of the disk itself."""
    return {name: value for name, value in spec.items() if name not in (DISK, "then")}


class MachineDisks:
    """The step of one machine. A controller that takes it up makes a new one."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        self.asked = Requested(self.store)

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Do what is missing."""
        record = await self.store.operations.read(operation)
        spec = record["request"].get("spec", {}) if record is not None else {}
        path = spec.get(DISK)
        if record is None or not isinstance(path, str):
            return Failed("the request names no disk")
        asks = asks_of(record["action"], spec)
        disk = await self.store.resources.read(path)
        kinds = self.admission.executor.kinds
        if disk is not None and record["action"] == "add-disk" and await is_free(self.store, kinds, disk.summary):
            disk = None
        if disk is not None and disk.kind != DISK:
            return Failed(f"{path} is a {disk.kind}, not a disk")
        state = disk.snapshot.state if disk is not None else "MODELED"
        running = disk.snapshot.operation if disk is not None else None
        if running is not None:
            if running.action in asks.values():
                self.asked.add(path, running.id)
            return Waits(f"{running.action} of {path} is in progress")
        if bad := (await self.asked.bad()).get(path):
            return Failed(f"{path}{await self.asked.why(bad[-1]) or f' is {state}'}")
        if _reached(record["action"], asks, state, machine_of(disk) if disk is not None else "", row.path):
            return Done()
        if state not in asks:
            return Failed(f"{path} is {state}")
        return await self._ask(row, operation, record, asks[state], disk)

    async def _ask(
        self, row: Row, operation: UUID, record: Mapping[str, Any], action: str, disk: Row | None
    ) -> Answer:
        spec = record["request"]["spec"]
        path = spec[DISK]
        brings: dict[str, Any] = {}
        if action in ("assign", "attach"):
            brings = {**spec_of_disk(spec), MACHINE: row.path}
        lane = disk.lane if disk is not None else row.lane
        request = ActionRequest(
            path,
            action,
            DISK,
            brings,
            lane,
            reason=record["reason"],
            on_conflict=OnConflict.REJECT,
            within=True,
            under=(str(operation),),
        )
        actor = Actor.CONTROLLER if action == "restore-with-machine" else Actor.USER
        answer = await self.admission.admit(request, Authorized.of_record(record["principal"], actor, action))
        if isinstance(answer, Accepted):
            self.asked.add(path, answer.operation)
            return Waits(f"{action} of {path} is in progress")
        if isinstance(answer, NotFound):
            return Failed(answer.message)
        says = f"{path}: {answer.reasons[0].message}"
        return Waits(says) if answer.code in (Code.HELD, Code.IN_PROGRESS) else Failed(says)


def _reached(action: str, asks: Mapping[str, str], state: str, attached: str, machine: str) -> bool:
    """Whether the disk is where it is to be."""
    if asks is DESTROYS:
        return state in GONE
    return state == "CREATED" if action == "detach-disk" else (state == "ASSIGNED" and attached == machine)
