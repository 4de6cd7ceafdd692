"""A cell at the hub, and agents at places behind links, each with many sites and a simulated cloud to have them at.

An agent reaches its cloud without any link in between, as on one machine; the way to the cell is its link. Whoever
looks from behind reaches the clouds, too, whatever a link is like.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from stead.dev.engines import Nats, Postgres
from stead.lifecycle.pace import DEFAULT
from tests.chaos.cell import ROOT, Cell, Process, in_thread
from tests.drivers.cloud import SimCloud
from tests.edge.links import HUB, Links, within
from tests.lanes import with_every_lane

NAME = "edge"
"""Of the cell, and of the namespace that sites are in."""

CONTROLLERS = 2

CLOUD = 7780
"""The port of every place's cloud."""

READY = 60.0
"""Seconds for all sites to be ready, on a machine that has other things to do."""


class HubNats(Nats):
    """A bus that whoever is behind a link can reach."""

    def command(self) -> Sequence[str | Path]:
        return [word if word != "127.0.0.1" else "0.0.0.0" for word in super().command()]

    @property
    def far_url(self) -> str:
        """As places see it."""
        return f"nats://{HUB}:{self.port}"


class Placed(Process):
    """A `stead` process in a network namespace, with a bug in it, if one is named."""

    def __init__(self, name: str, arguments: Sequence[str], pace: float, namespace: str, planted: str) -> None:
        super().__init__(name, arguments, planted or "none")
        self.pace = pace
        self.namespace = namespace

    def command(self) -> Sequence[str | Path]:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        start = [*within(self.namespace), "env", f"PYTHONPATH={path}", sys.executable, "-m", "tests.edge.planted"]
        return [*start, self.planted, str(self.pace), *self.words()]


class PlaceCloud(SimCloud):
    """The simulated cloud of one place."""

    def __init__(self, namespace: str, address: str, seed: int) -> None:
        super().__init__("--seed", str(seed), "--host", "0.0.0.0")
        self.namespace = namespace
        self.address = address
        self.port = CLOUD

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def command(self) -> Sequence[str | Path]:
        return [*within(self.namespace), *super().command()]

    def ready(self) -> bool:
        try:
            socket.create_connection((self.address, self.port), timeout=1).close()
        except OSError:
            return False
        return True


@dataclass
class EdgeCell(Cell):
    """All the processes of a run, and the links between them."""

    links: Links = field(kw_only=True)
    clouds: list[PlaceCloud] = field(kw_only=True)
    sites: list[str] = field(kw_only=True)
    """Their names; a place has every so manieth of them."""

    @property
    def cloud_urls(self) -> list[str]:
        return [cloud.url for cloud in self.clouds]

    def place_of(self, site: int) -> int:
        return site % len(self.clouds)

    def keep_logs(self, folder: Path) -> None:
        super().keep_logs(folder)
        for n, cloud in enumerate(self.clouds):
            with suppress(FileNotFoundError):
                shutil.copy(cloud.log, folder / f"cloud-{n}.log")

    async def until_sites_are_ready(self) -> None:
        """Have every site made, and wait for its agent."""
        async with asyncio.timeout(READY), httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:
            some = asyncio.Semaphore(20)
            await asyncio.gather(*(self._made(client, some, site) for site in self.sites))
            while missing := [site for site in self.sites if not await self._ready(client, site)]:
                await asyncio.sleep(0.05 * len(missing) if len(missing) < 10 else 0.5)

    async def _made(self, client: httpx.AsyncClient, some: asyncio.Semaphore, site: str) -> None:
        async with some:
            address = f"{self.addresses[0]}/v1/resources/{NAME}/{site}"
            key = {"Idempotency-Key": f"made-{site}"}
            wish: dict[str, Any] = {"kind": "cloudlet", "spec": {}}
            answer = await client.post(address, params={"action": "create"}, json=wish, headers=key)
            assert answer.status_code == 202, answer.text

    async def _ready(self, client: httpx.AsyncClient, site: str) -> bool:
        answer = await client.get(f"{self.addresses[0]}/v1/resources/{NAME}/{site}")
        return bool(answer.status_code == 200 and answer.json()["state"] == "Ready")


@asynccontextmanager
async def running(
    links: Links, sites: int, seed: int, *, planted: str = "", pace: float = 1.0
) -> AsyncIterator[EdgeCell]:
    """A cell whose sites are all ready. This process has to be at the hub."""
    with ExitStack() as stack:
        settings = {"synchronous_commit": "on", "log_min_duration_statement": "1000"}
        postgres = stack.enter_context(Postgres(fsync=False, settings=settings))
        nats = stack.enter_context(HubNats())
        clouds = [PlaceCloud(name, links.address(n), seed + n) for n, name in enumerate(links.names)]
        for cloud in clouds:
            stack.callback(cloud.close)
        await asyncio.gather(*(in_thread(cloud.start) for cloud in clouds))
        dsn = postgres.create_database(NAME)
        await with_every_lane(dsn)
        paced = [] if pace == 1.0 else ["--pace", str(pace)]
        server = ["server", "--open", "--database", dsn, "--nats", nats.url, "--cell", NAME, *paced]
        controllers = [Placed(f"controller-{i}", server, pace, links.hub, planted) for i in range(1, CONTROLLERS + 1)]
        names = [f"s{n:03}" for n in range(sites)]
        agents = [
            Placed(f"agent-{n}", _agent(n, names[n :: len(clouds)], nats, pace), pace, links.names[n], planted)
            for n in range(len(clouds))
        ]
        cell = EdgeCell(
            postgres,
            nats,
            clouds[0],
            None,
            list(controllers),
            list(agents),
            dsn,
            Random(seed),
            NAME,
            links=links,
            clouds=clouds,
            sites=names,
        )
        for one in cell.processes:
            stack.callback(one.close)
        supervisor = asyncio.create_task(cell.supervise())
        try:
            try:
                await cell.until_ready()
                await cell.until_sites_are_ready()
            except BaseException:
                cell.keep_logs(folder := Path(tempfile.mkdtemp(prefix="stead-edge-logs-")))
                print(f"not everything became ready; the logs of all processes are in {folder}", flush=True)
                raise
            cell.own_ends.clear()
            yield cell
        finally:
            supervisor.cancel()
            await asyncio.wait([supervisor])


def _agent(number: int, sites: Sequence[str], nats: HubNats, pace: float) -> list[str]:
    lanes = [word for site in sites for word in ("--lane", f"edge.{NAME}.{site}")]
    timeout = 0.9 * DEFAULT.scaled(pace).call
    driver = ["--set", f"url=http://127.0.0.1:{CLOUD}", "--set", f"timeout={timeout:.1f}"]
    bus = ["--nats", nats.far_url, "--cell", NAME, "--name", f"agent-{number}"]
    return ["agent", "run", *bus, *lanes, *driver]
