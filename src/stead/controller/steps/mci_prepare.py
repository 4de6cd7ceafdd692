"""Prepares an infrastructure, or one more subgroup: what it names is checked, and what its VMs share is made first.

Every part of it may be done again. Specs and images are asked for first, so that a misspelled name costs nothing.
Then come networks and keys, then security groups, which lie in networks; where somebody else is making the same one,
it is waited for. In the end the infrastructure holds a claim of use on each of them, and finds all of them there:
from then on nobody can take them away.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID, uuid4

import msgspec

from stead.access.authorized import Authorized
from stead.access.lane_use import LaneUse, named, not_allowed
from stead.bus import Bus, BusError
from stead.bus.messages import OffersReply, OffersRequest, WantedOffer
from stead.catalog import infrastructure
from stead.catalog.infrastructure import Infrastructure, PlannedMember, SharedResource
from stead.catalog.multicloud import MCI
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.steps import CONTROLLER, Answer, Done, Failed, Waits
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.rows import Actor
from stead.store import Row
from stead.store.references import OperationGone

AVAILABLE, FAILED = "Available", "Failed"

FIRST = ("network", "sshkey")
"""What needs nothing else to be there."""


class PreparationFailed(Exception):
    """There is nothing more to be done now."""

    def __init__(self, answer: Failed | Waits) -> None:
        super().__init__(answer.says)
        self.answer = answer


class MciPrepare:
    """The step between the request for an infrastructure and its VMs. Whoever takes it up makes a new one."""

    def __init__(self, admission: Admission, bus: Bus) -> None:
        self.admission = admission
        self.executor: TransitionExecutor = admission.executor
        self.bus = bus
        self.references = self.executor.store.references
        self.asked: dict[str, str] = {}
        """By path what was asked for, and by which operation it is made."""
        self.kinds: dict[str, frozenset[str]] = {}
        """The kinds that can be made on each lane, once the names were checked."""

    async def __call__(self, row: Row, operation: UUID) -> Answer:
        """Do what is missing: for an infrastructure, or for a subgroup that is added to one."""
        try:
            wanted = await self._wanted(row)
            await self._allowed(row)
            if not self.kinds:
                self.kinds = await self._check(infrastructure.parts(wanted))
            needs = infrastructure.shared_by(row.path, wanted).values()
            await self._share(row, operation, [need for need in needs if need.kind in self.kinds[need.lane]])
            if row.kind == MCI.kind:
                await self._hold_subgroups(row, operation, wanted)
        except PreparationFailed as stop:
            return stop.answer
        except OperationGone:
            return Waits("nobody waits for it any more")
        return Done()

    async def _wanted(self, row: Row) -> Infrastructure:
        if row.kind == MCI.kind:
            return infrastructure.read(row.spec)
        above, _, name = row.path.rpartition("/")
        parent = await self.executor.store.resources.read(above)
        if parent is None:
            raise PreparationFailed(Failed(f"there is no infrastructure {above} any more"))
        return infrastructure.with_subgroup(parent.spec, name, row.spec)

    async def _allowed(self, row: Row) -> None:
        """Stop where a lane was denied since it was asked for: its agent is asked nothing."""
        used = LaneUse(frozenset(named(row.kind, row.spec))).written(row.path)
        refused = await self.executor.store.lanes.find_denied(used)
        if refused is not None:
            raise PreparationFailed(Failed(not_allowed(refused).reasons[0].message))

    # What is named is there

    async def _check(self, parts: Sequence[PlannedMember]) -> dict[str, frozenset[str]]:
        """By lane, the kinds that can be made there; stops where a place lacks what is named."""
        wants: defaultdict[str, dict[WantedOffer, None]] = defaultdict(dict)
        for part in parts:
            wants[part.lane] |= {WantedOffer("spec", part.spec): None, WantedOffer("image", part.image): None}
        replies = await asyncio.gather(*(self._offers(lane, list(asked)) for lane, asked in wants.items()))
        lacks = [_lacking(lane, reply) for lane, reply in zip(wants, replies, strict=True)]
        missing = [says for said in lacks for says in said]
        if missing:
            raise PreparationFailed(Failed("; ".join(missing)))
        return {lane: frozenset(reply.kinds) for lane, reply in zip(wants, replies, strict=True)}

    async def _offers(self, lane: str, wants: list[WantedOffer]) -> OffersReply:
        try:
            reply = await self.bus.offers(OffersRequest(lane, wants))
        except BusError as error:
            raise PreparationFailed(Waits(f"nobody serves the lane {lane}: run an agent for it")) from error
        if reply.error:
            raise PreparationFailed(Waits(f"{lane} cannot be asked what it has: {reply.error}"))
        return reply

    # What VMs share

    async def _share(self, row: Row, operation: UUID, needs: Sequence[SharedResource]) -> None:
        """See to it that all is there, and is not taken away again."""
        await self._have(row.path, [need for need in needs if need.kind in FIRST])
        await self._have(row.path, await self._in_networks(row, needs))
        if needs:
            holder = await self.references.use(row.path, operation, [need.path for need in needs])
            if holder is not None:
                raise PreparationFailed(Waits(f"{holder.action} of {holder.path} has to end first"))
        await self._there(needs)  # nobody can take them away any more

    async def _in_networks(self, row: Row, needs: Iterable[SharedResource]) -> list[SharedResource]:
        """Security groups, each with what the provider said of its network."""
        rows = await self.executor.store.resources.read_many([need.path for need in needs if need.kind == "network"])
        found = []
        for need in needs:
            if need.kind in FIRST:
                continue
            network = rows.get(infrastructure.network_of(need.path))
            shared = {"shared": {"network": dict(network.facts or {})}} if network is not None else {}
            found.append(msgspec.structs.replace(need, spec={**need.spec, **shared}))
        return found

    async def _have(self, path: str, needs: Sequence[SharedResource]) -> None:
        """Ask for what is not there, and wait for what is being made."""
        rows = await self.executor.store.resources.read_many([need.path for need in needs])
        waits = [await self._ask(path, need, rows.get(need.path)) for need in needs]
        waiting = [says for says in waits if says]
        if waiting:
            raise PreparationFailed(Waits("; ".join(waiting)))

    async def _ask(self, path: str, need: SharedResource, row: Row | None) -> str:
        """What is waited for; nothing, where it is there."""
        if row is not None and row.snapshot.state == AVAILABLE and row.snapshot.operation is None:
            _fits(need, row)
            return ""
        if row is not None and row.snapshot.state == FAILED and need.path in self.asked:
            record = await self.executor.store.operations.read(UUID(self.asked[need.path]))
            why = record["says"] if record is not None else ""
            raise PreparationFailed(Failed(f"{need.kind} {need.path} could not be made{': ' if why else ''}{why}"))
        if row is None and need.kind == "sshkey" and not need.spec.get("publicKey"):
            raise PreparationFailed(Failed(f"there is no key {need.path}, and none is said under sshKeys"))
        spec = {**need.spec, "madeFor": path}
        request = ActionRequest(need.path, "create", need.kind, spec, need.lane)
        answer = await self.admission.admit(request, Authorized.by_controller("create"))
        match answer:
            case Accepted():
                self.asked[need.path] = answer.operation
                return f"{need.kind} {need.path} is being made"
            case Rejection() if answer.code is Code.LANE_NOT_ALLOWED:
                raise PreparationFailed(Failed(f"{need.kind} {need.path}: {answer.reasons[0].message}"))
            case Rejection():
                return f"{need.kind} {need.path}: {answer.reasons[0].message}"
            case NotFound():
                raise PreparationFailed(Failed(answer.message))

    async def _there(self, needs: Sequence[SharedResource]) -> None:
        rows = await self.executor.store.resources.read_many([need.path for need in needs])
        for need in needs:
            row = rows.get(need.path)
            if row is None or row.snapshot.state != AVAILABLE:
                raise PreparationFailed(Waits(f"{need.kind} {need.path} was taken away again"))

    # Subgroups

    async def _hold_subgroups(self, row: Row, operation: UUID, wanted: Infrastructure) -> None:
        """Have a record of each subgroup, and of no other: what an earlier infrastructure of the name left goes."""
        store = self.executor.store
        parts = {f"{row.path}/{part.name}": part for part in infrastructure.parts(wanted)}
        paths = await store.resources.list_paths("subgroup", f"{row.path}/", "", len(parts) + 1000)
        there = await store.resources.read_many(paths)
        asked = Request("create", Actor.CONTROLLER, within=True, operation=str(operation), by=CONTROLLER)
        stale = [path for path, found in there.items() if path not in parts or found.spec != parts[path].written()]
        await self.executor.apply(
            [TransitionInput(path, replace(asked, action="remove"), CONTROLLER) for path in stale]
        )
        told = []
        for path, part in parts.items():
            if path not in there or path in stale:
                new = Row(path, "subgroup", self.executor.first("subgroup"), "", uuid4(), part.written())
                told.append(TransitionInput(path, asked, CONTROLLER, spec=part.written(), new=new))
        await self.executor.apply(told)


def _lacking(lane: str, reply: OffersReply) -> list[str]:
    """What a place does not have, in words."""
    said = []
    for lack in reply.missing:
        near = f"; did you mean {' or '.join(lack.similar)}?" if lack.similar else ""
        said.append(f"{lane} has no {lack.wanted.field} {lack.wanted.name}{near}")
    return said


def _fits(need: SharedResource, row: Row) -> None:
    """What is there already may differ from what is said of it here."""
    for name, value in need.spec.items():
        if name not in ("shared", "name") and row.spec.get(name, value) != value:
            says = (
                f"{need.kind} {need.path} is there with {name} {row.spec[name]}, not {value}: give yours another name"
            )
            raise PreparationFailed(Failed(says))
