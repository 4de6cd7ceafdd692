"""OpenStack: its driver keeps every driver's promises on a real Nova, Neutron, Glance and Keystone."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.dev.children import free_port
from stead.drivers import registry
from stead.drivers.base import Member, PermanentError, Result, RetryableError, ThrottledError
from stead.drivers.openstack.driver import OpenStackDriver
from stead.lifecycle.rows import ABSENT, BROKEN
from stead.secrets import secret
from tests.drivers import conformance
from tests.drivers.conformance import Conformance, create, known, observe, until
from tests.heavy.openstack.caller import READY, ActionRequest, Came
from tests.heavy.openstack.cloud import OpenStack
from tests.heavy.openstack.proxy import Proxy, of_lock, saying
from tests.heavy.openstack.settings import PAGE, PASSWORD, REGION
from tests.heavy.openstack.world import KEY, OpenStackWorld

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0
"""Seconds. A boot takes five of them on a machine that does nothing else."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "DEADLINE", PATIENCE)
    monkeypatch.setattr(conformance, "PAUSE", 0.25)  # who asks all the time takes from the cloud what it needs


@pytest.fixture(scope="session")
def sweepers() -> Iterator[ThreadPoolExecutor]:
    """They remove what tests leave, while others go on."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
async def world(
    proxy_and_cloud: tuple[Proxy, OpenStack], sweepers: ThreadPoolExecutor
) -> AsyncIterator[OpenStackWorld]:
    proxy, cloud = proxy_and_cloud
    proxy.heal()
    place = OpenStackWorld(cloud, proxy)
    yield place
    proxy.heal()
    sweepers.submit(place.empty)


@pytest.fixture
async def driver(world: OpenStackWorld) -> AsyncIterator[OpenStackDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


class TestConformance(Conformance):
    """On a real cloud, as a user who is no more than a member of a project."""


async def made_by(driver: OpenStackDriver, member: Member) -> Member:
    """It exists, and is looked for by what the result says."""
    return known([member], await driver.perform("create", [member], "order-create"))[0]


@asynccontextmanager
async def caller(world: OpenStackWorld, members: list[Member]) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is ready to make them."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.heavy.openstack.caller",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        send(process, msgspec.json.encode(ActionRequest(world.config(timeout=10), members, 60)) + b"\n")
        assert process.stdout is not None
        assert (await process.stdout.readline()).decode().strip() == READY
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def send(process: asyncio.subprocess.Process, words: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(words)


class TestOnce:
    """A server is made once, whoever crashes and whoever comes at the same time."""

    async def test_of_three_processes_at_once_one_makes_it(self, world: OpenStackWorld) -> None:
        members = [world.member() for _ in range(3)]
        async with AsyncExitStack() as stack:
            callers = [await stack.enter_async_context(caller(world, members)) for _ in range(3)]
            for process in callers:
                send(process, b"begin\n")
            said = await asyncio.gather(*(process.communicate() for process in callers))
        came = [msgspec.json.decode(words, type=list[Came]) for words, _ in said]
        assert [await world.made(member.token) for member in members] == [1, 1, 1]
        assert [one for each in came for one in each if (one.outcome, one.error) != ("succeeded", "")] == []
        ids = [[one.facts["id"] for one in each] for each in came]
        assert ids == [ids[0]] * 3
        assert len(set(ids[0])) == 3
        assert await world.locks() == []

    async def test_who_crashed_before_making_it_is_waited_for_and_then_followed(self, world: OpenStackWorld) -> None:
        first, second = world.driver(timeout=8), world.driver(timeout=8)
        member = world.member()
        world.proxy.instead = lambda request: b"" if request.verb == "create" else None
        began = time.monotonic()
        with pytest.raises(RetryableError) as lost:
            await first.perform("create", [member], "order")
        assert lost.value.unknown
        await world.heal()
        with pytest.raises(RetryableError, match="somebody else") as early:
            await second.perform("create", [member], "order")
        assert early.value.unknown
        assert 0 < early.value.after <= 2, "it may be there any moment"
        assert await world.made(member.token) == 0
        results = await follow(second, member)
        assert time.monotonic() - began >= 8
        made = known([member], results)
        await until(second, "Running", *made)
        assert await world.made(member.token) == 1
        assert await world.locks() == []
        for d in (first, second):
            await d.close()

    async def test_a_lock_whose_answer_was_lost_is_taken_over(self, world: OpenStackWorld) -> None:
        driver = world.driver(timeout=8)
        member = world.member()
        world.proxy.lost.append(of_lock("POST"))
        with pytest.raises(RetryableError) as lost:
            await driver.perform("create", [member], "order")
        assert not lost.value.unknown
        known([member], await follow(driver, member))
        assert await world.made(member.token) == 1
        await driver.close()

    async def test_whom_nova_refused_may_try_again_at_once(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        member = world.member()
        await world.quota(instances=0)
        for _ in range(3):
            (result,) = await driver.perform("create", [member], "order")
            assert (result.ok, result.permanent) == (False, True)
            assert "Quota exceeded for instances" in result.error
        await world.quota(instances=5)
        made = await made_by(driver, member)
        await until(driver, "Running", made)
        assert await world.made(member.token) == 1
        assert await world.locks() == []

    async def test_a_lock_that_was_left_behind_goes_with_its_server(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        member = world.member()
        await world.lose_reply("create")
        with pytest.raises(RetryableError):
            await driver.perform("create", [member], "order")
        assert len(await world.locks()) == 1
        await until(driver, "Running", member)
        known([member], await driver.perform("terminate", [member], "order"))
        assert await world.locks() == []
        await until(driver, ABSENT, member)
        (result,) = await driver.perform("create", [member], "order")
        assert (result.ok, result.error) == (False, "it was made, and has been removed since")

    async def test_what_it_was_made_of_may_be_gone(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        asked = {"name": world.name, "disk_format": "raw", "container_format": "bare", "visibility": "public"}
        image = world.glance("POST", "/images", **asked)["id"]
        world.glance("PUT", f"/images/{image}/file", content=b"\0" * 1024)
        made = await made_by(driver, world.member(image=world.name))
        await until(driver, "Running", made)
        world.glance("DELETE", f"/images/{image}")
        another = world.driver()
        assert (await made_by(another, msgspec.structs.replace(made, facts={}))).facts == made.facts
        await another.close()

    async def test_what_cannot_be_made_is_said_in_a_sentence(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        for spec, error in (
            ({"image": "tin"}, "there is no image tin here"),
            ({"spec": "m1.gigantic"}, "there is no flavor m1.gigantic here"),
            ({"network": "nowhere"}, "there is no network nowhere here"),
            ({"image": ""}, "the spec lacks image"),
            ({"shared": {"network": {}}}, "the network that it is to have is not there"),
        ):
            (result,) = await driver.perform("create", [world.member(**spec)], "order")
            assert (result.ok, result.permanent, result.error) == (False, True, error)
        assert await world.calls("create") == 0


async def follow(driver: OpenStackDriver, member: Member) -> list[Result]:
    """Ask as often as it says that it may work later, and not before."""
    for _ in range(10):
        try:
            return await driver.perform("create", [member], "order")
        except RetryableError as error:
            await asyncio.sleep(error.after)
    raise AssertionError("it is still said that it may work later")


class TestStates:
    """What others did to a server is seen, and led out of."""

    @pytest.mark.parametrize("action", ["pause", "suspend", "shelve"])
    async def test_resume_leads_out_of_whatever_does_not_run(
        self, driver: OpenStackDriver, world: OpenStackWorld, action: str
    ) -> None:
        (made,) = await create(driver, world)
        await world.act(made, action)
        await until(driver, "Suspended", made)
        (result,) = await driver.perform("suspend", [made], "order")
        assert result.ok
        known([made], await driver.perform("resume", [made], "order"))
        await until(driver, "Running", made)

    async def test_what_is_broken_is_told_and_can_be_removed(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        (made,) = await create(driver, world)
        await world.act(made, "os-resetState", {"state": "error"})
        assert await observe(driver, made) == [BROKEN]
        for verb in ("suspend", "resume", "reboot"):
            (result,) = await driver.perform(verb, [made], "order")
            assert (result.ok, result.permanent, result.error) == (False, True, "it is ERROR")
        (result,) = await driver.perform("create", [made], "order")
        assert "it was made, and is broken" in result.error
        known([made], await driver.perform("terminate", [made], "order"))
        await until(driver, ABSENT, made)

    async def test_what_is_on_its_way_may_be_asked_again(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        made = await made_by(driver, world.member())
        (result,) = await driver.perform("suspend", [made], "order")
        assert (result.ok, result.permanent) == (False, False)
        await until(driver, "Running", made)
        (result,) = await driver.perform("suspend", [made], "order")
        assert (result.ok, result.pending) == (True, "Suspended")
        (again,) = await driver.perform("suspend", [made], "order")
        assert again.ok
        await until(driver, "Suspended", made)
        (result,) = await driver.perform("reboot", [made], "order")
        assert (result.ok, result.permanent, result.error) == (False, True, "it is SHUTOFF")

    async def test_a_locked_server_is_not_touched_and_may_be_asked_again(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        (made,) = await create(driver, world)
        await world.act(made, "lock")
        for verb in ("suspend", "terminate"):
            (result,) = await driver.perform(verb, [made], "order")
            assert (result.ok, result.permanent) == (False, False)
            assert "is locked" in result.error
        await world.act(made, "unlock")
        assert await observe(driver, made) == ["Running"]

    async def test_a_reboot_whose_answer_was_lost_is_not_repeated(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        (made,) = await create(driver, world)
        await world.lose_reply("reboot")
        with pytest.raises(RetryableError) as lost:
            await driver.perform("reboot", [made], "order")
        assert lost.value.unknown
        await until(driver, "Running", made)
        done = await asyncio.to_thread(world.nova, "GET", f"/servers/{made.facts['id']}/os-instance-actions")
        assert [a["action"] for a in done["instanceActions"]].count("reboot") == 1


class TestErrors:
    """What no answer means, and answers that are not the service's."""

    async def test_absence_is_said_by_nova_alone(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        (made,) = await create(driver, world)
        world.proxy.instead = lambda request: saying("404 Not Found") if request.service == "compute" else None
        with pytest.raises(RetryableError):
            await driver.describe([made])
        with pytest.raises(RetryableError):
            await driver.perform("terminate", [made], "order")
        await world.heal()
        assert await observe(driver, made) == ["Running"]

    @pytest.mark.parametrize("status", ["500 Oh", "502 Bad Gateway", "503 Service Unavailable"])
    async def test_an_error_on_their_side_leaves_open_what_was_done(
        self, driver: OpenStackDriver, world: OpenStackWorld, status: str
    ) -> None:
        member = world.member()
        world.proxy.instead = lambda request: saying(status) if request.verb == "create" else None
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order")
        assert raised.value.unknown

    async def test_throttling_where_the_server_is_made_does_not_keep_others_waiting(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        member = world.member()
        throttling = saying("429 Too Many Requests", "Retry-After: 3")
        world.proxy.instead = lambda request: throttling if request.verb == "create" else None
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [member], "order")
        assert (raised.value.after, raised.value.unknown) == (3.0, False)
        await world.heal()
        await made_by(driver, member)
        assert await world.made(member.token) == 1

    async def test_a_call_ends_in_time_and_sends_nothing_after_it(self, world: OpenStackWorld) -> None:
        driver = world.driver(timeout=6)
        await driver.describe([world.member()])  # it is logged in now
        world.proxy.held = lambda request: request.service == "image"
        began = time.monotonic()
        with pytest.raises(RetryableError):
            await driver.perform("create", [world.member()], "order")
        assert time.monotonic() - began < 8
        await world.heal()
        await asyncio.sleep(1)  # sleep: nothing may happen meanwhile
        assert await world.calls("create") == 0
        await driver.close()

    async def test_who_is_not_let_in_may_try_again(self, world: OpenStackWorld) -> None:
        driver = world.driver(password="env:HOME")
        with pytest.raises(RetryableError, match="does not let us in") as raised:
            await driver.perform("create", [world.member()], "order")
        assert not raised.value.unknown
        await driver.close()

    async def test_a_password_that_was_changed_is_used_without_a_restart(
        self, world: OpenStackWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(secret, "RELOAD_INTERVAL", 0.0)
        file = tmp_path / "password"
        file.touch(mode=0o600)
        file.write_text(PASSWORD)
        driver = registry.make("openstack", world.config(password=f"file:{file}"))
        await driver.describe([world.member()])
        world.cloud.admin("identity", "/v3")("PATCH", f"/users/{world.user}", user={"password": "another-one"})
        with pytest.raises(RetryableError, match="does not let us in"):
            await driver.describe([world.member()])
        file.write_text("another-one")
        with pytest.raises(RetryableError, match="the credentials have changed"):
            await driver.describe([world.member()])
        await driver.describe([world.member()])
        await driver.close()

    async def test_where_nobody_listens_nothing_was_done(self, world: OpenStackWorld) -> None:
        driver = world.driver(auth_url=f"http://127.0.0.1:{free_port()}/v3")
        with pytest.raises(RetryableError, match="cannot be reached") as raised:
            await driver.perform("create", [world.member()], "order")
        assert not raised.value.unknown
        await driver.close()

    async def test_a_region_that_is_not_there_is_an_error(self, world: OpenStackWorld) -> None:
        driver = world.driver(region="Nowhere")
        with pytest.raises(PermanentError, match="no such service here"):
            await driver.describe([world.member()])
        await driver.close()

    async def test_every_request_names_its_order(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        member = world.member()
        for order in ("order-1", "order-1", "order-2"):
            await driver.perform("terminate", [member], order)
        sent = [r.headers["x-openstack-request-id"] for r in world.proxy.seen[world.began :] if of_lock("DELETE")(r)]
        assert len(sent) == 3
        assert sent[0] == sent[1] != sent[2]


class TestSettings:
    """The ways in which users say where their cloud is."""

    async def test_a_cloud_of_clouds_yaml(
        self, world: OpenStackWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = world.config()
        auth = {name: said[name] for name in ("auth_url", "username", "project_name")} | {"password": PASSWORD}
        auth |= {"user_domain_name": "Default", "project_domain_name": "Default"}
        clouds = {"clouds": {"lab": {"auth": auth}}}
        (tmp_path / "clouds.yaml").write_bytes(msgspec.json.encode(clouds))
        monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(tmp_path / "clouds.yaml"))
        driver = registry.make("openstack", {"cloud": "lab", "region": "blue", "region_name": REGION})
        assert await driver.inventory() == []
        await driver.close()
        with pytest.raises(ValueError, match="elsewhere"):
            registry.make("openstack", {"cloud": "elsewhere", "region": REGION})

    async def test_an_application_credential(self, world: OpenStackWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        keystone = world.config()["auth_url"]
        credential = await asyncio.to_thread(application_credential, world, keystone)
        monkeypatch.setenv("SECRET", credential["application_credential_secret"])
        credential["application_credential_secret"] = "env:SECRET"
        place = {"auth_url": keystone, "region": REGION}
        driver = registry.make("openstack", {**place, **credential})
        (result,) = await driver.perform("create", [world.member()], "order")
        assert result.ok
        await driver.close()


def application_credential(world: OpenStackWorld, keystone: str) -> dict[str, str]:
    import httpx  # noqa: PLC0415

    who = {"name": world.name, "password": PASSWORD, "domain": {"id": "default"}}
    scope = {"project": {"id": world.project}}
    auth = {"identity": {"methods": ["password"], "password": {"user": who}}, "scope": scope}
    with httpx.Client(trust_env=False, timeout=60) as client:
        token = client.post(f"{keystone}/auth/tokens", json={"auth": auth}).headers["x-subject-token"]
        address = f"{keystone}/users/{world.user}/application_credentials"
        asked = {"application_credential": {"name": world.name}}
        made = client.post(address, json=asked, headers={"X-Auth-Token": token}).json()["application_credential"]
    return {"application_credential_id": made["id"], "application_credential_secret": made["secret"]}


class TestNames:
    """What a place has."""

    @pytest.mark.parametrize(
        ("field", "name", "near"),
        [
            ("spec", "m1.nano", None),
            ("spec", "m1.nan", "m1.nano"),
            ("spec", "c2.larg", "c2.large"),
            ("image", "debian-13", None),
            ("image", "debian-14", "debian-13"),
            ("colour", "any", None),
        ],
    )
    async def test_near_misses(self, driver: OpenStackDriver, field: str, name: str, near: str | None) -> None:
        said = await driver.check_offer(field, name)
        assert said is None if near is None else said is not None and near in said

    async def test_what_is_like_nothing(self, driver: OpenStackDriver) -> None:
        assert await driver.check_offer("spec", "zzzzzzzz") == []


async def make(driver: OpenStackDriver, member: Member) -> Member:
    """What VMs share, made and seen."""
    (made,) = known([member], await driver.perform("create", [member], "order"))
    (seen,) = await driver.describe([made])
    assert (seen.state, seen.facts["id"]) == ("Available", made.facts["id"])
    return made


class TestShared:
    """What VMs share."""

    async def test_a_vm_on_our_own_network_with_our_group_and_key(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        network = await make(driver, world.member("network", cidr="10.9.0.0/24"))
        group = await make(driver, world.member("securitygroup"))
        key = await make(driver, world.member("sshkey", publicKey=KEY))
        shared = {thing.kind: dict(thing.facts) for thing in (network, group, key)}
        vm = await made_by(driver, world.member(shared=shared, name="front"))
        await until(driver, "Running", vm)
        server = await world.server(vm)
        ((_, (address,)),) = server["addresses"].items()
        assert address["addr"].startswith("10.9.0.")
        assert (server["name"], server["key_name"]) == ("front", key.facts["name"])
        (port,) = world.neutron("GET", f"/ports?device_id={vm.facts['id']}")["ports"]
        assert port["security_groups"] == [group.facts["id"]]
        for thing in (network, group):
            (result,) = await driver.perform("delete", [thing], "order")
            assert not result.ok
            assert "in use" in result.error
        assert await observe(driver, network) == ["Available"]
        found = {(f.kind, f.token): f.facts for f in await driver.inventory()}
        assert found == {(thing.kind, thing.token): thing.facts for thing in (network, group, key, vm)}
        known([vm], await driver.perform("terminate", [vm], "order"))
        await until(driver, ABSENT, vm)
        for thing in (network, group, key, network, group, key):
            known([thing], await driver.perform("delete", [thing], "order"))
            assert await observe(driver, thing) == [ABSENT]
        assert await driver.inventory() == []

    @pytest.mark.parametrize(
        ("kind", "spec"), [("network", {}), ("securitygroup", {}), ("sshkey", {"publicKey": KEY})]
    )
    async def test_each_is_made_once_and_known_by_token(
        self, driver: OpenStackDriver, world: OpenStackWorld, kind: str, spec: dict[str, Any]
    ) -> None:
        things = [await make(driver, world.member(kind, **spec)) for _ in range(PAGE + 2)]
        bare = [msgspec.structs.replace(thing, facts={}) for thing in things]
        for thing, known_by_token in zip(things, bare, strict=True):
            assert (await make(driver, known_by_token)).facts == thing.facts
        assert [seen.facts for seen in await driver.describe(bare)] == [thing.facts for thing in things]
        assert {f.token for f in await driver.inventory()} == {thing.token for thing in things}
        assert await observe(driver, world.member(kind)) == [ABSENT]
        stranger = world.driver(owner="another")
        assert await stranger.inventory() == []
        await stranger.close()
        known([bare[0]], await driver.perform("delete", [bare[0]], "order"))
        assert await observe(driver, things[0], things[1]) == [ABSENT, "Available"]

    async def test_what_was_half_made_is_finished(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        network = world.member("network")
        refused = saying("500 Oh")
        world.proxy.instead = lambda r: refused if r.method == "POST" and r.path.endswith("/subnets") else None
        with pytest.raises(RetryableError):
            await driver.perform("create", [network], "order")
        await world.heal()
        assert await observe(driver, network) == [BROKEN]
        made = await make(driver, network)
        subnets = world.neutron("GET", f"/subnets?network_id={made.facts['id']}")["subnets"]
        assert [(subnet["id"], subnet["cidr"]) for subnet in subnets] == [(made.facts["subnet"], "10.0.0.0/16")]
        group = world.member("securitygroup")
        rules = "/security-group-rules"
        world.proxy.instead = lambda r: refused if r.method == "POST" and r.path.endswith(rules) else None
        with pytest.raises(RetryableError):
            await driver.perform("create", [group], "order")
        await world.heal()
        made = await make(driver, group)
        assert await ingress(world, made) == [(None, None, made.facts["id"]), ("tcp", 22, None)]

    async def test_a_group_lets_in_what_its_rules_say(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        rules = [
            {"protocol": "tcp", "ports": "8000-8080", "from": "10.0.0.0/8"},
            {"protocol": "icmp"},
            {"protocol": "udp", "ports": "53", "from": "::/0"},
        ]
        made = await make(driver, world.member("securitygroup", rules=rules))
        assert await ingress(world, made) == [("icmp", None, None), ("tcp", 8000, None), ("udp", 53, None)]

    async def test_a_router_leads_outside_and_goes_with_its_network(
        self, driver: OpenStackDriver, world: OpenStackWorld
    ) -> None:
        outside = {"name": f"outside-{world.name}", "router:external": True, "shared": False}
        external = world.neutron("POST", "/networks", network=outside)["network"]["id"]
        addresses = {"network_id": external, "ip_version": 4, "cidr": "203.0.113.0/24"}
        world.neutron("POST", "/subnets", subnet=addresses)
        member = world.member("network", external=outside["name"])
        (result,) = await driver.perform("create", [member], "order")
        (again,) = await driver.perform("create", [member], "order")
        assert result.ok, result.error
        assert again.facts == result.facts
        router = world.neutron("GET", f"/routers/{result.facts['router']}")["router"]
        assert router["external_gateway_info"]["network_id"] == external
        known([member], await driver.perform("delete", [member], "order"))
        assert world.neutron("GET", f"/routers?project_id={world.project}")["routers"] == []
        assert await observe(driver, member) == [ABSENT]

    async def test_a_key_is_what_the_spec_says(self, driver: OpenStackDriver, world: OpenStackWorld) -> None:
        (result,) = await driver.perform("create", [world.member("sshkey")], "order")
        assert (result.ok, result.permanent) == (False, True)
        assert "publicKey" in result.error
        made = await make(driver, world.member("sshkey", publicKey=KEY))
        other = KEY.replace("IJ6r", "IJ6s")
        (result,) = await driver.perform(
            "create", [msgspec.structs.replace(made, spec={"publicKey": other}, facts={})], "order"
        )
        assert (result.ok, result.error) == (False, "its token was used for another key")
        nonsense = world.member("sshkey", publicKey="nonsense")
        (result,) = await driver.perform("create", [nonsense], "order")
        assert (result.ok, result.permanent) == (False, True)


async def ingress(world: OpenStackWorld, group: Member) -> list[tuple[str | None, int | None, str | None]]:
    """What the group lets in, by Neutron's own word."""
    asked = f"/security-group-rules?security_group_id={group.facts['id']}&direction=ingress"
    rules = (await asyncio.to_thread(world.neutron, "GET", asked))["security_group_rules"]
    told = [(rule["protocol"], rule["port_range_min"], rule["remote_group_id"]) for rule in rules]
    return sorted(told, key=lambda rule: rule[0] or "")


async def test_more_servers_than_fit_on_a_page(driver: OpenStackDriver, world: OpenStackWorld) -> None:
    members = [world.member() for _ in range(PAGE + 2)]
    made = [await made_by(driver, member) for member in members]
    await until(driver, "Running", *[msgspec.structs.replace(member, facts={}) for member in made])
    assert {f.token for f in await driver.inventory()} == {member.token for member in members}
