"""Disks follow their machine: into the recycle bin when it is deleted or destroyed, out of it when it is restored.

Each disk is asked as a user would ask it, and the clock destroys those that stay. A machine is noted before its disks
are asked, and forgotten when all are where it is; so whoever dies on the way is followed.
"""

from __future__ import annotations

import logging

from stead.controller.admission import Accepted, Admission
from stead.controller.wish import Wish
from stead.lifecycle.decision import Refusal
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Actor

log = logging.getLogger(__name__)

BATCH = 50
"""Machines that are looked at in one go."""
PART = 5000
"""Lines of the journal that are read in one go."""
AGAIN = 5.0
"""Seconds before another look at a machine whose disks are on their way; by whoever is there."""

CONTROLLER = "controller"

FOLLOWS = {
    "DELETED": ("ASSIGNED", "delete-with-machine"),
    "DESTROYED": ("ASSIGNED", "delete-with-machine"),
    "HALTED": ("TOBEDELETED", "restore-with-machine"),
}
"""By the state of a machine: the state in which a disk does not belong to it, and what is asked of that."""


class Attachments:
    """Looks at machines that have moved, and asks their disks."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.mover.store

    async def __call__(self) -> int:
        """Look at all that are to be looked at now; how many that were."""
        read = await self.store.wake_attachments(PART)
        due = await self.store.due_attachments(self.admission.mover.clock(), BATCH, AGAIN)
        for each in due:
            if await self.follow(each["machine"], each["state"]):
                await self.store.followed(each["machine"], each["turn"])
        return len(due) + (read >= PART)

    async def follow(self, machine: str, state: str | None) -> bool:
        """Ask its disks to follow a machine; whether they all have."""
        if state not in FOLLOWS:
            return True
        astray, action = FOLLOWS[state]
        disks = await self.store.disks_of(machine)
        for disk in disks:
            if disk["state"] == astray and not disk["busy"]:
                request = Request(
                    action, Actor.CONTROLLER, reason=f"its machine is {state}", on_conflict=OnConflict.REFUSE
                )
                answer = await self.admission.ask(Wish("disk", disk["path"], request, CONTROLLER, {}, disk["lane"]))
                if not isinstance(answer, Accepted):
                    says = answer.reasons[0].says if isinstance(answer, Refusal) else answer.what
                    log.info("%s of %s waits: %s", action, disk["path"], says)
        return all(disk["state"] != astray and not disk["busy"] for disk in disks)
