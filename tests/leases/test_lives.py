"""Leases as they live: booked, started and ended by the clock, changed, deleted, and healed where hosts fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from stead.controller.reconcilers import leases
from tests.integration import whole
from tests.leases.lab import HOOKS, Lab, at, terms

LEASE = "/lab/monday"


@pytest.mark.req("S3-06")
async def test_a_lease_is_booked_started_and_ended_by_the_clock(lab: Lab) -> None:
    await lab.hosts("h1", "h2", "h3")
    assert await lab.do("create", LEASE, terms(4, 12, 2)) == ("succeeded", "")
    assert await lab.state(LEASE) in ("PENDING", "STARTING")
    parts = await lab.parts(LEASE)
    assert parts["r0"]["hosts"] == ["h1", "h2"]
    await lab.until(LEASE, "ACTIVE")
    assert (await lab.parts(LEASE))["r0"]["state"] == "active"
    assert await lab.events(LEASE) == {"start_lease": "DONE", "end_lease": "UNDONE"}
    (there,) = await lab.world.history(str(parts["r0"]["token"]))
    assert there["spec"]["hosts"] == ["h1", "h2"]
    await lab.until(LEASE, "TERMINATED")
    assert (await lab.parts(LEASE))["r0"]["state"] == "deleted"
    assert await lab.events(LEASE) == {"start_lease": "DONE", "end_lease": "DONE"}
    fired = (await lab.one.store.leases.read_events([LEASE]))[LEASE]
    assert [event["fired"] for event in fired] == [1, 1]
    assert all(0 <= (event["fired_at"] - event["at"]).total_seconds() < 60 for event in fired)
    late = await lab.one.store.leases.measure_delay(0)
    assert late["fired"] == 2
    assert 0 <= late["median"] <= late["worst"] < 60
    assert await lab.do("delete", LEASE) == ("succeeded", "")
    assert await lab.parts(LEASE) == {}
    assert await lab.events(LEASE) == {}


@pytest.mark.req("S3-09")
async def test_what_others_have_is_not_booked_and_the_next_time_is_told(lab: Lab) -> None:
    await lab.hosts("h1")
    await lab.do("create", LEASE, terms(1000, 2000))
    outcome, says = await lab.do("create", "/lab/other", terms(1500, 2500))
    assert outcome == "failed"
    assert f"the next time there is is {at(2000)[:-3]}" in says
    assert await lab.state("/lab/other") == ""
    outcome, says = await lab.do("create", "/lab/other", terms(2500, 3500, 2))
    assert outcome == "failed"
    assert "no time at which there will be" in says
    assert await lab.do("create", "/lab/other", terms(2000.001, 3000)) == ("succeeded", "")


async def test_hosts_have_what_is_asked_for(lab: Lab) -> None:
    await lab.hosts("small", cpus=4, arch="x86")
    await lab.hosts("large", cpus=32, arch="x86")
    await lab.hosts("arm", cpus=64, arch="arm")
    wants = [
        {"name": "a", "properties": {"cpus": ">= 16", "arch": "x86"}},
        {"name": "b", "properties": {"arch": "!= x86"}},
    ]
    assert await lab.do("create", LEASE, terms(1000, 2000, reservations=wants)) == ("succeeded", "")
    assert {name: part["hosts"] for name, part in (await lab.parts(LEASE)).items()} == {"a": ["large"], "b": ["arm"]}
    outcome, says = await lab.do("create", "/lab/other", terms(1000, 2000, reservations=wants))
    assert (outcome, await lab.state("/lab/other")) == ("failed", "")
    assert "a wants 1 such host" in says


@pytest.mark.long
@pytest.mark.req("S3-07")
async def test_an_update_that_cannot_be_leaves_all_as_it_was(lab: Lab) -> None:
    await lab.hosts("h1", "h2")
    await lab.do("create", LEASE, terms(1000, 2000))
    await lab.do("create", "/lab/other", terms(2100, 3000, 2))
    before = await lab.parts(LEASE), (await lab.one.store.leases.read_events([LEASE]))[LEASE]
    for change in (
        {"end": at(2500)},
        {"reservations": [{"name": "r0", "count": 3}]},
        {"end": at(-10)},
        {"reservations": [{"name": "another", "count": 1}]},
    ):
        outcome, says = await lab.do("update", LEASE, change)
        assert (outcome, bool(says)) == ("failed", True), change
        assert await lab.state(LEASE) == "PENDING"
        assert (await lab.parts(LEASE), (await lab.one.store.leases.read_events([LEASE]))[LEASE]) == before
        row = await lab.one.store.resources.read(LEASE)
        assert row is not None
        assert (row.spec["reservations"][0]["count"], row.next_spec) == (1, None)
    assert await lab.do("update", LEASE, {"end": at(2050)}) == ("succeeded", "")
    assert await lab.do("update", LEASE, {"reservations": [{"name": "r0", "count": 2}]}) == ("succeeded", "")
    assert (await lab.parts(LEASE))["r0"]["hosts"] == ["h1", "h2"]


@pytest.mark.long
async def test_an_active_lease_is_extended_and_given_more_hosts(lab: Lab) -> None:
    await lab.hosts("h1", "h2", "h3")
    await lab.do("create", LEASE, terms(0, 1000, 1))
    await lab.until(LEASE, "ACTIVE")
    await lab.do("create", "/lab/other", terms(2000, 3000, 1))
    changed = {"end": at(1500), "reservations": [{"name": "r0", "count": 2}]}
    assert await lab.do("update", LEASE, changed) == ("succeeded", "")
    assert await lab.state(LEASE) == "ACTIVE"
    part = (await lab.parts(LEASE))["r0"]
    (there,) = await lab.world.history(str(part["token"]))
    assert there["spec"]["hosts"] == part["hosts"] == part["spec"]["hosts"] == ["h1", "h2"]
    assert "and its start stays" in (await lab.do("update", LEASE, {"start": at(500)}))[1]
    assert "somebody else's" in (await lab.do("update", LEASE, {"end": at(2500)}))[1]
    assert await lab.do("terminate", LEASE) == ("succeeded", "")
    assert "book anew" in (await lab.do("update", LEASE, {"end": at(4000)}))[1]
    assert await lab.state(LEASE) == "TERMINATED"
    assert await lab.do("create", "/lab/third", terms(1, 1000, 3)) == (
        "succeeded",
        "",
    )  # what was ended early is free


@pytest.mark.long
@pytest.mark.req("S3-06")
async def test_the_end_is_told_before_it_comes_and_again_when_it_is_moved(lab: Lab) -> None:
    posted: list[dict[str, object]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(next(line for line in head.lower().split(b"\r\n") if b"content-length" in line).split(b":")[1])
        posted.append(json.loads(await reader.readexactly(length)))
        code = b"500 No" if len(posted) == 1 else b"200 OK"
        writer.write(b"HTTP/1.1 " + code + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await lab.hosts("h1")
    await lab.do("create", LEASE, terms(0, 1002, before_end=1000, webhook=f"{HOOKS}{port}/hook"))
    await _becomes(lambda: _delivered(lab), 1)
    assert (await lab.events(LEASE))["before_end_lease"] == "DONE"
    assert [one["event"] for one in posted] == [posted[0]["event"]] * 2  # tried again after an error
    assert posted[0]["lease"] == LEASE
    assert await lab.do("update", LEASE, {"end": at(1004)}) == ("succeeded", "")
    await _becomes(lambda: _delivered(lab), 2)
    assert [event["fired"] for event in (await lab.one.store.leases.read_events([LEASE]))[LEASE]] == [1, 1, 0]
    await lab.do("update", LEASE, {"end": at(1006), "webhook": "http://10.1.2.3/inside"})
    await _becomes(lambda: _told(lab), 3)
    await _becomes(lambda: _refused(lab), 1)
    server.close()
    await server.wait_closed()


async def _delivered(lab: Lab) -> int:
    return sum(notice["delivered_at"] is not None for notice in await lab.one.store.notices.read_all(LEASE))


async def _told(lab: Lab) -> int:
    return len(await lab.one.store.notices.read_all(LEASE))


async def _refused(lab: Lab) -> int:
    return sum("nowhere like that" in notice["error"] for notice in await lab.one.store.notices.read_all(LEASE))


async def _becomes(count: Callable[[], Awaitable[int]], wanted: int) -> None:
    async def so() -> bool:
        return await count() == wanted

    await whole.until(so, 60)


@pytest.mark.long
@pytest.mark.req("S3-08")
async def test_a_failed_host_is_replaced_or_told_of(lab: Lab) -> None:
    await lab.hosts("h1", "h2", "h3")
    await lab.do("create", LEASE, terms(0, 1000, 2))
    await lab.until(LEASE, "ACTIVE")
    store = lab.one.store

    async def flags() -> tuple[bool, bool, list[str]]:
        part = (await lab.parts(LEASE))["r0"]
        return part["missing_resources"], part["resources_changed"], part["spec"]["hosts"]

    async def are(*wanted: object) -> None:
        async def so() -> bool:
            row = await store.resources.read(LEASE)
            return await flags() == wanted and row is not None and row.snapshot.operation is None

        await whole.until(so, 60)
        assert await lab.state(LEASE) == "ACTIVE"

    await store.hosts.set_health("h1", False, "its fan stands still")
    await are(False, True, ["h2", "h3"])  # another one is free
    await store.hosts.set_health("h2", False, "so does this one's")
    await are(True, True, ["h2", "h3"])  # none is
    await store.hosts.set_health("h1", True, "")
    await are(False, True, ["h1", "h3"])
    assert await lab.do("update", LEASE, {"end": at(1100)}) == ("succeeded", "")  # whoever changes it has seen it
    await are(False, False, ["h1", "h3"])


@pytest.mark.long
@pytest.mark.req("S3-08")
async def test_what_is_lost_where_it_was_handed_over_is_handed_over_anew(lab: Lab) -> None:
    await lab.hosts("h1")
    await lab.do("create", LEASE, terms(0, 1000))
    await lab.until(LEASE, "ACTIVE")
    token = str((await lab.parts(LEASE))["r0"]["token"])
    await lab.world.drift("break", tokens=[token])

    async def mended() -> bool:
        (there,) = await lab.world.history(token)
        again = [deed["verb"] for deed in there["history"]].count("restore") >= 2
        return again and there["state"] == "running" and not (await lab.parts(LEASE))["r0"]["lost"]

    await whole.until(mended, 60)
    await lab.until(LEASE, "ACTIVE")


@pytest.mark.long
@pytest.mark.req("S3-01")
async def test_delete_wins_whatever_goes_on(lab: Lab) -> None:
    await lab.hosts("h1")
    await lab.world.fault(verb="restore-reservation", kind="latency", seconds=30, times=50)
    await lab.do("create", LEASE, terms(0, 1000))
    await whole.until(lambda: _is(lab, "STARTING"), 60)
    assert await lab.do("delete", LEASE) == ("succeeded", "")
    assert await lab.state(LEASE) == ""
    assert await lab.do("create", "/lab/other", terms(10, 1000)) == ("succeeded", "")


async def _is(lab: Lab, state: str) -> bool:
    return await lab.state(LEASE) == state


@pytest.mark.req("S3-04")
async def test_a_start_that_fails_is_an_error_that_an_update_heals(lab: Lab) -> None:
    await lab.hosts("h1")
    await lab.world.fault(verb="restore-reservation", kind="fail", status=400, times=1)
    await lab.do("create", LEASE, terms(0, 1000))
    await lab.until(LEASE, "ERROR")
    assert (await lab.parts(LEASE))["r0"]["state"] == "error"
    assert await lab.events(LEASE) == {"start_lease": "ERROR", "end_lease": "UNDONE"}
    assert await lab.do("update", LEASE, {"end": at(900)}) == ("succeeded", "")
    assert await lab.state(LEASE) == "ACTIVE"
    assert await lab.events(LEASE) == {"start_lease": "DONE", "end_lease": "UNDONE"}


@pytest.mark.req("S3-09")
async def test_a_host_that_was_handed_over_is_anothers_only_when_it_was_taken_back(lab: Lab) -> None:
    await lab.hosts("h1", "h2")
    await lab.do("create", LEASE, terms(0, 1000, 2))
    await lab.until(LEASE, "ACTIVE")
    await lab.world.fault(verb="restore-reservation", kind="fail", status=400, times=1)
    outcome, _ = await lab.do("update", LEASE, {"reservations": [{"name": "r0", "count": 1}]})
    assert (outcome, await lab.state(LEASE)) == ("failed", "ERROR")
    assert (await lab.do("create", "/lab/other", terms(1, 500)))[0] == "failed"  # the rack has both of them still
    assert await lab.do("update", LEASE, {"end": at(900)}) == ("succeeded", "")
    assert (await lab.parts(LEASE))["r0"]["hosts"] == ["h1"]
    assert await lab.do("create", "/lab/other", terms(1, 500)) == ("succeeded", "")


@pytest.mark.long
@pytest.mark.req("S3-06", "S3-09")
async def test_hosts_are_not_handed_over_before_they_were_taken_back_from_another(lab: Lab) -> None:
    await lab.hosts("h1")
    await lab.do("create", LEASE, terms(0, 5))
    await lab.do("create", "/lab/next", terms(5, 1000))
    await lab.until(LEASE, "ACTIVE")
    token = str((await lab.parts(LEASE))["r0"]["token"])
    await lab.world.fault(verb="terminate-reservation", kind="slow", seconds=4, times=1)
    await whole.until(lambda: _is(lab, "TERMINATING"), 60)
    await asyncio.sleep(2)  # sleep: half of what taking back takes
    assert await lab.state("/lab/next") == "PENDING"  # though its time has come
    await lab.until("/lab/next", "ACTIVE")
    assert await lab.state(LEASE) == "TERMINATED"
    (before,) = await lab.world.history(token)
    (after,) = await lab.world.history(str((await lab.parts("/lab/next"))["r0"]["token"]))
    assert before["history"][-1]["after"] == "terminated"
    assert before["history"][-1]["at"] < after["history"][0]["at"]


@pytest.mark.long
@pytest.mark.req("S3-04")
async def test_hosts_that_could_not_be_taken_back_are_asked_for_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "RECLAIM_SECONDS", 0.1)
    await lab.hosts("h1")
    await lab.do("create", "/lab/first", terms(0, 10_000))
    await lab.until("/lab/first", "ACTIVE")
    await lab.world.fault(verb="terminate-reservation", kind="fail", status=400, times=1)
    assert (await lab.do("terminate", "/lab/first"))[0] == "failed"
    assert (await lab.events("/lab/first"))["end_lease"] in ("ERROR", "IN_PROGRESS")
    await lab.until("/lab/first", "TERMINATED")
    (event,) = [
        e for e in (await lab.one.store.leases.read_events(["/lab/first"]))["/lab/first"] if e["kind"] == "end_lease"
    ]
    assert (event["status"], event["fired"]) == ("DONE", 1)
    assert await lab.do("create", "/lab/next", terms(2, 10_000)) == ("succeeded", "")
    await lab.until("/lab/next", "ACTIVE")
