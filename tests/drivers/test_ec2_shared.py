"""What VMs share on EC2: made once, finished where it was interrupted, and removed whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from stead.drivers.base import TRANSITIONAL, Member, PermanentError, RetryableError, ThrottledError
from stead.drivers.ec2.driver import Ec2Driver
from stead.drivers.ec2.securitygroups import rules
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.conformance import known, observe, until
from tests.drivers.ec2 import Ec2Cloud, Ec2World
from tests.tiers import first_fast

PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJd8g+PZhsp5yQVnvHCPLPOMqKMbEBqJ3lMHmYIPmYFW ann@home"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl bob@home"

STEPS = [
    "CreateVpc",
    "CreateSubnet",
    "ModifySubnetAttribute",
    "CreateInternetGateway",
    "AttachInternetGateway",
    "CreateRoute",
]
"""What it takes to make a network."""

ENDS = ["DeleteSubnet", "DetachInternetGateway", "DeleteInternetGateway", "DeleteVpc"]
"""What it takes to remove one."""


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


async def create(driver: Ec2Driver, member: Member) -> Member:
    (made,) = known([member], await driver.perform("create", [member], "order-create"))
    await until(driver, "Available", made)
    return made


async def delete(driver: Ec2Driver, member: Member) -> None:
    known([member], await driver.perform("delete", [member], "order-delete"))
    await until(driver, ABSENT, member)


async def parts(world: Ec2World) -> dict[str, int]:
    """How many of everything there are."""
    return {
        field: len(await world.things(operation, field))
        for operation, field in (
            ("describe_vpcs", "Vpcs"),
            ("describe_subnets", "Subnets"),
            ("describe_internet_gateways", "InternetGateways"),
            ("describe_security_groups", "SecurityGroups"),
            ("describe_key_pairs", "KeyPairs"),
        )
    }


WHOLE = {"Vpcs": 1, "Subnets": 1, "InternetGateways": 1, "SecurityGroups": 0, "KeyPairs": 0}
NOTHING = dict.fromkeys(WHOLE, 0)


class TestNetwork:
    """A VPC and all that makes a VM in it reachable."""

    async def test_it_is_a_vpc_with_a_subnet_that_the_world_can_reach(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        made = await create(driver, world.thing("network", cidr="10.7.0.0/20", name="shop"))
        (vpc,) = await world.things("describe_vpcs", "Vpcs")
        (subnet,) = await world.things("describe_subnets", "Subnets")
        (gateway,) = await world.things("describe_internet_gateways", "InternetGateways")
        assert made.facts == {"id": vpc["VpcId"], "subnet": subnet["SubnetId"]}
        assert (vpc["CidrBlock"], subnet["CidrBlock"]) == ("10.7.0.0/20", "10.7.0.0/20")
        assert subnet["MapPublicIpOnLaunch"]
        assert [a["VpcId"] for a in gateway["Attachments"]] == [vpc["VpcId"]]
        here = [{"Name": "vpc-id", "Values": [vpc["VpcId"]]}]
        tables = (await world.do("describe_route_tables", Filters=here))["RouteTables"]
        routes = {r["DestinationCidrBlock"]: r["GatewayId"] for table in tables for r in table["Routes"]}
        assert routes["0.0.0.0/0"] == gateway["InternetGatewayId"]
        for thing in (vpc, subnet, gateway):
            tags = {tag["Key"]: tag["Value"] for tag in thing["Tags"]}
            assert tags == {
                "stead:owner": "stead",
                "stead:token": made.token,
                "stead:path": made.path,
                "Name": "shop",
            }

    async def test_the_default_has_room_for_many(self, driver: Ec2Driver, world: Ec2World) -> None:
        await create(driver, world.thing("network"))
        (vpc,) = await world.things("describe_vpcs", "Vpcs")
        assert vpc["CidrBlock"] == "10.0.0.0/16"

    @pytest.mark.parametrize("step", first_fast(STEPS, 2))
    @pytest.mark.parametrize("fault", first_fast(["lose", "drop"]))
    async def test_whichever_call_is_the_last_the_next_attempt_finishes_it(
        self, driver: Ec2Driver, world: Ec2World, step: str, fault: str
    ) -> None:
        member = world.thing("network")
        await world.fault(step, do=fault, times=1)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        word = {("CreateVpc", "drop"): ABSENT, ("CreateRoute", "lose"): "Available"}.get((step, fault), BROKEN)
        assert await observe(driver, member) == [word]
        made = await create(driver, member)
        assert await parts(world) == WHOLE
        again = await create(driver, member)
        assert again.facts == made.facts

    async def test_what_is_there_is_looked_at_and_not_made_again(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("network"))
        before = {step: await world.calls(step) for step in STEPS}
        await create(driver, made)
        assert {step: await world.calls(step) for step in STEPS} == before == dict.fromkeys(STEPS, 1)

    async def test_on_its_way_it_is_moving(self, driver: Ec2Driver, world: Ec2World) -> None:
        await world.hand(delay=3600)
        member = world.thing("network")
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.pending, {*result.facts}) == (True, "Available", {"id", "subnet"})
        assert await observe(driver, member) == [TRANSITIONAL]
        assert [found.state for found in await driver.inventory()] == [TRANSITIONAL]

    async def test_one_that_is_half_made_is_moving_while_its_vpc_is(self, driver: Ec2Driver, world: Ec2World) -> None:
        await world.hand(delay=3600, faults={"CreateSubnet": [{"do": "drop"}]})
        member = world.thing("network")
        with pytest.raises(RetryableError):
            await driver.perform("create", [member], "order-create")
        assert await observe(driver, member) == [TRANSITIONAL]

    async def test_a_second_vpc_that_was_made_unseen_is_removed(self, driver: Ec2Driver, world: Ec2World) -> None:
        member = world.thing("network")
        await world.hand(hidden=True, faults={"CreateVpc": [{"do": "lose", "times": 1}]})
        for _ in range(2):  # the answer to the first is lost; the second does not see what it has made
            with pytest.raises(RetryableError):
                await driver.perform("create", [member], "order-create")
        await world.heal()
        assert (await parts(world))["Vpcs"] == 2
        assert [found.token for found in await driver.inventory()] == [member.token] * 2
        await create(driver, member)
        assert await parts(world) == WHOLE
        assert len(await driver.inventory()) == 1

    async def test_what_ec2_does_not_show_yet_is_asked_for_again_and_not_made_twice(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        member = world.thing("network")
        await world.fault("CreateSubnet", do="drop", times=1)
        with pytest.raises(RetryableError):
            await driver.perform("create", [member], "order-create")
        await world.hand(hidden=True)
        with pytest.raises(RetryableError, match="does not show yet") as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        with pytest.raises(RetryableError, match="does not know yet"):  # its subnet is there, unseen
            await driver.perform("create", [member], "order-create")
        await world.heal()
        assert await observe(driver, member) == ["Available"]
        await create(driver, member)
        assert await parts(world) == WHOLE

    async def test_another_spec_under_the_same_token_is_refused(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("network"))
        changed = msgspec.structs.replace(made, spec={"cidr": "10.9.0.0/16"})
        (result,) = await driver.perform("create", [changed], "order-create")
        assert (result.ok, result.permanent, result.facts["id"]) == (False, True, made.facts["id"])
        assert "another spec" in result.error

    async def test_addresses_that_make_no_sense_are_told_in_ec2s_words(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        (result,) = await driver.perform("create", [world.thing("network", cidr="10.0.0.0/4")], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert result.error.startswith("InvalidVpc.Range")
        (result,) = await driver.perform("create", [world.thing("network", cidr="all of it")], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "'all of it' does not appear to be" in result.error
        assert await world.calls("CreateVpc") == 1

    async def test_addresses_may_be_those_of_anything_in_it(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("network", cidr="10.1.2.3/16"))
        (vpc,) = await world.things("describe_vpcs", "Vpcs")
        assert vpc["CidrBlock"] == "10.1.0.0/16"
        await create(driver, made)

    async def test_a_refusal_half_way_tells_what_was_made(self, driver: Ec2Driver, world: Ec2World) -> None:
        code = "InternetGatewayLimitExceeded"
        await world.fault("CreateInternetGateway", do="refuse", status=400, code=code)
        member = world.thing("network")
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert result.error.startswith(code)
        (seen,) = await driver.describe([member])
        assert result.facts == seen.facts
        await world.heal()
        await delete(driver, member)
        assert await parts(world) == NOTHING

    @pytest.mark.long
    async def test_throttling_in_the_middle_leaves_open_what_was_done(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        member = world.thing("network")
        await world.throttle(2)
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [member], "order-create")
        assert not raised.value.unknown
        await world.heal()
        await world.fault("CreateSubnet", do="refuse", status=503, code="RequestLimitExceeded", after=2)
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [member], "order-create")
        assert (raised.value.unknown, raised.value.after) == (True, 2)
        await world.heal()
        slow = {"do": "refuse", "status": 503, "code": "SlowDown"}
        await world.hand(faults={"DescribeSubnets": [{"times": 1}, slow]})  # the look at the end of it
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        await world.heal()
        await create(driver, member)
        assert await parts(world) == WHOLE

    async def test_a_route_into_nothing_is_led_to_the_new_gateway(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("network"))
        (gateway,) = await world.things("describe_internet_gateways", "InternetGateways")
        id = gateway["InternetGatewayId"]
        await world.do("detach_internet_gateway", InternetGatewayId=id, VpcId=made.facts["id"])
        await world.do("delete_internet_gateway", InternetGatewayId=id)
        assert await observe(driver, made) == [BROKEN]
        await create(driver, made)
        assert await world.calls("ReplaceRoute") == 1
        assert await parts(world) == WHOLE

    @pytest.mark.parametrize("step", first_fast(ENDS))
    @pytest.mark.parametrize("fault", first_fast(["lose", "drop"]))
    async def test_a_removal_that_was_interrupted_is_finished(
        self, driver: Ec2Driver, world: Ec2World, step: str, fault: str
    ) -> None:
        made = await create(driver, world.thing("network"))
        await world.fault(step, do=fault, times=1)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("delete", [made], "order-delete")
        assert raised.value.unknown
        await delete(driver, made)
        assert await parts(world) == NOTHING

    async def test_what_is_gone_or_never_was_is_deleted(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("network"))
        await delete(driver, made)
        for member in (made, world.thing("network")):
            (result,) = await driver.perform("delete", [member], "order-delete")
            assert (result.ok, result.pending) == (True, ABSENT)

    @pytest.mark.parametrize(
        ("step", "code"),
        [
            ("DeleteVpc", "InvalidVpcID.NotFound"),
            ("DetachInternetGateway", "Gateway.NotAttached"),
            ("DeleteSubnet", "InvalidSubnetID.NotFound"),
        ],
    )
    async def test_what_somebody_else_removes_meanwhile_is_gone_as_well(
        self, driver: Ec2Driver, world: Ec2World, step: str, code: str
    ) -> None:
        made = await create(driver, world.thing("network"))
        await world.fault(step, do="refuse", status=400, code=code)
        (result,) = await driver.perform("delete", [made], "order-delete")
        # It goes on. Where nobody had removed it in truth, EC2 keeps what depends on it.
        assert (result.ok, result.error[:19]) == (
            (True, "") if step == "DeleteVpc" else (False, "DependencyViolation")
        )
        await world.heal()
        await delete(driver, made)
        assert await parts(world) == NOTHING

    async def test_it_is_kept_whole_while_there_are_vms_in_it(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        (vm,) = world.launch(1, shared={"network": network.facts})
        (vm,) = known([vm], await driver.perform("create", [vm], "order-create"))
        await until(driver, "Running", vm)
        (result,) = await driver.perform("delete", [network], "order-delete")
        assert (result.ok, result.permanent) == (False, False)
        assert result.error.startswith("DependencyViolation")
        assert await observe(driver, network) == ["Available"]
        known([vm], await driver.perform("terminate", [vm], "order-terminate"))
        await until(driver, ABSENT, vm)
        await delete(driver, network)
        assert await parts(world) == NOTHING


class TestSecurityGroup:
    """Who may speak to whom."""

    async def test_the_default_lets_in_ssh_and_its_own_members(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        made = await create(driver, world.thing("securitygroup", shared={"network": network.facts}))
        (group,) = await world.things("describe_security_groups", "SecurityGroups")
        assert (group["GroupId"], group["VpcId"]) == (made.facts["id"], network.facts["id"])
        allowed = {
            (p["IpProtocol"], p.get("FromPort"), p.get("ToPort")): (
                [r["CidrIp"] for r in p["IpRanges"]],
                [g["GroupId"] for g in p["UserIdGroupPairs"]],
            )
            for p in group["IpPermissions"]
        }
        assert allowed == {("tcp", 22, 22): (["0.0.0.0/0"], []), ("-1", None, None): ([], [made.facts["id"]])}
        await create(driver, made)
        assert await world.calls("AuthorizeSecurityGroupIngress") == 1

    @pytest.mark.parametrize("step", ["CreateSecurityGroup", "AuthorizeSecurityGroupIngress"])
    @pytest.mark.parametrize("fault", first_fast(["lose", "drop"]))
    async def test_whichever_call_is_the_last_the_next_attempt_finishes_it(
        self, driver: Ec2Driver, world: Ec2World, step: str, fault: str
    ) -> None:
        network = await create(driver, world.thing("network"))
        member = world.thing("securitygroup", shared={"network": network.facts})
        await world.fault(step, do=fault, times=1)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        words = {("CreateSecurityGroup", "drop"): ABSENT, ("AuthorizeSecurityGroupIngress", "lose"): "Available"}
        assert await observe(driver, member) == [words.get((step, fault), BROKEN)]
        made = await create(driver, member)
        assert (await create(driver, member)).facts == made.facts
        (group,) = await world.things("describe_security_groups", "SecurityGroups")
        assert len(group["IpPermissions"]) == 2

    @pytest.mark.long
    async def test_sixteen_at_once_make_one(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        member = world.thing("securitygroup", shared={"network": network.facts})
        told = await asyncio.gather(*(driver.perform("create", [member], f"order-{n}") for n in range(16)))
        assert len({result.facts["id"] for (result,) in told if result.ok}) == 1
        assert all(result.ok for (result,) in told)

    async def test_what_ec2_is_slow_to_show_is_asked_for_again_or_there_already(
        self, driver: Ec2Driver, world: Ec2World
    ) -> None:
        network = await create(driver, world.thing("network"))
        member = world.thing("securitygroup", shared={"network": network.facts})
        step = "AuthorizeSecurityGroupIngress"
        await world.fault(step, do="refuse", status=400, code="InvalidGroup.NotFound")
        with pytest.raises(RetryableError, match="does not know yet") as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        await world.fault(step, do="refuse", status=400, code="InvalidPermission.Duplicate")
        known([member], await driver.perform("create", [member], "order-create"))
        await world.fault(step, do="refuse", status=400, code="RulesPerSecurityGroupLimitExceeded")
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent, result.error[:5]) == (False, True, "Rules")
        (seen,) = await driver.describe([member])
        assert (seen.state, seen.facts) == (BROKEN, result.facts)

    async def test_rules_in_our_words_are_rules_in_ec2s(self) -> None:
        spec = {
            "rules": [
                {"protocol": "TCP", "ports": "8000-8100", "from": "10.0.0.9/8"},
                {"protocol": "udp", "ports": 53, "from": "2001:db8::/32"},
                {"protocol": "tcp", "ports": "all", "from": "members"},
                {"protocol": "icmp"},
            ]
        }
        assert rules(spec, "sg-1") == [
            {"IpProtocol": "tcp", "FromPort": 8000, "ToPort": 8100, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]},
            {"IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}]},
            {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535, "UserIdGroupPairs": [{"GroupId": "sg-1"}]},
            {"IpProtocol": "icmp", "FromPort": -1, "ToPort": -1, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]},
        ]

    @pytest.mark.parametrize(
        "rule",
        [
            {"ports": "22", "from": "anywhere"},
            {"ports": "ssh"},
            {"ports": "9-7"},
            {"ports": "70000"},
            {"protocol": "icmp", "ports": "22"},
            "22",
        ],
        ids=str,
    )
    async def test_a_rule_that_makes_no_sense_is_never_sent(
        self, driver: Ec2Driver, world: Ec2World, rule: Any
    ) -> None:
        member = world.thing("securitygroup", shared={"network": {"id": "vpc-1"}}, rules=[rule])
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "makes no sense" in result.error
        assert await world.calls("CreateSecurityGroup") == 0

    async def test_without_rules_it_lets_nobody_in(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        await create(driver, world.thing("securitygroup", shared={"network": network.facts}, rules=[]))
        (group,) = await world.things("describe_security_groups", "SecurityGroups")
        assert group["IpPermissions"] == []

    async def test_without_a_network_it_is_never_sent(self, driver: Ec2Driver, world: Ec2World) -> None:
        (result,) = await driver.perform("create", [world.thing("securitygroup")], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "a security group is in a network" in result.error
        assert await world.calls("CreateSecurityGroup") == 0

    async def test_one_in_use_is_kept_and_says_so(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        group = await create(driver, world.thing("securitygroup", shared={"network": network.facts}))
        (vm,) = world.launch(1, shared={"network": network.facts, "securitygroup": group.facts})
        (vm,) = known([vm], await driver.perform("create", [vm], "order-create"))
        for used in (group, network):
            (result,) = await driver.perform("delete", [used], "order-delete")
            assert (result.ok, result.permanent) == (False, False)
            assert result.error.startswith("DependencyViolation")
        known([vm], await driver.perform("terminate", [vm], "order-terminate"))
        await until(driver, ABSENT, vm)
        await delete(driver, group)
        await delete(driver, group)
        await delete(driver, network)


class TestKey:
    """The public half of somebody's key."""

    async def test_it_is_there_under_a_name_of_its_own(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("sshkey", publicKey=f"{PUBLIC}\n"))
        (key,) = await world.things("describe_key_pairs", "KeyPairs")
        assert made.facts == {"id": key["KeyName"], "name": key["KeyName"]}

    async def test_sixteen_at_once_make_one(self, driver: Ec2Driver, world: Ec2World) -> None:
        member = world.thing("sshkey", publicKey=PUBLIC)
        told = await asyncio.gather(*(driver.perform("create", [member], f"order-{n}") for n in range(16)))
        assert all(result.ok for (result,) in told)
        assert len(await world.things("describe_key_pairs", "KeyPairs")) == 1

    async def test_after_a_lost_reply_it_is_adopted(self, driver: Ec2Driver, world: Ec2World) -> None:
        member = world.thing("sshkey", publicKey=PUBLIC)
        await world.fault("ImportKeyPair", do="lose", times=1)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        await create(driver, member)

    async def test_another_key_under_the_same_token_is_refused(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("sshkey", publicKey=PUBLIC))
        changed = msgspec.structs.replace(made, spec={"publicKey": OTHER})
        (result,) = await driver.perform("create", [changed], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "another key" in result.error

    @pytest.mark.parametrize(
        ("spec", "said"),
        [
            ({}, "the spec lacks publicKey: the public half of a key, as ssh has it"),
            ({"publicKey": " "}, "the spec lacks publicKey"),
            ({"publicKey": "-----BEGIN OPENSSH PRIVATE KEY-----"}, "is a private key: it is not sent"),
        ],
        ids=str,
    )
    async def test_without_a_public_key_it_says_so_and_sends_nothing(
        self, driver: Ec2Driver, world: Ec2World, spec: dict[str, str], said: str
    ) -> None:
        (result,) = await driver.perform("create", [world.thing("sshkey", **spec)], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert said in result.error
        assert await world.calls("ImportKeyPair") == 0

    async def test_one_that_is_no_key_is_refused_in_ec2s_words(self, driver: Ec2Driver, world: Ec2World) -> None:
        (result,) = await driver.perform("create", [world.thing("sshkey", publicKey="key")], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "Key" in result.error

    async def test_a_deletion_may_be_repeated(self, driver: Ec2Driver, world: Ec2World) -> None:
        made = await create(driver, world.thing("sshkey", publicKey=PUBLIC))
        await delete(driver, made)
        await delete(driver, made)
        assert await parts(world) == NOTHING


class TestAll:
    """What holds for each of them."""

    async def test_the_inventory_has_each_of_them_once(self, driver: Ec2Driver, world: Ec2World) -> None:
        other = world.driver(owner="somebody")
        await create(other, world.thing("sshkey", publicKey=PUBLIC))
        network = await create(driver, world.thing("network"))
        shared = {"network": network.facts}
        group = await create(driver, world.thing("securitygroup", shared=shared))
        key = await create(driver, world.thing("sshkey", publicKey=PUBLIC))
        shared |= {"securitygroup": group.facts, "sshkey": key.facts}
        vms = world.launch(2, shared=shared)
        vms = known(vms, await driver.perform("create", vms, "order-create"))
        await until(driver, "Running", *vms)
        found = {f.token: (f.kind, f.state, f.id, f.facts) for f in await driver.inventory()}
        states = {"vm": "Running"}
        assert found == {
            m.token: (m.kind, states.get(m.kind, "Available"), m.facts["id"], m.facts)
            for m in (network, group, key, *vms)
        }
        await other.close()

    async def test_no_answer_is_never_an_absence(self, driver: Ec2Driver, world: Ec2World) -> None:
        network = await create(driver, world.thing("network"))
        things = [
            network,
            world.thing("securitygroup", shared={"network": network.facts}),
            world.thing("sshkey", publicKey=PUBLIC),
        ]
        await world.silence()
        for thing in things:
            for call in (driver.describe([thing]), driver.perform("delete", [thing], "order-delete")):
                with pytest.raises(RetryableError):
                    await call

    async def test_what_is_not_allowed_is_told(self, driver: Ec2Driver, world: Ec2World) -> None:
        await world.fault("*", do="refuse", status=403, code="UnauthorizedOperation")
        for kind in sorted(driver.kinds - {"vm"}):
            thing = world.thing(kind, publicKey=PUBLIC, shared={"network": {"id": "vpc-1"}})
            for verb in ("create", "delete"):
                (result,) = await driver.perform(verb, [thing], f"order-{verb}")
                assert (result.ok, result.permanent) == (False, True)
                assert result.error.startswith("UnauthorizedOperation")
            with pytest.raises(PermanentError):
                await driver.describe([thing])

    async def test_each_is_made_one_at_a_time_and_knows_its_verbs(self, driver: Ec2Driver, world: Ec2World) -> None:
        assert driver.kinds == {"vm", "network", "securitygroup", "sshkey"}
        for kind in sorted(driver.kinds - {"vm"}):
            assert (driver.batch_limit("create", kind), driver.batch_limit("delete", kind)) == (1, 1)
            with pytest.raises(ValueError, match=f"does not know suspend of a {kind}"):
                driver.batch_limit("suspend", kind)
        with pytest.raises(ValueError, match="does not know create of a boat"):
            driver.batch_limit("create", "boat")
