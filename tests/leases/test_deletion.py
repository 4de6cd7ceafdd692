"""Deleting a lease whose hosts are being taken back already: it waits for that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

import pytest

from stead.controller.admission import Accepted
from stead.controller.leasing import Booking
from stead.controller.steps import Steps
from stead.lifecycle.rows import Actor, Trigger
from tests import errands
from tests.controller.test_queues import Controller, controller
from tests.leases.lab import terms

LEASE, OTHER = "/lab/monday", "/lab/tuesday"
PART = f"{LEASE}/r0"


class Office(Controller):
    """A controller that books hosts."""

    def __post_init__(self) -> None:
        self.steps = Steps(self.mover, {("lease", "CREATING"): partial(Booking, self.mover)})
        self.mover.follow(self.steps)

    async def lease(self, action: str, path: str = LEASE, **more: object) -> str:
        answer = await self.ask(path, action, "lease", lane="", **more)
        assert isinstance(answer, Accepted), answer
        await errands.done(self.steps.errands, self.groups.errands)
        return answer.operation

    async def ended(self, operation: str) -> tuple[str, str]:
        record = await self.store.operation(UUID(operation))
        assert record is not None
        return record["outcome"], record["says"]

    async def active(self) -> None:
        """One host, handed over to a lease."""
        await self.store.put_host("h1", "rack.a", {}, None)
        await self.lease("create", spec=terms(0, 1000))
        await self.lease("start", actor=Actor.CLOCK)
        await self.report(PART)
        assert await self.state(LEASE) == "ACTIVE"


@asynccontextmanager
async def office(dsn: str) -> AsyncIterator[Office]:
    async with controller(dsn) as plain:
        one = Office(plain.store)
        one.__post_init__()
        yield one


@pytest.mark.req("S3-06", "S3-09")
async def test_lease_delete_waits_for_running_release(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active()
        await one.lease("terminate")
        deletion = await one.lease("delete")
        assert (await one.ended(deletion))[0] == ""
        assert await one.state(LEASE) == "DELETING"
        outcome, says = await one.ended(await one.lease("create", OTHER, spec=terms(0, 1000)))
        assert (outcome, "r0 wants 1 such host" in says) == ("failed", True)  # the host has one owner
        await one.report(PART)
        assert await one.ended(deletion) == ("done", "")
        assert await one.state(LEASE) is None
        assert (await one.ended(await one.lease("create", OTHER, spec=terms(0, 1000))))[0] == "done"


@pytest.mark.req("S3-06")
async def test_lease_delete_fails_where_running_release_fails(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active()
        await one.lease("terminate")
        deletion = await one.lease("delete")
        while (await one.state(PART)) == "active":
            await one.report(PART, Trigger.FAILED)
        assert (await one.ended(deletion))[0] == "failed"
        assert (await one.state(LEASE), await one.state(PART)) == ("ERROR", "error")
        (member,) = await one.store.operation_members(UUID(deletion), "", 10)
        assert (member["path"], member["outcome"]) == (PART, "failed")
        again = await one.lease("delete")
        await one.report(PART)
        assert (await one.ended(again))[0] == "done"
