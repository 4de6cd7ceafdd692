"""The dialect of document 000 from a shell: an MCI over two clouds from its making to its end, by curl alone."""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.drivers.cloud import SimWorld
from tests.integration.grounds import Grounds
from tests.integration.served import Served, served
from tests.integration.whole import agent

MCI = "http://localhost:1323/tumblebug/ns/default/mci/my-mci"
REFINE = 'curl -X POST "http://localhost:1323/tumblebug/ns/default/mci/my-mci?action=refine"'
"""As the document has it."""


@dataclass
class Shell:
    """Runs commands as somebody would type them, against a server elsewhere than they say."""

    server: Served
    worlds: dict[str, SimWorld]

    async def run(self, command: str) -> tuple[int, dict[str, Any]]:
        """The status and the JSON that a command got."""
        words = shlex.split(command.replace("\\\n", " ").replace("http://localhost:1323", self.server.url))
        more = ("--silent", "--show-error", "--noproxy", "*", "--write-out", "\n%{http_code}")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, *more, stdout=pipe, stderr=pipe)
        out, err = await process.communicate()
        assert process.returncode == 0, err
        said, _, code = out.decode().rpartition("\n")
        return int(code), json.loads(said)

    async def done(self, command: str) -> dict[str, Any]:
        code, said = await self.run(command)
        assert code == 200, said
        return said

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """How the MCI stands, as soon as something is so."""
        said: dict[str, Any] = {}
        try:
            async with asyncio.timeout(60):
                while True:
                    said = await self.done(f'curl "{MCI}?option=status"')
                    if holds(said):
                        return said
                    await asyncio.sleep(0.05)
        except TimeoutError as error:
            raise TimeoutError(str(said)) from error

    async def settled(self, status: str) -> dict[str, Any]:
        """How the MCI stands, as soon as it stands so and nothing is under way."""
        return await self.until(lambda said: said["status"] == status and _rests(said))

    async def instances(self) -> list[str]:
        """The states of all that the clouds have."""
        found = []
        for world in self.worlds.values():
            there = (await world.get(f"{world.provider}/{world.region}/instances"))["instances"]
            found += [instance["state"] for instance in there]
        return sorted(found)


@asynccontextmanager
async def shell(grounds: Grounds, **regions: str) -> AsyncIterator[Shell]:
    async with AsyncExitStack() as stack:
        name = f"shell_{secrets.token_hex(6)}"  # of its own: the document's MCI has one name
        dsn = await asyncio.to_thread(grounds.postgres.create_database, name, grounds.template)
        server = await stack.enter_async_context(served(dsn, grounds.nats))
        worlds = {name: SimWorld(grounds.cloud, regions.get(name, ""), name) for name in ("aws", "azure")}
        for name, world in worlds.items():
            stack.push_async_callback(world.close)
            await stack.enter_async_context(agent(grounds.nats, server.cell, world, f"agent-{name}"))
        await server.known(*(f"{name}.{world.region}" for name, world in worlds.items()))
        yield Shell(server, worlds)


@pytest.mark.req("S0-04", "S0-10", "S0-19", "S0-20")
async def test_an_mci_lives_and_dies_by_curl(grounds: Grounds) -> None:
    async with shell(grounds) as here:
        aws, azure = here.worlds["aws"], here.worlds["azure"]
        await azure.fault(kind="latency", verb="create", seconds=60.0)
        groups = [
            {"name": "front", "subGroupSize": "2", "specId": f"aws+{aws.region}+small", "imageId": "debian-12"},
            {"name": "back-end", "specId": f"azure+{azure.region}+small", "imageId": "debian-12"},
        ]
        asked = json.dumps({"name": "my-mci", "policyOnPartialFailure": "continue", "subGroups": groups})
        every = MCI.rpartition("/")[0]
        made = await here.done(f"curl -X POST '{every}' -H 'Content-Type: application/json' -d '{asked}'")
        assert (made["id"], made["targetAction"], made["targetStatus"]) == ("my-mci", "Create", "Running")

        under = await here.until(lambda said: said["statusCount"]["countCreating"] > 0)
        assert (under["targetAction"], under["targetStatus"]) == ("Create", "Running")
        creating = [vm for vm in under["vm"] if vm["status"] == "Creating"]
        assert {(vm["targetAction"], vm["targetStatus"]) for vm in creating} == {("Create", "Running")}
        code, refused = await here.run(f'curl -X POST "{MCI}?action=suspend"')
        assert (code, refused["holder"]["operation"]) == (409, made["operation"])
        assert refused["message"].startswith("MCI is under Create by anonymous since ")

        await azure.heal()
        said = await here.settled("Running:3 (R:3/3)")
        assert [vm["id"] for vm in said["vm"]] == ["back-end-1", "front-1", "front-2"]
        assert await here.instances() == ["running"] * 3

        await here.done(f'curl -X POST "{MCI}?action=suspend"')
        await here.settled("Suspended:3 (R:0/3)")
        assert await here.instances() == ["stopped"] * 3

        await here.done(f'curl -X POST "{MCI}?action=resume"')
        await here.settled("Running:3 (R:3/3)")
        assert await here.instances() == ["running"] * 3

        rebooted = await here.done(f'curl -X POST "{MCI}/vm/back-end-1?action=reboot"')
        await _ended(here, rebooted["operation"], "succeeded")
        assert await azure.calls("reboot") == 1
        assert await aws.calls("reboot") == 0

        row = await here.server.controller.store.resources.read("/default/my-mci/front/2")
        assert row is not None
        await aws.drift("break", tokens=[str(row.token)])
        await aws.fault(kind="fail", verb="suspend", members=True, code="DiskBroken", times=1)
        await here.done(f'curl -X POST "{MCI}/vm/front-2?action=suspend"')
        broken = await here.settled("Partial-Running:2 (R:2/3)")
        (front,) = (vm for vm in broken["vm"] if vm["id"] == "front-2")
        assert front["status"] == "Failed"
        assert "DiskBroken" in front["systemMessage"]
        refined = await here.done(REFINE)
        assert refined["message"] == "Refine of /default/my-mci is under way"
        left = await here.settled("Running:2 (R:2/2)")
        assert [vm["id"] for vm in left["vm"]] == ["back-end-1", "front-1"]
        assert await here.instances() == ["running"] * 2

        scale = f"curl -X POST '{MCI}/subgroup/front' -H 'Content-Type: application/json'"
        scaled = await here.done(scale + """ -d '{"numVMsToAdd": "2"}'""")
        await _ended(here, scaled["operation"], "succeeded")
        more = await here.settled("Running:4 (R:4/4)")
        assert [vm["id"] for vm in more["vm"]] == ["back-end-1", "front-1", "front-2", "front-3"]

        await here.done(f'curl -X POST "{MCI}?action=terminate"')
        gone = await here.settled("Terminated:4 (R:0/4)")
        assert gone["statusCount"]["countTerminated"] == 4
        assert await here.instances() == []
        await _ended(here, (await here.done(f'curl -X DELETE "{MCI}"'))["operation"], "succeeded")
        code, _ = await here.run(f'curl "{MCI}?option=status"')
        assert code == 404


@pytest.mark.long
@pytest.mark.req("S0-04", "S0-19")
@pytest.mark.parametrize(("word", "outcome"), [("continue", "succeeded"), ("withdraw", "rolled_back")])
async def test_a_held_mci_waits_for_a_word(grounds: Grounds, word: str, outcome: str) -> None:
    async with shell(grounds) as here:
        aws = here.worlds["aws"]
        group = {"name": "front", "specId": f"aws+{aws.region}+small", "imageId": "debian-12"}
        asked = json.dumps({"name": "my-mci", "subGroups": [group]})
        every = MCI.rpartition("/")[0]
        made = await here.done(f"curl -X POST '{every}?option=hold' -H 'Content-Type: application/json' -d '{asked}'")
        held = await here.until(lambda said: said["status"] == "Prepared")
        assert (held["targetAction"], held["vm"]) == ("Create", [])
        assert await here.instances() == []
        await here.done(f'curl -X POST "{MCI}?action={word}"')
        await _ended(here, made["operation"], outcome)
        assert await here.instances() == (["running"] if word == "continue" else [])


def _rests(said: dict[str, Any]) -> bool:
    """Whether nothing is under way, at any VM either, and all that there is has been counted."""
    counts = Counter(vm["status"] for vm in said["vm"])
    reached = all(one["targetAction"] == one["targetStatus"] == "None" for one in (said, *said["vm"]))
    return reached and all(said["statusCount"][f"count{state}"] == count for state, count in counts.items())


async def _ended(here: Shell, operation: str, outcome: str) -> None:
    """Until an operation has ended, as it should."""
    async with asyncio.timeout(60):
        while True:
            shown = await here.done(f"curl http://localhost:1323/v1/operations/{operation}")
            if shown["outcome"] is not None:
                break
            await asyncio.sleep(0.05)
    assert shown["outcome"] == outcome
