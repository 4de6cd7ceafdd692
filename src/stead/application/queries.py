"""Queries: what one caller sees of resources, operations, leases, the journal and the cell.

Of a group or a namespace that callers may see, they see the numbers of all that is in it; the things in it they see
one by one, each if the policies let them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from time import time
from typing import TYPE_CHECKING
from uuid import UUID

from stead import __version__
from stead.access.authorization import RecordedEvent
from stead.access.authorized import THE_CELL, Authorized
from stead.access.caller import Caller
from stead.access.lane_use import lanes_on
from stead.access.policies import EXAMINE, NAMESPACE, VIEW, PolicyResource, labels_of
from stead.application.archived import not_after, not_before
from stead.application.concealment import Concealment
from stead.application.drift import truth
from stead.application.group_status import MEMBER, GroupStatus, GroupView, picture, standing
from stead.application.history import past
from stead.application.leases import Calendar, Host, Lateness, Lease, calendar, host_of, leases
from stead.application.lifecycles import LifecycleDetail, LifecycleName, name_of, shown_lifecycle
from stead.application.logs import Log, LogUnavailable, written
from stead.application.models import (
    Claim,
    DriftReport,
    HistoricalResource,
    JournalLine,
    Lane,
    Operation,
    OperationMember,
    Orphan,
    Page,
    Queue,
    Resource,
)
from stead.application.names import uuid_of
from stead.application.overview import Overview, overview
from stead.application.stuck import Stuck, stuck
from stead.application.systems import SYSTEM, System, shown
from stead.application.timeline import Timeline, timeline
from stead.application.tree import TreeNode, tree
from stead.controller.health.doctor import Doctor, HealthReport
from stead.controller.observation.agent_identities import Agent, member_of
from stead.lifecycle.decision import Outcome
from stead.store import Store
from stead.store.quotas import Quota, is_namespace

if TYPE_CHECKING:
    from stead.application.commands import Application

PATH, KIND = attrgetter("path"), attrgetter("kind")


@dataclass(frozen=True)
class Queries:
    """Queries of one caller, who sees what the policies let them see."""

    application: Application
    authorized: Authorized
    """The permission to query."""

    def __post_init__(self) -> None:
        self.authorized.check(VIEW)

    @property
    def _store(self) -> Store:
        return self.application.reader.store

    @property
    def caller(self) -> Caller:
        """Who queries."""
        return self.authorized.caller

    def _sees(self, found: Resource) -> bool:
        lanes = lanes_on(found.kind, found.lane, found.spec)
        return self.application.authorization.sees(
            self.caller, PolicyResource(found.path, found.kind, labels_of(found.spec), lanes)
        )

    async def _sees_path(self, path: str, kind: str = "") -> bool:
        """Whether something is there for the caller, whatever is there."""
        get = (lambda _: kind) if kind else None
        return bool(await self.application.authorization.visible(self.caller, [path], str, get))

    async def _within(self) -> list[str] | None:
        """The namespaces that the caller sees; None for whoever sees the cell."""
        authorization = self.application.authorization
        if authorization.sees(self.caller, THE_CELL):
            return None
        found = await self._store.overview.list_namespaces()
        return await authorization.visible(self.caller, found, str, lambda _: NAMESPACE)

    async def namespaces(self) -> list[str]:
        """The namespaces in which there is something, or was, each as the path it begins with."""
        found = await self._store.overview.list_namespaces()
        return await self.application.authorization.visible(self.caller, found, str, lambda _: NAMESPACE)

    async def _below(self, path: str) -> str:
        """Where to look: whoever sees one namespace alone looks for everything there."""
        within = await self._within() if path == "/" else None
        return within[0] if within is not None and len(within) == 1 else path

    @property
    def concealment(self) -> Concealment:
        """What hidden work is left out."""
        return Concealment(self.application.authorization, self.caller)

    async def _visible[T](self, page: Page[T], kind: bool = True) -> Page[T]:
        """A page without what is not for the caller; it goes on where it would have."""
        items = await self.application.authorization.visible(self.caller, page.items, PATH, KIND if kind else None)
        return replace(page, items=tuple(items))

    # Resources

    async def resource(self, path: str) -> Resource | None:
        """A resource as it is."""
        found = await self.application.reader.resource(path)
        return self.concealment.resource(found) if found is not None and self._sees(found) else None

    async def resources(self, kind: str | None, below: str, after: str, limit: int) -> Page[Resource]:
        """Resources below a path, in order of path. A page may have fewer than asked for, and still go on."""
        below = await self._below(below)
        page = await self._visible(await self.application.reader.resources(kind, below, after, limit))
        return replace(page, items=tuple(map(self.concealment.resource, page.items)))

    async def resources_at(self, paths: Sequence[str]) -> list[Resource]:
        """What there is at some paths, in their order; without members."""
        there = await self.application.reader.resources_at(paths)
        return [self.concealment.resource(found) for found in there if self._sees(found)]

    async def errors(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, the last error that was told of each; of what the caller has seen."""
        return await self.application.reader.errors(paths)

    async def past(self, path: str, at: datetime) -> HistoricalResource | None:
        """A resource as it was at some time."""
        found = await past(self.application.reader, path, at)
        if found is None:
            return None
        row = await self._store.resources.read(path)
        lanes = lanes_on(found.kind, row.lane if row is not None else "", found.spec)
        thing = PolicyResource(found.path, found.kind, labels_of(found.spec), lanes)
        return self.concealment.past(found) if self.application.authorization.sees(self.caller, thing) else None

    async def logs(self, path: str, lines: int, since: str) -> Log | LogUnavailable | None:
        """The last that a resource wrote, asked of its agent; or why nobody can say."""
        found = await self.resource(path)
        return (
            None
            if found is None
            else await written(self.application.reader, self.application.observer, path, lines, since)
        )

    async def standing(self, path: str, *, refresh: bool = False) -> GroupStatus | None:
        """How a group stands; with `refresh`, after a look at whatever may have changed by itself."""
        observer, observed = self.application.observer, None
        if refresh and observer is not None and await self._sees_path(path):
            observed = await observer.observed(path, MEMBER)
        found = await standing(self.application.reader, path)
        if found is None or not self._sees(found.resource):
            return None
        found = replace(found, observed=observed)
        if found.worst is not None and not await self._sees_path(found.worst.path):
            return replace(found, worst=None)
        return found

    async def picture(self, path: str, limit: int, groups: str = "") -> GroupView | None:
        """A group with so many of its members, and with the groups of a kind in it, all of one moment."""
        found = await picture(self.application.reader, path, limit, groups)
        if found is None or not self._sees(found.standing.resource):
            return None
        members = await self.application.authorization.visible(self.caller, found.members, PATH, KIND)
        inner = await self.application.authorization.visible(self.caller, found.groups, PATH, KIND)
        return replace(found, members=tuple(members), groups=tuple(inner))

    async def truth(
        self, kind: str | None, below: str, after: str, limit: int, *, fresh: bool = True
    ) -> Page[DriftReport]:
        """Belief beside what a look shows now; from the store alone where it need not be fresh."""
        below = await self._below(below)
        observer = self.application.observer if fresh else None
        if observer is not None and not await self._sees_path(below):
            observer = None  # no agent is sent to observe what the caller may not see
        page = await self._visible(await truth(self.application.reader, observer, kind, below, after, limit))
        return replace(page, items=self.concealment.truths(page.items))

    # Operations, claims, queues

    async def operation(self, id: UUID) -> Operation | None:
        """An operation that waits, is under way or has ended."""
        found = await self.application.reader.operation(id)
        if found is None:
            return None
        theirs = await self.application.authorization.visible(self.caller, [found], PATH, KIND, _of_operation)
        return self.concealment.operation(found) if theirs else None

    async def operations(self, below: str, running: bool | None, before: int | None, limit: int) -> Page[Operation]:
        """Operations on a path and below it, the latest first; those under way in order of path."""
        below = await self._below(below)
        page = await self.application.reader.operations(below, running, before, limit)
        items = await self.application.authorization.visible(self.caller, page.items, PATH, KIND, _of_operation)
        return replace(page, items=self.concealment.operations(items))

    async def members(self, id: UUID, after: str, limit: int) -> Page[OperationMember]:
        """Members of an operation on a group that did not do what it asked of them, each with why."""
        page = await self.application.reader.members(id, after, limit)
        items = await self.application.authorization.visible(self.caller, page.items, PATH, record=_last_known)
        return replace(page, items=tuple(items))

    async def timeline(self, id: UUID, skip: int, limit: int) -> Timeline | None:
        """What an operation did and when."""
        found = await self.operation(id)
        if found is None:
            return None
        shown = await timeline(self.application.reader, found, skip, limit)
        items = await self.application.authorization.visible(self.caller, shown.items, PATH, KIND, _last_known)
        errors = await self.application.authorization.visible(self.caller, shown.errors, PATH, record=_last_known)
        return replace(shown, items=tuple(items), errors=tuple(errors))

    async def claims(self, below: str, limit: int) -> Page[Claim]:
        """Claims on a path and below it, in order of path."""
        below = await self._below(below)
        page = await self._visible(await self.application.reader.claims(below, limit), kind=False)
        return replace(page, items=self.concealment.claims(page.items))

    async def queues(self, below: str, after: str, limit: int) -> Page[Queue]:
        """Queues of a path and of all below it, in order of path."""
        below = await self._below(below)
        return await self._visible(await self.application.reader.queues(below, after, limit), kind=False)

    async def queue(self, path: str) -> Queue | None:
        """The queue of an object."""
        return await self.application.reader.queue(path) if await self._sees_path(path) else None

    async def queued(self, path: str, limit: int) -> Page[Operation]:
        """Operations that wait in the queue of an object, the next one first."""
        page = await self._visible(await self.application.reader.queued(path, limit))
        return replace(page, items=self.concealment.operations(page.items))

    async def quotas(self, path: str) -> list[Quota] | None:
        """How much something has, and may have."""
        store = self._store
        there = await self._sees_path(path) and (is_namespace(path) or await store.resources.read_states([path]))
        return await store.quotas.read(path) if there else None

    async def stuck(self, below: str, since: datetime, after: str | None, limit: int) -> Page[Stuck]:
        """What does not come to its end, and what was settled since a time though nobody had reported."""
        below = await self._below(below)
        page = await self._visible(await stuck(self.application.reader, below, since, after, limit))
        return replace(page, items=self.concealment.stuck(page.items))

    # Leases and hosts. Which hosts there are and when each is free is for everybody who may ask at all; whose a lease
    # is, for those who see it.

    async def lease(self, path: str) -> Lease | None:
        """A lease whole."""
        found = await self.resource(path)
        if found is None or found.kind != "lease":
            return None
        shown = await leases(self.application.reader, [found], notices=True)
        return shown[0] if shown else None

    async def system(self, path: str) -> System | None:
        """A system whole."""
        found = await self.resource(path)
        row = await self._store.resources.read(path) if found is not None and found.kind == SYSTEM else None
        return await shown(self._store, row) if row is not None else None

    async def lease_of(self, id: UUID) -> Lease | None:
        """The lease that has an id."""
        row = (await self._store.resources.find_by_token([str(id)])).get(str(id))
        return await self.lease(row.path) if row is not None else None

    async def leases(self, below: str, after: str, limit: int) -> Page[Lease]:
        """Leases in order of path."""
        page = await self.resources("lease", below, after, limit)
        return Page(tuple(await leases(self.application.reader, page.items)), page.next, page.more)

    async def hosts(self, after: str, limit: int) -> Page[Host]:
        """Hosts in order of name."""
        found = [host_of(record) for record in await self._store.hosts.read_page(after, limit)]
        more = len(found) == limit
        return Page(tuple(found), found[-1].name if more else None, more)

    async def host(self, name: str) -> Host | None:
        """A host."""
        record = await self._store.hosts.read(name)
        return host_of(record) if record is not None else None

    async def calendar(
        self, start: datetime, end: datetime, after: str, limit: int, host: str | None = None
    ) -> Calendar:
        """Hosts by time, or one of them, without whose they are where that is not for the caller."""
        found = await calendar(self._store, start, end, after, limit, host)
        paths = sorted({booked.lease for booked in found.booked})
        seen = set(await self.application.authorization.visible(self.caller, paths, str, lambda _: "lease"))
        booked = (one if one.lease in seen else replace(one, lease="", status="") for one in found.booked)
        return replace(found, booked=tuple(booked))

    async def lateness(self, seconds: float) -> Lateness:
        """How late the moments of leases came in the last so many seconds."""
        found = await self._store.leases.measure_delay(time() - seconds)
        return Lateness(found["fired"], found["median"], found["p99"], found["worst"])

    # The journal

    async def journal(self, after: int, path: str | None, limit: int) -> tuple[list[JournalLine], int, bool]:
        """Lines from after a position on; up to where that is, and whether the page was full."""
        below = await self._below(path or "/")
        lines, full = await self.application.reader.journal(after, None if below == "/" else below, limit)
        return await self.lines(lines), lines[-1].position if lines else 0, full

    async def lines(self, lines: Sequence[JournalLine]) -> list[JournalLine]:
        """Those of some lines that are for the caller."""
        seen = await self.application.authorization.visible(self.caller, lines, PATH, KIND, _of_line)
        return self.concealment.lines(seen)

    async def still(self) -> bool:
        """Whether the caller is still who they were: a stream outlives what it was opened with otherwise."""
        access = self.application.access
        return access is None or await access.still(self.caller)

    async def end(self) -> int:
        """The last position of the journal there is."""
        return await self.application.reader.end()

    async def archived_up_to(self) -> int:
        """The last position of the journal that is archived; 0 where none is."""
        archived = await self._store.archives.read_range()
        return archived.last if archived is not None else 0

    async def check_archived(self, after: int) -> None:
        """Raise `LinesArchived` where lines after a position are archived."""
        await not_after(self._store, after)

    async def first_step(self, operation: Operation) -> int | None:
        """The position of the first line of an operation. Raises `LinesArchived` where it may be archived."""
        store = self._store
        await not_before(store, operation.created_at)
        id, path, began = uuid_of(operation.id), operation.path, operation.created_at
        first, _ = await store.operations.find_journal_start(id, path, began)
        return first

    async def accepted(self, id: UUID) -> Operation | None:
        """An operation under which a request of this caller was accepted, also where its resource is hidden."""
        return await self.application.reader.operation(id)

    async def ended(self, operation: Operation) -> Operation | None:
        """An operation that this caller has seen, once it has ended and all its lines have their positions."""
        now = await self.application.reader.operation(uuid_of(operation.id))
        if now is None or not now.outcome:
            return None
        _, unnumbered = await self._store.operations.find_journal_start(uuid_of(now.id), now.path, now.created_at)
        return None if unnumbered else self.concealment.operation(now)

    # The cell

    async def agents(self) -> list[Agent]:
        """All agents that have an identity, and all that have ever connected."""
        self.application.authorization.require(self.caller, VIEW)
        return [member_of(record) for record in await self._store.agents.read_all()]

    async def lifecycle(self, kind: str) -> LifecycleDetail | None:
        """A lifecycle whole; lifecycles are for every caller."""
        kinds = self.application.kinds
        found = await kinds.find(kind)
        return None if found is None else shown_lifecycle(found, kinds.registered.get(kind))

    async def lifecycles(self) -> list[LifecycleName]:
        """The lifecycles that the server knows."""
        await self.application.kinds.fresh()
        found = [await self.lifecycle(kind) for kind in list(self.application.kinds)]
        return [name_of(one) for one in found if one is not None]

    async def lanes(self, after: str, limit: int) -> Page[Lane]:
        """Lanes in order of name: those that somebody has served, and those that orders stand on."""
        self.application.authorization.require(self.caller, VIEW)
        return await self.application.reader.lanes(after, limit)

    async def orphans(self, lane: str | None, limit: int) -> Page[Orphan]:
        """What was found at providers at least twice, and nobody owns: the oldest first."""
        self.application.authorization.require(self.caller, VIEW)
        return await self.application.reader.orphans(lane, limit)

    async def overview(self) -> Overview:
        """The cell at a glance, as far as it is for the caller."""
        within = await self._within()
        shown = await overview(self.application.reader, within)
        trouble = await self.application.authorization.visible(self.caller, shown.unhealthy, PATH, KIND)
        shown = replace(shown, unhealthy=tuple(trouble))
        return shown if within is None else shown.without_cell()

    async def examination(self) -> HealthReport:
        """The cell examined, for admins."""
        self.application.authorization.require(self.caller, EXAMINE)

        async def late() -> list[str]:
            found = await stuck(self.application.reader, "/", self._store.clock.now(), None, 50)
            return [item.path for item in found.items]

        application = self.application
        expires = None if application.identities is None else application.identities.expires
        doctor = Doctor(application.reader.store, application.bus, application.beside, late, expires)
        return HealthReport(self._store.clock.now(), __version__, tuple(await doctor.examine()))

    async def metrics(self) -> str:
        """What the process and its controller count, with the cell in numbers."""
        self.application.authorization.require(self.caller, VIEW)
        return await self.application.metrics()

    async def tree(self, below: str, after: str | None, limit: int) -> Page[TreeNode]:
        """What lies directly below a path, the worst first."""
        page = await tree(self.application.reader, below, after, limit)
        items = await self.application.authorization.visible(
            self.caller, page.items, PATH, lambda node: node.kind or ""
        )
        return replace(page, items=tuple(items))


def _of_operation(operation: Operation) -> RecordedEvent:
    said = operation.request.get("spec")
    return RecordedEvent(
        operation.created_at, (said,) if said else (), rejected=operation.outcome == Outcome.REJECTED
    )


def _of_line(line: JournalLine) -> RecordedEvent:
    specs = [said for word in ("spec", "next_spec") if (said := line.change.get(word))]
    return RecordedEvent(line.at, specs, rejected=line.rejections > 0)


def _last_known(_: object) -> RecordedEvent:
    return RecordedEvent()
