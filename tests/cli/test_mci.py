"""`stead mci`, `subgroup` and `network`: an infrastructure over two clouds, from a terminal, on a whole cell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from stead.cli.output import Code
from stead.dev.engines import Nats
from tests.cli.remote import Answer, command
from tests.drivers.cloud import SimWorld
from tests.integration.served import served
from tests.integration.whole import agent

FILE = """
defaults: {{spec: small, image: debian-12}}
subgroups:
  - {{name: front, provider: aws, region: {aws}, size: 2}}
  - {{name: back, provider: gcp, region: {gcp}}}
"""


class Terminal:
    """Somebody who has a file."""

    def __init__(self, stead: partial[Answer], file: Path, worlds: dict[str, SimWorld]) -> None:
        self._stead = stead
        self.file = file
        self.worlds = worlds

    async def __call__(self, *words: str) -> Answer:
        return await asyncio.to_thread(partial(self._stead, *words))

    async def done(self, *words: str) -> str:
        answer = await self(*words)
        assert answer.code == Code.DONE, answer
        return answer.out


@asynccontextmanager
async def terminal(
    dsn: str, nats: Nats, world: SimWorld, tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Terminal]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(dsn, nats))
        other = SimWorld(world.cloud, provider="gcp")
        stack.push_async_callback(other.close)
        for name, place in (("a1", world), ("a2", other)):
            await stack.enter_async_context(agent(nats, server.cell, place, name))
        await server.known(f"aws.{world.region}", f"gcp.{other.region}")
        file = tmp / "mci.yaml"
        file.write_text(FILE.format(aws=world.region, gcp=other.region))
        yield Terminal(partial(command(server, monkeypatch)), file, {"aws": world, "gcp": other})


@pytest.mark.req("S0-01", "S0-04", "S0-07")
async def test_an_infrastructure_from_its_file_to_its_end(
    migrated: str, nats_server: Nats, world: SimWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal(migrated, nats_server, world, tmp_path, monkeypatch) as stead:
        answer = await stead("mci", "create", "shop/web", "-f", str(stead.file))
        assert (answer.code, answer.rows[1][1:]) == (Code.DONE, ["create", "/shop/web", "succeeded"])
        lines = (await stead.done("mci", "tree", "shop/web")).splitlines()
        assert lines[0] == "shop/web  Running:3 (R:3/3)"
        assert [line.split()[1] for line in lines[1:]] == ["front", "back"]
        assert "Running:2 (R:2/2)" in lines[1]
        shown = json.loads(await stead.done("mci", "show", "shop/web", "-o", "json"))
        assert (shown["state"], shown["members"]) == ("Running", {"Running": 3})
        assert "Running" in await stead.done("subgroup", "show", "shop/web/front")
        assert "Available" in await stead.done("network", "show", f"shop/networks/aws.{world.region}.default")
        used = await stead("network", "delete", f"shop/networks/aws.{world.region}.default")
        assert (used.code, "it is in use by /shop/web" in used.err) == (Code.REJECTED, True)

        await stead.done("mci", "suspend", "shop/web")
        assert await stead.done("mci", "status", "shop/web") == "shop/web  Suspended:3 (R:0/3)\n"
        await stead.done("mci", "resume", "shop/web")
        await stead.done("subgroup", "scale", "shop/web/front", "--to", "4")
        assert "Running:4" in await stead.done("subgroup", "list", "shop/web")
        await stead.done("subgroup", "scale", "shop/web/front", "--by", "-3")
        assert (await stead.done("mci", "status", "shop/web")).startswith("shop/web  Running:2 (R:2/2)")

        gcp = stead.worlds["gcp"]
        (back,) = (await gcp.get(f"gcp/{gcp.region}/instances"))["instances"]
        await gcp.drift("break", ids=[back["id"]])
        await gcp.fault(kind="fail", verb="reboot", members=True, code="Broken", times=1)
        failed = await stead("mci", "reboot", "shop/web")
        assert failed.code == Code.FAILED
        assert "1 member did not do it; see: stead operation members" in failed.err
        told = await stead.done("mci", "tree", "shop/web")
        assert "worst: shop/web/back/1 is Failed since" in told
        assert "Broken" in told.splitlines()[-1]
        await stead.done("mci", "refine", "shop/web")
        assert (await stead.done("mci", "status", "shop/web")).startswith("shop/web  Running:1 (R:1/1)")

        standing = json.loads(await stead.done("mci", "status", "shop/web", "-o", "json"))
        assert (standing["summary"], standing["counts"]["countTotal"], standing["target_action"]) == (
            "Running:1 (R:1/1)",
            1,
            "None",
        )
        await stead.done("mci", "terminate", "shop/web")
        await stead.done("mci", "delete", "shop/web")
        assert (await stead("mci", "status", "shop/web")).code == Code.NOT_FOUND
        assert await stead.done("mci", "list", "-o", "name") == ""


async def test_what_is_wrong_with_a_file_is_said_before_anybody_is_asked(
    migrated: str, nats_server: Nats, world: SimWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal(migrated, nats_server, world, tmp_path, monkeypatch) as stead:
        stead.file.write_text(stead.file.read_text().replace("size: 2", "szie: 2"))
        answer = await stead("mci", "create", "shop/web", "-f", str(stead.file))
        assert answer.code == Code.USAGE
        assert answer.err == f"error: {stead.file}:4: subgroups[0].szie: there is no such field; did you mean size?\n"
        missing = await stead("mci", "create", "shop/web", "-f", "nowhere.yaml")
        assert (missing.code, missing.err.rstrip()) == (
            Code.USAGE,
            "error: cannot read nowhere.yaml: No such file or directory",
        )
        assert (await stead("mci", "create", "shop/web/x", "-f", str(stead.file))).code == Code.USAGE


async def test_a_name_that_a_place_does_not_have_is_told_with_what_was_meant(
    migrated: str, nats_server: Nats, world: SimWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal(migrated, nats_server, world, tmp_path, monkeypatch) as stead:
        stead.file.write_text(stead.file.read_text().replace("debian-12", "debian-21"))
        answer = await stead("mci", "create", "shop/web", "-f", str(stead.file))
        assert answer.code == Code.FAILED
        assert f"because: aws.{world.region} has no image debian-21; did you mean debian-12" in answer.err


@pytest.mark.long
@pytest.mark.req("S0-13")
async def test_a_status_can_be_had_after_a_look(
    migrated: str, nats_server: Nats, world: SimWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal(migrated, nats_server, world, tmp_path, monkeypatch) as stead:
        await stead.done("mci", "create", "shop/web", "-f", str(stead.file))
        there = (await world.get(f"aws/{world.region}/instances"))["instances"]
        await world.drift("stop", ids=[there[0]["id"]])
        assert (await stead.done("mci", "status", "shop/web")).startswith("shop/web  Running:3 (R:3/3)")
        calls = await world.calls("describe")
        said = await stead.done("mci", "status", "shop/web", "--refresh")
        assert said.startswith("shop/web  Partial-Running:2 (R:2/3)")
        assert "observed now: 3, in 2 calls (1 saved)" in said.splitlines()
        assert await world.calls("describe") == calls + 1, "one call for all of a place"
        # What is suspended hardly changes by itself: it is not asked about again.
        await stead.done("mci", "suspend", "shop/web")
        calls = await world.calls("describe")
        said = await stead.done("mci", "tree", "shop/web", "--refresh")
        assert await world.calls("describe") == calls
        assert "not observed: 3 Suspended, last observed " in said
        assert said.rstrip().endswith(" or later (changes seldom)")
