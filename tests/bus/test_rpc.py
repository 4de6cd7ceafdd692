from __future__ import annotations

import asyncio
import time
from collections import Counter

import nats
import pytest

from stead.bus import BadMessage, Bus, NoAnswer, rpc
from stead.bus.codec import MessageFormat, encode
from stead.bus.messages import (
    Fault,
    InventoryReply,
    InventoryRequest,
    OpenLane,
    OrderMember,
    ProbeReply,
    ProbeRequest,
    RenewCustody,
    RenewCustodyReply,
    TakeCustody,
    TakeCustodyReply,
)
from stead.bus.subjects import inbox
from stead.dev.engines import Nats
from stead.lifecycle.snapshot import Fence
from tests.bus.samples import LANE, granted, renew, take
from tests.subscribing import flushed


async def test_an_order_is_taken_and_kept(bus: Bus, other: Bus) -> None:
    async def prolonged(asked: RenewCustody) -> RenewCustodyReply:
        return RenewCustodyReply(False, 5.0, list(asked.fences))

    await bus.take_custody.serve(granted)
    await bus.renew_custody.serve(prolonged)
    assert await other.take_custody(take()) == TakeCustodyReply(True, "", 10.0, {"/shop/front/web-1": Fence(0, 2)})
    assert await other.renew_custody(renew()) == RenewCustodyReply(False, 5.0, ["/shop/front/web-1"])


@pytest.mark.long
async def test_with_no_controller_there_is_a_typed_timeout(bus: Bus) -> None:
    with pytest.raises(NoAnswer, match="nobody listens") as caught:
        await bus.take_custody(take(), timeout=10)
    assert isinstance(caught.value, TimeoutError)
    with pytest.raises(NoAnswer, match="nobody listens"):
        await bus.renew_custody(renew(), timeout=10)


async def test_a_controller_that_never_answers_is_a_typed_timeout(bus: Bus) -> None:
    async def never(_: TakeCustody) -> TakeCustodyReply:
        await asyncio.Event().wait()
        raise AssertionError

    await bus.take_custody.serve(never)
    with pytest.raises(NoAnswer, match="no answer in time"):
        await bus.take_custody(take(), timeout=0.2)


async def test_a_controller_that_comes_in_time_is_found(bus: Bus, other: Bus) -> None:
    asking = asyncio.create_task(bus.take_custody(take(), timeout=20))
    await asyncio.sleep(0)
    await other.take_custody.serve(granted)
    assert (await asking).ok


async def test_controllers_share_the_questions(bus: Bus, other: Bus) -> None:
    answered: Counter[str] = Counter()
    asked: Counter[int] = Counter()
    for name, controller in (("one", bus), ("two", other)):

        async def handler(question: TakeCustody, name: str = name) -> TakeCustodyReply:
            answered[name] += 1
            asked[question.epoch] += 1
            return await granted(question)

        await controller.take_custody.serve(handler)
    await bus.identity()
    await other.identity()
    await asyncio.gather(*(bus.take_custody(take(number)) for number in range(100)))
    assert set(asked.values()) == {1}
    assert set(answered) == {"one", "two"}


async def test_a_controller_answers_many_side_by_side(bus: Bus, other: Bus) -> None:
    together = asyncio.Barrier(20)

    async def handler(question: TakeCustody) -> TakeCustodyReply:
        await together.wait()
        return await granted(question)

    await bus.take_custody.serve(handler)
    answers = await asyncio.gather(*(other.take_custody(take(number)) for number in range(20)))
    assert all(answer.ok for answer in answers)


async def test_a_handler_that_fails_once_is_asked_again_at_once(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "TRY_TIMEOUT", 30)
    asked: list[TakeCustody] = []

    async def handler(question: TakeCustody) -> TakeCustodyReply:
        asked.append(question)
        if len(asked) == 1:
            raise RuntimeError("the database is away")
        return await granted(question)

    await bus.take_custody.serve(handler)
    assert (await bus.take_custody(take())).ok
    assert asked == [take(), take()]


async def test_a_controller_that_stops_leaves_its_questions_to_the_others(
    bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "TRY_TIMEOUT", 0.3)
    got = asyncio.Event()
    cancelled = asyncio.Event()

    async def stopping(_: TakeCustody) -> TakeCustodyReply:
        got.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    service = await bus.take_custody.serve(stopping)
    asking = asyncio.create_task(bus.take_custody(take(), timeout=20))
    await got.wait()
    async with asyncio.timeout(60):
        await service.close()
    assert cancelled.is_set()
    await other.take_custody.serve(granted)
    assert (await asking).ok


async def test_answer_that_is_larger_than_a_message_is_an_error_to_the_asker(bus: Bus, other: Bus) -> None:
    sizes = iter([5, 1])

    async def large(_: InventoryRequest) -> InventoryReply:
        members = [OrderMember(f"/a/{n}", Fence(0, 1), "t", {"text": "x" * 300_000}) for n in range(next(sizes))]
        return InventoryReply(members)

    await bus.inventory.serve(large)
    with pytest.raises(BadMessage, match="maximum payload"):
        await other.inventory(InventoryRequest(LANE, agent="agent-1"), timeout=20)
    assert len((await other.inventory(InventoryRequest(LANE, agent="agent-1"))).members) == 1


async def test_lane_is_opened_though_others_take_longer_than_their_agents_wait(
    bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "MAX_CONCURRENT_HANDLERS", 4)
    ended: list[str] = []

    async def trusted(asked: OpenLane) -> None:
        if asked.lane.startswith("stuck"):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(asked.lane)

    await bus.serve_open_lane(trusted)
    stuck = [f"stuck.{n}" for n in range(4)]
    waits = (other.open_lane(lane, "agent-1", timeout=1) for lane in stuck)
    assert {type(error) for error in await asyncio.gather(*waits, return_exceptions=True)} == {NoAnswer}
    await other.open_lane("free.a", "agent-1", timeout=20)
    assert sorted(ended) == stuck


async def test_what_is_no_question_is_told_so(bus: Bus, nats_server: Nats) -> None:
    await bus.take_custody.serve(granted)
    await bus.identity()  # answered after the subscription was
    client = await nats.connect(nats_server.url, inbox_prefix=inbox("agent-1"))
    answer = await client.request(bus.subjects.agent_request("take-custody", "agent-1"), b"garbage", timeout=5)
    await client.close()
    fault = MessageFormat(Fault).decode(answer.data)
    assert fault.permanent
    assert "not a message" in fault.error


async def test_who_was_stopped_does_not_answer_old_questions(bus: Bus) -> None:
    """Whoever asked has long given up: a take among the questions would help nobody, and cost a custody."""
    answered: list[TakeCustody] = []

    async def handler(asked: TakeCustody) -> TakeCustodyReply:
        answered.append(asked)
        return await granted(asked)

    await bus.take_custody.serve(handler)
    assert (await bus.take_custody(take(1))).ok
    asking = asyncio.create_task(bus.take_custody(take(2), timeout=0.5))
    await asyncio.sleep(0)
    time.sleep(3)  # sleep: the event loop stands still longer than the answer may take
    with pytest.raises(NoAnswer):
        await asking
    assert [asked.epoch for asked in answered] == [1]
    await asyncio.sleep(1.2)  # sleep: what was asked late is not answered later either
    assert (await bus.take_custody(take(3))).ok


async def test_when_more_is_asked_than_can_be_answered_the_latest_is_answered_and_what_is_old_is_not(
    bus: Bus, other: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpc, "MAX_CONCURRENT_HANDLERS", 1)
    heard: list[str] = []
    first, go_on = asyncio.Event(), asyncio.Event()

    async def slow(question: TakeCustody) -> TakeCustodyReply:
        heard.append(question.members[0][0])
        first.set()
        await go_on.wait()
        return TakeCustodyReply(ok=True)

    await bus.take_custody.serve(slow)

    def ask(path: str, timeout: float) -> asyncio.Task[TakeCustodyReply]:
        return asyncio.create_task(other.take_custody(TakeCustody("agent-1", 1, [(path, Fence(0, 1))]), timeout))

    holding = ask("/first", 20)
    await asyncio.wait_for(first.wait(), 60)
    old = [ask(f"/old-{n}", 0.3) for n in range(3)]
    await asyncio.wait(old)
    assert all(isinstance(task.exception(), NoAnswer) for task in old)
    await asyncio.sleep(rpc.TRY_TIMEOUT + 0.1)
    new = [ask("/new-1", 10)]
    await asyncio.sleep(0.1)
    new.append(ask("/new-2", 10))
    await asyncio.sleep(0.1)
    go_on.set()
    assert all(reply.ok for reply in await asyncio.gather(holding, *new))
    assert not any(path.startswith("/old") for path in heard)
    answered = [path for path in heard if path.startswith("/new")]
    assert answered[:2] == ["/new-2", "/new-1"]


async def test_a_question_whose_answer_nobody_wants_is_not_worked_on(bus: Bus, nats_server: Nats) -> None:
    asked: list[ProbeRequest] = []

    async def looked(look: ProbeRequest) -> ProbeReply:
        asked.append(look)
        return ProbeReply([])

    await bus.probe.serve(LANE, looked)
    client = await nats.connect(nats_server.url)
    try:
        await client.publish(bus.subjects.lane_request("probe", LANE), encode(ProbeRequest(LANE, [])))
        await flushed(client)
        assert await bus.probe(ProbeRequest(LANE, []), timeout=10) == ProbeReply([])
        assert (len(asked), bus.invalid_messages.count) == (1, 1)
    finally:
        await client.close()


async def test_a_lane_that_cannot_be_one_is_told_so(bus: Bus, other: Bus) -> None:
    async def anybody(_: OpenLane) -> None:
        pass

    await bus.serve_open_lane(anybody)
    with pytest.raises(BadMessage, match="cannot be a name on the bus"):
        await other.open_lane("l" * 200, "agent-1")
    assert bus.invalid_messages.count == 1
