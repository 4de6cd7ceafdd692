"""LXD: its driver keeps every driver's promises on a real daemon, also where a call takes several requests."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.dev.engines import Nats
from stead.drivers import registry
from stead.drivers.base import PROBE, TRANSITIONAL, PermanentError, RetryableError, ThrottledError
from stead.drivers.lxd.driver import LxdDriver
from stead.drivers.lxd.making import mark_of, name_of
from stead.lifecycle.events import Request
from stead.lifecycle.pace import Pace
from stead.lifecycle.rows import ABSENT
from tests.action_requests import requested
from tests.drivers.conformance import Conformance, create, known, observe, until
from tests.drivers.lxd_server import Lxd, missing
from tests.drivers.lxd_world import LxdWorld, Proxy, saying, with_verb
from tests.drivers.lxd_world import Request as Sent
from tests.integration.whole import PATH, controller, running, settled
from tests.tiers import brief, first_fast

LIFE = {
    "create": "Running",
    "suspend": "Suspended",
    "resume": "Running",
    "reboot": "Running",
    "terminate": "Terminated",
}


@pytest.fixture(scope="session")
def lxd() -> Iterator[Lxd]:
    if why := missing():
        # Where everything is to be tested, that is an error.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    with Lxd() as server:
        yield server


@pytest.fixture
async def world(lxd: Lxd) -> AsyncIterator[LxdWorld]:
    async with Proxy(lxd.socket) as proxy:
        place = LxdWorld(lxd, proxy)
        lxd.add_project(place.project)
        yield place
        lxd.sweepers.submit(lxd.empty_project, place.project)


@pytest.fixture
async def driver(world: LxdWorld) -> AsyncIterator[LxdDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


@brief(
    "test_create_again_returns_the_same",
    "test_suspend_and_resume_may_be_repeated",
    "test_terminate_may_be_repeated",
    "test_inventory_has_what_is_there_with_token_and_path",
    "test_absent_is_what_is_not_there_and_nothing_else",
    "test_what_is_rejected_is_declined_and_leaves_all_as_it_was",
)
class TestConformance(Conformance):
    """On a real daemon."""


def of_wait(request: Sent) -> bool:
    return request.path.endswith("/wait")


def of_second_wait() -> Callable[[Sent], bool]:
    """A creation waits twice: until it is made, and until it runs."""
    seen = 0

    def second(request: Sent) -> bool:
        nonlocal seen
        seen += of_wait(request)
        return seen == 2 and of_wait(request)

    return second


class TestCreate:
    """A creation is several requests, and any of them may be the last."""

    @pytest.mark.parametrize(
        "lost",
        [with_verb("create"), of_wait, with_verb("resume"), of_second_wait()],
        ids=["made", "1st", "start", "2nd"],
    )
    async def test_whichever_answer_is_lost_it_is_made_once_and_finished(
        self, driver: LxdDriver, world: LxdWorld, lost: Callable[[Sent], bool]
    ) -> None:
        member = world.member()
        world.proxy.lost.append(lost)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        assert world.proxy.lost == []
        known([member], await driver.perform("create", [member], "order-create"))
        await until(driver, "Running", member)
        assert await world.made(member.token) == 1

    async def test_what_was_made_and_not_started_is_moving_while_somebody_may_start_it(
        self, driver: LxdDriver, world: LxdWorld
    ) -> None:
        member = world.member()
        world.proxy.lost.append(of_wait)
        with pytest.raises(RetryableError):
            await driver.perform("create", [member], "order-create")
        assert await observe(driver, member) == [TRANSITIONAL]
        hasty = world.driver(grace=0, timeout=1)
        await asyncio.sleep(2.1)  # sleep: the time of an answer is in whole seconds
        assert await observe(hasty, member) == ["Suspended"]
        await hasty.close()

    async def test_it_is_made_of_what_the_spec_says(self, driver: LxdDriver, world: LxdWorld) -> None:
        await world.ask("POST", "/1.0/profiles", json={"name": "big", "config": {"limits.processes": "500"}})
        by_limits = world.member(name="front", spec={"cpu": 1, "memory": "48MiB"})
        by_profile = world.member(spec="big", memory="32MiB")
        for member in (by_limits, by_profile):
            known([member], await driver.perform("create", [member], "order-create"))
        first, second = await world.instance(by_limits), await world.instance(by_profile)
        assert (first["description"], first["type"]) == ("front", "container")
        assert (first["config"]["limits.cpu"], first["config"]["limits.memory"]) == ("1", "48MiB")
        assert first["config"]["user.stead.path"] == by_limits.path
        assert first["config"]["user.stead.order"] == "order-create"
        assert second["profiles"] == ["default", "big"]
        expanded = second["expanded_config"]
        assert (expanded["limits.processes"], expanded["limits.memory"]) == ("500", "32MiB")

    async def test_the_profile_that_all_have_may_be_named(self, driver: LxdDriver, world: LxdWorld) -> None:
        member = world.member(spec="default")
        known([member], await driver.perform("create", [member], "order-create"))
        assert (await world.instance(member))["profiles"] == ["default"]

    async def test_a_network_is_a_device(self, driver: LxdDriver, world: LxdWorld) -> None:
        nowhere = world.member(network="nowhere")
        (result,) = await driver.perform("create", [nowhere], "order-create")
        assert not result.ok
        assert 'Failed to load network "nowhere"' in result.error
        joined = world.member(network={"nictype": "p2p"})
        known([joined], await driver.perform("create", [joined], "order-create"))
        assert {"lo", "eth0"} <= (await world.instance(joined))["state"]["network"].keys()

    async def test_an_image_may_be_a_fingerprint(self, driver: LxdDriver, world: LxdWorld) -> None:
        (image,) = await world.ask("GET", "/1.0/images")
        member = world.member(image=image.rpartition("/")[2])
        known([member], await driver.perform("create", [member], "order-create"))
        assert (await world.instance(member))["config"]["volatile.base_image"] == member.spec["image"]

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ({"image": "nope"}, "Image alias not found"),
            ({"image": ""}, "names no image"),
            ({"image": None}, "no image"),
        ],
    )
    async def test_what_cannot_be_made_is_refused_with_the_reason(
        self, driver: LxdDriver, world: LxdWorld, spec: Mapping[str, Any], message: str
    ) -> None:
        member = world.member(**spec)
        with pytest.raises(PermanentError, match=message):
            await driver.perform("create", [member], "order-create")
        assert await observe(driver, member) == [ABSENT]

    async def test_what_lxd_finds_out_later_is_told_too(self, driver: LxdDriver, world: LxdWorld) -> None:
        member = world.member(spec={"wings": 2})
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.permanent) == (False, True)
        assert "limits.wings" in result.error
        assert await observe(driver, member) == [ABSENT]

    async def test_an_error_of_lxd_is_no_reason_to_doubt_that_nothing_was_done(
        self, driver: LxdDriver, world: LxdWorld
    ) -> None:
        with pytest.raises(RetryableError, match="doesn't exist") as raised:
            await driver.perform("create", [world.member(spec="no-such-profile")], "order-create")
        assert not raised.value.unknown

    async def test_two_owners_do_not_meet(self, driver: LxdDriver, world: LxdWorld) -> None:
        other = world.driver(owner="other")
        member = world.member()
        for speaker in (driver, other):
            known([member], await speaker.perform("create", [member], "order-create"))
        (ours,), (theirs,) = await driver.inventory(), await other.inventory()
        assert ours.id != theirs.id
        assert ours.token == theirs.token == member.token
        await other.close()


@brief("test_what_does_not_shut_down_is_stopped_by_force")
class TestChange:
    """What runs, stops and starts."""

    async def test_what_does_not_shut_down_is_stopped_by_force(self, world: LxdWorld) -> None:
        driver = world.driver(grace=1)
        (made,) = await create(driver, world)
        await world.become(made, "deaf")
        began = time.monotonic()
        known([made], await driver.perform("suspend", [made], "order-suspend"))
        assert time.monotonic() - began >= 1
        assert await observe(driver, made) == ["Suspended"]
        stops = [request.body["force"] for request in world.proxy.seen if request.verb == "suspend"]
        assert stops == [False, True]
        await driver.close()

    async def test_what_is_shutting_down_is_seen_moving(self, world: LxdWorld) -> None:
        driver = world.driver(grace=1)
        (made,) = await create(driver, world)
        await world.become(made, "deaf")
        stopping = asyncio.create_task(driver.perform("suspend", [made], "order-suspend"))
        await until(driver, TRANSITIONAL, made)
        assert [found.state for found in await driver.inventory()] == [TRANSITIONAL]
        known([made], await stopping)
        await driver.close()

    async def test_what_somebody_else_is_at_is_waited_for(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        await world.become(made, "slow")
        stopping = asyncio.create_task(world.change(made, "stop"))
        await until(driver, TRANSITIONAL, made)
        known([made], await driver.perform("resume", [made], "order-resume"))
        await stopping
        assert await observe(driver, made) == ["Running"]

    async def test_what_takes_longer_than_the_call_is_not_begun(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        await world.become(made, "slow")
        hasty = world.driver(grace=0, timeout=1.2)
        stopping = asyncio.create_task(world.change(made, "stop"))
        await until(driver, TRANSITIONAL, made)
        for _ in range(3):  # a busy machine may not even be told in time that LXD is at it
            with pytest.raises(RetryableError) as raised:
                await hasty.perform("reboot", [made], "order-reboot")
            assert not raised.value.unknown
            if "still at it" in raised.value.message:
                break
        assert "still at it" in raised.value.message
        await stopping
        assert await observe(driver, made) == ["Suspended"]
        await hasty.close()

    @pytest.mark.parametrize(("deaf", "ways"), [(False, [False]), (True, [False, True])])
    async def test_a_reboot_is_one_start(self, world: LxdWorld, deaf: bool, ways: list[bool]) -> None:
        driver = world.driver(grace=1)
        (made,) = await create(driver, world)
        if deaf:
            await world.become(made, "deaf")
        before = (await world.instance(made))["state"]["pid"]
        known([made], await driver.perform("reboot", [made], "order-reboot"))
        assert await observe(driver, made) == ["Running"]
        assert (await world.instance(made))["state"]["pid"] != before
        assert [request.body["force"] for request in world.proxy.seen if request.verb == "reboot"] == ways
        assert await world.happened("instance-restarted", made) == 1
        await driver.close()

    async def test_a_reboot_of_what_does_not_run_fails(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        known([made], await driver.perform("suspend", [made], "order-suspend"))
        (stopped,) = await driver.perform("reboot", [made], "order-reboot")
        (never,) = await driver.perform("reboot", [world.member()], "order-reboot")
        assert (stopped.ok, stopped.error) == (False, "it does not run: it is Stopped")
        assert (never.ok, never.error) == (False, "there is no such instance")
        assert await world.calls("reboot") == 0

    async def test_a_lost_reboot_may_have_been_done(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        await world.lose_reply("reboot")
        with pytest.raises(RetryableError) as raised:
            await driver.perform("reboot", [made], "order-reboot")
        assert raised.value.unknown
        await until(driver, "Running", made)
        async with asyncio.timeout(60):  # LXD tells of it a moment after it is so
            while not await world.happened("instance-restarted", made):
                await asyncio.sleep(0.1)
        assert await world.happened("instance-restarted", made) == 1

    async def test_what_somebody_froze_is_suspended_and_can_be_resumed(
        self, driver: LxdDriver, world: LxdWorld
    ) -> None:
        (made,) = await create(driver, world)
        await world.change(made, "freeze")
        assert await observe(driver, made) == ["Suspended"]
        known([made], await driver.perform("resume", [made], "order-resume"))
        assert await observe(driver, made) == ["Running"]
        await world.change(made, "freeze")
        known([made], await driver.perform("suspend", [made], "order-suspend"))
        assert (await world.instance(made))["status"] == "Stopped"

    async def test_what_outlasts_the_call_is_pending_and_arrives(self, world: LxdWorld) -> None:
        slow = {"raw.lxc": "lxc.hook.pre-start = /bin/sleep 12"}
        await world.ask("POST", "/1.0/profiles", json={"name": "slow", "config": slow})
        driver = world.driver(grace=0, timeout=7)
        member = world.member(spec="slow")
        (result,) = await driver.perform("create", [member], "order-create")
        assert (result.ok, result.pending) == (True, "Running")
        began = time.monotonic()
        assert await observe(driver, member) == [TRANSITIONAL]
        observed = time.monotonic() - began
        await until(driver, "Running", member)
        assert observed < (time.monotonic() - began) / 2  # nobody waits for LXD to have started it
        await driver.close()


class TestTerminate:
    """Gone for good."""

    @pytest.mark.parametrize("lost", ["suspend", "terminate"])
    async def test_what_was_interrupted_is_finished(self, driver: LxdDriver, world: LxdWorld, lost: str) -> None:
        (made,) = await create(driver, world)
        await world.lose_reply(lost)
        with pytest.raises(RetryableError) as raised:
            await driver.perform("terminate", [made], "order-terminate")
        assert raised.value.unknown
        known([made], await driver.perform("terminate", [made], "order-terminate"))
        assert await observe(driver, made) == [ABSENT]

    async def test_it_does_not_wait_for_what_never_shuts_down(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        await world.become(made, "deaf")
        endless = asyncio.create_task(world.change(made, "stop", timeout=-1))
        await until(driver, TRANSITIONAL, made)
        known([made], await driver.perform("terminate", [made], "order-terminate"))
        assert await observe(driver, made) == [ABSENT]
        await asyncio.gather(endless, return_exceptions=True)

    async def test_an_open_shell_is_no_move(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        wish = {"command": ["sleep", "60"], "wait-for-websocket": False, "interactive": False}
        shell = asyncio.create_task(world.ask("POST", f"{world.path(made)}/exec", json=wish))
        while not (await world.ask("GET", "/1.0/operations")).get("running"):
            await asyncio.sleep(0.02)
        assert await observe(driver, made) == ["Running"]
        known([made], await driver.perform("terminate", [made], "order-terminate"))
        await asyncio.gather(shell, return_exceptions=True)
        assert await observe(driver, made) == [ABSENT]

    async def test_the_mark_is_all_that_is_left(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        known([made], await driver.perform("terminate", [made], "order-terminate"))
        assert await world.ask("GET", "/1.0/instances") == []
        names = {profile.rpartition("/")[2].partition("?")[0] for profile in await world.ask("GET", "/1.0/profiles")}
        assert names == {"default", f"{name_of('stead', made.token)}-gone"}


class TestOffers:
    """What the project has, and what comes close to it."""

    async def test_an_alias_is_there_or_comes_close(self, driver: LxdDriver) -> None:
        assert await driver.check_offer("image", "tiny") is None
        assert await driver.check_offer("image", "tinny") == ["tiny"]
        assert await driver.check_offer("image", "something-else") == []

    async def test_a_fingerprint_is_there_or_comes_close(self, driver: LxdDriver, world: LxdWorld) -> None:
        (image,) = await world.ask("GET", "/1.0/images")
        whole = image.rpartition("/")[2].partition("?")[0]
        assert await driver.check_offer("image", whole) is None
        assert await driver.check_offer("image", ("1" if whole[0] == "0" else "0") + whole[1:]) == [whole]

    async def test_a_profile_is_there_or_comes_close(self, driver: LxdDriver, world: LxdWorld) -> None:
        for name in ("small", "large"):
            await world.ask("POST", "/1.0/profiles", json={"name": name})
        assert await driver.check_offer("spec", "small") is None
        assert await driver.check_offer("spec", "smal") == ["small"]
        assert await driver.check_offer("colour", "red") is None

    async def test_the_mark_of_what_is_gone_is_no_profile_to_choose(self, driver: LxdDriver, world: LxdWorld) -> None:
        member = world.member()
        await driver.perform("terminate", [member], "order-terminate")
        mark = mark_of(name_of("stead", member.token))
        assert mark in {p.rpartition("/")[2].partition("?")[0] for p in await world.ask("GET", "/1.0/profiles")}
        assert await driver.check_offer("spec", mark) == []

    async def test_no_answer_is_not_no(self, driver: LxdDriver, world: LxdWorld) -> None:
        await world.silence()
        with pytest.raises(RetryableError):
            await driver.check_offer("image", "tiny")
        elsewhere = world.driver(project="nowhere")
        await world.heal()
        with pytest.raises(PermanentError, match="no project nowhere"):
            await elsewhere.check_offer("spec", "small")
        await elsewhere.close()


class TestAnswers:
    """What the driver makes of bad ones."""

    async def test_a_project_that_is_not_there_is_no_empty_one(self, world: LxdWorld) -> None:
        driver = world.driver(project="nowhere")
        for call in (driver.describe([world.member()]), driver.inventory()):
            with pytest.raises(PermanentError, match="no project nowhere"):
                await call
        await driver.close()

    async def test_a_socket_that_is_not_there(self, world: LxdWorld) -> None:
        driver = world.driver(socket="/nowhere/unix.socket")
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [world.member()], "order-create")
        assert not raised.value.unknown
        await driver.close()

    async def test_silence_ends_with_the_call(self, world: LxdWorld) -> None:
        driver = world.driver(grace=0, timeout=1)
        member = world.member()
        await driver.describe([member])
        world.proxy.held = with_verb("create")
        began = time.monotonic()
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert raised.value.unknown
        assert time.monotonic() - began < driver.longest_call + 10
        await driver.close()

    @pytest.mark.parametrize("status", ["404 Not Found", "403 Forbidden", "302 Found"])
    async def test_what_somebody_in_between_says_is_no_absence(
        self, driver: LxdDriver, world: LxdWorld, status: str
    ) -> None:
        (made,) = await create(driver, world)
        answer = saying(status, "Content-Length: 4", body="what")
        world.proxy.instead = lambda request: answer if request.verb == PROBE else None
        with pytest.raises((PermanentError, RetryableError)):
            await driver.describe([made])

    @pytest.mark.parametrize(("status", "unknown"), [("503 Busy", False), ("502 Bad Gateway", True)])
    async def test_errors_in_between(self, driver: LxdDriver, world: LxdWorld, status: str, unknown: bool) -> None:
        member = world.member()
        answer = saying(status, "Retry-After: 3", "Content-Length: 0")
        world.proxy.instead = lambda request: answer if request.verb == "create" else None
        with pytest.raises(RetryableError) as raised:
            await driver.perform("create", [member], "order-create")
        assert (raised.value.unknown, raised.value.after) == (unknown, 3)

    async def test_throttling_in_the_middle_leaves_open_what_was_done(
        self, driver: LxdDriver, world: LxdWorld
    ) -> None:
        answer = saying("429 Too Many Requests", "Content-Length: 0")
        world.proxy.instead = lambda request: answer if request.verb == "resume" else None
        with pytest.raises(ThrottledError) as raised:
            await driver.perform("create", [world.member()], "order-create")
        assert raised.value.unknown

    async def test_an_id_that_is_wrong_does_no_harm(self, driver: LxdDriver, world: LxdWorld) -> None:
        (made,) = await create(driver, world)
        wrong = msgspec.structs.replace(made, facts={"id": "somebody-else"})
        assert await observe(driver, wrong) == ["Running"]
        known([wrong], await driver.perform("suspend", [wrong], "order-suspend"))
        assert await observe(driver, made) == ["Suspended"]


class TestThroughEveryLayer:
    """A VM at LXD, with a controller and an agent."""

    @pytest.mark.parametrize("lost", first_fast(["", "create", "resume", "suspend", "terminate"]))
    async def test_it_goes_through_its_life_whatever_answer_is_lost(
        self, migrated: str, nats_server: Nats, cell: str, world: LxdWorld, lost: str
    ) -> None:
        driver, lane = world.driver(timeout=Pace().call), f"lxd.{world.project}"
        spec = dict(world.member().spec)
        if lost:
            world.proxy.lost.append(with_verb(lost))
        async with controller(migrated, nats_server, cell) as one, Bus(nats_server.url, cell, agent="a1") as bus:
            await bus.connect(60)
            async with running(Agent(bus, "a1", {lane: driver}).run()):
                for action, state in LIFE.items():
                    answer = await one.admission.admit(*requested("vm", PATH, Request(action), "ann", spec, lane))
                    assert isinstance(answer, Accepted)
                    await settled(one, state)
            row = await one.store.resources.read(PATH)
        await driver.close()
        assert row is not None
        assert world.proxy.lost == []
        assert await world.made(str(row.token)) == 1
        assert await world.ask("GET", "/1.0/instances") == []


HTTPS = """
import asyncio, json, sys
from stead.drivers import registry

async def main():
    driver = registry.make("lxd", json.loads(sys.argv[1]))
    print(json.dumps([found.id for found in await driver.inventory()]))
    await driver.close()

asyncio.run(main())
"""


@pytest.mark.long
async def test_https_with_a_certificate_that_lxd_trusts(driver: LxdDriver, world: LxdWorld) -> None:
    (made,) = await create(driver, world)
    own = world.lxd.home / "server.crt"
    address = f"127.0.0.2:{world.lxd.port}"  # the certificate has another
    await asyncio.to_thread(world.lxd.request, "PATCH", "/1.0", json={"config": {"core.https_address": address}})
    place = {"provider": "lxd", "region": world.project, "url": f"https://{address}", "server_certificate": str(own)}
    place |= {"certificate": str(own), "key": str(own.with_suffix(".key"))}

    def ask() -> Any:
        return json.loads(world.lxd.inside(sys.executable, "-c", HTTPS, json.dumps(place)))

    with pytest.raises(subprocess.CalledProcessError) as refused:
        await asyncio.to_thread(ask)
    assert "not authorized" in refused.value.stderr
    trusted = "".join(own.read_text().splitlines()[1:-1])
    wish = {"type": "client", "name": "stead", "certificate": trusted}
    await asyncio.to_thread(world.lxd.request, "POST", "/1.0/certificates", json=wish)
    assert await asyncio.to_thread(ask) == [made.facts["id"]]


PLACE = {"provider": "lxd", "region": "here", "socket": "/nowhere/unix.socket"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"socket": ""}, "socket or a url"),
        ({"url": "https://127.0.0.1:8443"}, "not both"),
        ({"socket": "", "url": "http://127.0.0.1:8443"}, "https"),
        ({"socket": "", "url": "https://127.0.0.1:8443", "certificate": "x"}, "key"),
        ({"grace": 30}, "longer than the grace"),
        ({"colour": "red"}, "colour"),
        ({"type": "ship"}, "ship"),
        ({"socket": "", "url": "https://127.0.0.1:1", "certificate": "nowhere", "key": "nowhere"}, "be read"),
    ],
)
def test_a_wrong_configuration_is_refused(config: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=rf"the configuration of LXD is wrong: .*{message}"):
        registry.make("lxd", {**PLACE, **config})


async def test_settings_may_be_text_as_the_command_line_has_them() -> None:
    driver = registry.make("lxd", PLACE | {"timeout": "40", "grace": "0"})
    assert driver.longest_call == 40
    await driver.close()
