"""What is done to an account or a cloudspace is done to what is in it: each of its parts is asked, some at a time.

Every part has an operation of its own, with a claim of its own, in the course of the one above. What was done in that
way is taken back in that way: who enables a cloudspace has the machines started that were stopped with it, and no
others. What is asked for is read from what there is, so whoever takes this up after a crash goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stead.access.authorized import Authorized
from stead.catalog.edge import APPINST, CLUSTERINST
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.execution.steps import Answer, Done, Failed, Requested, Waits
from stead.lifecycle.decide.group import asks_as
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict
from stead.lifecycle.rows import Actor, StateClass
from stead.store import Row

MAX_CONCURRENT = 20
"""Parts that are at work at a time."""

MAX_ATTEMPTS = 2
"""Operations on one part that may go wrong before all is given up."""

IN_THE_WAY = ""
"""Requested of a part that must not be in such a state."""


@dataclass(frozen=True, slots=True)
class CascadePlan:
    """What is asked of parts: one kind after the other, each by its state."""

    asks: Mapping[str, Mapping[str, str]]
    back: bool = False
    """Only of those that were brought there in the same way."""
    forgets: bool = False
    """Parts are asked also while an agent is to work on them, and what may be left of them is listed as orphans."""


def _present(kind: Lifecycle) -> dict[str, str]:
    """Every state in which there is a record, with the request that removes it."""
    return {state.name: "forget" for state in kind.states if state.cls is not StateClass.ABSENT}


PLANS: Mapping[tuple[str, str], CascadePlan] = {
    ("cloudspace", "DISABLING"): CascadePlan({"machine": dict.fromkeys(("RUNNING", "PAUSED"), "stop")}),
    ("cloudspace", "WAKING"): CascadePlan({"machine": {"HALTED": "start"}}, back=True),
    ("cloudspace", "DELETING"): CascadePlan(
        {
            "machine": dict.fromkeys(("RUNNING", "PAUSED", "HALTED", "ERROR"), "delete"),
            "disk": {"CREATED": "delete", "ERROR": "delete", "ASSIGNED": "delete-with-machine"},
        }
    ),
    ("cloudspace", "REFILLING"): CascadePlan(
        {
            "machine": {"DELETED": "restore"},
            "disk": {"DELETED": "restore", "TOBEDELETED": "restore-with-machine"},
        },
        back=True,
    ),
    ("cloudspace", "DESTROYING"): CascadePlan(
        {
            "machine": dict.fromkeys(("RUNNING", "PAUSED", "HALTED", "DELETED", "ERROR"), "destroy"),
            "disk": dict.fromkeys(("CREATED", "ASSIGNED", "DELETED", "TOBEDELETED", "ERROR"), "destroy"),
        }
    ),
    ("cloudlet", "Forgetting"): CascadePlan(
        {kind.kind: _present(kind) for kind in (APPINST, CLUSTERINST)}, forgets=True
    ),
    ("account", "DISABLING"): CascadePlan({"cloudspace": {"DEPLOYED": "disable"}}),
    ("account", "ENABLING"): CascadePlan({"cloudspace": {"DISABLED": "enable"}}, back=True),
    ("account", "DELETING"): CascadePlan(
        {"cloudspace": {**dict.fromkeys(("DEPLOYED", "DISABLED", "ERROR"), "delete"), "PAUSED": IN_THE_WAY}}
    ),
    ("account", "RESTORING"): CascadePlan({"cloudspace": {"DELETED": "restore"}}, back=True),
    ("account", "DESTROYING"): CascadePlan(
        {
            "cloudspace": {
                **dict.fromkeys(("DEPLOYED", "DISABLED", "ERROR"), "delete"),
                "PAUSED": IN_THE_WAY,
                "DELETED": "destroy",
            }
        }
    ),
}


class Cascade:
    """The step of one resource and state. Whoever takes it up makes a new one."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        self.asked = Requested(self.store)

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Do what is missing."""
        plan = PLANS[row.kind, row.snapshot.state]
        left = await self.store.sites.orphan_resources(row.path) if plan.forgets else {}
        for kind, asks in plan.asks.items():
            parts = await self.store.groups.read_parts(row.path, kind, list(asks), back=plan.back)
            self._join(asks, parts)
            blocks = [part["path"] for part in parts if asks.get(part["state"]) == IN_THE_WAY and not part["busy"]]
            if blocks:
                return Failed(f"{blocks[0]} is in the way: see to it first")
            failed = await self._failed(asks)
            if plan.forgets:  # what is under way there does not end by itself
                parts = [{**part, "busy": False} for part in parts]
            if failed and not any(part["busy"] for part in parts):
                return Failed(failed)
            if parts:
                if not failed:
                    await self._ask(row, operation, kind, asks, parts)
                return Waits(f"{len(parts)} {kind}{'s' if len(parts) > 1 else ''} still to follow")
        if plan.forgets:
            await self.store.sites.remove(row.path)
            return Done(detail={"left_behind": left} if left else None)
        return Done()

    def _join(self, asks: Mapping[str, str], parts: Sequence[Mapping[str, Any]]) -> None:
        """What is in progress and does what would be asked counts as asked, whichever controller asked for it."""
        for part in parts:
            if part["busy"] and part["action"] in asks.values():
                self.asked.add(part["path"], str(part["operation"]))

    async def _ask(
        self, row: Row, operation: UUID, kind: str, asks: Mapping[str, str], parts: Sequence[Mapping[str, Any]]
    ) -> None:
        """As many as may be at work at a time, of those that nobody has asked yet."""
        record = await self.store.operations.read(operation)
        if record is None:
            return
        under = (str(operation), *record["request"].get("under", ()))
        lifecycle = self.admission.executor.kinds[kind]
        room = MAX_CONCURRENT - sum(part["busy"] for part in parts)
        for part in [part for part in parts if not part["busy"]][: max(room, 0)]:
            action = asks[part["state"]]
            request = ActionRequest(
                part["path"],
                action,
                kind,
                lane=part["lane"],
                reason=f"{record['action']} of {row.path}",
                on_conflict=OnConflict.REJECT,
                within=True,
                under=under,
            )
            actor = asks_as(lifecycle, action, Actor.USER)
            answer = await self.admission.admit(request, Authorized.of_record(record["principal"], actor, action))
            if isinstance(answer, Accepted):
                self.asked.add(part["path"], answer.operation)
            elif not isinstance(answer, NotFound):
                await self.store.operations.set_message(operation, f"{part['path']}: {answer.reasons[0].message}")

    async def _failed(self, asks: Mapping[str, str]) -> str:
        """Which part did not follow, and why, where it was asked often enough or cannot be asked again."""
        for path, bad in (await self.asked.bad()).items():
            part = await self.store.resources.read(path)
            if len(bad) >= MAX_ATTEMPTS or (part is not None and part.snapshot.state not in asks):
                return f"{path} did not follow{await self.asked.why(bad[-1])}"
        return ""
