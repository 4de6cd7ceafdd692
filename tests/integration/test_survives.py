"""What the protocol must survive, line by line, as far as a VM can show it.

Not here: an operation on several paths, hidden work and a hot parent, of which a VM has none; and a delete that
outranks, which its lifecycle does not know.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client
from nats.errors import Error

from stead.agent.state_sync import StateSync
from stead.bus import Recipient
from stead.bus.messages import FullState, Order, Report, ReportResult, StateLine
from stead.bus.subjects import Subjects
from stead.controller.dispatch.publisher import order_of
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.pace import DEFAULT
from stead.lifecycle.rows import ABSENT
from stead.store import Row, Store
from stead.store.commit import Custody
from tests.action_requests import changed
from tests.integration.doomed import PACE
from tests.integration.grounds import Ground, Grounds
from tests.integration.lives import Moment
from tests.integration.within import agent, ask, carry, controller, settled, wish
from tests.tiers import first_fast

NEVER = 3600
PATIENT = replace(PACE, resend=NEVER)
"""A pace at which no order is sent anew by its timer: something else has to see that it is lost."""

ALL = {
    "create": "Running",
    "suspend": "Suspended",
    "resume": "Running",
    "reboot": "Running",
    "terminate": "Terminated",
}


@pytest.fixture
def own(grounds: Grounds) -> Iterator[Grounds]:
    """Grounds with a bus of their own, to be killed and wiped."""
    with Nats() as server:
        yield replace(grounds, nats=server)


def stop(write: str, when: str = "before") -> Moment:
    """A moment at which a process stops, and knows nothing of it when it wakes up."""
    return Moment(write, 1, when, "SIGSTOP")


async def nothing(*_: object) -> None:
    pass


async def row_of(one: Controller, ground: Ground) -> Row:
    row = await one.store.resources.read(ground.path)
    assert row is not None
    return row


async def story(ground: Ground) -> list[str]:
    return [r["target"] for r in await ground.fetch("SELECT target FROM journal WHERE path = $1 ORDER BY id")]


async def heard(ground: Ground, say: Any) -> None:
    """Something was said, and all that was said has been applied."""
    await say
    await ground.quiet(Subjects(ground.cell).reports_stream)


# A stopped agent wakes up late


LATE = [
    stop("acknowledge order", "after"),  # before it begins: it sees that its time is over
    stop("call suspend"),  # too late to see it: its deed reaches the provider, which has nothing to do
    stop("say report"),  # its report is under an old fence
]


@pytest.mark.long
@pytest.mark.req("X-04", "S1-03")
@pytest.mark.parametrize("moment", first_fast(LATE), ids=str)
async def test_a_stopped_agent_wakes_up_late(grounds: Grounds, moment: Moment) -> None:
    """It wakes up when its order was carried out by another, and a third has taken the next one."""
    async with grounds.one() as ground, controller(ground) as one:
        async with agent(ground):
            await carry(one, ground, {"create": "Running"})
        first = await ground.agent("first", moment)
        await ask(one, ground, "suspend")
        await ground.soon(first.struck.wait(), "stop")
        stopped = time.monotonic()
        async with agent(ground):
            assert "suspend by ann is under way" in str(await one.admission.admit(*wish(ground, "terminate")))
            await settled(ground, "Suspended")
            assert time.monotonic() - stopped > PACE.custody - 0.5
        third = await ground.agent("third", stop("call resume"))
        await ask(one, ground, "resume")
        await ground.soon(third.struck.wait(), "stop")
        first.wake()
        await heard(ground, asyncio.sleep(1.0))  # sleep: nothing may happen meanwhile
        assert (await row_of(one, ground)).snapshot.state == "Resuming"
        third.wake()
        await settled(ground, "Running")
        assert await ground.ended() == [("create", "succeeded"), ("suspend", "succeeded"), ("resume", "succeeded")]
        done = await ground.done()
        assert (done["suspend"], done["resume"]) == (1, 1)
        assert await ground.left() == []


@pytest.mark.req("X-04")
@pytest.mark.parametrize(
    ("moment", "deeds"),
    first_fast([(stop("call reboot"), 1), (stop("acknowledge order", "after"), 0), (stop("say report"), 1)]),
    ids=str,
)
async def test_a_stopped_agent_reboots_at_most_once(grounds: Grounds, moment: Moment, deeds: int) -> None:
    async with grounds.one() as ground, controller(ground) as one:
        async with agent(ground):
            await carry(one, ground, {"create": "Running"})
        sleeper = await ground.agent("sleeper", moment)
        await ask(one, ground, "reboot")
        await ground.soon(sleeper.struck.wait(), "stop")
        async with agent(ground):
            await settled(ground, "Running")
            sleeper.wake()
            with suppress(TimeoutError):  # it may take its time to wake up
                async with asyncio.timeout(60 if deeds else 1):
                    while (await ground.done())["reboot"] < max(deeds, 1):
                        await asyncio.sleep(0.1)
            await asyncio.sleep(1.0)  # sleep: nothing may happen meanwhile
            await ground.quiet()
        assert await ground.ended() == [("create", "succeeded"), ("reboot", "unknown")]
        assert (await ground.done())["reboot"] == deeds


# The bus forgets


async def lose(bus: Nats) -> None:
    """The bus is killed, and its disk with it; a new one comes."""
    await asyncio.to_thread(bus.kill)
    bus.wipe()
    await asyncio.to_thread(bus.start)


async def carried(one: Controller, ground: Ground, orders: int) -> None:
    """Until so many orders are on the bus."""

    async def there() -> None:
        with suppress(Error):
            while (
                await ground.streams.stream_info(one.bus.subjects.orders_stream(ground.lane))
            ).state.messages != orders:
                await asyncio.sleep(0.05)

    await ground.soon(there(), f"{orders} orders on the bus")


async def test_the_bus_forgets_and_all_orders_are_dispatched_again(own: Grounds) -> None:
    async with own.one() as ground, controller(ground, pace=PATIENT) as one:
        paths = [f"{ground.path}-{n}" for n in range(20)]
        for path in paths:
            await one.admission.admit(*changed(wish(ground, "create"), path=path))
        await lose(own.nats)
        await carried(one, ground, 20)
        async with agent(ground):
            await ground.all_are("Running", paths)
        rows = await one.store.resources.read_many(paths)
        assert [await ground.world.made(str(row.token)) for row in rows.values()] == [1] * 20


@pytest.mark.long
async def test_the_bus_forgets_while_an_agent_works(own: Grounds) -> None:
    async with own.one() as ground, controller(ground, pace=replace(PATIENT, custody=20)) as one, agent(ground):
        await ground.world.fault(kind="slow", verb="create", seconds=1.5)
        await ask(one, ground, "create")
        while not (await ground.order("create"))["agent"]:
            await asyncio.sleep(0.01)
        await lose(own.nats)
        await settled(ground, "Running")
        assert await ground.ended() == [("create", "succeeded")]
        assert (await ground.done())["create"] == 1


@pytest.mark.long
async def test_the_bus_forgets_a_report(own: Grounds) -> None:
    async with own.one() as ground:
        doomed = await ground.controller()
        async with agent(ground):
            await doomed.choose(Moment("commit end"))
            doomed.ask(action="create", path=ground.path, lane=ground.lane, key=ground.path)
            await ground.soon(doomed.died.wait(), "death")
            await lose(own.nats)
            await ground.controller()
            await settled(ground, "Running")
        assert await ground.ended() == [("create", "succeeded")]
        assert (await ground.done())["create"] == 1


async def test_an_order_sent_anew_is_not_taken_for_a_repeat(grounds: Grounds) -> None:
    """The stream has lost the message and knows its id: the order comes under a new fence, and so under a new id."""
    async with grounds.one() as ground, controller(ground) as one:
        await ask(one, ground, "create")
        repeat = await order_for(one, await row_of(one, ground))
        await one.bus.publish_order(repeat)  # the controller has, or is about to
        await ground.streams.purge_stream(one.bus.subjects.orders_stream(ground.lane))
        assert await one.bus.publish_order(repeat)  # a duplicate, says the stream, and keeps nothing
        async with agent(ground):
            await settled(ground, "Running")


@pytest.mark.long
async def test_an_order_that_comes_together_with_its_repeat_is_done_once(
    grounds: Grounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StateSync, "send", nothing)
    async with grounds.one() as ground, controller(ground) as one:
        async with agent(ground):
            await ask(one, ground, "create")
            await settled(ground, "Running")
        await ask(one, ground, "reboot")
        await ground.until("SELECT FROM resources WHERE path = $1 AND sends >= 2")  # three of them lie on the lane
        async with agent(ground):
            await settled(ground, "Running")
        assert (await ground.done())["reboot"] == 1
        assert await ground.ended() == [("create", "succeeded"), ("reboot", "succeeded")]


async def test_a_dead_consumer_is_noticed_in_seconds(grounds: Grounds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StateSync, "send", nothing)  # or the next agent would notice it at once
    async with grounds.one() as ground, controller(ground, pace=PATIENT) as one:
        doomed = await ground.agent("doomed", Moment("say take-custody"))
        await ask(one, ground, "create")
        await ground.soon(doomed.died.wait(), "death")
        died = time.monotonic()
        async with agent(ground):
            await settled(ground, "Running")
        assert time.monotonic() - died < 30


# The database goes back in time


@pytest.mark.req("X-04", "S1-03")
async def test_the_database_goes_back_in_time(grounds: Grounds, tmp_path: Path) -> None:
    """An order is taken under the same counter before and after: the first one's words are not the second's."""
    first, second = Custody("before", 1), Custody("after", 1)
    async with grounds.one() as ground:
        async with controller(ground, pace=PATIENT) as one:
            await ask(one, ground, "create")
            backup, order = str(tmp_path / "backup"), (await row_of(one, ground)).snapshot.fence
            name = ground.dsn.rpartition("/")[2]
            await asyncio.to_thread(grounds.postgres.tool, "pg_dump", "--format=custom", f"--file={backup}", name)
            await carried(one, ground, 1)
            old = await one.custody.take(first, {ground.path: order})
            await ground.streams.purge_stream(one.bus.subjects.orders_stream(ground.lane))
        async with ground.elsewhere(backup) as restored:
            async with Store.open(restored.dsn, connections=1) as store:
                assert await store.cell.raise_incarnation() > order.incarnation
            async with controller(restored, pace=PATIENT) as one:
                await carried(one, restored, 1)  # the same order, and no repeat
                assert await one.custody.take(first, {ground.path: order}) == {}
                new = await one.custody.take(second, {ground.path: (await row_of(one, restored)).snapshot.fence})
                assert old[ground.path].counter == new[ground.path].counter
                assert await one.custody.renew(first, old) == {ground.path}
                for fence, state in ((old[ground.path], "Creating"), (new[ground.path], "Running")):
                    result = ReportResult(ground.path, fence, "succeeded")
                    await heard(ground, one.bus.publish_report(Report("any", 1, 1, ground.lane, [result])))
                    assert (await row_of(one, restored)).snapshot.state == state


# A full state from an agent races with orders


@pytest.mark.req("S1-03", "S1-08")
async def test_a_full_state_that_was_overtaken_changes_nothing(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one, agent(ground):
        await carry(one, ground, {"create": "Running"})
        late = await ground.agent("late", stop("say full-state"))
        await ground.soon(late.struck.wait(), "stop")  # it has seen the VM running
        await carry(one, ground, {"suspend": "Suspended"})
        late.wake()
        await ground.soon(late.told_all.wait(), "full state")
        await heard(ground, asyncio.sleep(0.5))  # sleep: nothing may happen meanwhile
        assert await story(ground) == ["Creating", "Running", "Suspending", "Suspended"]


@pytest.mark.req("S1-08")
async def test_an_agent_that_connects_tells_what_has_changed(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one:
        async with agent(ground):
            await carry(one, ground, {"create": "Running"})
        await ground.world.drift("stop", tokens=[str((await row_of(one, ground)).token)])
        async with agent(ground):
            await settled(ground, "Suspended")


async def test_not_there_counts_only_under_the_end_mark_and_only_once(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one:
        async with agent(ground):
            await carry(one, ground, {"create": "Running"})
            await ground.quiet()
        fence = (await row_of(one, ground)).snapshot.fence
        epoch = await one.store.pool.fetchval("SELECT epoch FROM agents WHERE name = 'a1'")
        lines = [StateLine(fence, ABSENT, ground.path)]
        for end, misses in ((False, 0), (True, 1), (True, 1)):
            await heard(ground, one.bus.publish_report(FullState("a1", epoch, ground.lane, lines, end)))
            row = await row_of(one, ground)
            assert (row.snapshot.state, row.snapshot.misses) == ("Running", misses)


@pytest.mark.req("S1-09")
async def test_what_was_requested_of_an_agent_that_crashed_is_run_again(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground, pace=PATIENT) as one:
        doomed = await ground.agent("doomed", Moment("say take-custody"))
        await ask(one, ground, "create")
        await ground.soon(doomed.died.wait(), "death")
        await ground.streams.purge_stream(
            one.bus.subjects.orders_stream(ground.lane)
        )  # nobody but the agent can notice
        async with agent(ground):
            await settled(ground, "Running")
        assert (await ground.done())["create"] == 1


@pytest.mark.req("S1-09", "S2-10")
@pytest.mark.parametrize("moment", [Moment("call create"), Moment("call create", when="after")], ids=str)
async def test_what_was_moving_is_resolved_from_what_is_there(grounds: Grounds, moment: Moment) -> None:
    async with grounds.one() as ground, controller(ground) as one:
        doomed = await ground.agent("doomed", moment)
        await ask(one, ground, "create")
        await ground.soon(doomed.died.wait(), "death")
        async with agent(ground):
            await settled(ground, "Running")
        assert await ground.ended() == [("create", "succeeded")]
        assert (await ground.done())["create"] == 1


# A batch half done


async def order_for(one: Controller, row: Row) -> Order:
    """The order that stands for a resource, as it is sent."""
    (told,) = await one.store.orders.read([row.order_id])
    return order_of(told, one.kinds)


async def batch(one: Controller, ground: Ground, *names: str) -> list[Row]:
    """VMs that are to be made by one call: their orders are put together into one."""
    paths = [f"{ground.path}-{name}" for name in names]
    for path in paths:
        await one.admission.admit(*changed(wish(ground, "create"), path=path))
    found = await one.store.resources.read_many(paths)
    return [found[path] for path in paths]


async def send_as_one(one: Controller, ground: Ground, rows: Sequence[Row]) -> None:
    await ground.streams.purge_stream(one.bus.subjects.orders_stream(ground.lane))
    orders = [await order_for(one, row) for row in rows]
    members = [member for order in orders for member in order.members]
    await one.bus.publish_order(msgspec.structs.replace(orders[0], members=members))


async def test_of_a_batch_each_member_ends_for_itself(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground, pace=PATIENT) as one:
        good, bad = await batch(one, ground, "good", "bad")
        await ground.world.fault(kind="fail", verb="create", code="Full", members=True, tokens=[str(bad.token)])
        await send_as_one(one, ground, [good, bad])
        async with agent(ground):
            await ground.all_are("Running", [good.path])
            await ground.all_are("Failed", [bad.path])
        assert [await ground.world.made(str(row.token)) for row in (good, bad)] == [1, 0]


@pytest.mark.long
async def test_of_a_batch_only_what_was_taken_is_touched(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground, pace=PATIENT) as one:
        mine, yours = await batch(one, ground, "mine", "yours")
        await send_as_one(one, ground, [mine, yours])
        assert await one.custody.take(Custody("you", 1), {yours.path: yours.snapshot.fence})
        async with agent(ground):
            await ground.all_are("Running", [mine.path])
            assert await ground.world.made(str(yours.token)) == 0
            await ground.all_are("Running", [yours.path])  # after your custody
        assert [await ground.world.made(str(row.token)) for row in (mine, yours)] == [1, 1]


@pytest.mark.long
@pytest.mark.req("S2-10")
async def test_a_reboot_whose_answer_is_lost_is_looked_at_and_not_repeated(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one, agent(ground):
        await carry(one, ground, {"create": "Running"})
        await ground.world.lose_reply("reboot")
        await carry(one, ground, {"reboot": "Running"})
        assert await ground.ended() == [("create", "succeeded"), ("reboot", "unknown")]
        assert (await ground.done())["reboot"] == 1


# Two agents of one site during an upgrade


async def test_two_runs_of_an_agent_work_side_by_side(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one, agent(ground), agent(ground):
        paths = [f"{ground.path}-{n}" for n in range(20)]
        await asyncio.gather(*(one.admission.admit(*changed(wish(ground, "create"), path=path)) for path in paths))
        await ground.all_are("Running", paths)
        rows = await one.store.resources.read_many(paths)
        assert [await ground.world.made(str(row.token)) for row in rows.values()] == [1] * 20


async def test_custody_is_of_one_run_and_an_order_can_be_for_one_run(grounds: Grounds) -> None:
    async with grounds.one() as ground, controller(ground) as one:
        await ask(one, ground, "create")
        row = await row_of(one, ground)
        old, new = Custody("alone", 1), Custody("alone", 2)
        taken = await one.custody.take(old, {ground.path: row.snapshot.fence})
        assert set(taken) == {ground.path}
        assert await one.custody.take(old, {ground.path: row.snapshot.fence}) == taken
        assert await one.custody.take(new, {ground.path: row.snapshot.fence}) == {}
        assert await one.custody.renew(new, taken) == {ground.path}
        assert await one.custody.renew(old, taken) == set()
        await one.bus.publish_order(await order_for(one, row), Recipient("alone", 2))
        async with one.bus.orders(ground.lane, "alone", 1) as theirs, one.bus.orders(ground.lane, "alone", 2) as ours:
            assert await theirs.fetch(1, timeout=0.3) == []
            assert [d.message.id for d in await ours.fetch(1, timeout=5)] == [row.order_id]


# Versions differ


def newer(word: Any) -> Any:
    """What a sender of the future says: more, everywhere."""
    if isinstance(word, dict):
        return {**{k: v if k in ("fences", "spec", "facts") else newer(v) for k, v in word.items()}, "future": 1}
    return [newer(one) for one in word] if isinstance(word, list) else word


def speak(patch: pytest.MonkeyPatch, version: tuple[int, int], *words: str) -> None:
    """Everybody speaks another version, at least in some words."""
    original = Client.publish

    async def spoken(client: Client, subject: str, payload: bytes = b"", *rest: Any, **options: Any) -> None:
        if not subject.startswith("$JS.") and (not words or json.loads(payload)["t"] in words):
            payload = json.dumps({**newer(json.loads(payload)), "v": version}).encode()
        await original(client, subject, payload, *rest, **options)

    patch.setattr(Client, "publish", spoken)


@pytest.mark.long
async def test_versions_differ_by_what_is_added(grounds: Grounds, monkeypatch: pytest.MonkeyPatch) -> None:
    speak(monkeypatch, (1, 9))
    async with grounds.one() as ground, controller(ground, pace=DEFAULT) as one, agent(ground, pace=DEFAULT):
        await carry(one, ground, ALL)
        assert await ground.ended() == [(action, "succeeded") for action in ALL]


async def test_another_major_version_is_left_to_others(grounds: Grounds, monkeypatch: pytest.MonkeyPatch) -> None:
    async with grounds.one() as ground, controller(ground) as one, agent(ground):
        with monkeypatch.context() as patch:
            speak(patch, (2, 0), "order")
            await ask(one, ground, "create")
            await asyncio.sleep(0.5)  # sleep: nothing may happen meanwhile
        await settled(ground, "Running")  # an order sent anew in words that are understood
        stream = await ground.streams.stream_info(one.bus.subjects.orders_stream(ground.lane))
        assert stream.state.messages > 0
