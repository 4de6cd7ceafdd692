"""What is left when an infrastructure is gone: its subgroups' records, and what its VMs shared with others.

A use ends with the user: when an infrastructure has nothing left at any provider, it uses nothing. What was made on
its own because somebody needed it goes with the last user; what a person made stays until a person deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stead.access.authorized import Authorized
from stead.catalog.infrastructure import groups_in, network_of
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest
from stead.controller.execution.background_tasks import BackgroundTasks
from stead.controller.execution.steps import CONTROLLER
from stead.controller.execution.transition import TransitionInput
from stead.controller.kinds.kinds import CompiledKind
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Request
from stead.lifecycle.rows import ABSENT, Actor, StateClass
from stead.store import Row
from stead.store.commit import CommitResult

KINDS = ("network", "securitygroup", "sshkey")
RESTING = {"Available": 10.0, "Undefined": 10.0, "Failed": 300.0}
"""Seconds for which something rests unused, by its state, before it counts as left behind by a crash."""
BATCH = 100


class SharedResourceCleanup:
    """Ends uses, and removes what nobody uses."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self.store = admission.executor.store
        self.references = self.store.references
        self.nothing = CompiledKind(admission.executor.kinds, _nothing)
        """States in which there is nothing at the provider."""
        self.ended = CompiledKind(admission.executor.kinds, _ended)
        self.background = BackgroundTasks("what nobody uses")

    async def __call__(self, written: CommitResult) -> None:
        """After a commit: whoever has come to an end may be done with what it used."""
        users = [path for path in written.gone if path.count("/") <= 3]
        if users:
            self.background.begin(self._free(users))

    async def _free(self, users: Sequence[str]) -> int:
        freed = 0
        for user in users:
            unused = await self.references.release(user, self.nothing())
            freed += len(unused)
            if user.count("/") == 2 and await self.store.resources.read(user) is None:
                await self._forget(await self.store.resources.list_paths("subgroup", f"{user}/", "", BATCH))
            unused += (
                [network_of(user)] if "/securitygroups/" in user else await self.references.list_made_for(user, KINDS)
            )
            await self._remove(sorted(set(unused), reverse=True))  # security groups before networks
        return freed

    async def _forget(self, subgroups: Sequence[str]) -> None:
        """Their VMs are gone, and what they were part of, too."""
        request = Request("remove", Actor.CONTROLLER, within=True, by=CONTROLLER)
        await self.admission.executor.apply(
            [TransitionInput(path, request, principal=CONTROLLER) for path in subgroups]
        )

    async def _remove(self, paths: Sequence[str]) -> int:
        removed = 0
        for path in paths:
            row = await self.store.resources.read(path)
            if row is not None and row.snapshot.state in RESTING and "madeFor" in row.spec and await self._idle(row):
                request = ActionRequest(path, "delete", row.kind, reason="no VM uses it any more", row=row)
                answer = await self.admission.admit(request, Authorized.by_controller("delete"))
                removed += isinstance(answer, Accepted)
        return removed

    async def _idle(self, row: Row) -> bool:
        """Whether nobody has a claim on it; on a network, also no security group that lies in it."""
        if await self.store.claims.find_holders(row.path, 1):
            return False
        if row.kind != "network":
            return True
        inside = groups_in(row.path)
        below = inside[: inside.rindex("/") + 1]
        found = await self.store.resources.list_paths("securitygroup", below, inside, 1)
        return not any(path.startswith(inside) for path in found)

    async def heal(self) -> int:
        """Whatever was left by a crash."""
        await self._forget(await self.store.groups.list_stray_subgroups(BATCH))
        freed = await self._free(await self.references.list_idle_users(self.ended(), BATCH))
        for state, least in RESTING.items():
            freed += await self._remove(await self.references.list_unused(KINDS, [state], least, BATCH))
        return freed


def _nothing(kinds: Mapping[str, Lifecycle]) -> list[str]:
    return sorted({state.name for kind in kinds.values() for state in kind.states if state.observed_as == ABSENT})


def _ended(kinds: Mapping[str, Lifecycle]) -> list[str]:
    return sorted({state.name for kind in kinds.values() for state in kind.states if state.cls is StateClass.FINAL})
