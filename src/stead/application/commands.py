"""The application: what interfaces call to request a change, to query, and to learn whether all is well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from stead.access.access import Access
from stead.access.authorization import Authorization
from stead.access.authorized import Authorized
from stead.access.caller import Caller
from stead.access.lane_use import not_allowed
from stead.access.policies import VIEW
from stead.application.acceptance import ActionAnswer, answer_of, earlier_answer, grown, mismatch
from stead.application.compound import CompoundAuthorization
from stead.application.concealment import Concealment
from stead.application.disk_requests import admitted_as, dry_run_onward, explain_disks, onward
from stead.application.dry_run import explain, lane_refused, not_permitted, placed, succeeds
from stead.application.explanation import DryRun, Explanation
from stead.application.journal_feed import JournalFeed
from stead.application.models import InvalidRequest, Operation
from stead.application.offers import offers, place_in, with_offers
from stead.application.queries import Queries
from stead.application.reader import Reader
from stead.application.rejections import RejectionLog
from stead.application.systems import SYSTEM, SystemPlan, plan
from stead.application.validation import fitted, requested_thing
from stead.controller.admission.admission import Admission
from stead.controller.admission.operations import OperationCommands
from stead.controller.admission.request import Accepted, ActionRequest, NotFound
from stead.controller.admission.served_lanes import ServedLanes
from stead.controller.dispatch.slots import SlotAllocator
from stead.controller.health.gauges import Gauges
from stead.controller.kinds.kinds import Kinds
from stead.controller.kinds.registry import Registry
from stead.controller.observation.agent_identities import AgentIdentities
from stead.controller.observation.observer import ProviderObserver
from stead.controller.steps.machine_disks import DISK
from stead.lifecycle.decision import Rejection
from stead.lifecycle.rows import Actor
from stead.lifecycle.snapshot import OnPartial
from stead.store import Row
from stead.telemetry.exposition import exposition, merged

type OperationAnswer = Operation | Rejection | NotFound

type Check = Callable[[], Awaitable[None]]
"""Raises where something is not as it should be."""


async def _no_bus() -> None:
    """There is none."""


@dataclass(frozen=True)
class Application:
    """Everything that an interface needs of the engine."""

    admission: Admission
    reader: Reader
    checks: Mapping[str, Check] = field(default_factory=dict)
    """What else has to be well, besides the database, for the service to be ready."""
    observer: ProviderObserver | None = None
    """Observes what providers have."""
    slots: SlotAllocator | None = None
    """Allocates slots on lanes."""
    access: Access | None = None
    """Authenticates callers and holds the policies; without it, every caller may do everything."""
    identities: AgentIdentities | None = None
    """Issues identities to agents; None where the bus authenticates no client."""
    beside: Callable[[], Awaitable[str | None]] | None = None
    """The metrics of the controller beside a server; None where it does not answer."""
    served: ServedLanes | None = None
    """The lanes that agents have served; without it, a request may name any lane."""
    bus: Callable[[], Awaitable[Mapping[str, Any] | None]] = _no_bus
    """The condition of the bus; None where it is away."""

    @property
    def kinds(self) -> Kinds:
        """The lifecycles it knows."""
        return self.reader.kinds

    @cached_property
    def authorization(self) -> Authorization:
        """Authorization by the policies in force."""
        return Authorization(self.access, self.kinds, self.reader.store)

    @cached_property
    def compound(self) -> CompoundAuthorization:
        """Authorization of what an action does to other resources."""
        return CompoundAuthorization(self.authorization)

    @cached_property
    def operations(self) -> OperationCommands:
        """Commands about operations."""
        return OperationCommands(self.admission)

    @cached_property
    def rejections(self) -> RejectionLog:
        """The record of what policies and logins rejected."""
        return RejectionLog(self.reader.store)

    @cached_property
    def gauges(self) -> Gauges:
        """The cell in numbers."""
        return Gauges(self.reader.store, self.bus)

    async def metrics(self) -> str:
        """What this process counts, what the controller beside it does, and the cell in numbers."""
        await self.gauges.refresh()
        texts = {"server": exposition()}
        if self.beside is not None and (told := await self.beside()) is not None:
            texts["controller"] = told
        return merged(texts)

    @cached_property
    def registry(self) -> Registry:
        """The registry of an operator's own kinds."""
        return Registry(self.kinds, self.reader.store)

    def now(self) -> datetime:
        """The time by the database's clock."""
        return self.reader.store.clock.now()

    async def has_tokens(self) -> bool:
        """Whether there is a token for a program."""
        return bool(await self.reader.store.credentials.read_tokens())

    def readiness(self) -> Mapping[str, Check]:
        """What has to be well for requests to be taken."""
        return {"database": self.reader.ping, **self.checks}

    def journal_feed(self) -> JournalFeed:
        """A feed of the journal for any number of followers; each sees what `Queries.lines` lets through."""
        return JournalFeed(self.reader)

    def queries(self, authorized: Authorized) -> Queries:
        """Queries of a caller: they answer with what the caller may see."""
        return Queries(self, authorized)

    # Requests for actions

    async def authorize(
        self, request: ActionRequest, caller: Caller, *, dry_run: bool = False
    ) -> Authorized | Rejection | NotFound:
        """The permission for a request; or why there is none, which is in the journal; or that nothing is there."""
        return await self._authorize(request, caller, await self._read(request), dry_run=dry_run)

    async def request(self, request: ActionRequest, authorized: Authorized) -> ActionAnswer:
        """Request a change."""
        authorized.check(request.action, force=request.force)
        row, principal = authorized.row, authorized.principal
        valid = await fitted(self.reader.store, self.kinds, request)
        if isinstance(valid, InvalidRequest | NotFound):
            return await earlier_answer(self.reader, self.admission, request, principal) or valid
        wrong = mismatch(valid, row) or grown(self.kinds, valid, row) or await self._forbidden(valid, authorized)
        if wrong is not None:
            return await earlier_answer(self.reader, self.admission, request, principal) or wrong
        valid = replace(valid, kind=row.kind if row is not None else valid.kind, row=row)
        if (unserved := await self._unserved(valid, authorized.caller)) is not None:
            before = await self.admission.answered(valid, principal)
            if before is None:
                await self.admission.reject(valid, authorized, unserved)
            return answer_of(before or unserved, valid)
        if valid.key and valid.kind == DISK:
            known = await earlier_answer(self.reader, self.admission, valid, principal)
            if known is not None:
                return known
        onwards = await admitted_as(self.reader, valid, row, authorized, self._authorize)
        if isinstance(onwards, Rejection):
            await self.admission.reject(valid, authorized, onwards)
        if not isinstance(onwards, tuple):
            return onwards
        answer = await self.admission.admit(*onwards)
        if isinstance(answer, NotFound):
            return answer
        if isinstance(answer, Rejection):
            answer = await with_offers(self, answer, onwards[0], onwards[1].caller)
        answer = answer_of(answer, onwards[0])
        return self._concealment(authorized).refusal(answer) if isinstance(answer, Rejection) else answer

    async def _forbidden(self, request: ActionRequest, authorized: Authorized) -> Rejection | None:
        """That a policy forbids kind an action does to other resources, which is in the journal."""
        row, dry_run = authorized.row, authorized.dry_run
        refusal = await self.compound.forbidden(authorized.caller, request, row, dry_run=dry_run)
        return refusal and await self._rejected(request, authorized.caller, row, refusal, dry_run=dry_run)

    async def _rejected(
        self, request: ActionRequest, caller: Caller, row: Row | None, refusal: Rejection, *, dry_run: bool
    ) -> Rejection:
        refusal = replace(refusal, state=row.snapshot.state if row is not None else "")
        if not dry_run:
            kind = row.kind if row is not None else request.kind
            about = request.path, kind, caller.name, request.action, Actor(caller.actor)
            await self.rejections.not_permitted(*about, refusal)
        return refusal

    async def _authorize(
        self, request: ActionRequest, caller: Caller, row: Row | None, *, dry_run: bool = False
    ) -> Authorized | Rejection | NotFound:
        thing = requested_thing(request, row)
        force = request.force
        found = self.authorization.authorize(caller, request.action, thing, force=force, dry_run=dry_run, row=row)
        if isinstance(found, Authorized):
            return found
        found = await self._rejected(request, caller, row, found, dry_run=dry_run)
        return found if self.authorization.sees(caller, thing) else NotFound(f"there is nothing at {request.path}")

    # Operations

    async def authorize_operation(
        self, id: UUID, caller: Caller, *, again: bool = False, force: bool = False
    ) -> Authorized | Rejection | NotFound:
        """The permission to cancel, promote or retry an operation: the one for the action that it does."""
        found = await self.queries(self.authorization.view(caller)).operation(id)
        if found is None:
            return NotFound(f"there is no operation {id}")
        said = found.request
        request = ActionRequest(
            found.path,
            found.action,
            found.kind,
            spec=said.get("spec", {}),
            plan=said.get("plan", {}),
            force=force or (again and bool(said.get("force"))),
            on_partial=OnPartial(said.get("on_partial", OnPartial.CONTINUE)),
        )
        authorized = await self._authorize(request, caller, await self.reader.store.resources.read(found.path))
        if not isinstance(authorized, Authorized):
            return authorized
        return await self._forbidden(request, authorized) or authorized

    async def cancel(self, id: UUID, authorized: Authorized) -> OperationAnswer:
        """End an operation before it is done."""
        return await self._shown(id, await self.operations.cancel(id, authorized))

    async def promote(self, id: UUID, authorized: Authorized) -> OperationAnswer:
        """Put an operation that waits its turn first."""
        return await self._shown(id, await self.operations.promote(id, authorized))

    async def _shown(self, id: UUID, answer: Accepted | Rejection | NotFound) -> OperationAnswer:
        """An operation as it is after a command."""
        if not isinstance(answer, Accepted):
            return answer
        return await self.reader.operation(id) or NotFound(f"there is no operation {id}")

    async def retry(
        self, id: UUID, authorized: Authorized, key: str = "", *, force: bool = False, reason: str = ""
    ) -> ActionAnswer:
        """Request once more what an operation was to do."""
        answer = await self.operations.retry(id, authorized, key, force=force, reason=reason)
        if not isinstance(answer, Rejection):
            return answer
        path, kind = authorized.resource.path, authorized.resource.kind
        about = ActionRequest(path, authorized.action, kind)
        refusal = await with_offers(self, placed(answer, path), about, authorized.caller)
        return self._concealment(authorized).refusal(refusal)

    # What a request would do

    async def explain(self, request: ActionRequest, authorized: Authorized) -> Explanation | NotFound:
        """Whether an action would be accepted, and if not, what would help. It takes the permission to query."""
        authorized.check(VIEW)
        caller, row = authorized.caller, await self._read(request)
        thing = requested_thing(request, row)
        if not self.authorization.sees(caller, thing):
            return NotFound(f"there is nothing at {request.path}")
        allowed = self.authorization.authorize(caller, request.action, thing, force=request.force, row=row)
        if isinstance(allowed, Authorized):
            valid = await fitted(self.reader.store, self.kinds, request)
            about = valid if isinstance(valid, ActionRequest) else request
            allowed = await self.compound.forbidden(caller, about, row) or allowed
        found = await explain(self.reader, request, allowed.caller if isinstance(allowed, Authorized) else caller)
        if isinstance(found, NotFound):
            return found
        if row is not None:
            found = replace(found, allowed_actions=await offers(self, row, caller, place_in(request)))
        if not isinstance(self.authorization.authorize(caller, request.action, thing, force=True), Authorized):
            found = replace(found, remedies=tuple(one for one in found.remedies if one.kind != "force"))
        if refusal := await self.lanes_refused(request, caller, row):
            found = lane_refused(found, refusal)
        if not isinstance(allowed, Authorized):
            return not_permitted(found, allowed)
        shown = await explain_disks(found, self.reader, request, row, allowed, self._authorize)
        return shown if isinstance(shown, NotFound) else self._concealment(authorized).explanation(shown)

    async def dry_run(
        self, request: ActionRequest, authorized: Authorized
    ) -> DryRun | Rejection | NotFound | InvalidRequest:
        """What an action would do, without doing it."""
        authorized.check(request.action, force=request.force, dry_run=True)
        row, caller = authorized.row, authorized.caller
        valid = await fitted(self.reader.store, self.kinds, request)
        if isinstance(valid, InvalidRequest | NotFound):
            return valid
        if rejection := await self._forbidden(valid, authorized):
            return rejection
        about = await onward(self.reader, valid, row, authorized, self._authorize)
        if not isinstance(about, tuple):
            found: DryRun | Rejection | NotFound | InvalidRequest = about
        else:
            found = await dry_run_onward(self.reader, request, about[0], about[1].caller)
        if isinstance(found, DryRun) and not (found.would_join or found.no_change):
            return await self.lanes_refused(request, caller, row) or found
        return self._concealment(authorized).refusal(found) if isinstance(found, Rejection) else found

    async def plan(
        self, request: ActionRequest, authorized: Authorized
    ) -> SystemPlan | Rejection | NotFound | InvalidRequest:
        """What a deploy of a system would do, with things as they are."""
        authorized.check(request.action, dry_run=True)
        row = authorized.row
        valid = await fitted(self.reader.store, self.kinds, request)
        if row is None or row.kind != SYSTEM:
            return NotFound(f"there is no system {request.path}")
        if isinstance(valid, InvalidRequest | NotFound):
            return valid
        rejection = await self._forbidden(valid, authorized)
        rejection = rejection or await self.lanes_refused(request, authorized.caller, row)
        return rejection or await plan(self.reader.store, row, valid)

    async def lanes_refused(self, request: ActionRequest, caller: Caller, row: Row | None) -> Rejection | None:
        """That its namespace may not use a lane of what would be committed, or that no agent has served one."""
        valid = await fitted(self.reader.store, self.kinds, request)
        kind = row.kind if row is not None else request.kind
        if not isinstance(valid, ActionRequest) or kind not in self.kinds:
            return None
        valid = replace(valid, kind=kind, row=row)
        used = await self.admission.uses(valid, Actor(caller.actor))
        refused = await self.reader.store.lanes.find_denied(used) if used is not None else None
        if refused is not None:
            return not_allowed(refused, row.snapshot.state if row is not None else "")
        return await self._unserved(valid, caller)

    async def _unserved(self, request: ActionRequest, caller: Caller) -> Rejection | None:
        """That no agent has ever served a lane that it names."""
        if self.served is None or request.kind not in self.kinds:
            return None
        return await self.served.rejection(request, Actor(caller.actor))

    def _concealment(self, authorized: Authorized) -> Concealment:
        return Concealment(self.authorization, authorized.caller)

    async def _read(self, request: ActionRequest) -> Row | None:
        """What is there; its kind, or the one that is asked for, may have been registered a moment ago."""
        row = await self.reader.store.resources.read(request.path)
        known = (
            self.kinds.knows(row.kind, row.snapshot.state) if row is not None else request.kind in ("", *self.kinds)
        )
        if not known:
            await self.kinds.fresh()
        return None if row is not None and await succeeds(self.reader, request, row) else row
