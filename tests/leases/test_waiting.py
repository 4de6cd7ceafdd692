"""What a lease says while it waits, and why it failed; and that no host is handed over after the end."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from uuid import UUID

import pytest

from stead.application.reader import Reader
from stead.application.stuck import stuck
from stead.catalog import KINDS
from stead.controller.reconcilers.leases import LeaseNotices
from stead.controller.reconcilers.timers import TimerService
from stead.lifecycle.rows import Actor
from tests.controller.test_queues import ME
from tests.leases.lab import HOOKS, terms
from tests.leases.office import LEASE, OTHER, PART, Office, office

AWAITED = "it starts when h1 is taken back from the lease before it"
SWITCH = "the switch does not answer"


@pytest.mark.req("S3-06")
async def test_lease_whose_host_is_not_free_says_so_and_never_starts_after_its_end(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active(spec=terms(0, 1000))
        await one.do("create", OTHER, spec=terms(1000, 2000))
        assert (await one.shown(OTHER)).reason == ""
        await one.tick(1010)  # the first lease ends, and its host is being taken back
        await one.tick(1020)
        assert (await one.state(LEASE), await one.state(OTHER)) == ("TERMINATING", "PENDING")
        assert (await one.shown(OTHER)).reason == AWAITED
        view = Reader(one.store, KINDS)
        view.usual.clock = one.executor.clock
        (found,) = (await stuck(view, "/lab", datetime.now(UTC), None, 10)).items
        assert (found.path, found.state, [(why.code, why.message) for why in found.causes]) == (
            OTHER,
            "PENDING",
            [("blocked", AWAITED)],
        )
        await one.tick(2010)  # its end has passed meanwhile
        lease = await one.shown(OTHER)
        assert (lease.status, "before its hosts could be handed over" in lease.reason) == ("ERROR", True)
        row = await one.store.resources.read(f"{OTHER}/r0")
        assert row is not None
        assert (row.snapshot.state, row.snapshot.work) == ("error", None)  # no agent was told of it
        await one.tick(2020)
        await one.report(f"{OTHER}/r0")
        assert await one.state(OTHER) == "TERMINATED"
        await one.report(PART)
        assert await one.state(LEASE) == "TERMINATED"


@pytest.mark.req("S3-06")
async def test_hosts_that_no_agent_took_are_not_handed_over_after_the_end(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1")
        await one.do("create", spec=terms(0, 1000))
        await one.lease("start", actor=Actor.CLOCK)
        row = await one.store.resources.read(PART)
        assert row is not None
        await one.tick(1010)
        assert await one.custody.take(ME, {PART: row.snapshot.fence}) == {}
        assert (await one.shown()).status == "STARTING"  # until an agent has looked at it, or none did
        for later in range(2000, 20_000, 500):
            one.executor.clock = lambda later=later: time.time() + later  # type: ignore[misc]
            await TimerService(one.executor).tick()
            await one.idle()
        assert (await one.shown()).status == "ERROR"
        await one.tick(20_000)
        assert (await one.shown()).status == "TERMINATING"
        await one.report(PART)
        assert (await one.shown()).status == "TERMINATED"


@pytest.mark.req("S3-10")
@pytest.mark.parametrize("action", ["start", "terminate", "delete"])
async def test_lease_that_fails_says_why_everywhere(migrated: str, action: str) -> None:
    async with office(migrated) as one:
        if action == "start":
            await one.hosts("h1")
            await one.do("create", spec=terms(0, 1000))
        else:
            await one.active()
        operation = await one.lease(action, actor=Actor.CLOCK if action == "start" else Actor.USER)
        await one.fail(PART, SWITCH)
        lease = await one.shown()
        assert (lease.status, lease.reason) == ("ERROR", f"{PART}: {SWITCH}")
        record = await one.store.operations.read(UUID(operation))
        assert record is not None
        assert (record["outcome"], record["says"]) == ("failed", f"{PART}: {SWITCH}")
        lines = [line for line in await one.lines(LEASE) if line["target"] == "ERROR"]
        assert [line["change"].get("error") for line in lines] == [f"{PART}: {SWITCH}"]


@asynccontextmanager
async def webhook(one: Office, *codes: int) -> AsyncIterator[tuple[str, list[tuple[str, str]]]]:
    """A server that answers with one code after another: its address, and each event that it got with its status."""
    got: list[tuple[str, str]] = []
    left = list(codes)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split(b":")[1])
        event = json.loads(await reader.readexactly(length))["event"]
        got.append((event, await before_end(one)))
        writer.write(b"HTTP/1.1 %d X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % left.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"{HOOKS}{server.sockets[0].getsockname()[1]}/hook", got
    finally:
        server.close()
        await server.wait_closed()


async def before_end(one: Office) -> str:
    """The status of the event before the end, and why it is in ERROR."""
    (event,) = [e for e in (await one.store.leases.read_events([LEASE]))[LEASE] if e["kind"] == "before_end_lease"]
    return f"{event['status']}: {event['error']}" if event["error"] else event["status"]


@pytest.mark.req("S3-03")
async def test_event_before_the_end_is_in_progress_until_its_webhook_has_answered(migrated: str) -> None:
    async with office(migrated) as one, webhook(one, 500, 503, 200) as (url, got):
        await one.active(spec=terms(0, 10_000, before_end=9000, webhook=url))
        notices = LeaseNotices(one.executor, (HOOKS,))
        assert await before_end(one) == "UNDONE"
        await one.tick(1010)
        assert await before_end(one) == "IN_PROGRESS"
        assert await one.do("update", spec={"labels": {"a": "b"}}) == (
            "succeeded",
            "",
        )  # which does not wait for a webhook
        assert await before_end(one) == "ERROR: not delivered yet"
        await notices()
        assert await before_end(one) == "ERROR: it answered 500"
        assert await one.do("update", spec={"labels": {"a": "c"}}) == ("succeeded", "")
        assert await before_end(one) == "ERROR: it answered 500"
        for later in (1015, 1025):
            one.executor.clock = lambda later=later: time.time() + later  # type: ignore[misc]
            await notices()
        assert await before_end(one) == "DONE"
        assert [status for _, status in got] == ["IN_PROGRESS"] * 3
        assert len({event for event, _ in got}) == 1  # one event, delivered three times


@pytest.mark.req("S3-03")
async def test_event_before_the_end_that_cannot_be_delivered_ends_in_error(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active(spec=terms(0, 10_000, before_end=9000, webhook="http://10.1.2.3/inside"))
        await one.tick(1010)
        await LeaseNotices(one.executor, (HOOKS,))()
        assert await before_end(one) == "ERROR: this cell lets webhooks go nowhere like that"
        lease = await one.shown()
        assert [e.error for e in lease.events if e.status == "ERROR"] == [
            "this cell lets webhooks go nowhere like that"
        ]


async def test_event_before_the_end_without_a_webhook_is_done_at_once(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active(spec=terms(0, 10_000, before_end=9000))
        await one.tick(1010)
        assert await before_end(one) == "DONE"


@pytest.mark.req("S3-03")
async def test_webhook_of_a_held_lease_waits_for_the_release(migrated: str) -> None:
    async with office(migrated) as one, webhook(one, 200) as (url, got):
        await one.active(spec=terms(0, 10_000, before_end=9000, webhook=url))
        notices = LeaseNotices(one.executor, (HOOKS,))
        await one.tick(1010)
        await one.store.pool.execute("SELECT recover_cell(1, true)")
        assert (await notices(), got) == (0, [])
        assert await one.store.recovery.release("/", "ann")
        await notices()
        assert len(got) == 1
        assert await before_end(one) == "DONE"
