"""What an agent says of an order that its provider accepted: what it saw, or nothing where that is another thing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import pytest

from stead.agent import order_work
from stead.agent.lane_driver import LaneDriver, members_of
from stead.agent.order_results import MAX_TRIES
from stead.agent.order_work import OrderWork
from stead.bus.messages import Order, OrderMember, ReportResult
from stead.drivers.base import TRANSITIONAL, Member, ObservedObject, PermanentError, Result
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.snapshot import Fence
from tests.drivers.cloud import SimWorld

FENCE = Fence(0, 7)


@pytest.fixture
async def driver(world: SimWorld) -> AsyncIterator[SimDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


async def said(driver: SimDriver, verb: str, member: OrderMember) -> list[ReportResult]:
    order = Order(1, "aws.a", "vm", verb, f"t.{verb}", "op", 1, [member])
    return await OrderWork(LaneDriver(driver)).execute(order, {member.path: FENCE}, lambda: None)


async def made(driver: SimDriver, world: SimWorld) -> OrderMember:
    one = world.member()
    (result,) = await said(driver, "create", OrderMember(one.path, FENCE, one.token, dict(one.spec)))
    assert result.kind == "succeeded"
    return OrderMember(one.path, FENCE, one.token, dict(one.spec), dict(result.facts))


async def meanwhile(driver: SimDriver, world: SimWorld, verb: str, do: str) -> list[ReportResult]:
    """What is said of a member to which something else happens while it is on its way."""
    member = await made(driver, world)
    await world.fault(kind="slow", seconds=60)
    doing = asyncio.create_task(said(driver, verb, member))
    while not await world.calls(verb):
        await asyncio.sleep(0.02)
    await world.heal()
    await world.drift(do, tokens=[member.token])
    return await doing


async def test_what_was_accepted_and_arrives_is_done(driver: SimDriver, world: SimWorld) -> None:
    await world.fault(kind="slow", seconds=0.3)
    member = await made(driver, world)
    for verb in ("suspend", "terminate"):
        assert [result.kind for result in await said(driver, verb, member)] == ["succeeded"]


@pytest.mark.parametrize(("verb", "do"), [("suspend", "delete"), ("reboot", "stop")])
async def test_of_what_came_to_something_else_nothing_is_said(
    driver: SimDriver, world: SimWorld, verb: str, do: str
) -> None:
    assert await meanwhile(driver, world, verb, do) == []


async def test_what_was_accepted_and_is_broken_has_failed(driver: SimDriver, world: SimWorld) -> None:
    (result,) = await meanwhile(driver, world, "suspend", "break")
    assert (result.kind, result.error) == ("failed", "the provider accepted it, and it is broken")


class GettingOn(SimDriver):
    """A driver that gets on with every call, and to the end with the last one."""

    def __init__(self, calls: list[Result]) -> None:
        self.left = calls
        self.made = 0

    def batch_limit(self, verb: str, kind: str = "vm") -> int:
        return 5

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        self.made += 1
        return [msgspec.structs.replace(self.left[min(self.made, len(self.left)) - 1], path=m.path) for m in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        return [ObservedObject(path=member.path, state="Running") for member in members]


ON = Result(path="", ok=True, again=True)
FULL = Result(path="", ok=False, permanent=False, retry_after=0.01, error="no room")


async def calls_for(*results: Result, may: Callable[[], None] = lambda: None) -> tuple[int, ReportResult]:
    """How many calls an order takes, and what is said of it."""
    driver = GettingOn([*results])
    order = Order(1, "lab.a", "vm", "update", "t.1", "op", 1, [OrderMember("/a/b", FENCE, "token", {})], 0.0)
    (said,) = await OrderWork(LaneDriver(driver)).execute(order, {"/a/b": FENCE}, may)
    return driver.made, said


async def test_who_gets_on_is_called_for_again_without_end() -> None:
    made, said = await calls_for(*[ON] * (3 * MAX_TRIES), Result(path="", ok=True, facts={"id": "x"}))
    assert (made, said.kind, said.facts) == (3 * MAX_TRIES + 1, "succeeded", {"id": "x"})


async def test_who_does_not_get_on_is_given_up_all_the_same() -> None:
    made, said = await calls_for(*[ON] * 10, FULL)
    assert (made, said.kind, said.error) == (10 + MAX_TRIES, "declined", "no room")
    made, said = await calls_for(FULL, FULL, FULL, ON, FULL)  # who got on begins to count anew
    assert (made, said.kind) == (4 + MAX_TRIES, "declined")


async def test_who_gets_on_is_called_for_no_longer_than_custody_lasts() -> None:
    calls = 0

    def may() -> None:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise PermissionError

    with pytest.raises(PermissionError):
        await calls_for(ON, may=may)
    assert calls == 21


class Uneven(SimDriver):
    """A driver whose members settle one after the other, and whose last one waits for a word."""

    def __init__(self, pending: str) -> None:
        self.pending = pending
        self.last = asyncio.Event()
        self.looks = 0

    def batch_limit(self, verb: str, kind: str = "vm") -> int:
        return 5

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        ends = {"/a/failed": Result(path="", ok=False, error="exit 4"), "/a/known": Result(path="", ok=True)}
        on_its_way = Result(path="", ok=True, pending=self.pending)
        return [msgspec.structs.replace(ends.get(m.path, on_its_way), path=m.path) for m in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        self.looks += 1
        fast = TRANSITIONAL if self.looks < 2 else "succeeded"
        slow = "succeeded" if self.last.is_set() else TRANSITIONAL
        return [ObservedObject(path=m.path, state=slow if m.path == "/a/slow" else fast) for m in members]


@pytest.mark.parametrize("verb", ["run", "probe"])
async def test_result_of_member_is_told_while_another_is_at_work(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_work, "OBSERVE_INTERVAL", 0.01)
    driver = Uneven("succeeded")
    paths = ["/a/failed", "/a/known", "/a/fast", "/a/slow"] if verb == "run" else ["/a/fast", "/a/slow"]
    order = Order(1, "lab.a", "job", verb, "t.1", "op", 1, [OrderMember(p, FENCE, p, {}) for p in paths], 0.0)
    told: dict[str, str] = {}
    all_but_one = asyncio.Event()

    async def tell(results: Sequence[ReportResult]) -> None:
        told.update({result.path: result.kind for result in results})
        if len(told) == len(paths) - 1:
            all_but_one.set()

    doing = asyncio.create_task(
        OrderWork(LaneDriver(driver)).execute(order, dict.fromkeys(paths, FENCE), lambda: None, tell)
    )
    await asyncio.wait_for(all_but_one.wait(), 60)
    kinds = {"/a/failed": "failed", "/a/known": "succeeded", "/a/fast": "succeeded" if verb == "run" else "observed"}
    assert told == {path: kind for path, kind in kinds.items() if path in paths}
    assert not doing.done()
    driver.last.set()
    assert [result.path for result in await doing] == ["/a/slow"]  # the last is the caller's to report


@pytest.mark.parametrize(
    "member",
    [
        Member(path="/a", token="t", kind="no such kind"),
        Member(path="/a", token="t", facts={"id": "i" * 100_000}),
    ],
    ids=["kind", "facts"],
)
async def test_a_look_at_what_the_driver_never_made_has_an_answer(driver: SimDriver, member: Member) -> None:
    with pytest.raises(PermanentError):
        await LaneDriver(driver).observe([member])


async def test_a_provider_that_cannot_be_reached_in_time_declines_the_order(
    driver: SimDriver, world: SimWorld
) -> None:
    member = await made(driver, world)
    away = world.driver(url="http://127.0.0.1:9")
    try:
        (result,) = await said(away, "suspend", member)
    finally:
        await away.close()
    assert (result.kind, result.error) == ("declined", "the provider cannot be reached")


async def test_what_may_have_been_done_before_a_rejection_is_left_unsaid(driver: SimDriver, world: SimWorld) -> None:
    member = await made(driver, world)
    await world.fault(kind="lost", verb="suspend", times=1)
    doing = asyncio.create_task(said(driver, "suspend", member))
    while not await world.calls("suspend"):
        await asyncio.sleep(0.02)
    await world.fault(kind="fail", verb="suspend", status=403, code="UnauthorizedOperation")
    assert await doing == []
    assert await world.calls("suspend") == 2


async def test_a_creation_that_is_rejected_has_not_begun(driver: SimDriver, world: SimWorld) -> None:
    await world.reject()
    one = world.member()
    (result,) = await said(driver, "create", OrderMember(one.path, FENCE, one.token, dict(one.spec)))
    assert result.kind == "declined"


async def test_members_that_are_rejected_are_declined_and_the_others_done(driver: SimDriver, world: SimWorld) -> None:
    members = [await made(driver, world) for _ in range(2)]
    await world.fault(
        kind="fail", verb="suspend", members=True, tokens=[members[0].token], code="Rejected", status=400
    )
    order = Order(1, "aws.a", "vm", "suspend", "t.suspend", "op", 1, members, 0.0)
    fences = {member.path: FENCE for member in members}
    results = await OrderWork(LaneDriver(driver)).execute(order, fences, lambda: None)
    assert [result.kind for result in results] == ["declined", "succeeded"]


async def test_what_is_on_its_way_after_a_rejection_is_left_unsaid(driver: SimDriver, world: SimWorld) -> None:
    member = await made(driver, world)
    await world.fault(kind="slow", seconds=60)
    await driver.perform("terminate", members_of([member]), "by another")
    await world.heal()
    assert await said(driver, "suspend", member) == []


async def test_what_is_gone_when_it_is_asked_for_is_left_unsaid(driver: SimDriver, world: SimWorld) -> None:
    member = await made(driver, world)
    await world.drift("delete", tokens=[member.token])
    assert await said(driver, "suspend", member) == []
