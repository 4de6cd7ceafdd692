"""The client for programs without an event loop: the same methods, each run to its end.

No method calls the caller's code while its event loop runs, so a callback may use the client as any other code does.
A method of `Client` that takes a callback is therefore written out here, over one that yields its values one by one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Concatenate, Self

from stead.client.client import DEFAULT_SERVER, Client
from stead.client.models import Operation


def _whole[**P, T](
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncClient, P], T]:
    def call(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(lambda client: method(client, *args, **kwargs))

    call.__doc__ = method.__doc__
    return call


def _each[**P, T](
    method: Callable[Concatenate[Client, P], AsyncGenerator[T]],
) -> Callable[Concatenate[SyncClient, P], Iterator[T]]:
    def call(self: SyncClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        items = method(self._client, *args, **kwargs)
        end = object()

        async def following(_: Client) -> Any:
            return await anext(items, end)

        self._open.add(items)
        try:
            while (item := self._run(following)) is not end:
                yield item
        finally:
            self._end(items)

    call.__doc__ = method.__doc__
    return call


async def _close(items: AsyncGenerator[Any]) -> None:
    """Close a stream after the step that an interrupt has left behind, which would still run in it."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await items.aclose()


class SyncClient:
    """Speaks to one server, from one thread in which no event loop runs."""

    def __init__(self, server: str = DEFAULT_SERVER, **options: Any) -> None:
        """Options are those of `Client`."""
        self._client = Client(server, **options)
        self._runner = asyncio.Runner()
        self._open: set[AsyncGenerator[Any]] = set()

    def _run[T](self, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        if _in_a_loop():
            raise RuntimeError("where an event loop runs, Client is to be used")
        return self._runner.run(work(self._client))

    def _end(self, items: AsyncGenerator[Any]) -> None:
        """End what was being gone through; the interpreter may ask for that at any time, and late."""
        if items in self._open and not _in_a_loop():
            self._open.discard(items)
            self._runner.run(_close(items))

    def close(self) -> None:
        """Let go of connections, and of whatever was not gone through to its end."""
        for items in tuple(self._open):
            self._end(items)
        self._run(Client.close)
        self._runner.close()

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._client.server

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(
        self, id: str, timeout: float | None = None, on_change: Callable[[Operation], None] | None = None
    ) -> Operation:
        """An operation when it has ended; `StillRunning` when it has not within so many seconds.

        `on_change` may call this client: between two changes no event loop runs.
        """
        last: Operation | None = None
        for change in self.follow(id, timeout):
            last = change
            if on_change is not None:
                on_change(change)
        assert last is not None
        return last

    resource = _whole(Client.resource)
    past = _whole(Client.past)
    resource_page = _whole(Client.resource_page)
    resources = _each(Client.resources)
    status = _whole(Client.status)
    request_action = _whole(Client.request_action)
    dry_run = _whole(Client.dry_run)
    explain = _whole(Client.explain)
    operation = _whole(Client.operation)
    cancel = _whole(Client.cancel)
    promote = _whole(Client.promote)
    retry = _whole(Client.retry)
    operation_page = _whole(Client.operation_page)
    operations = _each(Client.operations)
    follow = _each(Client.follow)
    stuck_page = _whole(Client.stuck_page)
    examine = _whole(Client.examine)
    metrics = _whole(Client.metrics)
    stuck = _each(Client.stuck)
    claims = _whole(Client.claims)
    queue_page = _whole(Client.queue_page)
    queues = _each(Client.queues)
    queue = _whole(Client.queue)
    open_queue = _whole(Client.open_queue)
    stop_queue = _whole(Client.stop_queue)
    stop_queues = _whole(Client.stop_queues)
    drift_page = _whole(Client.drift_page)
    drift = _each(Client.drift)
    orphans = _whole(Client.orphans)
    adopt_orphan = _whole(Client.adopt_orphan)
    remove_orphan = _whole(Client.remove_orphan)
    lane_page = _whole(Client.lane_page)
    member_page = _whole(Client.member_page)
    members = _each(Client.members)
    lanes = _each(Client.lanes)
    request_inventory = _whole(Client.request_inventory)
    hold = _whole(Client.hold)
    release_hold = _whole(Client.release_hold)
    limit_lane = _whole(Client.limit_lane)
    lane_grants = _whole(Client.lane_grants)
    allow_lane = _whole(Client.allow_lane)
    deny_lane = _whole(Client.deny_lane)
    limit_provider = _whole(Client.limit_provider)
    quotas = _whole(Client.quotas)
    set_quotas = _whole(Client.set_quotas)
    journal_page = _whole(Client.journal_page)
    journal = _each(Client.journal)
    journal_head = _whole(Client.journal_head)
    export_journal = _each(Client.export_journal)
    next_archive = _whole(Client.next_archive)
    archive_journal = _whole(Client.archive_journal)
    events = _each(Client.events)
    logs = _whole(Client.logs)
    follow_logs = _each(Client.follow_logs)
    steps = _each(Client.steps)
    overview = _whole(Client.overview)
    tree_page = _whole(Client.tree_page)
    timeline = _whole(Client.timeline)
    lifecycles = _whole(Client.lifecycles)
    lifecycle = _whole(Client.lifecycle)
    register_lifecycle = _whole(Client.register_lifecycle)
    unregister_lifecycle = _whole(Client.unregister_lifecycle)
    login = _whole(Client.login)
    whoami = _whole(Client.whoami)
    tokens = _whole(Client.tokens)
    create_token = _whole(Client.create_token)
    revoke_token = _whole(Client.revoke_token)
    grants = _whole(Client.grants)
    grant_role = _whole(Client.grant_role)
    revoke_role = _whole(Client.revoke_role)
    policies = _whole(Client.policies)
    put_policy = _whole(Client.put_policy)
    remove_policy = _whole(Client.remove_policy)
    scaling_page = _whole(Client.scaling_page)
    scalings = _each(Client.scalings)
    scaling = _whole(Client.scaling)
    put_scaling = _whole(Client.put_scaling)
    remove_scaling = _whole(Client.remove_scaling)
    report_demand = _whole(Client.report_demand)
    lease_page = _whole(Client.lease_page)
    leases = _each(Client.leases)
    lease = _whole(Client.lease)
    lateness = _whole(Client.lateness)
    host_page = _whole(Client.host_page)
    hosts = _each(Client.hosts)
    put_host = _whole(Client.put_host)
    set_host_health = _whole(Client.set_host_health)
    remove_host = _whole(Client.remove_host)
    calendar_page = _whole(Client.calendar_page)
    calendar = _whole(Client.calendar)
    system = _whole(Client.system)
    plan = _whole(Client.plan)
    deploy = _whole(Client.deploy)
    agents = _whole(Client.agents)
    invite_agent = _whole(Client.invite_agent)
    join_agent = _whole(Client.join_agent)
    revoke_agent = _whole(Client.revoke_agent)


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
