"""A whole cell of child processes: database, bus, clouds, server with its controller, and agents.

They are started in the order in which they need each other and ended the other way round. What ends by itself is
started again, so that whoever kills a controller or an agent sees that nothing is lost.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from stead.dev.children import NotStarted, Server, wait_until
from stead.dev.engines import Nats, Postgres

LANES: Mapping[str, Sequence[str]] = {
    "aws": ("us-east-1", "eu-central-1"),
    "azure": ("koreacentral", "westeurope"),
    "gcp": ("asia-northeast3", "europe-west4"),
}
"""The providers of the simulated cloud, and their regions."""
RACK: Mapping[str, Sequence[str]] = {"rack": ("lab",)}
"""The same for the hosts that leases have."""
HOSTS: Mapping[str, Mapping[str, str | int]] = {
    "h1": {"cpus": 8, "memory": 32, "arch": "x86_64"},
    "h2": {"cpus": 16, "memory": 64, "arch": "x86_64"},
    "h3": {"cpus": 16, "memory": 64, "arch": "x86_64"},
    "h4": {"cpus": 32, "memory": 128, "arch": "arm64"},
}
"""What each of them has."""
LOCAL = "local.one"
"""The lane of this machine: services of systems run on it as real processes."""
HOOKS = tuple(f"http://{host}{end}" for host in ("127.0.0.1", "localhost") for end in (":", "/"))
"""Where webhooks may go: to this machine."""

CELL = "dev"
DATABASE = "stead"
GRACE = 5.0
"""Seconds for one of our own to come to its end."""
CHECK_INTERVAL = 0.2
"""Seconds between two looks at whether all of them still run."""


class Stead(Server):
    """One of our own processes."""

    def __init__(self, name: str, *words: str, folder: Path | None = None, port: int | None = None) -> None:
        super().__init__(name, folder=folder, port=port)
        self.words = words
        self.kept = folder is not None

    def command(self) -> Sequence[str | Path]:
        """The same interpreter, whatever is on the path."""
        return [sys.executable, "-m", "stead", *self.words]

    def environment(self) -> Mapping[str, str]:
        """A killed process leaves its temporary files behind; in its folder, they are removed with that."""
        return os.environ if self.kept else {**os.environ, "TMPDIR": str(self.folder)}

    def ready(self) -> bool:
        """An agent has nothing that could be asked: it runs."""
        return True

    def destroy(self) -> None:
        """In an orderly way, if that does not take long: nothing is lost either way."""
        try:
            self.end(signal.SIGTERM, GRACE)
        except subprocess.TimeoutExpired:
            self.kill()


class Web(Stead):
    """One that answers HTTP."""

    def __init__(self, name: str, path: str, *words: str, folder: Path | None = None, port: int) -> None:
        super().__init__(name, *words, "--port", str(port), folder=folder, port=port)
        self.path = path

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> bool:
        """It answers well."""
        try:
            with urllib.request.urlopen(f"{self.url}{self.path}", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False


@dataclass(frozen=True)
class Wanted:
    """How it is to be."""

    port: int = 7770
    cloud_port: int = 7780
    keep: Path | None = None
    """Where the data stays; without it, all of it is thrown away in the end."""
    delay: float = 1.0
    """Seconds that the simulated cloud takes for a call."""


class Cell:
    """All of it, running."""

    def __init__(self, wanted: Wanted, told: Callable[[str], None]) -> None:
        """What happens on the way is `told`."""
        self.wanted = wanted
        self.told = told
        self.postgres = Postgres(fsync=wanted.keep is not None, folder=self._folder("postgres"))
        self.nats = Nats(folder=self._folder("nats"))
        self.stack = ExitStack()
        self.own: list[Stead] = []

    def _folder(self, name: str) -> Path | None:
        return self.wanted.keep / name if self.wanted.keep is not None else None

    def __enter__(self) -> Self:
        """Start everything; what was started is ended where something does not come up."""
        with self.stack:
            self._start(self.postgres)
            self._database()
            self._start(self.nats)
            cloud = self._cloud()
            self._server()
            self._lanes()
            self._hosts()
            for provider, regions in {**LANES, **RACK}.items():
                self._agent(provider, regions, cloud)
            self._local()
            wait_until(self._served, "agents to serve all lanes")
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        self.stack.close()

    def _start(self, server: Server) -> None:
        self.stack.callback(server.close)
        server.start()
        if isinstance(server, Stead):
            self.own.append(server)

    def _database(self) -> None:
        try:
            self.postgres.create_database(DATABASE)
        except RuntimeError as error:
            if "already exists" not in str(error):
                raise

    def _cloud(self) -> str:
        folder = self._folder("cloud")
        web = Web("cloud", "/v1/_faults", "sim-cloud", folder=folder, port=self.wanted.cloud_port)
        web.words = (*web.words, "--data", str(web.folder / "ledger"))
        self._start(web)
        self._slow(web)
        return web.url

    def _slow(self, cloud: Web) -> None:
        """A cloud takes its time, or there would be nothing to watch."""
        if self.wanted.delay:
            faults = [
                {"kind": "slow", "verb": verb, "seconds": self.wanted.delay}
                for verb in ("create", "suspend", "resume", "reboot", "terminate", "create-network")
            ]
            body = json.dumps({"faults": faults}).encode()
            request = urllib.request.Request(f"{cloud.url}/v1/_faults", body, {"Content-Type": "application/json"})
            urllib.request.urlopen(request, timeout=5).close()

    def _words(self) -> tuple[str, ...]:
        return ("--nats", self.nats.url, "--cell", CELL)

    def _server(self) -> None:
        hooks = (word for prefix in HOOKS for word in ("--webhooks", prefix))
        words = ("server", "--open", "--database", self.postgres.dsn(DATABASE), *hooks, *self._words())
        folder = self._folder("server")
        self._start(Web("server", "/readyz", *words, folder=folder, port=self.wanted.port))

    def _lanes(self) -> None:
        """Every namespace may use the lanes of this machine, also one to come. What was said of one of them stays."""
        url = f"http://127.0.0.1:{self.wanted.port}/v1/cells/-/lane-grants"
        with urllib.request.urlopen(url, timeout=5) as answer:
            said = {one["lane"] for one in json.load(answer)["items"] if one["namespace"] == "*"}
        for lane in [lane for lane in (*lanes_of(LANES), *lanes_of(RACK), LOCAL) if lane not in said]:
            body = json.dumps({"reason": "stead dev"}).encode()
            kind = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{url}/{lane}/*", body, kind, method="PUT")
            urllib.request.urlopen(request, timeout=5).close()

    def _hosts(self) -> None:
        """Those that are not there yet; what became of the others is left as it is."""
        url = f"http://127.0.0.1:{self.wanted.port}/v1/cells/-/hosts"
        with urllib.request.urlopen(f"{url}?limit=1000", timeout=5) as answer:
            there = {host["name"] for host in json.load(answer)["items"]}
        (lane,) = lanes_of(RACK)
        for name in [name for name in HOSTS if name not in there]:
            body = json.dumps({"lane": lane, "properties": HOSTS[name]}).encode()
            kind = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{url}/{name}", body, kind, method="PUT")
            urllib.request.urlopen(request, timeout=5).close()

    def _agent(self, provider: str, regions: Sequence[str], cloud: str) -> None:
        lanes = [word for region in regions for word in ("--lane", f"{provider}.{region}")]
        name = f"agent-{provider}"
        words = ("agent", "run", *lanes, "--set", f"url={cloud}", "--name", name, *self._words())
        self._start(Stead(name, *words, folder=self._folder(name)))

    def _local(self) -> None:
        """An agent that runs services here; with it ends whatever it has started."""
        name = "agent-local"
        kept = self._folder(f"{name}-services")
        root = kept or Path(self.stack.enter_context(TemporaryDirectory(prefix=f"stead-{name}-services-")))
        ending = [sys.executable, "-m", "stead.drivers.process.ending", str(root)]
        self.stack.callback(lambda: subprocess.run(ending, check=False))
        settings = ("--driver", "process", "--set", f"root={root}", "--set", "isolation=false")
        words = ("agent", "run", "--lane", LOCAL, *settings, "--name", name, *self._words())
        self._start(Stead(name, *words, folder=self._folder(name)))

    def _served(self) -> bool:
        """Whether an agent is there for every lane: before that, whoever asks for something is told to wait."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.wanted.port}/v1/cells/-/lanes", timeout=5) as answer:
            found = {
                lane["lane"] for lane in json.load(answer)["items"] if any(a["connected"] for a in lane["agents"])
            }
        return found >= {*lanes_of(LANES), *lanes_of(RACK), LOCAL}

    def watch(self) -> None:
        """For ever: start again what has ended by itself."""
        while True:
            time.sleep(CHECK_INTERVAL)
            for server in [self.postgres, self.nats, *self.own]:
                if not server.running:
                    self._again(server)

    def _again(self, server: Server) -> None:
        code = server.process.returncode if server.process is not None else 0
        how = f"by signal {-code}" if code < 0 else f"with {code}"
        self.told(f"{server.name} ended {how}; it is started again")
        try:
            server.start()
        except NotStarted as error:
            self.told(f"{server.name} does not start: {str(error).strip()[-500:]}")
            return
        if isinstance(server, Web) and server.name == "cloud":
            self._slow(server)
        self.told(f"{server.name} is back, process {server.pid}")

    def parts(self) -> Iterator[tuple[str, int, str]]:
        """What runs where: name, process, address."""
        yield "postgres", self.postgres.pid, self.postgres.dsn(DATABASE)
        yield "nats", self.nats.pid, self.nats.url
        for server in self.own:
            yield server.name, server.pid, server.url if isinstance(server, Web) else ""


def lanes_of(providers: Mapping[str, Sequence[str]]) -> list[str]:
    """The lanes of some providers."""
    return [f"{provider}.{region}" for provider, regions in providers.items() for region in regions]


def taken(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def home() -> Path:
    """Where data is kept. PostgreSQL does not run as root, and who it runs as cannot look into root's own folder."""
    if said := os.environ.get("STEAD_DEV_DATA"):
        return Path(said).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/stead-dev")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "stead" / "dev"
