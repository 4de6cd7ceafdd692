"""What every driver must pass, whatever it speaks to.

A driver's tests derive a class from `Conformance` and bring two fixtures: `driver`, which speaks to an empty place,
and `world`, the hand that breaks things at that place and the eye that sees what is really there. A verb that the
provider does not have is left out by overriding its test, with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stead.agent.inventory import OwnedObjects, strays
from stead.agent.lane_driver import LaneDriver
from stead.agent.order_results import MAX_TRIES
from stead.agent.order_work import OrderWork
from stead.application.orphan_adoption import token_of
from stead.bus.messages import Order, OrderMember, ReportResult
from stead.drivers import guard
from stead.drivers.base import (
    PROBE,
    TRANSITIONAL,
    Driver,
    Member,
    ObservedObject,
    PermanentError,
    Result,
    RetryableError,
    ThrottledError,
    batches,
)
from stead.lifecycle.rows import ABSENT
from stead.lifecycle.snapshot import FIRST
from tests.tiers import examples

DEADLINE = 60.0
PAUSE = 0.02
"""Seconds between two looks."""


TAGS = st.dictionaries(
    st.sampled_from(("token", "path")), st.text(st.characters(exclude_categories=("C", "Z")), max_size=200)
)
"""What people may write into our tags."""

STRANGE: list[dict[str, str]] = [{}, {"token": "bogus", "path": "nowhere"}, {"token": "", "path": "/" * 200}]


def drawn[T](values: st.SearchStrategy[T], count: int) -> list[T]:
    """So many values; one after the other they would take a call each."""
    made: list[T] = []

    @settings(max_examples=count, phases=[Phase.generate], database=None, deadline=None)
    @given(values)
    def draw(value: T) -> None:
        made.append(value)

    draw()
    return made


class World(Protocol):
    """The provider, from behind."""

    def member(self) -> Member:
        """A new member that can be made, with a token of its own."""

    def other_spec(self) -> Mapping[str, Any]:
        """A spec that differs from the members' one."""

    async def made(self, token: str) -> int:
        """How many objects were ever made under that token."""

    async def calls(self, verb: str) -> int:
        """How many calls of that verb have arrived; looks at members are those of `probe`."""

    async def stray(self, tags: Mapping[str, str]) -> str:
        """Something that carries our owner's tag, made behind everybody's back, and of `token` and `path` those tags
        alone that are given. Its id."""

    async def lose_reply(self, verb: str) -> None:
        """The next call of that verb is carried out, and its answer gets lost."""

    async def reject(self) -> None:
        """No call is carried out: who makes it is not allowed to."""

    async def throttle(self, after: float) -> None:
        """Every call is turned away, to come again after so many seconds."""

    async def silence(self) -> None:
        """No call is answered."""

    async def heal(self) -> None:
        """All is well again."""


async def eventually[T](observe: Callable[[], Awaitable[T]], good: Callable[[T], object]) -> T:
    """What a look returns as soon as it is good."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not good(value := await observe()):
                await asyncio.sleep(PAUSE)
            return value
    except TimeoutError:
        pytest.fail(f"after {DEADLINE} seconds there was still {await observe()}")


async def observe(driver: Driver, *members: Member) -> list[str]:
    return [seen.state for seen in await driver.describe(members)]


async def until(driver: Driver, state: str, *members: Member) -> list[ObservedObject]:
    """What is there of the members once all of them are in the state."""
    return await eventually(lambda: driver.describe(members), lambda seen: {s.state for s in seen} == {state})


async def perform(driver: Driver, verb: str, members: Sequence[Member], order: str) -> list[Result]:
    """In as few calls as the driver's limit allows."""
    results: list[Result] = []
    for batch in batches(members, driver.batch_limit(verb)):
        results += await driver.perform(verb, batch, order)
    return results


async def carried_out(driver: Driver, verb: str, member: Member, within: float = 0.0) -> list[ReportResult]:
    """What an agent reports of an order whose state times out within so many seconds."""
    told = OrderMember(member.path, FIRST, member.token, dict(member.spec), dict(member.facts))
    order = Order(1, "lab.a", "vm", verb, f"order-{verb}", "op", 1, [told], within)
    return await OrderWork(LaneDriver(driver)).execute(order, {member.path: FIRST}, lambda: None)


def known(members: list[Member], results: list[Result]) -> list[Member]:
    """The members with the facts of the results."""
    assert [result.path for result in results] == [member.path for member in members]
    assert [result.error for result in results if not result.ok] == []
    return [msgspec.structs.replace(m, facts=r.facts) for m, r in zip(members, results, strict=True)]


async def create(driver: Driver, world: World, count: int = 1) -> list[Member]:
    """Members that exist and run, with their facts."""
    members = [world.member() for _ in range(count)]
    made = known(members, await perform(driver, "create", members, "order-create"))
    await until(driver, "Running", *made)
    return made


class Conformance:
    """The promises of `stead.drivers.base`, one by one."""

    async def test_what_is_created_runs_and_brings_facts(self, driver: Driver, world: World) -> None:
        made = await create(driver, world, 3)
        assert all(member.facts for member in made)
        assert [await world.made(member.token) for member in made] == [1, 1, 1]

    async def test_create_again_returns_the_same(self, driver: Driver, world: World) -> None:
        made = await create(driver, world, 2)
        bare = [msgspec.structs.replace(member, facts={}) for member in made]
        again = known(bare, await perform(driver, "create", bare, "order-create"))
        other_order = known(bare, await perform(driver, "create", bare, "order-other"))
        assert [m.facts for m in again] == [m.facts for m in other_order] == [m.facts for m in made]
        assert [await world.made(member.token) for member in made] == [1, 1]

    async def test_sixteen_creates_at_once_make_one(self, driver: Driver, world: World) -> None:
        members = [world.member() for _ in range(3)]
        orders = [perform(driver, "create", members, f"order-{i}") for i in range(16)]
        facts = [[m.facts for m in known(members, results)] for results in await asyncio.gather(*orders)]
        assert facts == [facts[0]] * 16
        assert [await world.made(member.token) for member in members] == [1, 1, 1]

    async def test_create_after_a_lost_reply_adopts_what_was_made(self, driver: Driver, world: World) -> None:
        members = [world.member() for _ in range(min(2, driver.batch_limit("create")))]
        await world.lose_reply("create")
        with pytest.raises(RetryableError) as lost:
            await driver.perform("create", members, "order-create")
        assert lost.value.unknown
        found = await until(driver, "Running", *members)
        adopted = known(members, await driver.perform("create", members, "order-create"))
        assert [member.facts for member in adopted] == [seen.facts for seen in found]
        assert [await world.made(member.token) for member in members] == [1] * len(members)

    async def test_a_token_used_for_another_spec_is_refused(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        other = msgspec.structs.replace(made, spec=world.other_spec(), facts={})
        try:
            (result,) = await driver.perform("create", [other], "order-create")
        except PermanentError:
            pass
        else:
            assert (result.ok, result.permanent) == (False, True)
            assert result.error
        assert await world.made(made.token) == 1

    async def test_what_was_removed_is_not_made_again_under_its_token(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        await driver.perform("terminate", [made], "order-terminate")
        await until(driver, ABSENT, made)
        (result,) = await driver.perform("create", [msgspec.structs.replace(made, facts={})], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert await world.made(made.token) == 1

    async def test_describe_finds_by_id_and_by_token(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        by_id = msgspec.structs.replace(made, token=world.member().token)
        by_token = msgspec.structs.replace(made, facts={})
        seen = await driver.describe([by_id, by_token])
        assert [s.state for s in seen] == ["Running", "Running"]
        assert [s.facts for s in seen] == [made.facts, made.facts]

    async def test_absent_is_what_is_not_there_and_nothing_else(self, driver: Driver, world: World) -> None:
        there, gone = await create(driver, world, 2)
        await driver.perform("terminate", [gone], "order-terminate")
        await until(driver, ABSENT, gone)
        assert await observe(driver, gone, there, world.member()) == [ABSENT, "Running", ABSENT]

    async def test_no_answer_is_no_absence(self, driver: Driver, world: World) -> None:
        made = await create(driver, world)
        await world.silence()
        with pytest.raises(RetryableError):
            await driver.describe(made)
        with pytest.raises(RetryableError):
            await driver.inventory()
        await world.heal()
        assert await observe(driver, *made) == ["Running"]

    async def test_suspend_and_resume_may_be_repeated(self, driver: Driver, world: World) -> None:
        made = await create(driver, world, 2)
        for verb, state in (("suspend", "Suspended"), ("resume", "Running")):
            for order in ("one", "one", "other"):
                known(made, await perform(driver, verb, made, f"order-{verb}-{order}"))
                await until(driver, state, *made)

    async def test_terminate_may_be_repeated(self, driver: Driver, world: World) -> None:
        made = await create(driver, world, 2)
        for order in ("one", "one", "other"):
            known(made, await perform(driver, "terminate", made, f"order-{order}"))
            await until(driver, ABSENT, *made)

    async def test_terminate_of_what_never_was_is_done(self, driver: Driver, world: World) -> None:
        (result,) = await driver.perform("terminate", [world.member()], "order-terminate")
        assert result.ok

    async def test_what_is_known_by_token_alone_can_be_terminated(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        known([made], await driver.perform("terminate", [msgspec.structs.replace(made, facts={})], "order-terminate"))
        await until(driver, ABSENT, made)

    async def test_reboot_leaves_it_running(self, driver: Driver, world: World) -> None:
        made = await create(driver, world)
        known(made, await driver.perform("reboot", made, "order-reboot"))
        await until(driver, "Running", *made)

    async def test_partial_failure_tells_members_apart(self, driver: Driver, world: World) -> None:
        first, last = await create(driver, world, 2)
        never = world.member()
        results = await perform(driver, "suspend", [first, never, last], "order-suspend")
        assert [(r.path, r.ok) for r in results] == [(first.path, True), (never.path, False), (last.path, True)]
        assert results[1].error
        await until(driver, "Suspended", first, last)

    async def test_throttling_slows_the_lane_and_does_nothing(self, driver: Driver, world: World) -> None:
        made = await create(driver, world)
        new = world.member()
        await world.throttle(2.5)
        for call in (
            driver.perform("create", [new], "order-create"),
            driver.perform("suspend", made, "order-suspend"),
            driver.describe(made),
        ):
            with pytest.raises(ThrottledError) as raised:
                await call
            assert 2.5 <= raised.value.after <= 3
            assert not raised.value.unknown
        await world.heal()
        assert await observe(driver, new, *made) == [ABSENT, "Running"]

    async def test_what_is_rejected_is_declined_and_leaves_all_as_it_was(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        await world.reject()
        for verb in ("suspend", "reboot", "terminate"):
            (said,) = await carried_out(driver, verb, made)
            assert (said.kind, bool(said.error)) == ("declined", True)
        await world.heal()
        assert await observe(driver, made) == ["Running"]

    async def test_throttling_past_the_timeout_is_declined_and_leaves_all_as_it_was(
        self, driver: Driver, world: World
    ) -> None:
        (made,) = await create(driver, world)
        await world.throttle(0.1)
        (said,) = await carried_out(driver, "suspend", made)
        assert (said.kind, bool(said.error)) == ("declined", True)
        await world.heal()
        assert await observe(driver, made) == ["Running"]

    async def test_throttling_that_ends_in_time_is_outlasted(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        await world.throttle(0.1)
        work = asyncio.create_task(carried_out(driver, "suspend", made, within=600))
        before = await world.calls("suspend")
        await eventually(lambda: world.calls("suspend"), lambda calls: calls > before + MAX_TRIES)
        await world.heal()
        (said,) = await work
        assert said.kind == "succeeded"
        assert await observe(driver, made) == ["Suspended"]

    async def test_change_whose_reply_is_lost_is_never_declined(self, driver: Driver, world: World) -> None:
        (made,) = await create(driver, world)
        for verb, state in (("suspend", "Suspended"), ("resume", "Running"), ("terminate", ABSENT)):
            await world.lose_reply(verb)
            said = await carried_out(driver, verb, made)
            assert [result.kind for result in said] in ([], ["succeeded"]), (verb, said)  # nothing said: it is probed
            await until(driver, state, made)

    async def test_a_batch_is_one_call(self, driver: Driver, world: World) -> None:
        limit = driver.batch_limit("create")
        members = [world.member() for _ in range(2 * limit + 1)]
        made: list[Member] = []
        for batch in batches(members, limit):
            made += known(list(batch), await driver.perform("create", batch, "order-create"))
        assert await world.calls("create") == 3
        assert len({tuple(member.facts.items()) for member in made}) == len(members)
        for batch in batches(made, driver.batch_limit(PROBE)):
            await until(driver, "Running", *batch)
        before = await world.calls("suspend")
        for batch in batches(made, driver.batch_limit("suspend")):
            known(list(batch), await driver.perform("suspend", batch, "order-suspend"))
        assert await world.calls("suspend") - before == -(-len(made) // driver.batch_limit("suspend"))

    async def test_too_large_a_batch_is_never_sent(self, driver: Driver, world: World) -> None:
        for verb in ("create", "suspend", "terminate"):
            members = [world.member() for _ in range(driver.batch_limit(verb) + 1)]
            with pytest.raises(ValueError, match="at most"):
                await driver.perform(verb, members, "order")
            assert await world.calls(verb) == 0
        with pytest.raises(ValueError, match="at most"):
            await driver.describe([world.member() for _ in range(driver.batch_limit(PROBE) + 1)])

    async def test_an_empty_batch_is_no_call(self, driver: Driver, world: World) -> None:
        assert await driver.perform("create", [], "order") == []
        assert await driver.describe([]) == []
        assert (await world.calls("create"), await world.calls(PROBE)) == (0, 0)

    async def test_what_is_no_verb_is_never_sent(self, driver: Driver, world: World) -> None:
        for verb in ("paint", PROBE):
            with pytest.raises(ValueError, match=verb):
                await driver.perform(verb, [world.member()], "order")

    async def test_inventory_has_what_is_there_with_token_and_path(self, driver: Driver, world: World) -> None:
        assert await driver.inventory() == []
        made = await create(driver, world, 3)
        await driver.perform("suspend", made[:1], "order-suspend")
        await until(driver, "Suspended", made[0])
        await driver.perform("terminate", made[1:2], "order-terminate")
        await until(driver, ABSENT, made[1])
        found = {f.token: f for f in await driver.inventory()}
        assert {token: f.state for token, f in found.items()} == {
            made[0].token: "Suspended",
            made[2].token: "Running",
        }
        assert found[made[2].token].path == made[2].path
        assert found[made[2].token].facts == made[2].facts
        assert found[made[2].token].id

    async def test_inventory_has_what_was_tagged_by_others_and_each_can_be_removed(
        self, driver: Driver, world: World
    ) -> None:
        (made,) = await create(driver, world)
        tags = [*STRANGE, {"token": made.token, "path": made.path}, *drawn(TAGS, examples(10))]
        ids = {await world.stray(said): said for said in tags}
        found = await eventually(
            driver.inventory, lambda found: ids.keys() <= {one.id for one in found if one.state != TRANSITIONAL}
        )
        owned = OwnedObjects()
        owned.add(OrderMember(made.path, FIRST, made.token, facts=dict(made.facts)), None)
        lines = list(strays(guard.in_order(found), owned))
        assert {line.facts["id"] for line in lines} == ids.keys()
        assert len({line.token for line in lines}) == len(ids)
        for line in lines[:3]:
            token = str(token_of("lane", line.token))
            lost = msgspec.structs.replace(made, path="/orphans/one", token=token, facts=line.facts)
            known([lost], await driver.perform("terminate", [lost], "order-remove"))
            await until(driver, ABSENT, lost)
        assert await observe(driver, made) == ["Running"]

    async def test_on_the_way_there_is_nothing_but_words_that_are_known(self, driver: Driver, world: World) -> None:
        member = world.member()
        await driver.perform("create", [member], "order-create")
        states: list[str] = []

        async def watch() -> list[str]:
            states.extend(await observe(driver, member))
            return states

        await eventually(watch, lambda seen: seen[-1] == "Running")
        assert {*states} <= {ABSENT, TRANSITIONAL, "Running"}

    async def test_calls_end_in_time(self, driver: Driver) -> None:
        assert 0 < driver.longest_call < 3600

    async def test_close_may_be_repeated(self, driver: Driver) -> None:
        await driver.close()
        await driver.close()
