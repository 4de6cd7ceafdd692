"""EC2: its driver keeps every driver's promises on a server with EC2's manners, and reads its errors right."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.dev.children import free_port
from stead.dev.engines import Nats
from stead.drivers import registry
from stead.drivers.base import PROBE, TRANSITIONAL, Driver, PermanentError, RetryableError, ThrottledError
from stead.drivers.ec2.driver import Config, Ec2Driver
from stead.drivers.ec2.errors import THROTTLE_PAUSE, THROTTLING
from stead.drivers.ec2.instances import LIMIT
from stead.drivers.ec2.launches import Launch
from stead.lifecycle.events import Request
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import ABSENT
from tests.action_requests import requested
from tests.drivers.conformance import Conformance, World, create, known, observe, until
from tests.drivers.ec2 import ACTIONS, REGION, ROOT, Ec2Cloud, Ec2World, Planned
from tests.drivers.test_sim import saying
from tests.integration.whole import PATH, controller, running, settled
from tests.tiers import brief

NOWHERE = {"id": "i-0123456789abcdef0"}


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


@brief(
    "test_create_again_returns_the_same",
    "test_create_after_a_lost_reply_adopts_what_was_made",
    "test_suspend_and_resume_may_be_repeated",
    "test_terminate_may_be_repeated",
    "test_throttling_slows_the_lane_and_does_nothing",
    "test_inventory_has_what_is_there_with_token_and_path",
    "test_inventory_has_what_was_tagged_by_others_and_each_can_be_removed",
    "test_what_is_rejected_is_declined_and_leaves_all_as_it_was",
)
class TestConformance(Conformance):
    """On a real server."""

    async def test_a_batch_is_one_call(self, driver: Driver, world: World) -> None:
        """Where its members were planned as one launch; without a plan each of them is a launch of its own."""
        assert isinstance(world, Ec2World)
        await super().test_a_batch_is_one_call(driver, Planned(world, LIMIT))


class TestStates:
    """What instances go through."""

    async def test_a_slow_move_is_pending_and_arrives(self, driver: Ec2Driver, world: Ec2World) -> None:
        await world.hand(delay=0.2)
        member = world.member()
        for verb, state in (
            ("create", "Running"),
            ("suspend", "Suspended"),
            ("resume", "Running"),
            ("terminate", ABSENT),
        ):
            (result,) = await driver.perform(verb, [member], f"order-{verb}")
            assert (result.ok, result.pending) == (True, state)
            await until(driver, state, member)

    async def test_what_is_on_its_way_is_seen_moving(self, driver: Ec2Driver, world: Ec2World) -> None:
        (made,) = await create(driver, world)
        await world.hand(delay=3600)
        new = world.member()
        await driver.perform("create", [new], "order-create")
        for verb in ("suspend", "terminate"):
            await driver.perform(verb, [made], f"order-{verb}")
            assert await observe(driver, made, new) == [TRANSITIONAL, TRANSITIONAL]
            assert [found.state for found in await driver.inventory()] == [TRANSITIONAL, TRANSITIONAL]

    async def test_what_is_repeated_too_early_is_still_pending(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world)
        await world.hand(delay=3600)
        for _ in range(2):
            (result,) = await driver.perform("suspend", made, "order-suspend")
            assert (result.ok, result.pending) == (True, "Suspended")

    async def test_what_is_there_already_is_not_pending(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world)
        for verb in ("create", "resume", "suspend", "terminate"):
            for _ in range(2 if verb in ("suspend", "terminate") else 1):
                (result,) = await driver.perform(verb, made, f"order-{verb}")
                assert (result.ok, result.pending) == (True, "")

    async def test_one_that_was_stopped_is_not_created_again_and_not_called_finished(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        made = await create(driver, world)
        await driver.perform("suspend", made, "order-suspend")
        await until(driver, "Suspended", *made)
        (result,) = await driver.perform("create", made, "order-create")
        assert (result.ok, result.pending, result.facts) == (True, "Running", made[0].facts)

    async def test_one_that_is_going_is_not_created_again(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world)
        await world.hand(delay=3600)
        await driver.perform("terminate", made, "order-terminate")
        (result,) = await driver.perform("create", made, "order-create")
        assert (result.ok, result.permanent, result.facts) == (False, True, made[0].facts)


class TestBatches:
    """EC2 refuses all for one; each member has its own answer all the same."""

    async def test_where_all_is_well_it_is_one_call_and_no_look(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world, 3)
        observations = await world.calls(PROBE)
        for verb in ("reboot", "suspend", "terminate"):
            known(made, await driver.perform(verb, made, f"order-{verb}"))
            assert await world.calls(verb) == 1
        assert await world.calls(PROBE) == observations

    async def test_a_wrong_state_is_final_and_a_moving_one_is_not(self, driver: Ec2Driver, world: Ec2World) -> None:
        stopped, running = await create(driver, world, 2)
        await driver.perform("suspend", [stopped], "order-suspend")
        await until(driver, "Suspended", stopped)
        await world.hand(delay=3600)
        moving = world.member()
        await driver.perform("create", [moving], "order-create")
        results = await driver.perform("reboot", [stopped, moving, running], "order-reboot")
        assert [(r.ok, r.permanent) for r in results[:2]] == [(False, True), (False, False)]
        assert all(r.error.startswith("IncorrectInstanceState") for r in results[:2])
        assert (results[2].ok, results[2].pending) == (True, "")
        asked = [call["asked"] for call in await world.recorded("reboot")]
        assert len(asked) == 2
        assert [asked[1]["InstanceId.1"], "InstanceId.2" in asked[1]] == [running.facts["id"], False]

    async def test_those_already_there_are_done_though_another_is_refused(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        stopped, running, gone = await create(driver, world, 3)
        await driver.perform("suspend", [stopped], "order-suspend")
        await driver.perform("terminate", [gone], "order-terminate")
        await until(driver, "Suspended", stopped)
        results = await driver.perform("suspend", [stopped, gone, running], "order-again")
        assert [(r.ok, r.permanent) for r in results] == [(True, True), (False, True), (True, True)]
        await until(driver, "Suspended", stopped, running)

    async def test_an_id_that_nobody_has_hides_nobody(self, driver: Ec2Driver, world: Ec2World) -> None:
        lost, first, last = await create(driver, world, 3)
        never = msgspec.structs.replace(world.member(), facts=NOWHERE)
        wrong = msgspec.structs.replace(lost, facts=NOWHERE)
        assert await observe(driver, never, first, wrong, last) == [ABSENT, "Running", "Running", "Running"]
        results = await driver.perform("suspend", [never, first, wrong, last], "order-suspend")
        assert [r.ok for r in results] == [False, True, True, True]
        assert results[2].facts == lost.facts
        await until(driver, "Suspended", lost, first, last)
        results = await driver.perform("terminate", [never, first, wrong, last], "order-terminate")
        assert [r.ok for r in results] == [True] * 4
        await until(driver, ABSENT, lost, first, last)

    async def test_what_terminate_does_not_find_is_looked_for_again(self, driver: Ec2Driver, world: Ec2World) -> None:
        never = world.member()
        results = await driver.perform(
            "terminate", [never, msgspec.structs.replace(never, facts=NOWHERE)], "order-terminate"
        )
        assert [(r.ok, r.pending) for r in results] == [(True, ABSENT)] * 2

    async def test_one_that_is_protected_does_not_protect_the_others(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        first, guarded, last = await create(driver, world, 3)
        await world.hand(guarded=[guarded.facts["id"]])
        results = await driver.perform("suspend", [first, guarded, last], "order-suspend")
        assert [(r.ok, r.permanent) for r in results] == [(True, True), (False, True), (True, True)]
        assert results[1].error.startswith("OperationNotPermitted")
        await until(driver, "Suspended", first, last)
        assert await observe(driver, guarded) == ["Running"]

    async def test_a_refusal_that_names_nobody_is_told_to_all(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world, 2)
        await world.fault("suspend", do="refuse", status=400, code="IncorrectInstanceState")
        results = await driver.perform("suspend", made, "order-suspend")
        assert [(r.ok, r.permanent) for r in results] == [(False, False)] * 2
        assert await world.calls("suspend") == 1

    async def test_one_instance_named_twice_is_asked_for_once(self, driver: Ec2Driver, world: Ec2World) -> None:
        (made,) = await create(driver, world)
        results = await driver.perform("reboot", [made, made], "order-reboot")
        assert [r.ok for r in results] == [True, True]
        assert "InstanceId.2" not in (await world.recorded("reboot"))[0]["asked"]

    async def test_the_largest_batch_is_one_call(self, driver: Ec2Driver, world: Ec2World) -> None:
        (made,) = await create(driver, world)
        others = [msgspec.structs.replace(world.member(), facts=NOWHERE) for _ in range(LIMIT - 1)]
        before = await world.calls(PROBE)
        assert await observe(driver, made, *others) == ["Running"] + [ABSENT] * (LIMIT - 1)
        assert await world.calls(PROBE) - before == 2  # by id, and by token


def refusal(status: int, code: str) -> dict[str, Any]:
    return {"do": "refuse", "status": status, "code": code}


class TestErrors:
    """What EC2's errors mean."""

    @pytest.mark.parametrize("code", sorted(THROTTLING))
    async def test_every_code_for_too_many_calls_is_throttling(
        self, driver: Ec2Driver, world: Ec2World, code: str
    ) -> None:
        await world.fault("*", **refusal(400, code))
        with pytest.raises(ThrottledError, match=code) as raised:
            await driver.describe([world.member()])
        assert (raised.value.after, raised.value.unknown) == (THROTTLE_PAUSE, False)

    @pytest.mark.parametrize(
        ("fault", "unknown"),
        [
            (refusal(500, "InternalError"), True),
            (refusal(503, "Unavailable"), True),
            ({"do": "drop"}, True),
            ({"do": "lose"}, True),
            (refusal(500, "InsufficientInstanceCapacity"), False),
            (refusal(400, "ExpiredToken"), False),
        ],
        ids=str,
    )
    async def test_what_may_work_later_tells_whether_it_may_have_been_done(
        self, driver: Ec2Driver, world: Ec2World, fault: Mapping[str, Any], unknown: bool
    ) -> None:
        await world.fault("create", **fault)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [world.member()], "order-create")
        assert raised.value.unknown == unknown
        assert not isinstance(raised.value, ThrottledError)
        assert await world.calls("create") == 1  # nobody but us tries again

    async def test_what_is_not_allowed_is_permanent(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world)
        await world.fault("*", **refusal(403, "UnauthorizedOperation"))
        with pytest.raises(PermanentError, match="UnauthorizedOperation"):
            await driver.perform("suspend", made, "order-suspend")
        with pytest.raises(PermanentError, match="UnauthorizedOperation"):
            await driver.describe(made)
        (result,) = await driver.perform("create", [world.member()], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert result.error.startswith("UnauthorizedOperation")

    async def test_a_server_that_is_not_there_did_nothing(self, world: Ec2World) -> None:
        driver = world.driver(endpoint_url=f"http://127.0.0.1:{free_port()}")
        with pytest.raises(RetryableError, match="cannot be reached") as raised:
            await driver.perform("create", [world.member()], "order-create")
        assert not raised.value.unknown
        await driver.close()

    async def test_a_slow_trickle_ends_in_time(self, world: Ec2World) -> None:
        over = asyncio.Event()

        async def trickle(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\n")
            while not over.is_set():
                writer.write(b"x-more: and more\r\n")
                await writer.drain()
                await asyncio.sleep(0.3)  # sleep: the pace of the trickle

        async with saying(trickle) as url:
            driver = world.driver(endpoint_url=url, timeout=0.5)
            began = time.monotonic()
            with pytest.raises(RetryableError) as raised:
                await driver.perform("create", [world.member()], "order-create")
            assert time.monotonic() - began < 20  # its headers alone would last thirty
            over.set()
            assert raised.value.unknown
            await driver.close()

    async def test_what_had_to_wait_too_long_is_never_sent(self, world: Ec2World) -> None:
        await world.fault("create", do="hang", seconds=3)
        driver = world.driver(timeout=2)
        began = time.monotonic()
        orders = [driver.perform("create", [world.member()], "order-create") for _ in range(20)]
        raised = await asyncio.gather(*orders, return_exceptions=True)
        assert time.monotonic() - began < 5 * driver.longest_call
        errors = [error for error in raised if isinstance(error, RetryableError)]
        assert len(errors) == 20
        unsent = [error for error in errors if not error.unknown]
        assert 4 <= len(unsent) < 20
        assert await world.calls("create") == 20 - len(unsent)
        await driver.close()


class TestLaunch:
    """What is asked for."""

    async def test_the_spec_and_the_tags_are_in_the_one_call(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = {"subnet": "subnet-1", "securitygroups": ["sg-1", "sg-2"], "sshkey": "mine", "name": "web"}
        member = world.member()
        member = msgspec.structs.replace(member, spec={**member.spec, **network})
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent) == (False, True)  # there are no such groups
        assert result.error.startswith("InvalidGroup.NotFound")
        (call,) = await world.recorded("create")
        asked = call["asked"]
        tag = "TagSpecification.1.Tag"
        tags = {asked[f"{tag}.{n}.Key"]: asked[f"{tag}.{n}.Value"] for n in range(1, 5)}
        assert tags == {
            "stead:owner": "stead",
            "stead:token": member.token,
            "stead:path": member.path,
            "Name": "web",
        }
        names = "ImageId InstanceType SubnetId SecurityGroupId.1 SecurityGroupId.2 KeyName MaxCount ClientToken"
        assert [asked[name] for name in names.split()] == [
            "ami-12345678",
            "t3.micro",
            "subnet-1",
            "sg-1",
            "sg-2",
            "mine",
            "1",
            member.token,
        ]

    async def test_a_spec_without_an_image_is_never_sent(self, driver: Ec2Driver, world: Ec2World) -> None:
        member = msgspec.structs.replace(world.member(), spec={"cpu": 2})
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent, result.error) == (False, True, "the spec lacks image and spec")
        assert await world.calls("create") == 0

    async def test_a_spec_that_is_no_text_is_never_sent(self, driver: Ec2Driver, world: Ec2World) -> None:
        member = msgspec.structs.replace(world.member(), spec={"image": 7, "spec": "t3.micro"})
        with pytest.raises(PermanentError, match="ImageId"):
            await driver.perform("create", [member], "order-create")
        assert await world.calls("create") == 0

    @pytest.mark.parametrize("token", ["t" * 200, "ein schöner Name"])
    async def test_any_token_makes_one(self, driver: Ec2Driver, world: Ec2World, token: str) -> None:
        member = msgspec.structs.replace(world.member(), token=token)
        first = known([member], await driver.perform("create", [member], "order-create"))
        again = known([member], await driver.perform("create", [member], "order-create"))
        assert first == again
        assert await world.made(token) == 1
        assert [seen.facts for seen in await until(driver, "Running", member)] == [first[0].facts]

    async def test_the_order_stands_in_the_calls(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world)
        await driver.perform("suspend", made, "order/7 \r\n")
        (call,) = await world.recorded("suspend")
        assert call["agent"].endswith(" stead stead-order/order_7___")
        assert "stead-order/order-create" in (await world.recorded("create"))[0]["agent"]


class TestInventory:
    """What is there."""

    async def test_lists_of_many_pages_are_whole(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world, 5)
        await world.hand(page=2)
        before = await world.calls(PROBE)
        assert {found.id for found in await driver.inventory()} == {member.facts["id"] for member in made}
        assert await world.calls(PROBE) - before == 3
        bare = [msgspec.structs.replace(member, facts={}) for member in made]
        assert [seen.facts for seen in await driver.describe(bare)] == [member.facts for member in made]

    async def test_it_has_what_its_owner_has_and_nothing_else(self, driver: Ec2Driver, world: Ec2World) -> None:
        (ours,) = await create(driver, world)
        other = world.driver(owner="somebody")
        (theirs,) = await create(other, world)
        assert [found.id for found in await driver.inventory()] == [ours.facts["id"]]
        assert [found.id for found in await other.inventory()] == [theirs.facts["id"]]
        await other.close()


class TestConfig:
    """How it is set up."""

    async def test_the_registry_makes_it_from_text(self, world: Ec2World) -> None:
        place = {"provider": "aws", "region": REGION, "endpoint_url": world.cloud.url, "timeout": "5"}
        driver = registry.make("ec2", place)
        assert driver.longest_call == 5
        assert await driver.inventory() == []
        assert await world.calls(PROBE) == 1
        await driver.close()

    async def test_a_profile_brings_its_credentials(
        self, world: Ec2World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "credentials").write_text(
            f"[robot]\naws_access_key_id = {world.key}\naws_secret_access_key = secret\n"
        )
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASOMEBODYELSE")
        driver = world.driver(profile="robot")
        await driver.inventory()
        assert await world.calls(PROBE) == 1
        await driver.close()

    async def test_without_credentials_nothing_is_sent(
        self, world: Ec2World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        driver = world.driver()
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [world.member()], "order-create")
        assert not raised.value.unknown
        assert await world.calls("create") == 0
        await driver.close()

    @pytest.mark.parametrize(
        "wrong",
        [
            {"profile": "nobody"},
            {"colour": "red"},
            {"timeout": "0"},
            {"region": "no region"},
            {"endpoint_url": "here"},
        ],
        ids=str,
    )
    def test_a_wrong_one_is_told(self, world: Ec2World, wrong: Mapping[str, str]) -> None:
        with pytest.raises(ValueError, match="the configuration of EC2 is wrong"):
            registry.make("ec2", {"provider": "aws", "region": REGION, **wrong})

    def test_without_its_library_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.startswith("stead.drivers.ec2.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "botocore", None)
        with pytest.raises(ValueError, match=r"needs botocore.*, which comes with stead\[ec2\]"):
            registry.make("ec2", {"region": REGION})

    def test_the_page_knows_every_setting_every_field_and_every_permission(self, world: Ec2World) -> None:
        page = (ROOT / "docs/ec2.md").read_text()
        vm = ["image", "spec", "subnet", "securitygroups", "sshkey", "name", "shared", "launch"]
        others = ["cidr", "zone", "rules", "publicKey"]
        names = [*Config.__struct_fields__, *vm, *others, *Launch.__struct_fields__]
        assert [name for name in names if f"`{name}`" not in page] == []
        source = "".join(path.read_text() for path in (ROOT / "src/stead/drivers/ec2").glob("*.py"))
        calls: dict[str, str] = world.behind._client.meta.method_to_api_mapping
        used = {calls[word] for word in re.findall(r'"([a-z_]+)"', source) if word in calls}
        assert used >= {*ACTIONS.values()}
        allowed = {*re.findall(r'"ec2:(\w+)"', page)} - {"CreateAction", "CreateTags"}
        assert allowed == used

    async def test_a_call_fits_into_what_a_cell_allows(self, world: Ec2World) -> None:
        driver = registry.make("ec2", {"region": REGION})
        assert driver.longest_call <= Pace().call
        await driver.close()


@pytest.mark.long
async def test_a_vm_through_every_layer(
    migrated: str, nats_server: Nats, cell: str, driver: Ec2Driver, world: Ec2World
) -> None:
    """On real PostgreSQL and NATS, with slow moves, calls that are turned away, and an answer that gets lost."""
    lane = f"aws.{REGION}"
    faults = {
        "RunInstances": [
            {"do": "refuse", "status": 503, "code": "RequestLimitExceeded", "after": 1, "times": 1},
            {"do": "lose", "times": 1},
        ],
        "StopInstances": [{"do": "lose", "times": 1}],
    }
    await world.hand(delay=0.3, faults=faults)
    steps = {
        "create": "Running",
        "suspend": "Suspended",
        "resume": "Running",
        "reboot": "Running",
        "terminate": "Terminated",
    }
    async with controller(migrated, nats_server, cell) as one, Bus(nats_server.url, cell, agent="a1") as bus:
        await bus.connect(60)
        brisk = world.driver(timeout=Pace().call)
        async with running(Agent(bus, "a1", {lane: brisk}).run()):
            for action, state in steps.items():
                wish = requested("vm", PATH, Request(action), "ann", world.other_spec(), lane)
                assert isinstance(await one.admission.admit(*wish), Accepted)
                await settled(one, state)
        await brisk.close()
        row = await one.store.resources.read(PATH)
    assert row is not None
    assert await world.made(str(row.token)) == 1
    assert [await world.calls(verb) for verb in steps] == [3, 2, 1, 1, 1]
    assert await driver.inventory() == []
