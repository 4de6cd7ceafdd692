"""A cell of real processes: PostgreSQL, NATS, a simulated cloud, three controllers and four agents, or more.

Every lane is served by two agents at least, so that the loss of one leaves another. A process that has ended, by a
fault or by itself, is started again some seconds later, as a supervisor would.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx

from stead.dev.children import Server, signal_process
from stead.dev.engines import Nats, Postgres
from stead.drivers.ec2.calls import Calls
from stead.lifecycle.pace import DEFAULT
from tests.chaos import cuts, datacenter, faketime, smalldisk
from tests.chaos.cuts import Cuts
from tests.chaos.datacenter import Datacenter
from tests.chaos.faketime import Clocks
from tests.chaos.replicated import NODES, NatsTrio, Replicated
from tests.drivers.cloud import SimCloud
from tests.drivers.ec2 import Ec2Cloud
from tests.lanes import with_every_lane

ROOT = Path(__file__).parents[2]

PLACES = [(provider, region) for provider in ("aws", "azure", "gcp") for region in ("east", "west")]
LANES = [f"{provider}.{region}" for provider, region in PLACES]

EC2 = ("ec2", "eu-central-1")
"""A place that is not the simulated cloud's: a strict EC2."""
ACCOUNT = "AKIACHAOSCHAOSCHAOS0"
IMAGE = "debian-12"

NAME = "chaos"
"""Of the cell."""

CONTROLLERS, AGENTS = 3, 4

START = 180.0
"""Seconds for all of it to be ready, on a machine that has other things to do."""


class Process(Server):
    """A `stead` process, as its supervisor sees it."""

    def __init__(self, name: str, arguments: Sequence[str], planted: str = "", env: Sequence[str] = ()) -> None:
        super().__init__(f"chaos-{name}")
        self.name = name
        self.arguments = arguments
        self.planted = planted
        self.env = env
        """Settings of its environment."""
        self.paused = False
        self.down_until = 0.0
        """When it is to be started again, once it has ended."""
        self.since = time.monotonic()
        """Since when it runs undisturbed, where it does."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        if not self.planted:
            return ["env", *self.env, sys.executable, "-m", "stead", *self.words()]
        return ["env", *self.env, *with_bug(self.planted), *self.words()]

    def words(self) -> list[str]:
        port = ["--port", str(self.port)] if self.arguments[0] == "server" else []
        return [*self.arguments, *port]

    def launch(self) -> None:
        """Start it, and do not wait: what it needs may be down just now."""
        with self.log.open("ab") as log:
            self.process = self.spawn(self.command(), stdout=log)
        self.paused = False
        self.since = time.monotonic()
        self.keep(self.pid)

    def pause(self) -> None:
        """It stops in the middle of whatever it does, and knows nothing of it."""
        self.paused = True
        for pid in self.family():
            signal_process(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """It finds itself some seconds later."""
        if self.paused and self.running:
            for pid in self.family():
                signal_process(pid, signal.SIGCONT)
        self.paused = False
        self.since = time.monotonic()

    def family(self) -> list[int]:
        """Its own number, and that of a process that it has beside it."""
        return [self.pid, *self.beside()]

    def beside(self) -> list[int]:
        """What it has started."""
        try:
            return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        except OSError:
            return []

    @property
    def well(self) -> bool:
        """Neither ended nor paused."""
        return self.running and not self.paused


@dataclass
class Cell:
    """All the processes of a run."""

    postgres: Postgres | Replicated
    nats: Nats | NatsTrio
    cloud: SimCloud
    ec2: Ec2Cloud | None
    controllers: list[Process]
    agents: list[Process]
    dsn: str
    random: Random
    name: str = NAME
    datacenter: Datacenter | None = None
    cuts: Cuts | None = None
    """None where nothing can be cut."""
    clocks: Clocks | None = None
    """None where no clock can be set wrong."""
    of_cloud: Sequence[str] = ()
    """Names of the agents of the simulated cloud."""
    own_ends: list[str] = field(default_factory=list)
    """Processes that ended though nobody had killed them."""

    @property
    def processes(self) -> list[Process]:
        return [*self.controllers, *self.agents]

    @property
    def addresses(self) -> list[str]:
        return [one.url for one in self.controllers]

    def broken(self) -> bool:
        """Whether the database, the bus, or every controller is away."""
        engines = (self.postgres, self.nats)
        servers = [
            one for engine in engines for one in (engine.nodes if not isinstance(engine, Server) else [engine])
        ]
        return not all(one.running for one in servers) or not any(one.well for one in self.controllers)

    def undisturbed(self, name: str) -> float | None:
        """For how many seconds an agent runs undisturbed; None where it does not."""
        ages = [time.monotonic() - one.since for one in self.agents if one.name == name and one.well]
        return min(ages, default=None)

    def disturb(self, name: str) -> None:
        """Have a process count as started just now."""
        for one in self.processes:
            if one.name == name:
                one.since = time.monotonic()

    def downtime(self) -> float:
        """Seconds after which a supervisor starts a process again."""
        return self.random.uniform(1.0, 4.0)

    async def supervise(self) -> None:
        """For ever: start again what has ended."""
        while True:
            for one in self.processes:
                if one.process is not None and not one.running:
                    self.own_ends.append(f"{one.name} with {one.process.returncode}")
                    one.process = None
                    one.down_until = time.monotonic() + self.downtime()
                if one.process is None and time.monotonic() >= one.down_until:
                    one.launch()
            await asyncio.sleep(0.1)

    def kill(self, one: Process) -> float:
        """End a process as a crash would; says for how many seconds it is away."""
        away = self.downtime()
        one.down_until = time.monotonic() + away
        one.paused = False
        one.kill()
        return away

    async def until_ready(self) -> None:
        """All controllers take requests, and all agents run."""
        async with (
            asyncio.timeout(START),
            httpx.AsyncClient(trust_env=False, verify=False, timeout=2) as client,  # deadline: asked again
        ):
            while not all(await asyncio.gather(*(_ready(client, url) for url in self.addresses))):
                await asyncio.sleep(0.1)

    def keep_logs(self, folder: Path) -> None:
        """Copy what tells of the run to where it outlives it."""
        folder.mkdir(parents=True, exist_ok=True)
        servers: dict[str, Server] = {"cloud": self.cloud, **{one.name: one for one in self.processes}}
        for engine in (self.postgres, self.nats):
            servers |= {engine.name: engine} if isinstance(engine, Server) else engine.servers
        for name, server in servers.items():
            with suppress(FileNotFoundError):
                shutil.copy(server.log, folder / f"{name}.log")
        source = self.cloud.folder / "data" / "ledger.sqlite"
        with closing(sqlite3.connect(source)) as ledger, closing(sqlite3.connect(folder / "ledger.sqlite")) as copy:
            ledger.backup(copy)
        with suppress(RuntimeError):  # it may be what went wrong
            self.postgres.tool("pg_dump", "--file", str(folder / "database.sql"), self.name)


def with_bug(bug: str) -> list[str | Path]:
    """How a process with a bug is started: in a folder of its own, while the bugs are a module of the tests."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return ["env", f"PYTHONPATH={path}", sys.executable, "-m", "tests.chaos.planted", bug]


async def _ready(client: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await client.get(f"{url}/readyz")).status_code == 200
    except httpx.HTTPError:
        return False


def lanes_of(agent: int) -> list[str]:
    """Each agent has three lanes, and each lane two agents."""
    return [lane for i, lane in enumerate(LANES) if agent in (i % AGENTS, (i + 1) % AGENTS)]


@asynccontextmanager
async def running(
    seed: int,
    *,
    planted: str = "",
    pace: float = 1.0,
    ec2: bool = False,
    libvirt: bool = False,
    replicated: bool = False,
    env: Sequence[str] = (),
    faults: Sequence[str] = (),
) -> AsyncIterator[Cell]:
    """A cell, ready to be used, with a strict EC2 and a datacenter beside its cloud or without.

    `pace` is how long its protocol waits, as a part of what it waits by default. `replicated` says that database and
    bus have three nodes each; `env` are settings of the environment of its controllers and agents. `faults` are those
    that it has to be prepared for.
    """
    with ExitStack() as stack:
        parted = Cuts() if any(one.startswith("partition") for one in faults) and not cuts.missing() else None
        clocks = Clocks() if any(one.startswith("clock") for one in faults) and not faketime.missing() else None
        for means in (parted, clocks):
            if means is not None:
                stack.enter_context(means)

        def process(name: str, words: Sequence[str], env: Sequence[str] = env) -> Process:
            seen = [parted.seen_by(name, word) for word in words] if parted is not None else words
            return Process(name, seen, planted, [*env, *(clocks.env(name) if clocks is not None else ())])

        postgres, nats = stack.enter_context(_engines(replicated, parted, small="disk-full" in faults))
        cloud = stack.enter_context(SimCloud("--seed", str(seed)))
        dsn = postgres.create_database(NAME)
        if planted:
            await asyncio.to_thread(subprocess.run, [*with_bug(planted), "migrate", dsn], check=True)
        await with_every_lane(dsn)
        bus = ["--nats", nats.url, "--cell", NAME]
        server = ["server", "--open", "--database", dsn, *bus, *([] if pace == 1.0 else ["--pace", str(pace)])]
        server += ["--bus-replicas", str(NODES)] if replicated else []
        controllers = [process(f"controller-{i}", server) for i in range(1, CONTROLLERS + 1)]
        agents = [
            process(f"agent-{i + 1}", ["agent", "run", *bus, *_agent(i), *_driver(cloud, pace)])
            for i in range(AGENTS)
        ]
        of_cloud = [one.name for one in agents]
        strict = stack.enter_context(Ec2Cloud()) if ec2 else None
        if strict is not None:
            await register(strict)
            words = [*bus, "--lane", ".".join(EC2), "--driver", "ec2", *_driver(strict, pace, "endpoint_url")]
            names = [f"agent-{AGENTS + i}" for i in (1, 2)]
            own = credentials(strict)
            agents += [process(name, ["agent", "run", *words, "--name", name], own) for name in names]
        place = stack.enter_context(datacenter.running()) if libvirt else None
        if place is not None:
            names = [f"agent-{AGENTS + i}" for i in (3, 4)]
            words = [*bus, *place.agent(pace)]
            agents += [process(name, ["agent", "run", *words, "--name", name], ()) for name in names]
        cell = Cell(postgres, nats, cloud, strict, controllers, agents, dsn, Random(seed), datacenter=place)
        cell.cuts, cell.clocks, cell.of_cloud = parted, clocks, of_cloud
        for one in cell.processes:
            stack.callback(one.close)
        supervisor = asyncio.create_task(cell.supervise())
        try:
            await cell.until_ready()
            cell.own_ends.clear()
            yield cell
        finally:
            supervisor.cancel()
            await asyncio.wait([supervisor])


@contextmanager
def _engines(
    replicated: bool, parted: Cuts | None = None, *, small: bool = False
) -> Iterator[tuple[Postgres | Replicated, Nats | NatsTrio]]:
    if replicated:
        with Replicated(parted) as database, NatsTrio(parted) as bus:
            yield database, bus
        return
    # Commits have to survive a crash of the server, as they do anywhere; a crash of the machine is not tried.
    settings = {"synchronous_commit": "on", "log_min_duration_statement": "1000"}
    small = small and smalldisk.possible()
    if small:
        settings |= {"max_wal_size": "96MB", "min_wal_size": "32MB"}
    postgres = Postgres(fsync=False, settings=settings)
    with smalldisk.under(postgres) if small else nullcontext(), postgres, Nats() as nats:
        yield postgres, nats


def _agent(number: int) -> list[str]:
    lanes = [word for lane in lanes_of(number) for word in ("--lane", lane)]
    return [*lanes, "--name", f"agent-{number + 1}"]


def _driver(cloud: SimCloud | Ec2Cloud, pace: float, name: str = "url") -> list[str]:
    """Where the cloud is, and a time for its calls that fits into what custody keeps for them."""
    timeout = 0.9 * DEFAULT.scaled(pace).call
    return ["--set", f"{name}={cloud.url}", "--set", f"timeout={timeout:.1f}"]


def credentials(strict: Ec2Cloud) -> list[str]:
    """Whoever speaks to the strict EC2, as settings of an environment."""
    none = strict.folder / "none"
    files = [f"AWS_CONFIG_FILE={none}", f"AWS_SHARED_CREDENTIALS_FILE={none}"]
    return [f"AWS_ACCESS_KEY_ID={ACCOUNT}", "AWS_SECRET_ACCESS_KEY=secret", *files]


def calls(strict: Ec2Cloud) -> Calls:
    """The way to the strict EC2, for whoever looks at it from outside."""
    os.environ |= dict(setting.split("=", 1) for setting in credentials(strict))
    return Calls(region=EC2[1], profile="", endpoint_url=strict.url, timeout=30)


async def register(strict: Ec2Cloud) -> None:
    """Have an image that VMs can be made of."""
    ways = calls(strict)
    await ways.ask(ways.task(), dict[str, Any], "register_image", Name=IMAGE)
    ways.close()


async def in_thread[**P](work: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> None:
    """Work that blocks, and is waited for to its end even when nobody wants it any more."""
    task = asyncio.create_task(asyncio.to_thread(work, *args, **kwargs))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
