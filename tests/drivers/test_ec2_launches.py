"""Launches of many on EC2: made once, whoever asks for whichever part of them, and each member takes its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from stead.drivers.base import PROBE, Member, RetryableError, ThrottledError
from stead.drivers.ec2.driver import Ec2Driver
from stead.drivers.ec2.instances import MAX_CONCURRENT_CALLS
from stead.drivers.ec2.launches import token_of
from stead.lifecycle.rows import ABSENT
from tests.drivers.conformance import known, observe, until
from tests.drivers.ec2 import Ec2Cloud, Ec2World

REMOVED = "it was made, and has been removed since"


@pytest.fixture
async def world(ec2_cloud: Ec2Cloud, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ec2World]:
    """An account of one's own."""
    account = Ec2World(ec2_cloud, monkeypatch)
    yield account
    await account.close()


@pytest.fixture
async def driver(world: Ec2World) -> AsyncIterator[Ec2Driver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


def bare(member: Member) -> Member:
    return msgspec.structs.replace(member, facts={})


def other(member: Member, **launch: Any) -> Member:
    """The same, with another place in its launch."""
    return msgspec.structs.replace(member, spec={**member.spec, "launch": {**member.spec["launch"], **launch}})


async def create(driver: Ec2Driver, members: list[Member]) -> list[Member]:
    made = known(members, await driver.perform("create", members, "order-create"))
    await until(driver, "Running", *made)
    return made


class TestOnce:
    """However it is asked for, a launch is made once."""

    async def test_many_are_one_call_and_each_is_another(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(7)
        made = await create(driver, members)
        assert await world.calls("create") == 1
        ids = [member.facts["id"] for member in made]
        assert len({*ids}) == 7
        assert ids == await world.launched(members[0])  # in the order of EC2's launch index

    async def test_sixteen_performs_of_parts_at_once_make_each_once(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(9)
        order = random.Random(7)
        parts = [order.sample(members, order.randint(1, 9)) for _ in range(16)]
        told = await asyncio.gather(*(driver.perform("create", part, f"order-{n}") for n, part in enumerate(parts)))
        facts = {
            (m.path, m.facts["id"]) for part, results in zip(parts, told, strict=True) for m in known(part, results)
        }
        assert len(await world.launched(members[0])) == 9
        assert len(facts) == len({path for path, _ in facts}) == len({id for _, id in facts}) == 9

    async def test_halves_in_two_batches_by_two_agents_are_one_launch(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = world.launch(6)
        second = world.driver()
        odd = await create(driver, members[1::2])
        even = await create(second, members[0::2])
        launched = await world.launched(members[0])
        assert [m.facts["id"] for m in (*even, *odd)] == [*launched[0::2], *launched[1::2]]
        await second.close()

    async def test_after_a_lost_reply_what_was_made_is_seen_and_adopted(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = world.launch(4)
        await world.lose_reply("create")
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", members[:2], "order-create")
        assert raised.value.unknown
        seen = await until(driver, "Running", *members)  # by tag and place: there are no ids
        made = await create(driver, members)
        assert [m.facts for m in made] == [s.facts for s in seen]
        assert [m.facts["id"] for m in made] == await world.launched(members[0])

    async def test_two_launches_in_a_batch_are_two_calls_and_keep_apart(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        one, two, alone = world.launch(3), world.launch(2, spec="t3.micro"), world.member()
        mixed = [two[1], one[0], alone, one[2], two[0], one[1]]
        made = await create(driver, mixed)
        assert await world.calls("create") == 3
        by_path = {m.path: m.facts["id"] for m in made}
        assert [by_path[m.path] for m in one] == await world.launched(one[0])
        assert [by_path[m.path] for m in two] == await world.launched(two[0])
        assert [s.facts["id"] for s in await driver.describe([bare(m) for m in mixed])] == [*by_path.values()]

    async def test_a_launch_with_other_parameters_is_refused_for_good(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = world.launch(2)
        await create(driver, members)
        changed = [msgspec.structs.replace(m, spec={**m.spec, "spec": "t3.micro"}) for m in members]
        results = await driver.perform("create", changed, "order-create")
        assert [(r.ok, r.permanent) for r in results] == [(False, True)] * 2
        assert all(r.error.startswith("IdempotentParameterMismatch") for r in results)
        larger = await driver.perform("create", [other(members[0], count=3)], "order-create")
        assert [(r.ok, r.permanent) for r in larger] == [(False, True)]
        assert len(await world.launched(members[0])) == 2

    async def test_a_name_of_ones_own_does_not_make_it_another_launch(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        first, second = world.launch(2)
        assert first.spec["name"] != second.spec["name"]
        await create(driver, [first])
        await create(driver, [second])
        assert len(await world.launched(first)) == 2


class TestFailure:
    """All or nothing, in EC2's words."""

    async def test_where_there_is_no_room_for_all_none_is_made(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(3)
        await world.hand(room=2)
        with pytest.raises(RetryableError, match="InsufficientInstanceCapacity: There is room for 2") as raised:
            await driver.perform("create", members, "order-create")
        assert not raised.value.unknown
        assert await world.launched(members[0]) == []
        assert await observe(driver, *members) == [ABSENT] * 3
        await world.heal()
        await create(driver, members)

    async def test_no_room_for_one_launch_is_not_the_others_fault(self, driver: Ec2Driver, world: Ec2World) -> None:
        large, small = world.launch(5), world.launch(2)
        await world.hand(room=3)
        results = await driver.perform("create", [*large, *small], "order-create")
        assert [(r.ok, r.permanent) for r in results] == [(False, False)] * 5 + [(True, True)] * 2
        assert all(r.error.startswith("InsufficientInstanceCapacity") and r.retry_after for r in results[:5])
        assert [r.path for r in results] == [m.path for m in (*large, *small)]

    async def test_a_limit_of_the_account_is_told_to_all_of_the_launch(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = world.launch(3)
        await world.fault("create", do="refuse", status=400, code="InstanceLimitExceeded", message="Too many.")
        results = await driver.perform("create", members, "order-create")
        assert {(r.ok, r.error) for r in results} == {(False, "InstanceLimitExceeded: Too many.")}
        assert len(results) == 3

    async def test_where_nobody_knows_what_became_of_one_launch_the_call_has_no_answer(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        one, two = world.launch(2), world.launch(2)
        await world.lose_reply("create")
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [*one, *two], "order-create")
        assert raised.value.unknown
        await create(driver, [*one, *two])
        assert [len(await world.launched(launch[0])) for launch in (one, two)] == [2, 2]

    async def test_throttling_slows_the_lane_and_makes_nothing(self, driver: Ec2Driver, world: Ec2World) -> None:
        one, two = world.launch(2), world.launch(2)
        await world.throttle(3)
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [*one, *two], "order-create")
        assert (raised.value.after, raised.value.unknown) == (3, False)
        await world.heal()
        assert await observe(driver, *one, *two) == [ABSENT] * 4

    async def test_when_there_are_too_many_launches_the_rest_is_not_sent(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = [world.member() for _ in range(40)]
        too_many = {"do": "refuse", "status": 503, "code": "RequestLimitExceeded", "after": 2}
        await world.hand(faults={"RunInstances": [{"times": 5}, too_many]})
        results = await driver.perform("create", members, "order-create")
        assert [(r.ok, r.permanent, r.retry_after) for r in results if not r.ok] == [(False, False, 2)] * 35
        made = [(m, r.facts["id"]) for m, r in zip(members, results, strict=True) if r.ok]
        assert await world.calls("create") <= 5 + MAX_CONCURRENT_CALLS
        await world.heal()
        assert [s.facts["id"] for s in await driver.describe([m for m, _ in made])] == [id for _, id in made]

    async def test_a_place_that_is_not_the_members_own_is_never_sent(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        first, second = world.launch(2)
        wrong = [
            other(first, index=1),
            other(first, index=2),
            other(first, index=-1),
            other(first, count=0),
            other(first, token=str(uuid4())),
            other(first, token="no uuid"),
            msgspec.structs.replace(other(first, index=2), token=token_of(first.spec["launch"]["token"], 2)),
        ]
        results = await driver.perform("create", [*wrong, second], "order-create")
        assert [(r.ok, r.permanent) for r in results] == [(False, True)] * 7 + [(True, True)]
        assert all(r.error.startswith("the launch in the spec is wrong") for r in results[:7])
        assert await world.calls("create") == 1


class TestRemoval:
    """What was removed stays removed, and the rest of its launch is not touched."""

    @pytest.mark.parametrize("picky", [False, True])
    async def test_members_removed_since_are_told_and_the_others_are_still_there(
        self, driver: Ec2Driver, world: Ec2World, picky: bool
    ) -> None:
        members = world.launch(4)
        made = await create(driver, members)
        known(made[:2], await driver.perform("terminate", made[:2], "order-terminate"))
        await until(driver, ABSENT, *made[:2])
        await world.hand(picky=picky)  # EC2's words for a launch of which some are gone are not written anywhere
        results = await driver.perform("create", members, "order-create")
        assert [(r.ok, r.permanent, r.error) for r in results[:2]] == [(False, True, REMOVED)] * 2
        assert [(r.ok, r.facts) for r in results[2:]] == [(True, m.facts) for m in made[2:]]
        assert len(await world.launched(members[0])) == 4

    async def test_a_launch_that_is_gone_is_not_made_again(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(2)
        made = await create(driver, members)
        known(made, await driver.perform("terminate", made, "order-terminate"))
        await until(driver, ABSENT, *made)
        results = await driver.perform("create", members, "order-create")
        assert [(r.ok, r.permanent, r.error) for r in results] == [(False, True, REMOVED)] * 2
        assert len(await world.launched(members[0])) == 2

    async def test_one_that_is_known_by_its_place_alone_can_be_acted_on(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        members = world.launch(3)
        made = await create(driver, members)
        known([members[1]], await driver.perform("suspend", [members[1]], "order-suspend"))
        await until(driver, "Suspended", made[1])
        assert await observe(driver, *made) == ["Running", "Suspended", "Running"]
        known([members[2]], await driver.perform("terminate", [members[2]], "order-terminate"))
        await until(driver, ABSENT, made[2])
        assert await observe(driver, *members) == ["Running", "Suspended", ABSENT]


class TestInventory:
    """Members of a launch are told apart without a tag of their own."""

    async def test_it_computes_the_tokens(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(3)
        made = {m.facts["id"]: m for m in await create(driver, members[:1])}
        found = await driver.inventory()
        assert {f.token for f in found} == {m.token for m in members}  # also of those that nobody asked for
        assert {f.path for f in found} == {members[0].spec["launch"]["path"]}
        assert [f.token for f in found if f.id in made] == [members[0].token]

    async def test_a_launch_of_one_has_tags_of_its_own(self, driver: Ec2Driver, world: Ec2World) -> None:
        (member,) = await create(driver, world.launch(1))
        (found,) = await driver.inventory()
        assert (found.token, found.path, found.facts) == (member.token, member.path, member.facts)

    @pytest.mark.long
    async def test_a_hundred_members_are_looked_at_in_one_call(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(100)
        made = await create(driver, members)
        before = await world.calls(PROBE)
        assert [s.facts for s in await driver.describe(members)] == [m.facts for m in made]
        assert await world.calls(PROBE) - before == 1


async def test_a_vm_is_launched_into_what_it_shares(driver: Ec2Driver, world: Ec2World) -> None:
    shared = {
        "network": {"id": "vpc-1", "subnet": "subnet-1"},
        "securitygroup": {"id": "sg-1"},
        "sshkey": {"id": "key-1", "name": "key-1"},
    }
    (member,) = world.launch(1, shared=shared)
    (result,) = await driver.perform("create", [member], "order-create")
    assert result.error.startswith("InvalidGroup.NotFound")  # there is no such group
    (call,) = await world.recorded("create")
    names = ("SubnetId", "SecurityGroupId.1", "KeyName")
    assert [call["asked"][name] for name in names] == ["subnet-1", "sg-1", "key-1"]
