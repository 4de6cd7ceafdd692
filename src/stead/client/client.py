"""The client: everything the HTTP interface offers, typed.

    async with Client("http://127.0.0.1:7770") as client:
        accepted = await client.request_action("/shop/web/front/1", "suspend")
        operation = await client.wait(accepted.operation.id, timeout=600)

Every change carries an idempotency key, made here if the caller has none, so that it can be repeated when its answer
was lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, Unpack
from urllib.parse import quote
from uuid import uuid4

from msgspec.structs import replace

from stead.client.access import AccessClient
from stead.client.action_options import ActionOptions
from stead.client.agents import AgentsClient
from stead.client.audit import AuditClient
from stead.client.doctor import DoctorClient
from stead.client.errors import Unavailable, Unreachable, WaitTimeout
from stead.client.lanes import LaneGrantsClient
from stead.client.leases import LeasesClient
from stead.client.logs import LogsClient
from stead.client.models import (
    Accepted,
    ClaimPage,
    DriftReport,
    DriftReportPage,
    DryRun,
    Explanation,
    GroupStatus,
    HistoricalResource,
    JournalLine,
    JournalPage,
    Lane,
    LanePage,
    Operation,
    OperationMember,
    OperationMemberPage,
    OperationPage,
    OrphanPage,
    Queue,
    QueueDetail,
    QueuePage,
    Quotas,
    Resource,
    ResourcePage,
    Stuck,
    StuckPage,
)
from stead.client.overview_client import OverviewClient
from stead.client.paging import through
from stead.client.recovery import RecoveryClient
from stead.client.scaling import ScalingClient
from stead.client.streams import Streams
from stead.client.systems import SystemsClient
from stead.client.transport import Transport

DEFAULT_SERVER = "http://127.0.0.1:7770"
PATIENCE = 60.0
"""Seconds for which a server may be away before following is given up."""
SILENCE = 45.0
"""Seconds without a sign of life after which a stream counts as lost; servers give one every 15."""
SHORTEST_LOOK, LONGEST_LOOK = 0.05, 1.0
"""Seconds between two looks at an operation."""


def differs(now: Operation, before: Operation | None) -> bool:
    """Whether something about an operation has changed; time alone makes it no other operation."""
    return before is None or replace(now, elapsed=None) != replace(before, elapsed=None)


class Client(
    OverviewClient,
    AccessClient,
    AgentsClient,
    AuditClient,
    LaneGrantsClient,
    RecoveryClient,
    LogsClient,
    ScalingClient,
    LeasesClient,
    SystemsClient,
    Streams,
    DoctorClient,
):
    """Speaks to one server. To be used in one event loop, by any number of tasks."""

    def __init__(
        self,
        server: str = DEFAULT_SERVER,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        patience: float = PATIENCE,
        silence: float = SILENCE,
        ca: str = "",
        cell: str = "-",
    ) -> None:
        """`token` authenticates the caller. `timeout` bounds one answer, `retries` one call, and `patience` the time
        for which a lost stream is resumed. `ca` is a CA bundle, trusted instead of the system's. `cell` is the cell
        whose lanes, hosts, agents and other objects without a namespace are addressed; `-` is the server's own.
        """
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        self.server = server
        self._transport = Transport(server, {**shown, **(headers or {})}, timeout, retries, ca, cell)
        self._patience = patience
        self._silence = silence

    async def close(self) -> None:
        """Let go of connections."""
        await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # Resources

    async def resource(self, path: str) -> Resource:
        """A resource as it is."""
        return await self._transport.send(Resource, "GET", _at(path))

    async def past(self, path: str, at: datetime) -> HistoricalResource:
        """A resource as it was."""
        return await self._transport.send(HistoricalResource, "GET", _at(path), query={"at": at.isoformat()})

    async def resource_page(
        self,
        *,
        kind: str | None = None,
        below: str = "/",
        limit: int = 500,
        cursor: str | None = None,
        specs: bool = False,
    ) -> ResourcePage:
        """One page of resources, with or without their specs."""
        query = {"kind": kind, "below": below, "limit": limit, "cursor": cursor, "specs": specs}
        return await self._transport.send(ResourcePage, "GET", "/v1/resources", query=query)

    def resources(
        self, *, kind: str | None = None, below: str = "/", limit: int = 500, specs: bool = False
    ) -> AsyncGenerator[Resource]:
        """All resources below a path, page by page, with or without their specs."""
        return through(
            lambda cursor: self.resource_page(kind=kind, below=below, limit=limit, cursor=cursor, specs=specs)
        )

    async def status(self, path: str, *, refresh: bool = False) -> GroupStatus:
        """How an infrastructure or a subgroup stands; with `refresh`, after a look at what may have changed."""
        address = f"/v1/status/{quote(path.removeprefix('/'), safe='/')}"
        return await self._transport.send(GroupStatus, "GET", address, query={"refresh": refresh})

    async def request_action(
        self,
        path: str,
        action: str,
        *,
        key: str | None = None,
        if_match: str | None = None,
        **options: Unpack[ActionOptions],
    ) -> Accepted:
        """Ask for a change. `if_match` is the tag of the version that is meant."""
        headers = {"Idempotency-Key": key or str(uuid4())}
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        query = {"action": action}
        return await self._transport.send(Accepted, "POST", _at(path), query=query, body=options, headers=headers)

    async def dry_run(self, path: str, action: str, **options: Unpack[ActionOptions]) -> DryRun:
        """What a change would do, without doing it."""
        query = {"action": action, "dry_run": True}
        return await self._transport.send(DryRun, "POST", _at(path), query=query, body=options)

    async def explain(
        self,
        path: str,
        action: str,
        *,
        kind: str | None = None,
        force: bool = False,
        reason: str = "",
        on_conflict: Literal["default", "reject", "queue"] = "default",
        at: str | None = None,
        lane: str | None = None,
    ) -> Explanation:
        """Whether an action would be let in now, and if not, what would help; of a deploy, `at` a place; of what is
        not there yet, on a lane."""
        query = {"path": path, "action": action, "kind": kind, "force": force, "reason": reason}
        query |= {"on_conflict": on_conflict, "at": at, "lane": lane}
        return await self._transport.send(Explanation, "GET", "/v1/explain", query=query)

    # Operations and claims

    async def operation(self, id: str) -> Operation:
        """An operation that waits its turn, is under way or has ended."""
        return await self._transport.send(Operation, "GET", _operation(id))

    async def cancel(self, id: str) -> Operation:
        """End an operation before it is done; it may be asked for any number of times."""
        return await self._transport.send(Operation, "POST", f"{_operation(id)}/cancel")

    async def promote(self, id: str) -> Operation:
        """Put an operation that waits its turn first in its queue."""
        return await self._transport.send(Operation, "POST", f"{_operation(id)}/promote")

    async def retry(self, id: str, *, force: bool = False, reason: str = "", key: str | None = None) -> Accepted:
        """Ask once more for what an operation was to do that has ended, and not well; of a group, who failed."""
        headers = {"Idempotency-Key": key or str(uuid4())}
        body = {"force": force, "reason": reason}
        return await self._transport.send(Accepted, "POST", f"{_operation(id)}/retry", body=body, headers=headers)

    async def member_page(self, id: str, *, limit: int = 500, cursor: str | None = None) -> OperationMemberPage:
        """One page of the members that did not do what an operation asked of them."""
        query = {"limit": limit, "cursor": cursor}
        return await self._transport.send(OperationMemberPage, "GET", f"{_operation(id)}/members", query=query)

    def members(self, id: str, *, limit: int = 500) -> AsyncGenerator[OperationMember]:
        """All members that did not do what an operation asked of them, or could not be asked, each with why."""
        return through(lambda cursor: self.member_page(id, limit=limit, cursor=cursor))

    async def operation_page(
        self, *, below: str = "/", running: bool | None = None, limit: int = 100, cursor: str | None = None
    ) -> OperationPage:
        """One page of operations, the latest first. It may be empty and still have a next one."""
        query = {"below": below, "running": running, "limit": limit, "cursor": cursor}
        return await self._transport.send(OperationPage, "GET", "/v1/operations", query=query)

    def operations(
        self, *, below: str = "/", running: bool | None = None, limit: int = 100
    ) -> AsyncGenerator[Operation]:
        """All operations on a path and below it, page by page, the latest first."""
        return through(lambda cursor: self.operation_page(below=below, running=running, limit=limit, cursor=cursor))

    async def follow(self, id: str, timeout: float | None = None) -> AsyncGenerator[Operation]:
        """An operation each time something about it has changed; the last is how it ended. `StillRunning` when it
        has not ended within so many seconds.
        """
        shown: Operation | None = None
        delay = SHORTEST_LOOK
        heard_at = _now()
        end = None if timeout is None else heard_at + timeout
        while True:
            try:
                async with asyncio.timeout_at(end):
                    now = await self.operation(id)
                heard_at = _now()
            except TimeoutError:
                raise WaitTimeout(shown or await self.operation(id)) from None
            except (Unreachable, Unavailable):
                if shown is None or _now() - heard_at > self._patience:
                    raise
                now = shown
            if differs(now, shown):
                shown, delay = now, SHORTEST_LOOK
                yield now
            if now.outcome is not None:
                return
            await asyncio.sleep(delay if end is None else max(0.0, min(delay, end - _now())))
            delay = min(delay * 1.5, LONGEST_LOOK)

    async def wait(
        self, id: str, timeout: float | None = None, on_change: Callable[[Operation], None] | None = None
    ) -> Operation:
        """An operation when it has ended; `WaitTimeout` when it has not within so many seconds."""
        last: Operation | None = None
        async with aclosing(self.follow(id, timeout)) as changes:
            async for change in changes:
                last = change
                if on_change is not None:
                    on_change(change)
        assert last is not None
        return last

    async def stuck_page(
        self, *, below: str = "/", lately: int | None = None, limit: int = 100, cursor: str | None = None
    ) -> StuckPage:
        """One page of what is stuck, and of what was settled in the last so many seconds without a report."""
        query = {"below": below, "lately": lately, "limit": limit, "cursor": cursor}
        return await self._transport.send(StuckPage, "GET", "/v1/stuck", query=query)

    def stuck(self, *, below: str = "/", lately: int | None = None, limit: int = 100) -> AsyncGenerator[Stuck]:
        """All that is stuck, page by page: the longest first, then what was settled lately."""
        return through(lambda cursor: self.stuck_page(below=below, lately=lately, limit=limit, cursor=cursor))

    async def claims(self, *, below: str = "/", limit: int = 1000) -> ClaimPage:
        """Who may change what now."""
        return await self._transport.send(ClaimPage, "GET", "/v1/claims", query={"below": below, "limit": limit})

    # Queues

    async def queue_page(self, *, below: str = "/", limit: int = 500, cursor: str | None = None) -> QueuePage:
        """One page of queues."""
        query = {"below": below, "limit": limit, "cursor": cursor}
        return await self._transport.send(QueuePage, "GET", "/v1/queues", query=query)

    def queues(self, *, below: str = "/", limit: int = 500) -> AsyncGenerator[Queue]:
        """All queues of a path and below it, page by page."""
        return through(lambda cursor: self.queue_page(below=below, limit=limit, cursor=cursor))

    async def queue(self, path: str, *, limit: int = 1000) -> QueueDetail:
        """The queue of an object, with what waits in it."""
        return await self._transport.send(QueueDetail, "GET", _queue(path), query={"limit": limit})

    async def open_queue(self, path: str) -> Queue:
        """Make the queue of an object, unless it is there."""
        return await self._transport.send(Queue, "PUT", _queue(path))

    async def stop_queue(self, path: str) -> Queue:
        """Let a queue take nothing more: what is in it is carried out, then it is removed."""
        return await self._transport.send(Queue, "DELETE", _queue(path))

    async def stop_queues(self) -> QueuePage:
        """Let no queue take anything more."""
        return await self._transport.send(QueuePage, "DELETE", f"{self._transport.cell}/queues")

    # What is really there

    async def drift_page(
        self,
        *,
        kind: str | None = None,
        below: str = "/",
        refresh: bool = True,
        limit: int = 500,
        cursor: str | None = None,
    ) -> DriftReportPage:
        """One page of resources, each beside what a look shows now; unless it is to be fresh, nobody is asked."""
        query = {"kind": kind, "below": below, "refresh": refresh, "limit": limit, "cursor": cursor}
        return await self._transport.send(DriftReportPage, "GET", "/v1/drift", query=query)

    def drift(
        self, *, kind: str | None = None, below: str = "/", refresh: bool = True, limit: int = 500
    ) -> AsyncGenerator[DriftReport]:
        """All resources at a path and below it beside what a look shows, page by page."""
        return through(
            lambda cursor: self.drift_page(kind=kind, below=below, refresh=refresh, limit=limit, cursor=cursor)
        )

    async def orphans(self, *, lane: str | None = None, limit: int = 1000) -> OrphanPage:
        """What providers have that nobody owns."""
        return await self._transport.send(
            OrphanPage, "GET", f"{self._transport.cell}/orphans", query={"lane": lane, "limit": limit}
        )

    async def adopt_orphan(self, lane: str, token: str, path: str | None = None) -> Accepted:
        """Own something that a provider has, at a path or at the one it was made for."""
        query = {"action": "adopt", "path": path}
        return await self._transport.send(
            Accepted, "POST", f"{self._transport.cell}/orphans/{lane}/{quote(token)}", query=query
        )

    async def remove_orphan(self, lane: str, token: str) -> Accepted:
        """Have something removed that a provider has and nobody owns."""
        query = {"action": "remove"}
        return await self._transport.send(
            Accepted, "POST", f"{self._transport.cell}/orphans/{lane}/{quote(token)}", query=query
        )

    async def lane_page(self, *, limit: int = 500, cursor: str | None = None) -> LanePage:
        """One page of lanes."""
        return await self._transport.send(
            LanePage, "GET", f"{self._transport.cell}/lanes", query={"limit": limit, "cursor": cursor}
        )

    def lanes(self, *, limit: int = 500) -> AsyncGenerator[Lane]:
        """All lanes, with who serves them and what there is to do, page by page."""
        return through(lambda cursor: self.lane_page(limit=limit, cursor=cursor))

    async def request_inventory(self, lane: str) -> bool:
        """Have the agent of a lane tell all that is there; whether one answered."""
        answer = await self._transport.send(dict[str, Any], "POST", f"{self._transport.cell}/lanes/{lane}/survey")
        return bool(answer["requested"])

    async def limit_lane(self, lane: str, members: int | None) -> None:
        """Say how many members a lane bears at once; None: as many as its provider says."""
        await self._transport.send(
            dict, "PUT", f"{self._transport.cell}/lanes/{lane}/limit", body={"members": members}
        )

    async def limit_provider(self, provider: str, members: int | None, regions: int | None) -> None:
        """Say how many members a region of a provider bears at once, and how many regions; None for no limit."""
        body = {"members": members, "regions": regions}
        await self._transport.send(dict, "PUT", f"{self._transport.cell}/providers/{provider}/limits", body=body)

    async def quotas(self, path: str) -> Quotas:
        """How much an account or a cloudspace has, and may have."""
        return await self._transport.send(Quotas, "GET", f"/v1/quotas{quote(path)}")

    async def set_quotas(self, path: str, most: Mapping[str, int | None]) -> Quotas:
        """Say how much one may have; None: as much as there is. What is not named stays as it is."""
        return await self._transport.send(Quotas, "PUT", f"/v1/quotas{quote(path)}", body=dict(most))

    # The journal

    async def journal_page(self, *, after: int = 0, path: str | None = None, limit: int = 500) -> JournalPage:
        """Lines of the journal from after a position on."""
        query = {"after": after, "path": path, "limit": limit}
        return await self._transport.send(JournalPage, "GET", "/v1/journal", query=query)

    async def journal(
        self, *, after: int = 0, path: str | None = None, limit: int = 500
    ) -> AsyncGenerator[JournalLine]:
        """The journal from after a position on, page by page, up to where it ends now."""
        while True:
            page = await self.journal_page(after=after, path=path, limit=limit)
            for item in page.items:
                yield item
            if len(page.items) < limit:
                return
            after = page.next


def _now() -> float:
    return asyncio.get_running_loop().time()


def _operation(id: str) -> str:
    """The address of an operation."""
    return f"/v1/operations/{quote(id)}"


def _queue(path: str) -> str:
    """The address of a queue."""
    return f"/v1/queues/{quote(path.removeprefix('/'), safe='/')}"


def _at(path: str) -> str:
    """The address of a resource. Strange characters are the server's to refuse."""
    return f"/v1/resources/{quote(path.removeprefix('/'), safe='/')}"
