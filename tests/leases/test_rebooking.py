"""What a lease has while hosts fail, are taken back, and are wanted again."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from stead.controller.steps.lease_spec import complete
from stead.lifecycle.rows import Actor
from tests.leases.lab import at, terms
from tests.leases.office import LEASE, OTHER, PART, Office, office


async def flags(one: Office, path: str = LEASE) -> tuple[list[str], bool, bool]:
    """Hosts of a lease that work, and its two flags."""
    part = (await one.parts(path))["r0"]
    return part["works"], part["missing_resources"], part["resources_changed"]


async def test_booking_now_after_an_early_end_in_the_same_second_gets_the_host(migrated: str) -> None:
    async with office(migrated) as one:
        await one.active()
        second = float(int(time.time()) + 2)
        one.executor.clock = lambda: second + 0.7
        await one.lease("terminate")
        await one.report(PART)
        one.executor.clock = lambda: second + 0.6  # of another controller, a moment behind
        spec = complete({"start": "now", "end": at(1000), "reservations": [{}]}, second + 0.6)
        assert await one.do("create", OTHER, spec=spec) == ("succeeded", "")
        (booked,) = [b for b in await calendar(one, second) if b["lease"] == OTHER]
        assert booked["start"].timestamp() == second + 0.7  # and both are in the calendar, one after the other


async def calendar(one: Office, since: float) -> list[Any]:
    start, end = (datetime.fromtimestamp(t, UTC) for t in (since - 10_000, since + 10_000))
    return list(await one.store.hosts.read_calendar(start, end, ["h1", "h2"]))


async def test_lease_with_a_running_reservation_gets_a_host_that_was_in_use_when_it_began(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1", "h2")
        await one.active()
        await one.active(OTHER)
        await one.lease("terminate", OTHER)
        await one.report(f"{OTHER}/r0")
        assert await one.change({"reservations": [{"name": "r0", "count": 2}]}) == ("succeeded", "")
        assert await flags(one) == (["h1", "h2"], False, False)
        assert await one.do("update", spec={"end": at(1100)}) == ("succeeded", "")


@pytest.mark.req("S3-08")
@pytest.mark.parametrize("active", [False, True])
async def test_degraded_lease_is_prolonged_for_the_hosts_it_has(migrated: str, active: bool) -> None:
    async with office(migrated) as one:
        await one.hosts("h1", "h2")
        spec = terms(0, 1000, 2) if active else terms(500, 1000, 2)
        if active:
            await one.active(spec=spec)
        else:
            await one.do("create", spec=spec)
        await one.store.hosts.set_health("h1", False, "its fan stands still")
        await one.store.leases.flag_degraded(time.time())
        assert await flags(one) == (["h2"], True, False)
        assert await one.change({"end": at(2000)}) == ("succeeded", "")
        assert await flags(one) == (["h2"], True, False)
        assert (await one.parts())["r0"]["hosts"] == ["h1", "h2"]  # the failed host stays booked, until the new end
        assert all(b["end"].timestamp() > time.time() + 1500 for b in await calendar(one, time.time()))
        outcome, says = await one.do("update", spec={"reservations": [{"name": "r0", "count": 3}]})
        assert (outcome, "wants 2 such hosts" in says or "wants 3 such hosts" in says) == ("failed", True)
        await one.store.hosts.set_health("h1", True, "")
        assert await one.store.leases.due_repairs(time.time(), 10, 1) == [LEASE]


@pytest.mark.req("S3-07", "S3-08")
async def test_degraded_lease_is_not_prolonged_without_the_hosts_it_has(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1", "h2")
        await one.do("create", spec=terms(500, 1000, 2))
        await one.do("create", OTHER, spec=terms(1200, 1500, 1))  # h1
        await one.store.hosts.set_health("h2", False, "its fan stands still")
        assert (await one.do("update", spec={"end": at(1400)}))[0] == "failed"
        await one.store.hosts.set_health("h2", True, "")
        await one.store.hosts.set_health("h1", False, "its fan stands still")
        assert await one.do("update", spec={"end": at(1400)}) == ("succeeded", "")
        await one.store.leases.flag_degraded(time.time())
        assert await flags(one) == (["h2"], True, False)
        assert (await one.parts())["r0"]["hosts"] == ["h2"]  # the failed host is another lease's before the new end
        await one.hosts("h3")
        assert await one.store.leases.due_repairs(time.time(), 10, 1) == [LEASE, OTHER]
        await one.lease("update", actor=Actor.CONTROLLER, principal="controller")
        assert await flags(one) == (["h2", "h3"], False, True)


async def test_reservation_with_min_takes_what_is_free_and_more_when_it_is_updated(migrated: str) -> None:
    async with office(migrated) as one:
        await one.hosts("h1", "h2", "h3")
        wanted = {"reservations": [{"name": "r0", "count": 3, "min": 2}]}
        await one.do("create", OTHER, spec=terms(500, 1000))  # h1
        assert await one.do("create", spec={**terms(500, 1000), **wanted}) == ("succeeded", "")
        assert await flags(one) == (["h2", "h3"], False, False)
        await one.do("delete", OTHER)
        await one.report(f"{OTHER}/r0")
        assert await one.do("update", spec={"end": at(1100)}) == ("succeeded", "")
        assert await flags(one) == (["h1", "h2", "h3"], False, False)
        await one.store.hosts.set_health("h1", False, "its fan stands still")
        await one.store.leases.flag_degraded(time.time())
        await one.lease("update", actor=Actor.CONTROLLER, principal="controller")
        assert await flags(one) == (["h2", "h3"], True, False)
        outcome, says = await one.do("create", OTHER, spec={**terms(500, 1000), **wanted})
        assert (outcome, "wants 2 such hosts" in says) == ("failed", True)
