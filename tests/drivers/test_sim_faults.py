"""The bad days of the simulated cloud: each fault does what it says, where it says, and no more often."""

from __future__ import annotations

import asyncio
import time
from random import Random

import pytest

from stead.drivers.base import PermanentError, RetryableError, ThrottledError
from stead.drivers.sim.driver import SimDriver
from stead.drivers.sim.faults import Call, CallPlan, Fail, FaultInjector, Latency, Lost, Throttle
from stead.lifecycle.rows import ABSENT
from tests.drivers.cloud import SimWorld
from tests.drivers.conformance import create, eventually, observe, until

HERE = Call("aws", "here", "create")
THERE = Call("aws", "there", "create")


def wait(injector: FaultInjector) -> float:
    before = injector.plan(HERE).before
    return before.seconds if before else 0


class TestWeather:
    """What strikes, decided without a network and without waiting."""

    @pytest.fixture
    def now(self) -> list[float]:
        return [1000.0]

    @pytest.fixture
    def injector(self, now: list[float]) -> FaultInjector:
        return FaultInjector(Random(1), lambda: now[0])

    def test_without_faults_nothing_happens(self, injector: FaultInjector) -> None:
        plan = injector.plan(HERE)
        assert (plan.before, plan.drop, plan.hang, plan.refusal, plan.reply) == (None, False, None, None, "sent")
        assert plan.member_error("any") is None

    @pytest.mark.parametrize(
        ("fault", "here", "there"),
        [
            (Lost(), True, True),
            (Lost(provider="aws", region="here"), True, False),
            (Lost(region="there"), False, True),
            (Lost(provider="gcp"), False, False),
            (Lost(verb="create"), True, True),
            (Lost(verb="reboot"), False, False),
        ],
    )
    def test_a_fault_strikes_where_it_says(
        self, injector: FaultInjector, fault: Lost, here: bool, there: bool
    ) -> None:
        injector.add(fault)
        assert (injector.plan(HERE).lost, injector.plan(THERE).lost) == (here, there)

    def test_the_next_so_many_times(self, injector: FaultInjector) -> None:
        injector.add(Fail(times=2, region="here"))
        struck = [injector.plan(call).refusal is not None for call in (HERE, THERE, HERE, HERE)]
        assert struck == [True, False, True, False]

    def test_a_fraction_of_the_times(self, injector: FaultInjector) -> None:
        injector.add(Lost(fraction=0.25))
        struck = sum(injector.plan(HERE).lost for _ in range(1000))
        assert 200 < struck < 300

    def test_the_fault_set_last_counts(self, injector: FaultInjector) -> None:
        injector.add(Latency(seconds=5))
        newer = injector.add(Latency(seconds=1))
        assert wait(injector) == 1
        assert injector.clear(newer.id) == 1
        assert wait(injector) == 5
        assert injector.clear() == 1
        assert wait(injector) == 0

    def test_jitter_adds_up_to_so_much(self, injector: FaultInjector) -> None:
        injector.add(Latency(seconds=1, jitter=0.5))
        waits = [wait(injector) for _ in range(200)]
        assert all(1 <= wait <= 1.5 for wait in waits)
        assert max(waits) - min(waits) > 0.4

    def test_a_rate_lets_so_many_through_in_each_region(self, injector: FaultInjector, now: list[float]) -> None:
        injector.add(Throttle(rate=10, burst=3))

        def passed(call: Call) -> int:
            return sum(injector.plan(call).refusal is None for _ in range(20))

        assert (passed(HERE), passed(THERE)) == (3, 3)
        now[0] += 0.2
        assert (passed(HERE), passed(HERE)) == (2, 0)
        now[0] += 3600
        assert passed(HERE) == 3
        refusal = injector.plan(HERE).refusal
        assert refusal is not None
        assert refusal.status == 429
        assert refusal.retry_after == pytest.approx(0.1)

    def test_single_members_fail(self, injector: FaultInjector) -> None:
        injector.add(Fail(members=True, tokens=("bad",), code="InsufficientCapacity"))
        plan = injector.plan(HERE)
        assert plan.refusal is None
        error = plan.member_error("bad")
        assert error is not None
        assert error.code == "InsufficientCapacity"
        assert plan.member_error("good") is None

    def test_a_call_that_is_not_carried_out_loses_no_reply(self, injector: FaultInjector) -> None:
        injector.add(Lost(times=1))
        injector.add(Fail(times=1))
        assert [self.fate(injector.plan(HERE)) for _ in range(3)] == ["failed", "lost", "sent"]

    @staticmethod
    def fate(plan: CallPlan) -> str:
        return plan.refusal.outcome if plan.refusal else plan.reply


class TestCalls:
    """What happens to calls on the way there and back."""

    async def test_drop_breaks_the_connection_and_does_nothing(self, driver: SimDriver, world: SimWorld) -> None:
        member = world.member()
        await world.fault(kind="drop", times=1)
        with pytest.raises(RetryableError) as broken:
            await driver.perform("create", [member], "order")
        assert broken.value.unknown  # from this side it looks like a lost reply
        assert await world.made(member.token) == 0
        assert [(call["outcome"], call["members"]) for call in await world.recorded()] == [("dropped", [])]

    async def test_a_lost_reply_of_any_verb_is_a_silent_success(self, driver: SimDriver, world: SimWorld) -> None:
        (made,) = await create(driver, world)
        for verb, state in (("suspend", "Suspended"), ("resume", "Running"), ("terminate", ABSENT)):
            await world.lose_reply(verb)
            with pytest.raises(RetryableError) as lost:
                await driver.perform(verb, [made], f"order-{verb}")
            assert lost.value.unknown
            assert await observe(driver, made) == [state]

    async def test_hang_does_nothing_until_the_caller_gives_up(self, world: SimWorld) -> None:
        await world.fault(kind="hang")
        hasty = world.driver(timeout=0.2)
        member = world.member()
        with pytest.raises(RetryableError) as gave_up:
            await hasty.perform("create", [member], "order")
        assert gave_up.value.unknown
        assert await world.made(member.token) == 0
        await hasty.close()

    async def test_what_hangs_ends_with_its_fault(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="hang")
        call = asyncio.create_task(driver.perform("create", [world.member()], "order"))
        await eventually(world.recorded, lambda calls: [call["outcome"] for call in calls] == ["hung"])
        assert not call.done()
        await world.heal()
        with pytest.raises(RetryableError):
            await call

    async def test_late_is_done_at_once_and_answered_later(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="late", verb="create", seconds=3600)
        member = world.member()
        call = asyncio.create_task(driver.perform("create", [member], "order"))
        await eventually(lambda: observe(driver, member), lambda states: states == ["Running"])
        assert not call.done()
        await world.heal()
        assert [result.ok for result in await call] == [True]

    async def test_waits_end_by_themselves(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="latency", seconds=0.1)
        await world.fault(kind="late", seconds=0.1)
        began = time.monotonic()
        assert [result.ok for result in await driver.perform("create", [world.member()], "order")] == [True]
        assert time.monotonic() - began >= 0.2

    async def test_latency_delays_the_deed_even_beyond_the_callers_patience(self, world: SimWorld) -> None:
        await world.fault(kind="latency", verb="create", seconds=3600)
        hasty, patient = world.driver(timeout=0.1), world.driver()
        member = world.member()
        with pytest.raises(RetryableError) as gave_up:
            await hasty.perform("create", [member], "order")
        assert gave_up.value.unknown
        assert await observe(patient, member) == [ABSENT]
        await world.heal()
        await until(patient, "Running", member)
        await hasty.close()
        await patient.close()

    async def test_throttling_says_when_in_header_and_body(self, world: SimWorld) -> None:
        await world.fault(kind="throttle", retry_after=0.4)
        response = await world.client.get(f"/v1/aws/{world.region}/instances")
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["retry_after"] == 0.4

    async def test_throttling_one_region_leaves_the_others_alone(self, driver: SimDriver, world: SimWorld) -> None:
        await world.throttle(1)
        with pytest.raises(ThrottledError):
            await driver.perform("create", [world.member()], "order")
        for place in ({"region": f"{world.region}-other"}, {"provider": "gcp"}):
            other = world.driver(**place)
            assert [result.ok for result in await other.perform("create", [world.member()], "order")] == [True]
            await other.close()

    @pytest.mark.parametrize(
        ("status", "kind", "unknown"),
        [(500, RetryableError, True), (503, RetryableError, False), (403, PermanentError, None)],
    )
    async def test_an_error_of_the_whole_call_does_nothing(
        self, driver: SimDriver, world: SimWorld, status: int, kind: type[Exception], unknown: bool | None
    ) -> None:
        member = world.member()
        await world.fault(kind="fail", code="Trouble", message="said so", status=status, times=1)
        with pytest.raises(kind, match="Trouble: said so") as raised:
            await driver.perform("create", [member], "order")
        assert getattr(raised.value, "unknown", None) is unknown
        assert await world.made(member.token) == 0
        assert [result.ok for result in await driver.perform("create", [member], "order")] == [True]

    @pytest.mark.parametrize(("code", "permanent"), [("InternalError", False), ("InvalidImage", True)])
    async def test_single_members_fail_and_the_rest_is_done(
        self, driver: SimDriver, world: SimWorld, code: str, permanent: bool
    ) -> None:
        good, bad, fine = members = [world.member() for _ in range(3)]
        await world.fault(kind="fail", members=True, tokens=[bad.token], code=code)
        for verb in ("create", "suspend"):
            results = await driver.perform(verb, members, f"order-{verb}")
            assert [result.ok for result in results] == [True, False, True]
            assert (results[1].permanent, results[1].error) == (permanent, f"{code}: a fault was set")
        assert await observe(driver, good, bad, fine) == ["Suspended", ABSENT, "Suspended"]


class TestReads:
    """Looks that lag behind."""

    async def test_a_new_instance_is_invisible_and_its_token_is_not(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="stale", seconds=3600)
        member = world.member()
        (result,) = await driver.perform("create", [member], "order")
        assert await observe(driver, member) == [ABSENT]
        assert await driver.inventory() == []
        (again,) = await driver.perform("create", [member], "order")
        assert (again.ok, again.facts) == (True, result.facts)

    async def test_changes_show_late_and_are_in_force_at_once(self, driver: SimDriver, world: SimWorld) -> None:
        stopped, gone = await create(driver, world, 2)
        await world.fault(kind="stale", seconds=3600)
        await driver.perform("suspend", [stopped], "order-suspend")
        await driver.perform("terminate", [gone], "order-terminate")
        assert await observe(driver, stopped, gone) == ["Running", "Running"]
        (result,) = await driver.perform("reboot", [stopped], "order-reboot")
        assert "stopped" in result.error
        await driver.perform("resume", [stopped], "order-resume")
        assert await observe(driver, stopped) == ["Running"]
        await driver.perform("terminate", [stopped], "order-terminate")
        assert await observe(driver, stopped) == ["Running"]

    async def test_all_shows_in_the_end(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="stale", seconds=0.1)
        member = world.member()
        for verb, state in (("create", "Running"), ("suspend", "Suspended"), ("terminate", ABSENT)):
            await driver.perform(verb, [member], f"order-{verb}")
            await until(driver, state, member)


class TestQuota:
    """Regions that are full."""

    async def test_a_region_has_room_for_so_many(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="quota", limit=2)
        members = [world.member() for _ in range(3)]
        results = await driver.perform("create", members, "order")
        assert [result.ok for result in results] == [True, True, False]
        assert results[2].permanent
        assert results[2].error.startswith("InstanceLimitExceeded")
        assert [result.ok for result in await driver.perform("create", members, "order")] == [True, True, False]
        await driver.perform("terminate", members[:1], "order-terminate")
        (result,) = await driver.perform("create", members[2:], "order")
        assert result.ok

    async def test_each_region_counts_for_itself(self, world: SimWorld) -> None:
        full = f"full-{world.region}"
        fault = await world.fault(kind="quota", limit=1, provider=full, region="")
        for region in ("one", "two"):
            place = world.driver(provider=full, region=region)
            results = await place.perform("create", [world.member(), world.member()], "order")
            assert [result.ok for result in results] == [True, False]
            await place.close()
        await world.client.delete(f"/v1/_faults/{fault}")
