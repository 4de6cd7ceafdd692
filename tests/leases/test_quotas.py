"""What leases of a namespace may have: hosts at a time, and how long each lasts."""

from __future__ import annotations

import asyncio

import pytest

from tests.leases.lab import at, terms
from tests.leases.office import LEASE, OTHER, office

pytestmark = pytest.mark.req("S3-10")


async def test_leases_of_a_namespace_have_no_more_hosts_at_a_time_than_its_quota(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1", "h2", "h3", "h4")
        await one.store.quotas.set("/lab", {"hosts": 2}, "root")
        assert await one.do("create", spec=terms(100, 1000, 2)) == ("succeeded", "")
        outcome, says = await one.do("create", OTHER, spec=terms(500, 2000))
        assert (outcome, says) == (
            "failed",
            "leases of lab may have 2 hosts at a time, and with this one they would have 3",
        )
        assert await one.do("create", OTHER, spec=terms(1000, 2000, 2)) == ("succeeded", "")
        assert await one.do("create", "/shop/monday", spec=terms(100, 1000, 2)) == ("succeeded", "")
        assert [(q.what, q.used, q.most) for q in await one.store.quotas.read("/lab")][-1] == ("hosts", 2, 2)
        assert (await one.do("update", spec={"end": at(1500)}))[0] == "failed"
        await one.store.quotas.set("/lab", {"hosts": 1}, "root")
        assert await one.do("update", spec={"end": at(900)}) == ("succeeded", "")  # what it has already it keeps


async def test_bookings_at_once_do_not_exceed_the_quota_together(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts(*(f"h{n}" for n in range(6)))
        await one.store.quotas.set("/lab", {"hosts": 3}, "root")
        wanted = terms(100, 1000)
        ids = await asyncio.gather(*(one.lease("create", f"/lab/l{n}", spec=wanted) for n in range(6)))
        ends = [(await one.ended(id))[0] for id in ids]
        assert sorted(ends) == ["failed"] * 3 + ["succeeded"] * 3


async def test_lease_lasts_no_longer_than_its_namespace_allows(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1")
        await one.store.quotas.set("/lab", {"lease_seconds": 1000}, "root")
        outcome, says = await one.do("create", spec={**terms(0, 1000), "start": at(500), "end": at(1501)})
        assert (outcome, "a lease of lab may last 1000 s, and this one would last 100" in says) == ("failed", True)
        assert await one.do("create", spec=terms(500, 1400)) == ("succeeded", "")
        assert (await one.do("update", LEASE, spec={"end": at(1600)}))[0] == "failed"
        await one.store.quotas.set("/lab", {"lease_seconds": None}, "root")
        assert await one.do("update", LEASE, spec={"end": at(1600)}) == ("succeeded", "")
