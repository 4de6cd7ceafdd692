"""The controller's own steps, taken up by another after a crash."""

from __future__ import annotations

import time
from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.controller.execution.steps import Declined, Done
from stead.controller.steps import lease_spec as terms_of
from stead.controller.steps.lease_book import LeaseRebooking
from stead.store import Row
from tests.controller.test_queues import Controller, controller
from tests.leases.lab import at, terms

LEASE = "/lab/monday"


async def _updating(one: Controller, **change: object) -> tuple[Row, UUID]:
    """A lease that is booked, and an update of it that nobody has begun."""
    await one.store.hosts.put("h1", "rack.a", {}, None)
    one.begins(("lease", "CREATING"))
    assert isinstance(await one.ask(LEASE, "create", "lease", spec=terms(100, 1000), lane=""), Accepted)
    for task in list(one.steps.background.tasks):
        await task
    answer = await one.ask(LEASE, "update", "lease", spec=change, lane="")
    assert isinstance(answer, Accepted)
    row = await one.store.resources.read(LEASE)
    assert row is not None
    assert row.snapshot.state == "UPDATING"
    return row, UUID(answer.operation)


@pytest.mark.req("S3-07")
async def test_what_is_booked_on_new_terms_is_not_declined_by_whoever_takes_it_up(migrated: str) -> None:
    async with controller(migrated) as one:
        row, operation = await _updating(one, end=at(500))
        assert row.next_spec is not None
        booked = terms_of.read(row.next_spec).booked()
        leases, fence = one.store.leases, row.snapshot.fence.counter
        assert await leases.rebook(LEASE, fence, booked, time.time(), heals=False) is True
        one.executor.clock = lambda: time.time() + 600  # and then it died; its end has passed since
        answer = await LeaseRebooking(one.admission)(row, operation)
        assert answer == Done(events=(("start_lease", "UNDONE"), ("end_lease", "UNDONE")))


@pytest.mark.req("S3-07")
async def test_what_nobody_has_booked_is_declined(migrated: str) -> None:
    async with controller(migrated) as one:
        row, operation = await _updating(one, end=at(500))
        one.executor.clock = lambda: time.time() + 600
        answer = await LeaseRebooking(one.admission)(row, operation)
        assert isinstance(answer, Declined)
        assert "has passed" in answer.says


@pytest.mark.req("S3-06")
async def test_whoever_was_at_it_before_books_nothing(migrated: str) -> None:
    async with controller(migrated) as one:
        row, _ = await _updating(one, end=at(500))
        assert row.next_spec is not None
        booked = terms_of.read(row.next_spec).booked()
        leases, fence = one.store.leases, row.snapshot.fence.counter
        assert await leases.rebook(LEASE, fence - 1, booked, time.time(), heals=False) is False
        assert await one.store.leases.book(LEASE, row.snapshot.fence.counter, booked, time.time()) is False
