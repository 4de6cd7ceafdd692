"""Room on lanes: so many members at once in a region, so many regions at once at a provider, for all together."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from uuid import UUID

import pytest

from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.controller.dispatch.publisher import send
from stead.controller.dispatch.slots import COLLECT_SECONDS, SlotAllocator
from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.timers import TimerService
from stead.dev.engines import Nats
from stead.lifecycle.events import Report, Request, TimerDue
from stead.lifecycle.rows import PROBE, Trigger
from stead.lifecycle.snapshot import Fence
from stead.store.commit import CommitResult
from tests.action_requests import cancel, requested
from tests.controller.test_groups import GROUP, ME, Engine, engine


async def limit(e: Engine, provider: str, members: int | None, regions: int | None = None) -> None:
    await e.store.slots.limit_provider(provider, members, regions)


def with_grants(e: Engine) -> SlotAllocator:
    """Room is given after every commit, as in a controller that runs."""
    slots = SlotAllocator(e.executor, e.send)
    e.executor.on_commit(slots)
    return slots


async def settle(e: Engine, slots: SlotAllocator) -> None:
    await e.idle()
    while tasks := [task for task in (slots.giving, slots.dividing) if task is not None and not task.done()]:
        await asyncio.gather(*tasks)


async def in_flight(e: Engine) -> Counter[str]:
    rows = await e.store.pool.fetch("SELECT lane, sum(open) AS n FROM orders WHERE granted GROUP BY lane")
    return Counter({row["lane"]: row["n"] for row in rows})


async def finish(e: Engine, most: int = 10**9) -> int:
    """Carry out some of the orders that were sent."""
    orders, e.sent = e.sent[:most], e.sent[most:]
    done = 0
    for order in orders:
        fences = await e.custody.take(ME, {m["path"]: Fence(*m["fence"]) for m in order["members"]})
        assert len(fences) == len(order["members"])
        await e.executor.apply(
            [TransitionInput(path, Report(Trigger.SUCCEEDED, fence)) for path, fence in fences.items()]
        )
        done += len(fences)
    return done


@pytest.mark.req("S0-12")
async def test_no_more_members_at_once_than_a_region_bears(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 10)
        await e.make(["Running"] * 55, lanes=["aws.a"])
        await e.ask("suspend")
        await settle(e, slots)
        assert await in_flight(e) == {"aws.a": 10}
        done = 0
        while e.sent:
            done += await finish(e, most=1)
            await settle(e, slots)
            assert (await in_flight(e))["aws.a"] <= 10
        assert done == 55
        assert (await e.group()).snapshot.state == "Suspended"


@pytest.mark.req("S0-12")
async def test_no_more_regions_at_once_than_a_provider_bears(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 10, 2)
        await e.make(["Running"] * 40, lanes=["aws.a", "aws.b", "aws.c", "aws.d", "other.a"])
        await e.ask("suspend")
        await settle(e, slots)
        for _ in range(20):
            lanes = [lane for lane in await in_flight(e) if lane.startswith("aws.")]
            assert len(lanes) <= 2
            if not e.sent:
                break
            await finish(e, most=1)
            await settle(e, slots)
        assert (await e.group()).snapshot.state == "Suspended"


async def test_order_on_a_free_lane_is_granted_while_slots_of_another_are_collected(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 5)
        await limit(e, "other", 5)
        await e.make(["Running"] * 6, lanes=["aws.a"])
        await e.ask("suspend")
        await e.idle()
        assert slots.giving is not None
        await slots.giving
        assert slots.dividing is not None
        assert not slots.dividing.done()
        started = asyncio.get_running_loop().time()
        wish = requested("vm", "/ns/other/g/1", Request("create"), "bob", {"size": 1}, "other.a")
        assert isinstance(await e.admission.admit(*wish), Accepted)
        await e.idle()
        await slots.giving
        assert (await in_flight(e))["other.a"] == 1
        assert asyncio.get_running_loop().time() - started < COLLECT_SECONDS
        await settle(e, slots)


@pytest.mark.req("S0-12")
async def test_waiting_order_is_split_where_fewer_slots_are_free_than_it_has_members(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 30)
        await e.make(["Running"] * 100, lanes=["aws.a"])
        slow = requested("vm", "/ns/other/g/1", Request("create"), "bob", {"size": 1}, "aws.a")
        assert isinstance(await e.admission.admit(*slow), Accepted)
        await settle(e, slots)
        (held,) = e.sent
        e.sent.clear()
        await e.ask("suspend")
        done = 0
        while True:
            await settle(e, slots)
            assert (await in_flight(e))["aws.a"] == min(30, 101 - done)  # no slot is free while an order waits
            if not e.sent:
                break
            assert sum(len(order["members"]) for order in e.sent) == min(29, 100 - done)
            assert len(e.sent) <= 3  # freed slots are collected, so that calls stay batched
            done += await finish(e)
        assert done == 100
        assert (await e.group()).snapshot.state == "Suspended"
        assert await in_flight(e) == {"aws.a": len(held["members"])}


async def test_order_that_waits_for_one_slot_is_split_by_the_reconciler(migrated: str) -> None:
    async with engine(migrated) as e:
        await limit(e, "aws", 10)
        await e.make(["Running"] * 20, lanes=["aws.a"])
        await e.ask("suspend")
        assert await in_flight(e) == {}
        slots = SlotAllocator(e.executor, e.send)
        await e.store.slots.limit_lane("aws.a", 3)
        await e.store.pool.execute("UPDATE orders SET created_at = created_at - interval '5 seconds'")
        assert await slots.heal() == 1
        assert await in_flight(e) == {"aws.a": 3}


@pytest.mark.req("S0-12")
async def test_a_small_action_does_not_wait_behind_a_huge_one(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 10)
        await e.make(["Running"] * 200, lanes=["aws.a"])
        await e.ask("suspend")
        await settle(e, slots)
        wish = requested("vm", "/ns/other/g/1", Request("create"), "bob", {"size": 1}, "aws.a")
        assert isinstance(await e.admission.admit(*wish), Accepted)
        await settle(e, slots)
        turns = 0
        while not any(m["path"] == "/ns/other/g/1" for order in e.sent for m in order["members"]):
            await finish(e, most=1)
            await settle(e, slots)
            turns += 1
        assert turns <= 2


async def test_a_deadline_starts_with_the_grant_and_a_resend_keeps_its_room(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 1)
        await e.make(["Running"] * 2, lanes=["aws.a"])
        await e.ask("suspend")
        await settle(e, slots)
        rows = await e.store.resources.read_many([f"{GROUP}/g/00000", f"{GROUP}/g/00001"])
        timers = sorted(sorted(row.timers or {}) for row in rows.values())
        assert timers == [["deadline", "resend"], ["waiting"]]
        await finish(e)
        await settle(e, slots)
        rows = await e.store.resources.read_many([f"{GROUP}/g/00001", f"{GROUP}/g/00000"])
        waited = next(row for row in rows.values() if row.snapshot.state == "Suspending")
        assert sorted(waited.timers or {}) == ["deadline", "resend"]


@pytest.mark.req("S0-12")
async def test_room_is_kept_until_whoever_had_the_order_can_no_longer_act(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 1)
        await e.make(["Running"] * 2, lanes=["aws.a"])
        one, other = f"{GROUP}/g/00000", f"{GROUP}/g/00001"
        begun = await e.admission.admit(*requested("vm", one, Request("suspend"), "ann"))
        assert isinstance(begun, Accepted)
        await settle(e, slots)
        ((order,), e.sent) = e.sent, []
        await e.custody.take(ME, {m["path"]: Fence(*m["fence"]) for m in order["members"]})
        await e.admission.admit(*requested("vm", other, Request("suspend"), "ann"))
        await cancel(e.admission, UUID(begun.operation), "ann")  # its agent is fenced off and waited out
        await slots._grant(["aws.a"], split=False)
        assert e.sent == []
        e.executor.clock = lambda: 2000.0
        await e.executor.apply([TransitionInput(one, TimerDue("fenced"))])
        ((probe,), e.sent) = e.sent, []
        assert (probe["verb"], await in_flight(e)) == (PROBE, {"aws.a": 1})
        fences = await e.custody.take(ME, {m["path"]: Fence(*m["fence"]) for m in probe["members"]})
        await e.executor.apply([TransitionInput(one, Report(Trigger.OBSERVED, fences[one], seen="Suspended"))])
        await settle(e, slots)
        assert [m["path"] for sent in e.sent for m in sent["members"]] == [other]
        assert await in_flight(e) == {"aws.a": 1}
        await finish(e)
        assert await in_flight(e) == {}


@pytest.mark.long
async def test_two_controllers_never_give_the_same_room(migrated: str) -> None:
    async with engine(migrated) as one, engine(migrated) as two:
        await limit(one, "aws", 7)
        await one.make(["Running"] * 100, lanes=["aws.a"])
        await one.ask("suspend")
        given: defaultdict[str, int] = defaultdict(int)

        async def give(e: Engine) -> None:
            for order in await e.store.slots.grant(["aws.a"], 1000.0, split=False):
                given[order["lane"]] += len(order["members"])

        await asyncio.gather(*(give(e) for _ in range(10) for e in (one, two)))
        assert given == {"aws.a": 7}
        assert await in_flight(one) == {"aws.a": 7}


async def test_limits_can_be_changed_while_it_runs(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 2)
        await e.make(["Running"] * 20, lanes=["aws.a"])
        await e.ask("suspend")
        await settle(e, slots)
        assert (await in_flight(e))["aws.a"] == 2
        await slots.limit_provider("aws", 12, None)
        assert (await in_flight(e))["aws.a"] == 12
        await limit(e, "aws", 1)
        await finish(e, most=2)
        await settle(e, slots)
        assert (await in_flight(e))["aws.a"] <= 12
        await e.send(CommitResult({}, [], []))


@pytest.mark.long
async def test_regions_take_turns_where_a_provider_bears_only_one(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 2, regions=1)
        await e.make(["Running"] * 12, lanes=["aws.a", "aws.b"])
        await e.ask("suspend")
        await settle(e, slots)
        served = []
        while e.sent:
            (lane,) = await in_flight(e)
            served.append(lane)
            await finish(e)
            await settle(e, slots)
        assert served == ["aws.a", "aws.b"] * 3


async def test_a_region_that_is_never_empty_gives_way_when_it_had_its_share(migrated: str) -> None:
    """Single VMs, of which one is done at a time: there is always one under way in the first region."""
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 2, regions=1)
        await e.make(["Running"] * 12, lanes=["aws.a", "aws.b"])
        for i in range(12):
            await e.admission.admit(*requested("vm", f"{GROUP}/g/{i:05}", Request("suspend"), "ann"))
        await settle(e, slots)
        assert await in_flight(e) == {"aws.a": 2}
        await finish(e, most=1)
        await settle(e, slots)
        assert await in_flight(e) == {"aws.a": 2}  # within its share it goes on
        await e.store.pool.execute("UPDATE lanes SET since = now() - interval '31 seconds' WHERE name = 'aws.a'")
        await finish(e, most=1)
        await settle(e, slots)
        assert await in_flight(e) == {"aws.a": 1}
        await finish(e, most=1)
        await settle(e, slots)
        assert await in_flight(e) == {"aws.b": 2}


async def test_what_has_waited_a_day_for_room_is_given_up(migrated: str) -> None:
    async with engine(migrated) as e:
        slots = with_grants(e)
        await limit(e, "aws", 1)
        await e.make(["Running"] * 2, lanes=["aws.a"])
        await e.ask("suspend")
        await settle(e, slots)
        ((path, at),) = await e.store.pool.fetch(
            "SELECT path, (timers ->> 'waiting')::float8 AS at FROM resources WHERE timers ? 'waiting'"
        )
        assert at == 1000.0 + 86400
        (summary,) = (await e.store.resources.read_summaries([path])).values()
        await e.executor.apply([TimerService(e.executor).told(summary, "waiting")])
        await finish(e)
        await settle(e, slots)
        (order,) = e.sent  # nobody does it any more; it is looked at, as soon as there is room
        assert (order["verb"], [member["path"] for member in order["members"]]) == (PROBE, [path])
        fences = await e.custody.take(ME, {path: Fence(*order["members"][0]["fence"])})
        await e.executor.apply([TransitionInput(path, Report(Trigger.OBSERVED, fences[path], seen="Running"))])
        await settle(e, slots)
        assert await e.states() == {"Suspended": 1, "Running": 1}
        assert (await e.group()).snapshot.operation is None


async def test_order_larger_than_a_message_is_divided_until_it_can_be_published(
    migrated: str, nats_server: Nats, cell: str
) -> None:
    async with engine(migrated) as e, Bus(nats_server.url, cell) as bus:
        await bus.connect(60)
        await bus.identity()
        slots = with_grants(e)
        await e.make(["Running"] * 61, lanes=["sim.a"])
        await e.store.pool.execute(
            "UPDATE resources SET spec = jsonb_build_object('userData', repeat('x', 40000)) WHERE kind = 'vm'"
        )
        await e.ask("suspend")
        small = requested("vm", "/ns/other/g/1", Request("create"), "bob", {"size": 1}, "sim.a")
        assert isinstance(await e.admission.admit(*small), Accepted)
        await settle(e, slots)
        assert [len(order["members"]) for order in e.sent] == [61, 1]
        await send(e.executor, bus, e.sent)
        published: list[str] = []
        async with bus.orders("sim.a") as consumer:
            while deliveries := await consumer.fetch(timeout=2.0):
                published += [m.path for d in deliveries for m in d.message.members]
                for delivery in deliveries:
                    await delivery.ack()
        assert len(published) == len({*published}) == 62
        assert await in_flight(e) == {"sim.a": 62}
        assert all(row["open"] == len(row["members"]) for row in await e.store.pool.fetch("SELECT * FROM orders"))


async def test_order_of_one_member_that_is_larger_than_a_message_fails_with_the_limit(
    migrated: str, nats_server: Nats, cell: str
) -> None:
    async with engine(migrated) as e, Bus(nats_server.url, cell) as bus:
        await bus.connect(60)
        await bus.identity()
        slots = with_grants(e)
        await limit(e, "sim", 1)
        await e.make(["Running"], lanes=["sim.a"])
        huge = "UPDATE resources SET facts = jsonb_build_object('x', repeat('x', 1100000)) WHERE kind = 'vm'"
        await e.store.pool.execute(huge)
        await e.ask("suspend")
        await settle(e, slots)
        orders, e.sent = e.sent, []
        await send(e.executor, bus, orders)
        await settle(e, slots)
        assert (await e.group()).snapshot.operation is None
        assert await in_flight(e) == {}
        (said,) = await e.store.pool.fetch("SELECT change ->> 'error' AS error FROM journal WHERE change ? 'error'")
        assert "at most 1,048,576 (max_payload of NATS)" in said["error"]
        assert "its facts 1,100,008" in said["error"]
        assert await e.states() == {"Running": 1}
