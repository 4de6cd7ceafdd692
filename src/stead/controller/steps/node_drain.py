"""Maintenance of a node: its machines are moved to others, some at a time, and nobody sees them move.

Each migration is an operation of its own. What is on its way already is waited for, also where it was not this step
that asked for it; so whoever takes this up after a crash goes on where the other was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.execution.placement import namespace_of, others, starts
from stead.controller.execution.steps import Answer, Done, Failed, Requested, Waits
from stead.store import Row

MAX_CONCURRENT = 4
"""Machines that are moved at a time."""

MAX_ATTEMPTS = 2
"""Migrations of one machine before the node is left as it was."""

MAX_EXAMINED = 1000
"""Machines that are read at a time."""

STAYS = ("DELETED",)
"""What lies in the recycle bin does not run, and stays."""


class NodeDrain:
    """The step between the request for maintenance and its beginning. Whoever takes it up makes a new one."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        self.asked = Requested(self.store)

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Do what is missing."""
        machines, many = await self.store.nodes.read_machines(row.path, MAX_EXAMINED)
        left = [machine for machine in machines if machine["state"] not in STAYS]
        if not left and many <= MAX_EXAMINED:
            return Done()
        failed = await self._failed(left)
        if failed:
            return Failed(failed)
        stuck = [machine["path"] for machine in left if machine["state"] == "ERROR"]
        rest = [machine for machine in left if not machine["moves"] and not machine["busy"]]
        room = MAX_CONCURRENT - sum(machine["moves"] for machine in left)
        movable = starts(self.admission.executor.kinds["machine"], "migrate")
        ready = [machine for machine in rest if machine["state"] in movable][: max(room, 0)]
        if len(stuck) == len(left):
            return Failed(f"{stuck[0]} is in ERROR and cannot be moved: delete it, or see what it is")
        if ready:
            ways: dict[str, cycle[str]] = {}
            for machine in ready:
                space = namespace_of(machine["path"])
                if space not in ways:
                    where = await others(self.store, row.lane, row.path, space)
                    if not where:
                        return Failed(f"no other node of {row.lane} takes machines of {space}")
                    ways[space] = cycle(where)
                refused = await self._move(machine, next(ways[space]))
                if refused:
                    return Waits(f"{machine['path']}: {refused}; {_count(left)} still on it")
        return Waits(f"{_count(left)} still on it")

    async def _failed(self, left: Sequence[Mapping[str, Any]]) -> str:
        """Why a machine could not be moved, where that was tried often enough."""
        bad = await self.asked.bad()
        for path in [machine["path"] for machine in left]:
            if len(bad.get(path, ())) >= MAX_ATTEMPTS:
                return f"{path} could not be moved{await self.asked.why(bad[path][-1])}"
        return ""

    async def _move(self, machine: Mapping[str, Any], node: str) -> str:
        """Ask for a migration; why not, where that is refused."""
        spec = {**machine["spec"], "node": node}
        request = ActionRequest(
            machine["path"], "migrate", "machine", spec, machine["lane"], reason="maintenance of its node"
        )
        answer = await self.admission.admit(request, Authorized.by_controller("migrate"))
        match answer:
            case Accepted():
                self.asked.add(machine["path"], answer.operation)
                return ""
            case NotFound():
                return ""
        return answer.reasons[0].message


def _count(left: Sequence[Mapping[str, Any]]) -> str:
    return f"{len(left)} machine{'s' if len(left) > 1 else ''}"
