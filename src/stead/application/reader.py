"""Reads of what is there: resources, operations, claims, the journal.

Nothing here decides or writes. A list answers with at most so many things, and says from where to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from stead.application.elapsed import Elapsed, Lastings, TypicalDurations
from stead.application.failures import with_failures
from stead.application.health import HealthTable
from stead.application.models import (
    Claim,
    JournalLine,
    Lane,
    Operation,
    OperationMember,
    Orphan,
    Page,
    Queue,
    Resource,
    RunningOperation,
)
from stead.application.names import operation_id, uuid_of
from stead.application.records import claim_of, lane_of, line_of, orphan_of
from stead.application.transition_rate import TransitionRate
from stead.controller.execution.request_context import ORIGIN_FIELD
from stead.controller.groups.counts import amounts
from stead.controller.kinds.kinds import CompiledKind, live
from stead.lifecycle import snapshot as parts
from stead.lifecycle.decide.children import followed
from stead.lifecycle.decision import Code, Outcome, Reason
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import ORIGIN, StateClass, Trigger
from stead.store import Row, Store
from stead.store.masking import masked
from stead.store.pages import MAX_PAGE_BYTES, size_of

CONNECTED_SECONDS = 30.0
"""Seconds for which an agent counts as there after it was heard of; it says so every ten."""

QUEUED = "queued"
"""The trigger of a request that has to wait, and the phase that it is in while it does."""

WINDOW = 1000
"""Lines of the journal that are looked at in one go."""
WINDOWS = 5
"""How many of those one page of operations may cost."""
AT_ONCE = 8
"""Operations that are read at a time, since each may be large."""


class Reader:
    """What there is, for whoever wants to know."""

    def __init__(self, store: Store, kinds: Mapping[str, Lifecycle]) -> None:
        self.store = store
        self.kinds = live(kinds, store)
        self._healths = CompiledKind(self.kinds, HealthTable)
        self.pulse = TransitionRate(store)
        self.usual = TypicalDurations(store, self.kinds)
        self._end = 0

    @property
    def healths(self) -> HealthTable:
        """How well every state of every kind is."""
        return self._healths()

    async def ping(self) -> None:
        """Raises where the database does not answer, or takes no changes."""
        if self.store.trouble:
            raise ConnectionError(self.store.trouble)
        await self.store.resources.list_paths(None, "/", "", 1)

    # Resources

    async def resource(self, path: str) -> Resource | None:
        """A resource as it is."""
        row = await self.store.resources.read(path)
        if row is None:
            return None
        lasts = await self.usual.of([row])
        failures = await self.store.operations.read_failures([path])
        if not self.kinds[row.kind].members:
            return replace(self.shown(row, lasts), failure=failures.get(path, ""))
        async with self.store.snapshot() as store:  # the group and what is in it, of one moment
            rows = await store.resources.read_many([path])
            below = await self._counts(store, rows.values())
        return replace(self._whole(rows[path], lasts, below), failure=failures.get(path, "")) if rows else None

    async def resources_at(self, paths: Sequence[str]) -> list[Resource]:
        """What there is at some paths, in their order; without members."""
        rows = await self.store.resources.read_many(paths)
        return [self.shown(rows[path]) for path in paths if path in rows]

    async def errors(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, the last error that was told of each, where there was one."""
        return await self.store.journal.read_last_errors(paths)

    async def _counts(self, store: Store, rows: Collection[Row]) -> dict[str, dict[str, int]]:
        """What is below each that has members, by state: one question for each kind."""
        below: dict[str, dict[str, int]] = {}
        for kind in {member for row in rows if (member := self.kinds[row.kind].members)}:
            below |= await store.groups.read_counts(
                [row.path for row in rows if self.kinds[row.kind].members == kind], kind
            )
        return below

    def _whole(self, row: Row, lasts: Lastings, below: Mapping[str, Mapping[str, int]]) -> Resource:
        """A row as it is shown, with its members."""
        shown = self.shown(row, lasts)
        return self.with_members(shown, below[row.path]) if row.path in below else shown

    def with_members(self, group: Resource, counts: Mapping[str, int]) -> Resource:
        """A group with how many members are in which state; where nothing is done to it, in the state that follows
        from them, into which the controller brings it as well, a moment later."""
        kind = self.kinds[group.kind]
        member = self.kinds.get(kind.members)
        gone = (
            {state.name for state in member.states if state.cls is StateClass.ABSENT} if member is not None else set()
        )
        there = {state: count for state, count in counts.items() if state not in gone}
        state = group.state if group.operation is not None else followed(kind, group.state, amounts(kind, there))
        cls = group.state_class if state == group.state else kind.state(state).cls
        return replace(group, state=state, state_class=cls, members=there)

    async def resources(self, kind: str | None, below: str, after: str, limit: int) -> Page[Resource]:
        """Resources below a path, in order of path."""
        # With the slash, since a sibling such as /a/b-c lies between /a/b and /a/b/c.
        async with self.store.snapshot() as store:
            paths = await store.resources.list_paths(kind, below.rstrip("/") + "/", after, limit + 1)
            some = paths[: await store.resources.count_fitting(paths[:limit])]
            rows = await store.resources.read_many(some)
            below_each = await self._counts(store, rows.values())
        lasts = await self.usual.of(rows.values())
        shown = [self._whole(rows[path], lasts, below_each) for path in some]
        items = await with_failures(self.store, self.healths, shown)
        more = len(paths) > len(some)
        return Page(tuple(items), some[-1] if more else None, more)

    def shown(self, row: Row, lasts: Lastings | None = None) -> Resource:
        """A row, as it is shown; with how long what is under way has lasted, where that was asked for."""
        lifecycle, snap = self.kinds[row.kind], row.snapshot
        return Resource(
            path=row.path,
            kind=row.kind,
            state=snap.state,
            state_class=StateClass.STABLE if snap.held else lifecycle.state(snap.state).cls,
            etag=tag_of(row),
            lane=row.lane,
            spec=row.spec,
            next_spec=row.next_spec,
            facts=row.facts or {},
            operation=_running(lifecycle, row.path, snap.operation, lasts or {}),
            hidden=_running(lifecycle, row.path, snap.hidden, lasts or {}),
            timers={name: datetime.fromtimestamp(at, UTC) for name, at in sorted((row.timers or {}).items())},
            observed_at=row.observed_at,
            changed_at=row.changed_at,
            created_at=row.created_at,
        )

    # Operations and claims

    async def operation(self, id: UUID) -> Operation | None:
        """An operation that waits, is under way or has ended."""
        found = await self._operations([id])
        return found[0] if found else None

    async def members(self, id: UUID, after: str, limit: int) -> Page[OperationMember]:
        """Members of an operation on a group that did not do what it asked of them, each with why."""
        records = await self.store.operations.read_members(id, after, limit + 1)
        items = tuple(OperationMember(r["path"], r["outcome"], r["says"], r["at"]) for r in records[:limit])
        more = len(records) > limit
        return Page(items, items[-1].path if more else None, more)

    async def operations(self, below: str, running: bool | None, before: int | None, limit: int) -> Page[Operation]:
        """Operations on a path and below it, the latest first; those under way in order of path.

        A page may have fewer than asked for, even none, and still say from where to go on.
        """
        if running:
            ids = [
                *await self.store.operations.list_running(below, limit + 1),
                *await self.store.operations.list_waiting(below, limit + 1),
            ]
            found, some = await self._fitting(ids[: limit + 1])
            running_ones = [op for op in found if op.outcome is None]
            return Page(tuple(running_ones[:limit]), None, len(ids) > min(limit, some))
        top = await self.end() if before is None else before
        listed: list[tuple[int, Operation]] = []
        room = MAX_PAGE_BYTES
        for _ in range(WINDOWS):
            low = max(top - WINDOW, 0)
            begun = await self._begun(below, low, top)
            for n in range(0, len(begun), AT_ONCE):
                for at, op in await self._that_began(begun[n : n + AT_ONCE]):
                    if running is None or op.outcome is not None:
                        listed.append((at, op))
                        room -= size_of(op.request)
                    if len(listed) > limit or (room < 0 and listed):
                        kept = listed[: min(limit, len(listed))]
                        return Page(tuple(op for _, op in kept), kept[-1][0] - 1, True)
            top = low
            if not top:
                break
        return Page(tuple(op for _, op in listed), top or None, bool(top))

    async def _begun(self, below: str, after: int, top: int) -> list[Mapping[str, Any]]:
        """Where operations began between two positions, the latest first.

        One that had to wait is where it was let in, so that it is found in one place only.
        """
        path = None if below == "/" else below
        lines = await self.store.journal.read_operation_starts(after, path, WINDOW, (Trigger.REQUEST, QUEUED))
        begins = {line["operation"]: line for line in reversed(lines) if line["position"] <= top}
        return sorted(begins.values(), key=lambda line: -int(line["position"]))

    async def _that_began(self, lines: Sequence[Mapping[str, Any]]) -> list[tuple[int, Operation]]:
        found = {uuid_of(op.id): op for op in await self._operations([line["operation"] for line in lines])}
        pairs = [(line, found[line["operation"]]) for line in lines if line["operation"] in found]
        return [
            (int(line["position"]), op)
            for line, op in pairs
            if (line["trigger"] == QUEUED) == bool(op.request.get(QUEUED)) and line["detail"] == op.action
        ]

    async def _fitting(self, ids: Sequence[UUID]) -> tuple[list[Operation], int]:
        """Those of some operations that fit on one page, and of how many that is."""
        found: list[Operation] = []
        room = MAX_PAGE_BYTES
        for n in range(0, len(ids), AT_ONCE):
            for op in await self._operations(ids[n : n + AT_ONCE]):
                found.append(op)
                room -= size_of(op.request)
            if room < 0:
                return found, n + AT_ONCE
        return found, len(ids)

    async def _operations(self, ids: Iterable[UUID]) -> list[Operation]:
        records = await asyncio.gather(*(self.store.operations.read(id) for id in ids))
        found = [_operation(record) for record in records if record is not None]
        rows = await self.store.resources.read_many([op.path for op in found if op.outcome is None])
        lasts = await self.usual.of(rows.values())
        return [_with_progress(op, rows.get(op.path), lasts.get((op.path, str(uuid_of(op.id))))) for op in found]

    async def claims(self, below: str, limit: int) -> Page[Claim]:
        """Claims on a path and below it, in order of path."""
        records = await self.store.claims.list_below(below, limit + 1)
        return Page(tuple(claim_of(record) for record in records[:limit]), None, len(records) > limit)

    async def holders(self, path: str) -> list[parts.Holder]:
        """Everybody who has a claim in the way of a change of a path, also of one where nothing is yet."""
        return await self.store.claims.find_holders(path)

    # Queues

    async def queues(self, below: str, after: str, limit: int) -> Page[Queue]:
        """Queues of a path and of all below it, in order of path."""
        records = await self.store.queues.read_page(below, after, limit + 1)
        items = tuple(shown_queue(record) for record in records[:limit])
        more = len(records) > limit
        return Page(items, items[-1].path if more else None, more)

    async def queue(self, path: str) -> Queue | None:
        """The queue of an object."""
        record = await self.store.queues.read(path)
        return None if record is None else shown_queue(record)

    async def queued(self, path: str, limit: int) -> Page[Operation]:
        """Operations that wait in the queue of an object, the next one first."""
        records = await self.store.queues.read_waiting(path, limit + 1)
        found = [_operation({name: each[name] for name in each if name != "found"}) for each in records]
        rows = await self.store.resources.read_many(list({op.path for op in found}))
        items = tuple(_with_progress(op, rows.get(op.path)) for op in found[:limit])
        return Page(items, None, bool(records) and records[0]["found"] > len(items))

    # Lanes

    async def orphans(self, lane: str | None, limit: int) -> Page[Orphan]:
        """What was found at providers at least twice, and nobody owns: the oldest first."""
        records = await self.store.orphans.read_page(lane, limit + 1)
        return Page(tuple(orphan_of(record) for record in records[:limit]), None, len(records) > limit)

    async def lanes(self, after: str, limit: int) -> Page[Lane]:
        """Lanes in order of name: those that somebody has served, and those that orders stand on."""
        records = await self.store.lanes.read_page(after, limit + 1, CONNECTED_SECONDS)
        items = tuple(lane_of(record) for record in records[:limit])
        more = len(records) > limit
        return Page(items, items[-1].lane if more else None, more)

    # The journal

    async def journal(self, after: int, path: str | None, limit: int) -> tuple[list[JournalLine], bool]:
        """Lines from after a position on, of everything or of a path and all below it; whether the page is full."""
        records = await self.store.journal.read(after, path=path, limit=limit, bytes=MAX_PAGE_BYTES)
        full = bool(records) and (len(records) == limit or records[0]["found"] > len(records))
        return [line_of({name: each[name] for name in each if name != "found"}) for each in records], full

    async def past(self, path: str, until: datetime) -> list[JournalLine]:
        """Everything that happened to one path up to a time, refusals apart."""
        return [line_of(record) for record in await self.store.journal.read_history(path, until)]

    async def end(self) -> int:
        """The last position there is.

        Found by looking ahead in growing steps and then halving, from where the end was the last time: usually one or
        two looks.
        """
        low, step = self._end, 1
        if await self._none_after(low):
            return low
        while not await self._none_after(low + step):
            low += step
            step *= 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if await self._none_after(middle):
                high = middle
            else:
                low = middle
        self._end = max(self._end, high)
        return high

    async def _none_after(self, position: int) -> bool:
        return not await self.store.journal.read(position, limit=1)


def tag_of(row: Row) -> str:
    """The version of a resource. Its number in the tag tells it from an earlier one of the same path."""
    return f"{row.id}-{row.version}"


def aims_at(lifecycle: Lifecycle, action: str, origin: str) -> str:
    """Where success of an action leads."""
    known = lifecycle.action(action)
    return origin if known is None or known.target == ORIGIN else known.target


def running_of(kinds: Mapping[str, Lifecycle], row: Row) -> RunningOperation | None:
    """What is under way on a resource."""
    return _running(kinds[row.kind], row.path, row.snapshot.operation, {})


def _running(lifecycle: Lifecycle, path: str, op: parts.Operation | None, lasts: Lastings) -> RunningOperation | None:
    if op is None:
        return None
    return RunningOperation(
        id=operation_id(path, op.id),
        action=op.action,
        phase=op.phase,
        source=op.origin,
        target=aims_at(lifecycle, op.action, op.origin),
        attempt=op.attempt,
        principal=op.by,
        since=datetime.fromisoformat(op.since) if op.since else None,
        cancelled=op.cancelled,
        elapsed=lasts.get((path, op.id)),
    )


def _operation(record: Mapping[str, Any]) -> Operation:
    outcome = record["outcome"] or None
    reasons = tuple(Reason(Code(reason["code"]), reason["message"]) for reason in record["reasons"])
    cancelled = outcome == Outcome.CANCELLED or "cancelled" in record["request"]
    asked = {
        name: value for name, value in record["request"].items() if name != ORIGIN_FIELD
    }  # where from is in the journal
    if "retries" in asked:
        asked["retries"] = operation_id(record["path"], asked["retries"])
    told = {
        "outcome": outcome,
        "cancelled": cancelled,
        "reasons": reasons,
        "place": asked.get("place"),
        "request": masked(asked),
    }
    plain = {name: value for name, value in record.items() if name != "says"}
    return Operation(**{**plain, "id": operation_id(record["path"], record["id"]), "message": record["says"], **told})


def operation_of(row: Row, record: Mapping[str, Any] | None) -> Operation | None:
    """What is under way on a resource, of which the store says so much."""
    running = row.snapshot.operation
    if record is None or running is None:
        return None
    begun = {"created_at": datetime.fromisoformat(running.since), "outcome": "", "ended_at": None}
    return _with_progress(_operation({**record, **begun, "position": None, "reasons": []}), row)


def _with_progress(op: Operation, row: Row | None, lasts: Elapsed | None = None) -> Operation:
    """An operation with how far it has come, if it is still its resource's."""
    if op.queued:
        return replace(op, state=row.snapshot.state if row is not None else None, phase=QUEUED)
    if op.outcome is not None or row is None:
        return op
    for running in (row.snapshot.operation, row.snapshot.hidden):
        if running is not None and running.id == str(uuid_of(op.id)):
            return replace(
                op,
                state=row.snapshot.state,
                phase=running.phase,
                attempt=running.attempt,
                cancelled=running.cancelled,
                elapsed=lasts,
            )
    return op


def shown_queue(record: Mapping[str, Any]) -> Queue:
    """A queue, as it is shown."""
    running = operation_id(record["path"], record["running"]) if record["running"] else None
    return Queue(**{**record, "running": running})
