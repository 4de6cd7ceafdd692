"""Deleting a lease whose hosts are being taken back already: it waits for that."""

from __future__ import annotations

from uuid import UUID

import pytest

from stead.lifecycle.rows import Trigger
from tests.leases.lab import terms
from tests.leases.office import LEASE, OTHER, PART, office


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
        assert await one.ended(deletion) == ("succeeded", "")
        assert await one.state(LEASE) is None
        assert (await one.ended(await one.lease("create", OTHER, spec=terms(0, 1000))))[0] == "succeeded"


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
        (member,) = await one.store.operations.read_members(UUID(deletion), "", 10)
        assert (member["path"], member["outcome"]) == (PART, "failed")
        again = await one.lease("delete")
        await one.report(PART)
        assert (await one.ended(again))[0] == "succeeded"
