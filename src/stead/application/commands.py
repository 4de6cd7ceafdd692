"""The engine as an interface sees it: ask for a change, look at what there is, and know whether all is well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import UUID

from stead.access.access import Access
from stead.access.authorization import THE_CELL, Authorization, asked_thing, thing_of
from stead.access.caller import Caller
from stead.access.lane_use import ADOPT, not_allowed
from stead.access.policies import HOSTS, LIFECYCLES, LIMIT, ORPHANS, QUEUE
from stead.application.acceptance import ActionAnswer, again, answer_of, grown, mismatch, taken, wish_of
from stead.application.authorized_queries import AuthorizedQueries
from stead.application.compound import CompoundAuthorization
from stead.application.disk_requests import explain_disks, onward, rehearsed, wished
from stead.application.dry_run import explain, lane_refused, not_permitted, placed, succeeds
from stead.application.explanation import DryRun, Explanation
from stead.application.leases import Host, host_of
from stead.application.lifecycles import LifecycleDetail, shown_lifecycle
from stead.application.models import Asked, InvalidRequest, Operation, Page, Queue, ResourceNotFound
from stead.application.offers import offers, place_in, with_offers
from stead.application.orphan_adoption import REMOVE, adopt, remove
from stead.application.queries import Queries, shown_queue
from stead.application.rejections import RejectionLog
from stead.application.systems import SYSTEM, SystemPlan, plan
from stead.application.validation import fitted, lane_of
from stead.controller.admission.admission import Accepted, Admission, NotFound
from stead.controller.admission.request import AdmissionRequest
from stead.controller.admission.served_lanes import ServedLanes
from stead.controller.dispatch.slots import SlotAllocator
from stead.controller.health.gauges import Gauges
from stead.controller.kinds.kinds import Kinds, RegisteredLifecycle
from stead.controller.kinds.registry import InvalidDocument, Registry
from stead.controller.observation.agent_identities import Agent, AgentIdentities, member_of
from stead.controller.observation.observer import ProviderObserver
from stead.controller.steps.machine_disks import DISK
from stead.lifecycle.decision import Rejection
from stead.lifecycle.rows import Actor
from stead.store import Row
from stead.store.quotas import OF_LEASES, Quota, is_namespace
from stead.telemetry.exposition import exposition, merged

type OperationAnswer = Operation | Rejection | ResourceNotFound

type Check = Callable[[], Awaitable[None]]
"""Raises where something is not as it should be."""


async def _no_bus() -> None:
    """There is none."""


@dataclass(frozen=True)
class Application:
    """All that an interface needs of the engine."""

    admission: Admission
    view: Queries
    checks: Mapping[str, Check] = field(default_factory=dict)
    """What else has to be well, besides the database, for the service to be ready."""
    observer: ProviderObserver | None = None
    """Who is asked what is really there."""
    slots: SlotAllocator | None = None
    """Who gives room on lanes."""
    access: Access | None = None
    """Who knows callers and what they may; without it, everybody may everything."""
    identities: AgentIdentities | None = None
    """Who lets agents in; None where the bus lets everybody in."""
    beside: Callable[[], Awaitable[str | None]] | None = None
    """Asks the controller beside a server for what it counts; None where it does not answer."""
    served: ServedLanes | None = None
    """Who knows which lanes agents have served; without it, a request may name any lane."""
    bus: Callable[[], Awaitable[Mapping[str, Any] | None]] = _no_bus
    """How the bus is; None where it is away."""

    @property
    def kinds(self) -> Kinds:
        """The lifecycles it knows."""
        return self.view.kinds

    @cached_property
    def permission(self) -> Authorization:
        """Who asks the policies."""
        return Authorization(self.access, self.kinds, self.view.store)

    @cached_property
    def compound(self) -> CompoundAuthorization:
        """Who judges what an action does to other resources."""
        return CompoundAuthorization(self.permission)

    @cached_property
    def refusals(self) -> RejectionLog:
        """Who tells the journal of what policies and logins refuse."""
        return RejectionLog(self.view.store)

    @cached_property
    def gauges(self) -> Gauges:
        """The cell in numbers."""
        return Gauges(self.view.store, self.bus)

    async def metrics(self) -> str:
        """What this process counts, what the controller beside it does, and the cell in numbers."""
        await self.gauges.refresh()
        texts = {"server": exposition()}
        if self.beside is not None and (told := await self.beside()) is not None:
            texts["controller"] = told
        return merged(texts)

    @cached_property
    def registry(self) -> Registry:
        """Who puts kinds of an operator's own in force."""
        return Registry(self.kinds, self.view.store)

    def seen(self, caller: Caller) -> AuthorizedQueries:
        """What there is, as far as it is for a caller."""
        return AuthorizedQueries(self, caller)

    async def ask(self, asked: Asked, caller: Caller) -> ActionAnswer:
        """Ask for a change."""
        row = await self._read(asked)
        may = await self._permitted(asked, caller, row)
        if not isinstance(may, Caller):
            return may
        caller = may
        fit = await fitted(self.view.store, self.kinds, asked)
        if isinstance(fit, InvalidRequest | ResourceNotFound):
            return await again(self.view, self.admission, asked, caller) or fit
        wrong = mismatch(fit, row) or grown(self.kinds, fit, row)
        if wrong is not None:
            return await again(self.view, self.admission, asked, caller) or wrong
        kind = row.kind if row is not None else fit.kind
        wish = wish_of(fit, caller, kind, row)
        forbidden = await self._forbidden(fit, caller, row)
        if forbidden is not None:
            return await again(self.view, self.admission, asked, caller) or forbidden
        if (unserved := await self._unserved(wish, row)) is not None:
            before = await self.admission.answered(wish)
            if before is None:
                await self.admission.reject(wish, unserved)
            return answer_of(before or unserved, wish)
        if fit.key and kind == DISK and (known := await again(self.view, self.admission, fit, caller)):
            return known
        onwards = await wished(self.view, fit, row, caller, self._permitted)
        if isinstance(onwards, Rejection):
            await self.admission.reject(wish, onwards)
        if not isinstance(onwards, AdmissionRequest):
            return onwards
        answer = await self.admission.ask(onwards)
        if isinstance(answer, NotFound):
            return ResourceNotFound(answer.what)
        if isinstance(answer, Rejection):
            about = Asked(onwards.path, onwards.request.action, onwards.kind, onwards.spec)
            answer = await with_offers(self, answer, about, caller)
        said = answer_of(answer, onwards)
        return self.seen(caller).concealment.refusal(said) if isinstance(said, Rejection) else said

    async def _forbidden(
        self, asked: Asked, caller: Caller, row: Row | None, *, dry_run: bool = False
    ) -> Rejection | None:
        """That a policy forbids what an action does to others, which is in the journal."""
        refusal = await self.compound.forbidden(caller, asked, row, dry_run=dry_run)
        return refusal and await self._rejected(asked, caller, row, refusal, dry_run=dry_run)

    async def _rejected(
        self, asked: Asked, caller: Caller, row: Row | None, refusal: Rejection, *, dry_run: bool
    ) -> Rejection:
        refusal = replace(refusal, state=row.snapshot.state if row is not None else "")
        if not dry_run:
            kind = row.kind if row is not None else asked.kind
            about = asked.path, kind, caller.name, asked.action, Actor(caller.actor)
            await self.refusals.not_permitted(*about, refusal)
        return refusal

    async def _permitted(
        self, asked: Asked, caller: Caller, row: Row | None, *, dry_run: bool = False
    ) -> Caller | Rejection | ResourceNotFound:
        """The caller as who they may act; or that they may not, which is in the journal; or that it is not there."""
        thing = asked_thing(asked.path, asked.kind, asked.spec, row, asked.action, lane_of(asked))
        may = self.permission.acting(caller, asked.action, thing, force=asked.force, dry_run=dry_run)
        if isinstance(may, Caller):
            return may
        refusal = await self._rejected(asked, caller, row, may, dry_run=dry_run)
        return (
            refusal if self.permission.sees(caller, thing) else ResourceNotFound(f"there is nothing at {asked.path}")
        )

    async def _theirs(
        self, id: UUID, caller: Caller, *, again: bool = False, force: bool = False
    ) -> tuple[Operation, Caller] | Rejection | ResourceNotFound:
        """An operation, and the caller as who may ask for what it does: whoever may, may also end it."""
        found = await self.seen(caller).operation(id)
        if found is None:
            return ResourceNotFound(f"there is no operation {id}")
        row = await self.view.store.resources.read(found.path)
        forced = force or (again and bool(found.request.get("force")))
        said = found.request
        asked = Asked(
            found.path,
            found.action,
            found.kind,
            spec=said.get("spec", {}),
            plan=said.get("plan", {}),
            force=forced,
            on_partial=said.get("on_partial", "continue"),
        )
        may = await self._permitted(asked, caller, row)
        if not isinstance(may, Caller):
            return may
        return await self._forbidden(asked, caller, row) or (found, may)

    async def cancel(self, id: UUID, caller: Caller) -> OperationAnswer:
        """End an operation before it is done."""
        theirs = await self._theirs(id, caller)
        if not isinstance(theirs, tuple):
            return theirs
        _, caller = theirs
        return await self._shown(id, await self.admission.cancel(id, caller.name, Actor(caller.actor)))

    async def promote(self, id: UUID, caller: Caller) -> OperationAnswer:
        """Put an operation that waits its turn first."""
        theirs = await self._theirs(id, caller)
        if not isinstance(theirs, tuple):
            return theirs
        _, caller = theirs
        return await self._shown(id, await self.admission.promote(id, caller.name, Actor(caller.actor)))

    async def _shown(self, id: UUID, answer: Accepted | Rejection | NotFound) -> OperationAnswer:
        """An operation as it is after a word to it."""
        if isinstance(answer, NotFound):
            return ResourceNotFound(answer.what)
        if isinstance(answer, Rejection):
            return answer
        return await self.view.operation(id) or ResourceNotFound(f"there is no operation {id}")

    async def open_queue(self, path: str, caller: Caller) -> Queue | ResourceNotFound:
        """Make the queue of an object, unless it is there."""
        row = await self.view.store.resources.read(path)
        if row is None or not self.permission.sees(caller, thing_of(row)):
            return ResourceNotFound(f"there is nothing at {path}")
        self.permission.require(caller, QUEUE, thing_of(row))
        await self.view.store.queues.open(path)
        return await self.view.queue(path) or ResourceNotFound(f"the queue of {path} was removed again")

    async def stop_queues(self, caller: Caller, path: str | None = None) -> Page[Queue] | ResourceNotFound:
        """The queue of an object, or all, take nothing more; each goes when all that is in it is carried out."""
        row = await self.view.store.resources.read(path) if path is not None else None
        thing = THE_CELL if path is None else asked_thing(path, "", {}, row)
        if path is not None and not self.permission.sees(caller, thing):
            return ResourceNotFound(f"{path} has no queue")
        self.permission.require(caller, QUEUE, thing)
        stopped = [shown_queue(record) for record in await self.view.store.queues.stop(path)]
        for queue in stopped:
            await self.view.store.queues.close(queue.path)
        if path is not None and not stopped:
            return ResourceNotFound(f"{path} has no queue")
        return Page(tuple(sorted(stopped, key=lambda queue: queue.path)))

    async def retry(
        self, id: UUID, caller: Caller, key: str = "", *, force: bool = False, reason: str = ""
    ) -> ActionAnswer:
        """Ask once more for what an operation was to do."""
        theirs = await self._theirs(id, caller, again=True, force=force)
        if not isinstance(theirs, tuple):
            return theirs
        tried, caller = theirs
        answer = await self.admission.retry(id, caller.name, Actor(caller.actor), key, force=force, reason=reason)
        if isinstance(answer, Accepted):
            return taken(answer, tried.action, tried.kind, tried.path)
        if isinstance(answer, NotFound):
            return ResourceNotFound(answer.what)
        refusal = await with_offers(
            self, placed(answer, tried.path), Asked(tried.path, tried.action, tried.kind), caller
        )
        return self.seen(caller).concealment.refusal(refusal)

    async def explain(self, asked: Asked, caller: Caller) -> Explanation | ResourceNotFound:
        """Whether an action would be let in, and if not, what would help."""
        row = await self._read(asked)
        thing = asked_thing(asked.path, asked.kind, asked.spec, row, asked.action, lane_of(asked))
        if not self.permission.sees(caller, thing):
            return ResourceNotFound(f"there is nothing at {asked.path}")
        may = self.permission.acting(caller, asked.action, thing, force=asked.force)
        if isinstance(may, Caller):
            fit = await fitted(self.view.store, self.kinds, asked)
            may = await self.compound.forbidden(caller, fit if isinstance(fit, Asked) else asked, row) or may
        found = await explain(self.view, asked, may if isinstance(may, Caller) else caller)
        if isinstance(found, ResourceNotFound):
            return found
        if row is not None:
            found = replace(found, allowed_actions=await offers(self, row, caller, place_in(asked)))
        if not isinstance(self.permission.acting(caller, asked.action, thing, force=True), Caller):
            found = replace(found, remedies=tuple(one for one in found.remedies if one.kind != "force"))
        if refusal := await self.lanes_refused(asked, caller, row):
            found = lane_refused(found, refusal)
        if not isinstance(may, Caller):
            return not_permitted(found, may)
        shown = await explain_disks(found, self.view, asked, row, may, self._permitted)
        return shown if isinstance(shown, ResourceNotFound) else self.seen(caller).concealment.explanation(shown)

    async def rehearse(self, asked: Asked, caller: Caller) -> DryRun | Rejection | ResourceNotFound | InvalidRequest:
        """What an action would do, without doing it."""
        row = await self._read(asked)
        may = await self._permitted(asked, caller, row, dry_run=True)
        if not isinstance(may, Caller):
            return may
        caller = may
        fit = await fitted(self.view.store, self.kinds, asked)
        if isinstance(fit, InvalidRequest | ResourceNotFound):
            return fit
        if no := await self._forbidden(fit, caller, row, dry_run=True):
            return no
        about = await onward(self.view, fit, row, caller, self._permitted)
        found = await rehearsed(self.view, asked, *about[:2]) if isinstance(about, tuple) else about
        if isinstance(found, DryRun) and not (found.would_join or found.no_change):
            return await self.lanes_refused(asked, caller, row) or found
        return self.seen(caller).concealment.refusal(found) if isinstance(found, Rejection) else found

    async def lanes_refused(self, asked: Asked, caller: Caller, row: Row | None) -> Rejection | None:
        """That its namespace may not use a lane of what would be committed, or that no agent has served one."""
        fit = await fitted(self.view.store, self.kinds, asked)
        kind = row.kind if row is not None else asked.kind
        if not isinstance(fit, Asked) or kind not in self.kinds:
            return None
        wish = wish_of(fit, caller, kind, row)
        used = await self.admission.uses(wish)
        refused = await self.view.store.lanes.find_denied(used) if used is not None else None
        if refused is not None:
            return not_allowed(refused, row.snapshot.state if row is not None else "")
        return await self._unserved(wish, row)

    async def _unserved(self, wish: AdmissionRequest, row: Row | None) -> Rejection | None:
        """That no agent has ever served a lane that it names."""
        return await self.served.rejection(wish, row) if self.served and wish.kind in self.kinds else None

    async def plan(self, asked: Asked, caller: Caller) -> SystemPlan | Rejection | ResourceNotFound | InvalidRequest:
        """What a deploy of a system would do, with things as they are."""
        row = await self.view.store.resources.read(asked.path)
        may = await self._permitted(asked, caller, row, dry_run=True)
        if not isinstance(may, Caller):
            return may
        fit = await fitted(self.view.store, self.kinds, asked)
        if row is None or row.kind != SYSTEM:
            return ResourceNotFound(f"there is no system {asked.path}")
        if isinstance(fit, InvalidRequest | ResourceNotFound):
            return fit
        no = await self._forbidden(fit, caller, row, dry_run=True) or await self.lanes_refused(asked, caller, row)
        return no or await plan(self.view.store, row, fit)

    async def adopt(self, lane: str, token: str, path: str, caller: Caller) -> ActionAnswer:
        """Put what a provider has and nobody owns on record, at a path or at the one it was made for."""
        self.permission.require(caller, ORPHANS)
        answer = await adopt(self.admission, self.observer, lane, token, path, caller)
        return taken(answer, ADOPT, "vm", path) if isinstance(answer, Accepted) else answer

    async def remove_orphan(self, lane: str, token: str, caller: Caller) -> ActionAnswer:
        """Remove what a provider has and nobody owns."""
        self.permission.require(caller, ORPHANS)
        answer = await remove(self.admission, self.observer, lane, token, caller)
        return taken(answer, REMOVE, "vm", lane) if isinstance(answer, Accepted) else answer

    async def survey(self, lane: str, caller: Caller) -> bool:
        """Have whoever serves a lane tell all that it has; whether somebody will."""
        self.permission.require(caller, ORPHANS)
        return self.observer is not None and await self.observer.survey(lane)

    async def limit_lane(self, name: str, members: int | None, caller: Caller) -> None:
        """From now on a lane bears so many members at once; None: as many as its provider says."""
        self.permission.require(caller, LIMIT)
        assert self.slots is not None, "nobody gives room here"
        await self.slots.limit_lane(name, members)

    async def limit_provider(self, name: str, members: int | None, regions: int | None, caller: Caller) -> None:
        """From now on a provider bears so many members at once in a region, and so many regions."""
        self.permission.require(caller, LIMIT)
        assert self.slots is not None, "nobody gives room here"
        await self.slots.limit_provider(name, members, regions)

    async def set_quotas(
        self, path: str, most: Mapping[str, int | None], caller: Caller
    ) -> list[Quota] | ResourceNotFound:
        """From now on something may have so much of each; what is not named stays as it is."""
        row = await self.view.store.resources.read(path)
        of_leases = is_namespace(path) and set(most) <= set(OF_LEASES)
        if not of_leases and (row is None or not self.permission.sees(caller, thing_of(row))):
            return ResourceNotFound(f"there is nothing at {path}")
        self.permission.require(caller, LIMIT)
        await self.view.store.quotas.set(path, most, caller.name)
        return await self.view.store.quotas.read(path)

    async def put_host(
        self, name: str, lane: str, properties: Mapping[str, object], node: str | None, caller: Caller
    ) -> Host | InvalidRequest | ResourceNotFound:
        """From now on a host can be booked, or has other properties."""
        self.permission.require(caller, HOSTS)
        if not all(isinstance(value, str | int | float | bool) for value in properties.values()):
            return InvalidRequest("properties", "a property is a text, a number or a truth")
        if node is not None and (await self.view.store.resources.read_states([node])).get(node, ("",))[0] != "node":
            return ResourceNotFound(f"there is no node {node}")
        return host_of(await self.view.store.hosts.put(name, lane, properties, node))

    async def judge_host(self, name: str, works: bool, why: str, caller: Caller) -> Host | ResourceNotFound:
        """From now on a host is known to work, or not to."""
        self.permission.require(caller, HOSTS)
        found = await self.view.store.hosts.set_health(name, works, "" if works else why)
        return host_of(found) if found is not None else ResourceNotFound(f"there is no host {name}")

    async def remove_host(self, name: str, caller: Caller) -> ResourceNotFound | InvalidRequest | None:
        """Forget a host."""
        self.permission.require(caller, HOSTS)
        if await self.view.store.hosts.remove(name):
            return None
        if await self.view.store.hosts.read(name) is None:
            return ResourceNotFound(f"there is no host {name}")
        return InvalidRequest("name", f"leases have {name}, or had it: say that it failed, and it is booked no more")

    async def agents(self) -> list[Agent]:
        """All agents that have an identity, and all that were heard of."""
        return [member_of(record) for record in await self.view.store.agents.read_all()]

    async def lifecycle(self, kind: str) -> LifecycleDetail | None:
        """A lifecycle whole."""
        found = await self.kinds.find(kind)
        return None if found is None else shown_lifecycle(found, self.kinds.registered.get(kind))

    async def register(self, kind: str, document: str, caller: Caller) -> RegisteredLifecycle | InvalidDocument:
        """From now on there is such a kind, or it goes by another document."""
        self.permission.require(caller, LIFECYCLES)
        return await self.registry.register(kind, document, caller.name)

    async def unregister(self, kind: str, caller: Caller) -> InvalidDocument | None:
        """From now on there is no such kind."""
        self.permission.require(caller, LIFECYCLES)
        return await self.registry.unregister(kind, caller.name)

    async def _read(self, asked: Asked) -> Row | None:
        """What is there; its kind, or the one that is asked for, may have been registered a moment ago."""
        row = await self.view.store.resources.read(asked.path)
        known = self.kinds.knows(row.kind, row.snapshot.state) if row is not None else asked.kind in ("", *self.kinds)
        if not known:
            await self.kinds.fresh()
        return None if row is not None and await succeeds(self.view, asked, row) else row
