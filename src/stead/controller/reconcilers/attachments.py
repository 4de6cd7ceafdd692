"""Disks follow their machine: into the recycle bin when it is deleted or destroyed, out of it when it is restored.

Each disk is asked as a user would ask it, and the clock destroys those that stay. A machine is noted before its disks
are asked, and forgotten when all are where it is; so whoever dies on the way is followed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.lifecycle.decide.group import asks_as
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import OnConflict
from stead.lifecycle.rows import Actor

log = logging.getLogger(__name__)

BATCH = 50
"""Machines that are looked at in one go."""
JOURNAL_BATCH = 5000
"""Lines of the journal that are read in one go."""
RETRY_SECONDS = 5.0
"""Seconds before another look at a machine whose disks are on their way; by whoever is there."""

CONTROLLER = "controller"

FOLLOWS = {
    "DELETED": ("ASSIGNED", "delete-with-machine"),
    "DESTROYED": ("ASSIGNED", "delete-with-machine"),
    "HALTED": ("TOBEDELETED", "restore-with-machine"),
}
"""By the state in which an action leaves a machine: the state of disks that follow it, and the action on these disks
that the caller has to be permitted."""

KEEP = "keep"
"""What a request to destroy a machine says of its disks where they are to stay; otherwise they are deleted."""


def asks_of(state: str | None, choice: str) -> Mapping[str, str]:
    """What is asked of the disks of a machine, by the state of the disk; nothing while the machine is on its way.

    A disk of a destroyed machine lies in the recycle bin by itself, and is restored by itself. What lay there with a
    machine that the clock destroyed is destroyed by the clock, too.
    """
    match state:
        case "DELETED":
            return {"ASSIGNED": "delete-with-machine"}
        case None | "DESTROYED" if choice == KEEP:
            return {"ASSIGNED": "detach", "TOBEDELETED": "restore-after-machine"}
        case None | "DESTROYED":
            waits = {"TOBEDELETED": "delete-after-machine"} if choice else {}
            return {"ASSIGNED": "delete-after-machine", **waits}
        case "RUNNING" | "PAUSED" | "HALTED":
            return {"TOBEDELETED": "restore-with-machine"}
    return {}


class AttachmentReconciler:
    """Looks at machines that have moved, and asks their disks."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store

    async def __call__(self) -> int:
        """Look at all that are to be looked at now; how many that were."""
        read = await self.store.attachments.enqueue_moved(JOURNAL_BATCH)
        due = await self.store.attachments.due(self.admission.executor.clock(), BATCH, RETRY_SECONDS)
        for each in due:
            if await self.follow(each["machine"], each["state"]):
                await self.store.attachments.complete(each["machine"], each["turn"])
        return len(due) + (read >= JOURNAL_BATCH)

    async def follow(self, machine: str, state: str | None) -> bool:
        """Ask its disks to follow a machine; whether they all have."""
        choice = await self.store.attachments.read_destroy_option(machine) if state in (None, "DESTROYED") else ""
        asks = asks_of(state, choice)
        disks = await self.store.attachments.read_disks(machine)
        for disk in disks:
            if disk["state"] in asks and not disk["busy"]:
                await self._ask(disk, asks[disk["state"]], f"its machine is {state or 'gone'}")
        left = [disk for disk in disks if disk["busy"] or disk["state"] in (asks or ("TOBEDELETED",))]
        return state == "ERROR" or not left

    async def _ask(self, disk: Mapping[str, Any], action: str, reason: str) -> None:
        actor = asks_as(self.admission.executor.kinds["disk"], action, Actor.USER)
        request = ActionRequest(
            disk["path"], action, "disk", lane=disk["lane"], reason=reason, on_conflict=OnConflict.REJECT
        )
        answer = await self.admission.admit(request, Authorized.of_record(CONTROLLER, actor, action))
        if not isinstance(answer, Accepted):
            says = answer.reasons[0].message if isinstance(answer, Rejection) else answer.message
            log.info("%s of %s waits: %s", action, disk["path"], says)
