"""What a region of EC2 offers: names that it has, names that come close, and images by name."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from stead.drivers.base import RetryableError, ThrottledError
from stead.drivers.ec2.driver import Ec2Driver
from tests.drivers.conformance import known, until
from tests.drivers.ec2 import Ec2Cloud, Ec2World


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


async def image(world: Ec2World, name: str) -> str:
    """An image of our own."""
    id: str = (await world.do("register_image", Name=name))["ImageId"]
    return id


class TestTypes:
    """The field `spec`."""

    async def test_one_that_is_offered_takes_one_short_question(self, driver: Ec2Driver, world: Ec2World) -> None:
        assert await driver.check_offer("spec", "t3.micro") is None
        assert await world.calls("DescribeInstanceTypeOfferings") == 1

    @pytest.mark.parametrize(("wrong", "right"), [("t3.mikro", "t3.micro"), ("m5large", "m5.large")])
    async def test_a_slip_is_answered_with_what_was_meant(self, driver: Ec2Driver, wrong: str, right: str) -> None:
        near = await driver.check_offer("spec", wrong)
        assert near is not None
        assert right in near

    async def test_what_comes_close_to_nothing_has_no_answer(self, driver: Ec2Driver) -> None:
        assert await driver.check_offer("spec", "################") == []

    async def test_a_wildcard_is_no_name(self, driver: Ec2Driver) -> None:
        near = await driver.check_offer("spec", "t3.*")
        assert near
        assert all(name.startswith("t3") for name in near)

    async def test_no_answer_is_not_no(self, driver: Ec2Driver, world: Ec2World) -> None:
        await world.throttle(2)
        with pytest.raises(ThrottledError):
            await driver.check_offer("spec", "t3.micro")
        await world.heal()
        await world.silence()
        with pytest.raises(RetryableError):
            await driver.check_offer("image", "ami-12345678")


class TestImages:
    """The field `image`."""

    async def test_an_id_is_there_or_not(self, driver: Ec2Driver, world: Ec2World) -> None:
        id = await image(world, "web-1")
        assert await driver.check_offer("image", id) is None
        changed = f"{id[:-1]}{'0' if id[-1] != '0' else '1'}"
        assert await driver.check_offer("image", changed) == [id]
        assert await driver.check_offer("image", "ami-") == []

    async def test_a_name_is_there_or_comes_close(self, driver: Ec2Driver, world: Ec2World) -> None:
        for name in ("web-2024-01", "web-2024-02", "database-7"):
            await image(world, name)
        assert await driver.check_offer("image", "web-2024-02") is None
        assert await driver.check_offer("image", "web-2024-*") is None
        assert await driver.check_offer("image", "databse-7") == ["database-7"]
        near = await driver.check_offer("image", "web-2024-03")
        assert near is not None
        assert {*near} == {"web-2024-01", "web-2024-02"}
        assert await driver.check_offer("image", "quite-something-else") == []

    async def test_what_only_ec2_can_resolve_is_tried(self, driver: Ec2Driver, world: Ec2World) -> None:
        assert await driver.check_offer("image", "resolve:ssm:/somewhere") is None
        assert await world.calls("DescribeImages") == 0

    async def test_other_fields_are_not_looked_at(self, driver: Ec2Driver) -> None:
        assert await driver.check_offer("colour", "red") is None

    async def test_of_images_with_one_name_the_newest_is_launched(self, driver: Ec2Driver, world: Ec2World) -> None:
        await image(world, "web")
        newest = await image(world, "web")
        await image(world, "database")
        members = world.launch(2, image="web")
        made = known(members, await driver.perform("create", members, "order-create"))
        await until(driver, "Running", *made)
        (call,) = await world.recorded("create")
        assert call["asked"]["ImageId"] == newest

    async def test_only_our_own_and_amazons_images_are_looked_at(self, driver: Ec2Driver, world: Ec2World) -> None:
        await driver.check_offer("image", "web-2024")
        owners = [
            [value for name, value in sorted(call["asked"].items()) if name.startswith("Owner")]
            for call in await world.recorded("DescribeImages")
        ]
        assert owners == [["self", "amazon"], ["self"], ["amazon"]]

    async def test_a_newer_image_does_not_make_a_second_launch(self, driver: Ec2Driver, world: Ec2World) -> None:
        first = await image(world, "web")
        members = world.launch(2, image="web")
        await world.lose_reply("create")
        with pytest.raises(RetryableError):
            await driver.perform("create", members, "order-create")
        await image(world, "web")
        made = known(members, await driver.perform("create", members, "order-create"))
        assert [m.facts["id"] for m in made] == await world.launched(members[0])
        assert [call["asked"]["ImageId"] for call in await world.recorded("create")][::2] == [first, first]

    async def test_a_name_that_nobody_has_is_never_launched(self, driver: Ec2Driver, world: Ec2World) -> None:
        members = world.launch(2, image="nobody")
        results = await driver.perform("create", members, "order-create")
        assert {(r.ok, r.permanent, r.error) for r in results} == {
            (False, True, "there is no image nobody among our own and Amazon's")
        }
        assert await world.calls("create") == 0
