"""The simulated cloud: its driver keeps every driver's promises, and what it does beyond them is as it says."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import msgspec
import pytest

from stead.dev.children import free_port, wait_until
from stead.drivers.base import TRANSITIONAL, Member, PermanentError, RetryableError
from stead.drivers.sim.driver import LIMIT, SimDriver
from stead.lifecycle.rows import ABSENT, BROKEN
from tests.drivers.cloud import SimCloud, SimWorld
from tests.drivers.conformance import Conformance, create, eventually, known, observe, until


class TestConformance(Conformance):
    """On a real server."""


@asynccontextmanager
async def saying(talk: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """The address of a server that hears one request and then talks as it likes."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            await talk(writer)
        writer.close()

    async with await asyncio.start_server(converse, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


class TestStates:
    """What instances go through."""

    async def test_a_slow_move_is_pending_and_arrives(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="slow", seconds=0.1)
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
        (instance,) = await world.history(member.token)
        assert [(deed["verb"], deed["after"]) for deed in instance["history"]] == [
            ("create", "pending"),
            ("arrive", "running"),
            ("suspend", "stopping"),
            ("arrive", "stopped"),
            ("resume", "starting"),
            ("arrive", "running"),
            ("terminate", "shutting-down"),
            ("arrive", "terminated"),
        ]

    async def test_what_is_on_its_way_is_seen_moving(self, driver: SimDriver, world: SimWorld) -> None:
        await world.fault(kind="slow", seconds=3600)
        member = world.member()
        await driver.perform("create", [member], "order-create")
        assert await observe(driver, member) == [TRANSITIONAL]
        assert [found.state for found in await driver.inventory()] == [TRANSITIONAL]

    async def test_without_faults_nothing_is_pending(self, driver: SimDriver, world: SimWorld) -> None:
        (result,) = await driver.perform("create", [world.member()], "order-create")
        assert (result.ok, result.pending) == (True, "")

    async def test_a_wrong_state_is_final_and_a_moving_one_is_not(self, driver: SimDriver, world: SimWorld) -> None:
        (stopped,) = await create(driver, world)
        await driver.perform("suspend", [stopped], "order-suspend")
        await world.fault(kind="slow", verb="create", seconds=60)
        moving = world.member()
        await driver.perform("create", [moving], "order-create")
        results = await driver.perform("reboot", [stopped, moving], "order-reboot")
        assert [(result.ok, result.permanent) for result in results] == [(False, True), (False, False)]
        assert all(result.error.startswith("IncorrectState") for result in results)

    async def test_every_reboot_is_done(self, driver: SimDriver, world: SimWorld) -> None:
        (made,) = await create(driver, world)
        for order in ("one", "one", "two"):
            await driver.perform("reboot", [made], f"order-{order}")
        (instance,) = await world.history(made.token)
        assert [d["order"] for d in instance["history"] if d["verb"] == "reboot"] == [
            "order-one",
            "order-one",
            "order-two",
        ]

    async def test_one_instance_named_twice_is_acted_on_once(self, driver: SimDriver, world: SimWorld) -> None:
        member = world.member()
        twins = known([member, member], await driver.perform("create", [member, member], "order-create"))
        assert twins[0].facts == twins[1].facts
        known(twins, await driver.perform("suspend", twins, "order-suspend"))
        (instance,) = await world.history(member.token)
        assert [deed["verb"] for deed in instance["history"]] == ["create", "suspend"]


class TestDrift:
    """What happens behind everybody's back."""

    async def test_instances_change_by_themselves(self, driver: SimDriver, world: SimWorld) -> None:
        stopped, gone, broken = await create(driver, world, 3)
        assert await world.drift("stop", tokens=[stopped.token]) == [stopped.facts["id"]]
        await world.drift("delete", ids=[gone.facts["id"]])
        await world.drift("break", tokens=[broken.token])
        assert await observe(driver, stopped, gone, broken) == ["Suspended", ABSENT, BROKEN]
        await world.drift("start", tokens=[stopped.token])
        assert await observe(driver, stopped) == ["Running"]
        assert await world.drift("start", tokens=[gone.token]) == []
        assert await observe(driver, gone) == [ABSENT]

    async def test_one_that_stopped_is_not_created_again_and_not_called_finished(
        self, driver: SimDriver, world: SimWorld
    ) -> None:
        (made,) = await create(driver, world)
        await world.drift("stop", tokens=[made.token])
        (result,) = await driver.perform("create", [made], "order-create")
        assert (result.ok, result.pending, result.facts) == (True, "Running", made.facts)

    async def test_a_broken_one_can_be_terminated_and_nothing_else(self, driver: SimDriver, world: SimWorld) -> None:
        (broken,) = await create(driver, world)
        await world.drift("break", tokens=[broken.token])
        (result,) = await driver.perform("suspend", [broken], "order-suspend")
        assert (result.ok, result.permanent) == (False, True)
        (result,) = await driver.perform("create", [broken], "order-create")
        assert (result.ok, result.permanent, result.facts) == (False, True, broken.facts)
        (result,) = await driver.perform("terminate", [broken], "order-terminate")
        assert result.ok
        assert await observe(driver, broken) == [ABSENT]

    async def test_orphans_are_in_the_inventory_of_their_owner(self, driver: SimDriver, world: SimWorld) -> None:
        ours = await world.drift("create", count=2, tags={"owner": "stead", "path": "/ns/lost"})
        theirs = await world.drift("create", tags={"owner": "somebody"})
        await world.drift("create")
        assert {(found.id, found.path) for found in await driver.inventory()} == {(id, "/ns/lost") for id in ours}
        other = world.driver(owner="somebody")
        assert [found.id for found in await other.inventory()] == theirs
        await other.close()

    async def test_an_inventory_of_many_pages_is_whole(self, driver: SimDriver, world: SimWorld) -> None:
        ids = await world.drift("create", count=2001, tags={"owner": "stead"})
        assert [found.id for found in await driver.inventory()] == ids
        assert await world.calls("list") == 3


class TestAccounts:
    """What the ledger says."""

    async def test_calls_are_recorded_with_what_they_did(self, driver: SimDriver, world: SimWorld) -> None:
        (made,) = await create(driver, world)
        never = world.member()
        await world.fault(kind="throttle", times=1)
        with pytest.raises(RetryableError):
            await driver.perform("suspend", [made], "order-suspend")
        await world.lose_reply("suspend")
        with pytest.raises(RetryableError):
            await driver.perform("suspend", [made, never], "order-suspend")
        await driver.describe([made, never])
        id = made.facts["id"]
        recorded = await world.recorded()
        assert recorded[-1]["members"] == [
            {"token": made.token, "id": id, "did": "found", "error": ""},
            {"token": never.token, "id": "", "did": "gone", "error": ""},
        ]
        calls = [call for call in recorded if call["verb"] != "describe"]
        assert [(c["verb"], c["order"], c["outcome"], c["reply"]) for c in calls] == [
            ("create", "order-create", "done", "sent"),
            ("suspend", "order-suspend", "throttled", "sent"),
            ("suspend", "order-suspend", "done", "lost"),
        ]
        assert calls[0]["members"] == [{"token": made.token, "id": id, "did": "made", "error": ""}]
        assert calls[1]["members"] == []
        assert calls[2]["members"] == [
            {"token": made.token, "id": id, "did": "done", "error": ""},
            {"token": never.token, "id": "", "did": "failed", "error": "NotFound"},
        ]

    async def test_what_was_done_twice_is_told_and_what_was_harmless_is_not(
        self, driver: SimDriver, world: SimWorld
    ) -> None:
        (made,) = await create(driver, world)
        await driver.perform("create", [made], "order-create")
        for _ in range(2):
            await driver.perform("suspend", [made], "order-suspend")
        await driver.perform("resume", [made], "order-resume")
        elsewhere = world.driver(region=f"{world.region}-other")
        ledger = await world.get("_ledger")
        assert made.token not in str(ledger["twice"])
        assert ledger["asked_twice"][made.token] == 2

        for _ in range(3):
            await driver.perform("reboot", [made], "order-reboot")
        (other,) = await elsewhere.perform("create", [made], "order-create")
        await elsewhere.close()
        ledger = await world.get("_ledger")
        id = made.facts["id"]
        rebooted = {"id": id, "token": made.token, "verb": "reboot", "order": "order-reboot", "times": 3}
        assert [deed for deed in ledger["twice"]["deeds"] if deed["token"] == made.token] == [rebooted]
        two = {"token": made.token, "ids": [id, other.facts["id"]]}
        assert [line for line in ledger["twice"]["instances"] if line["token"] == made.token] == [two]

    async def test_the_summary_counts_instances_calls_and_deeds(self, driver: SimDriver, world: SimWorld) -> None:
        made = await create(driver, world, 3)
        await driver.perform("suspend", made[:1], "order-suspend")
        ledger = await world.get("_ledger")
        here = {place["state"]: place["count"] for place in ledger["places"] if place["region"] == world.region}
        assert here == {"running": 2, "stopped": 1}
        lines = [line for line in ledger["calls_by_outcome"] if line["region"] == world.region]
        assert {(line["verb"], line["count"], line["members"]) for line in lines} >= {
            ("create", 1, 3),
            ("suspend", 1, 1),
        }
        assert ledger["calls"]["create"] >= 1
        assert ledger["deeds"]["create"] >= 3

    async def test_instances_come_in_pages(self, driver: SimDriver, world: SimWorld) -> None:
        made = await create(driver, world, 5)
        ids = [member.facts["id"] for member in made]
        seen: list[str] = []
        page = {"next": str(int(ids[0].removeprefix("i-"), 16) - 1)}
        while "next" in page:
            page = await world.get(f"_ledger/instances?limit=2&after={page['next']}")
            assert len(page["instances"]) <= 2
            seen += [instance["id"] for instance in page["instances"]]
        assert seen == ids


class TestServer:
    """The process."""

    @pytest.mark.long
    async def test_a_killed_server_remembers_all_that_it_answered(self) -> None:
        with SimCloud() as cloud:
            world = SimWorld(cloud)
            driver = world.driver(timeout=5)
            answered: list[Member] = []

            async def make() -> None:
                while True:
                    members = [world.member() for _ in range(3)]
                    try:
                        answered.extend(known(members, await driver.perform("create", members, "order-create")))
                    except RetryableError:
                        return

            makers = asyncio.gather(*(make() for _ in range(8)))
            await eventually(lambda: asyncio.sleep(0, len(answered)), lambda count: count > 100)
            await asyncio.to_thread(cloud.kill)
            await makers
            await asyncio.to_thread(cloud.start)
            found = {found.token: found.facts for found in await driver.inventory()}
            assert {m.token: m.facts for m in answered}.items() <= found.items()
            (again,) = await driver.perform("create", [msgspec.structs.replace(answered[0], facts={})], "order")
            assert again.facts == answered[0].facts
            assert (await world.get("_ledger"))["twice"] == {"instances": [], "deeds": []}
            await driver.close()
            await world.close()

    async def test_a_server_with_a_list_of_places_has_no_others(self) -> None:
        with SimCloud("--place", "aws.known") as cloud:
            known_place, unknown = SimWorld(cloud, "known"), SimWorld(cloud, "unknown")
            for world in (known_place, unknown):
                driver = world.driver()
                if world is unknown:
                    with pytest.raises(PermanentError, match="unknown"):
                        await driver.perform("create", [world.member()], "order")
                else:
                    await create(driver, world)
                await driver.close()
                await world.close()

    def test_it_prints_its_port_and_ends_on_a_signal_even_while_a_call_hangs(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "stead.drivers.sim", "--port", "0", "--data", str(tmp_path / "data")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                port = int(process.stdout.readline())
                url = f"http://127.0.0.1:{port}/v1"
                with httpx.Client(trust_env=False) as client, socket.create_connection(("127.0.0.1", port)) as hung:
                    client.post(f"{url}/_faults", json={"faults": [{"kind": "hang"}]}).raise_for_status()
                    hung.sendall(b"GET /v1/aws/any/instances HTTP/1.1\r\nhost: any\r\n\r\n")
                    wait_until(lambda: len(client.get(f"{url}/_calls").json()["calls"]) == 1, "the call to hang")
                    process.send_signal(signal.SIGTERM)
                    process.wait(60)
            finally:
                process.kill()

    @pytest.mark.parametrize(
        ("what", "body", "says"),
        [
            ("_faults", {"faults": [{"kind": "earthquake"}]}, "earthquake"),
            ("_faults", {"faults": [{"kind": "lost", "regoin": "x"}]}, "regoin"),
            ("_faults", {"faults": [{"kind": "fail", "fraction": 2}]}, "<= 1"),
            ("_drift", {"do": "sing", "provider": "aws", "region": "x"}, "sing"),
            ("aws/x/instances", {"instances": [{}]}, "token"),
            ("aws/x/instances", {"instances": [{"token": "t"}] * 1001}, "1000"),
            ("aws/x/instances/paint", {"instances": []}, "paint"),
        ],
    )
    async def test_what_is_not_understood_is_refused_with_a_reason(
        self, world: SimWorld, what: str, body: object, says: str
    ) -> None:
        response = await world.client.post(f"/v1/{what}", json=body)
        assert response.status_code == 400
        assert says in response.json()["error"]["message"]


class TestDriver:
    """What the driver makes of the network."""

    @pytest.mark.parametrize("answer", [b"", b"<html>", b'{"answers": []}', b'{"answers": [{"did": "lunch"}]}'])
    async def test_an_answer_that_makes_no_sense_leaves_all_open(self, world: SimWorld, answer: bytes) -> None:
        async def talk(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(answer) + answer)
            await writer.drain()

        async with saying(talk) as url:
            driver = world.driver(url=url)
            with pytest.raises(RetryableError, match="no sense") as raised:
                await driver.perform("reboot", [world.member()], "order")
            assert raised.value.unknown
            await driver.close()

    async def test_an_answer_that_trickles_in_is_given_up_in_time(self, world: SimWorld) -> None:
        async def talk(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
            for _ in range(999):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)

        async with saying(talk) as url:
            driver = world.driver(url=url, timeout=0.3)
            began = time.monotonic()
            with pytest.raises(RetryableError, match="did not come") as raised:
                await driver.perform("reboot", [world.member()], "order")
            assert raised.value.unknown
            assert time.monotonic() - began < 30
            await driver.close()

    async def test_what_was_never_sent_was_not_done(self, world: SimWorld) -> None:
        driver = world.driver(url=f"http://127.0.0.1:{free_port()}")
        with pytest.raises(RetryableError) as unreachable:
            await driver.perform("create", [world.member()], "order")
        assert not unreachable.value.unknown
        await driver.close()

    async def test_long_tokens_fit_into_a_full_batch(self, driver: SimDriver, world: SimWorld) -> None:
        members = [Member(path=f"/ns/{i}", token=f"{world.region}-{i:0200}") for i in range(LIMIT)]
        made = known(members, await driver.perform("create", members, "order"))
        await until(driver, "Running", *made)

    async def test_a_long_request_may_come_in_pieces(self, world: SimWorld) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.cloud.port)
        query = "&".join(f"tokens={i:0500}" for i in range(LIMIT))
        for start in range(0, len(query), 1000):
            head = b"" if start else f"GET /v1/aws/{world.region}/instances?".encode()
            writer.write(head + query[start : start + 1000].encode())
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b" HTTP/1.1\r\nhost: any\r\nconnection: close\r\n\r\n")
        assert (await reader.readline()).split()[1] == b"200"
        writer.close()
        await writer.wait_closed()

    async def test_names_and_tokens_may_hold_any_character(self, world: SimWorld) -> None:
        driver = world.driver(region=f"{world.region} ?&#%")
        members = [Member(path=f"/ns/{i}", token=f"{world.region}{mark}") for i, mark in enumerate(",&=?# +%\u00fc")]
        made = known(members, await driver.perform("create", members, "order"))
        assert await observe(driver, *(msgspec.structs.replace(m, facts={}) for m in made)) == ["Running"] * len(made)
        await driver.close()
