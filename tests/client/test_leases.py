"""Leases and hosts through the client: typed, with and without a loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from stead.client import Client, InvalidRequest, NotFound, SyncClient
from tests.api.cell import Cell
from tests.client.test_client import client, soon

__all__ = ["client"]


def hours(count: float) -> datetime:
    """So many hours from now, to the second."""
    return datetime.now(UTC).replace(microsecond=0) + timedelta(hours=count)


def terms(ns: str, start: datetime, end: datetime, count: int = 1) -> dict[str, object]:
    """Hosts of a namespace: tests share the cell."""
    wanted = [{"count": count, "properties": {"of": ns}}]
    return {"start": start.isoformat(), "end": end.isoformat(), "reservations": wanted}


async def test_hosts_are_added_judged_and_forgotten(client: Client, ns: str) -> None:
    for name in ("b", "a"):
        await client.put_host(f"{ns}-{name}", "rack.lab", {"of": ns, "cpus": 16})
    found = [host async for host in client.hosts(limit=1) if host.properties.get("of") == ns]
    assert [host.name for host in found] == [f"{ns}-a", f"{ns}-b"]
    assert (found[0].lane, found[0].properties["cpus"], found[0].healthy) == ("rack.lab", 16, True)
    failed = await client.set_host_health(f"{ns}-a", False, "its fan stands still")
    assert (failed.healthy, failed.reason) == (False, "its fan stands still")
    assert (await client.set_host_health(f"{ns}-a", True)).reason == ""
    await client.remove_host(f"{ns}-a")
    with pytest.raises(NotFound):
        await client.remove_host(f"{ns}-a")
    with pytest.raises(NotFound):
        await client.set_host_health(f"{ns}-a", False)


async def test_a_lease_and_the_calendar(client: Client, ns: str) -> None:
    for name in ("h1", "h2"):
        await client.put_host(f"{ns}-{name}", "rack.lab", {"of": ns})
    start, end = hours(1), hours(3)
    for name, count in (("one", 2), ("two", 1)):
        accepted = await client.request_action(
            f"/{ns}/{name}", "create", kind="lease", spec=terms(ns, start, end, count)
        )
        assert accepted.operation is not None
        ended = await soon(client.wait(accepted.operation.id))
        if name == "one":
            assert ended.outcome == "succeeded"
    assert ended.outcome == "failed"
    assert f"the next time there is is {end.isoformat()[:19]}Z" in ended.message
    lease = await client.lease(f"/{ns}/one")
    assert (lease.status, lease.degraded, lease.start, lease.end) == ("PENDING", False, start, end)
    (part,) = lease.reservations
    assert (part.hosts, part.count, part.properties) == ((f"{ns}-h1", f"{ns}-h2"), 2, {"of": ns})
    assert [(moment.kind, moment.status, moment.delay) for moment in lease.events] == [
        ("start_lease", "UNDONE", None),
        ("before_end_lease", "UNDONE", None),
        ("end_lease", "UNDONE", None),
    ]
    assert [one.path async for one in client.leases(below=f"/{ns}", limit=1)] == [f"/{ns}/one"]
    with pytest.raises(NotFound):
        await client.lease(f"/{ns}/two")
    shown = await client.calendar(hours(0), hours(2), limit=1)
    assert shown.next is None
    assert {host.name for host in shown.hosts} >= {f"{ns}-h1", f"{ns}-h2"}
    ours = [one for one in shown.booked if one.host.startswith(f"{ns}-")]
    assert [(one.host, one.lease, one.start, one.end) for one in ours] == [
        (f"{ns}-{name}", f"/{ns}/one", start, end) for name in ("h1", "h2")
    ]
    with pytest.raises(InvalidRequest):
        await client.calendar(hours(2), hours(1))
    with pytest.raises(InvalidRequest, match="leases have"):
        await client.remove_host(f"{ns}-h1")


def test_without_a_loop(cell: Cell, ns: str) -> None:
    with SyncClient(cell.url, retries=0) as client:
        client.put_host(f"{ns}-h1", "rack.lab", {"of": ns})
        assert f"{ns}-h1" in [host.name for host in client.hosts()]
        accepted = client.request_action(f"/{ns}/one", "create", kind="lease", spec=terms(ns, hours(-0.01), hours(1)))
        assert accepted.operation is not None
        assert client.wait(accepted.operation.id, 30).outcome == "succeeded"
        cell.obey(ns)
        cell.struck()
        assert client.lease(f"/{ns}/one").status == "ACTIVE"
        late = client.lateness(hours=1)
        assert late.fired >= 1
        assert late.maximum > 30
        assert [one.path for one in client.leases(below=f"/{ns}")] == [f"/{ns}/one"]
        assert [one.lease for one in client.calendar().booked if one.host == f"{ns}-h1"] == [f"/{ns}/one"]
