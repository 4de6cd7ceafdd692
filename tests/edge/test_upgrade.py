"""A site's agent is upgraded: two real processes of two versions at once, and what happens when that fails."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.agent.handover import Handover
from stead.dev.children import signal_process
from stead.lifecycle.rows import Actor
from tests.edge.site import APP, Edge
from tests.tiers import first_fast

REPOSITORY = Path(__file__).parents[2]


class Machine:
    """The machine of a site, with versions of the agent on it."""

    def __init__(self, edge: Edge, folder: Path) -> None:
        self.edge = edge
        self.folder = folder
        self.processes: list[asyncio.subprocess.Process] = []
        self.init = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        """Where whoever keeps the agent, such as systemd, is told which process it is."""
        self.init.settimeout(10)
        self.init.bind(str(folder / "init"))

    def has(self, version: str, fault: str = "none") -> None:
        """Put a version there."""
        program = self.folder / version / "bin" / "stead"
        program.parent.mkdir(parents=True)
        run = f'exec {sys.executable} -m tests.edge.versioned {version} {fault} "$@"'
        program.write_text(f"#!/bin/sh\ncd {REPOSITORY}\nPYTHONPATH=src:. {run}\n")
        program.chmod(0o755)

    async def start(self, version: str) -> asyncio.subprocess.Process:
        """Start the agent of a version, as whoever keeps it would."""
        edge = self.edge
        told = ["--lane", edge.lane, "--name", "crm", "--nats", edge.nats.url, "--cell", edge.cell]
        told += ["--set", f"url={edge.cloud.url}", "--set", "timeout=2", "--versions", str(self.folder)]
        process = await asyncio.create_subprocess_exec(
            self.folder / version / "bin" / "stead", "agent", "run", *told,
            env=os.environ | {"NOTIFY_SOCKET": str(self.folder / "init")},
        )  # fmt: skip
        self.processes.append(process)
        return process

    async def version(self) -> str:
        """The version of the agent that was heard of last."""
        (agent,) = await self.edge.one.store.agents.read_all()
        version: str = agent["version"]
        return version

    def agents(self) -> list[int]:
        """Processes of this site's agents."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if self.edge.lane.encode() in words:
                    found.append(int(entry.name))
        return found

    async def end(self) -> None:
        for pid in self.agents():
            signal_process(pid, signal.SIGKILL)
        for process in self.processes:
            await process.wait()
        self.init.close()


@pytest.fixture
async def machine(edge: Edge, tmp_path: Path) -> AsyncIterator[Machine]:
    one = Machine(edge, tmp_path)
    one.has("1.0")
    try:
        await one.start("1.0")
        assert await edge.do("create", edge.site) == "succeeded"
        yield one
    finally:
        await one.end()


async def upgrade(edge: Edge, version: str) -> str:
    return await edge.end(await edge.ask("upgrade", edge.site, {"version": version}), 90)


@pytest.mark.long
@pytest.mark.req("S1-11")
async def test_the_new_agent_takes_over_and_the_old_one_is_gone(edge: Edge, machine: Machine) -> None:
    machine.has("2.0")
    cluster = f"{edge.site}/c"
    assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    (old,) = machine.agents()
    assert await upgrade(edge, "2.0") == "succeeded"
    moves = await edge.moves(edge.site)
    assert moves[3:] == [
        "user request UpdateRequested",
        "agent started Updating",
        "controller connected InitOk",
        "successor done Ready",
    ]
    (new,) = machine.agents()
    assert new != old
    assert machine.init.recv(100) == f"MAINPID={new}".encode()
    assert (machine.folder / "current").readlink() == Path("2.0")
    assert await edge.do("create", f"{cluster}/web", APP) == "succeeded"
    async with asyncio.timeout(60):
        while await machine.version() != "2.0":
            await asyncio.sleep(0.05)
    row = await edge.row(edge.site)
    assert row is not None
    assert row.spec == {"version": "2.0"}
    await asyncio.sleep(4)  # sleep: longer than until the old one would be missed
    assert await edge.state(edge.site) == "Ready"


@pytest.mark.long
@pytest.mark.req("S1-11")
@pytest.mark.parametrize(
    ("fault", "says"),
    first_fast([("crashes", "it cannot run here"), ("missing", "there is no version"), ("dumb", "ended with 3")]),
)
async def test_where_the_new_agent_fails_the_old_one_goes_on(
    edge: Edge, machine: Machine, fault: str, says: str
) -> None:
    if fault != "missing":
        machine.has("2.0", fault)
    cluster = f"{edge.site}/c"
    assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    (old,) = machine.agents()
    operation = await edge.ask("upgrade", edge.site, {"version": "2.0"})
    assert await edge.end(operation, 40) == "failed"
    record = await edge.one.store.operations.read(operation)
    assert record is not None
    assert says in record["says"]
    assert await edge.state(edge.site) == "UpdateError"
    assert machine.agents() == [old]
    assert "its cloudlet is UpdateError" in await edge.refused("create", f"{cluster}/web", APP)
    assert "resolve is for admin" in await edge.refused("resolve", edge.site)
    await edge.ask("resolve", edge.site, actor=Actor.ADMIN)
    assert await edge.do("create", f"{cluster}/web", APP) == "succeeded"
    assert machine.agents() == [old]


@pytest.mark.long
@pytest.mark.req("S1-11")
async def test_changes_are_refused_meanwhile_and_a_killed_new_agent_is_a_failure(
    edge: Edge, machine: Machine
) -> None:
    machine.has("2.0", "sleeps")
    cluster = f"{edge.site}/c"
    assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    (old,) = machine.agents()
    operation = await edge.ask("upgrade", edge.site, {"version": "2.0"})
    async with asyncio.timeout(90):
        while await edge.state(edge.site) != "InitOk":
            await asyncio.sleep(0.05)
    assert "its cloudlet is InitOk" in await edge.refused("create", f"{cluster}/web", APP)
    assert "its cloudlet is InitOk" in await edge.refused("delete", cluster)
    (new,) = set(machine.agents()) - {old}
    os.kill(new, signal.SIGKILL)
    assert await edge.end(operation) == "failed"
    assert await edge.state(edge.site) == "UpdateError"
    assert machine.agents() == [old]


@pytest.mark.req("S1-11")
async def test_a_new_agent_that_comes_no_further_is_ended_in_the_end(tmp_path: Path) -> None:
    program = tmp_path / "2.0" / "bin" / "stead"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho $$\nexec sleep 600\n")
    program.chmod(0o755)
    said = await Handover(tmp_path, [], patience=1).hand_over("2.0")
    pid = (tmp_path / "2.0.log").read_text().strip()
    assert said == f"the agent of version 2.0 did not take over in 1 s: {pid}"
    assert not Path("/proc", pid).exists()


@pytest.mark.long
@pytest.mark.req("S1-11")
async def test_an_old_agent_that_dies_meanwhile_is_not_missed(edge: Edge, machine: Machine) -> None:
    machine.has("2.0")
    (old,) = machine.agents()
    operation = await edge.ask("upgrade", edge.site, {"version": "2.0"})
    async with asyncio.timeout(90):
        while len(machine.agents()) < 2:
            await asyncio.sleep(0.01)
    os.kill(old, signal.SIGKILL)
    assert await edge.end(operation, 40) == "succeeded"
    assert await edge.state(edge.site) == "Ready"
    assert old not in machine.agents()


@pytest.mark.long
@pytest.mark.req("S1-11")
async def test_a_new_agent_that_had_taken_over_and_died_says_so_when_it_is_back(edge: Edge, machine: Machine) -> None:
    machine.has("2.0", "dumb")
    for pid in machine.agents():
        signal_process(pid, signal.SIGKILL)
    operation = await edge.ask("upgrade", edge.site, {"version": "1.0"})
    await machine.start("1.0")
    assert await edge.end(operation, 40) == "succeeded"
    assert await edge.state(edge.site) == "Ready"
    await asyncio.sleep(4)  # sleep: longer than until the old one would be missed
    assert await edge.state(edge.site) == "Ready"


@pytest.mark.long
@pytest.mark.req("S1-14")
@pytest.mark.parametrize("words", ["newer", "older"])
async def test_an_agent_whose_words_are_of_another_version_works(edge: Edge, machine: Machine, words: str) -> None:
    machine.has("2.0", words)
    for pid in machine.agents():
        signal_process(pid, signal.SIGKILL)
    before = await edge.row(edge.site)
    assert before is not None
    await machine.start("2.0")
    async with asyncio.timeout(90):
        while (row := await edge.row(edge.site)) is None or row.snapshot.notify == before.snapshot.notify:
            await asyncio.sleep(0.05)
    await edge.until(edge.site, "Ready")
    cluster, app = f"{edge.site}/c", f"{edge.site}/c/web"
    assert await edge.do("create", cluster, {"nodes": 1}) == "succeeded"
    assert await edge.do("create", app, APP) == "succeeded"
    assert ("agent started Creating" in await edge.moves(app)) == (words == "newer")
    assert await edge.do("update", app, {"command": ["other"]}) == "succeeded"
    await edge.one.observer.refresh(edge.site)
    assert await edge.state(app) == "Ready"
    assert await edge.do("delete", cluster) == "succeeded"
    assert await edge.state(app) == ""
