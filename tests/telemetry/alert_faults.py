"""A cell of real processes that Prometheus watches with the alerts of this project, and the faults that raise them.

Only the clock of the rules is faster, so that a test takes seconds: their `for` and their ranges are a twentieth of
what they are, and the five minutes of two thresholds a tenth.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import asyncpg
import httpx
import yaml

from stead.access.direct import allow_lane
from stead.client import SyncClient
from stead.dev.children import Server, children, free_port, signal_process, wait_until
from stead.dev.engines import Nats, Postgres
from stead.pki import certificates
from stead.store.migrate import migrate
from tests.chaos.replicated import NatsTrio
from tests.drivers.cloud import SimCloud
from tests.telemetry.house import LANE, Stead

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
FASTER = 20
EVERY = 6
"""Seconds between two scrapes, and for each: a server whose database does not answer takes five to say so."""


def faster(text: str) -> str:
    """The rules with a faster clock."""
    text = re.sub(r"for: (\d+)m", lambda found: f"for: {int(found[1]) * 60 // FASTER}s", text)
    text = re.sub(r"\[(\d+)m\]", lambda found: f"[{int(found[1]) * 60 // FASTER}s]", text)
    return re.sub(r"> 300$", f"> {2 * 300 // FASTER}", text, flags=re.M)


class Prometheus(Server):
    """A Prometheus server that scrapes the targets in its file."""

    def __init__(self) -> None:
        super().__init__("prometheus")
        self.targets: dict[str, str] = {}
        (self.folder / "alerts.yml").write_text(faster(RULES.read_text()))
        scrape = {
            "job_name": "stead",
            "tls_config": {"insecure_skip_verify": True},
            "file_sd_configs": [{"files": [str(self.folder / "targets.json")], "refresh_interval": "1s"}],
        }
        every = {"scrape_interval": f"{EVERY}s", "scrape_timeout": f"{EVERY}s", "evaluation_interval": "1s"}
        config = {"global": every, "rule_files": ["alerts.yml"], "scrape_configs": [scrape]}
        (self.folder / "prometheus.yml").write_text(yaml.safe_dump(config))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str | Path]:
        where = [f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data"]
        return ["prometheus", *where, f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"]

    def ready(self) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/-/ready", trust_env=False).is_success
        return False

    def watch(self, name: str, address: str, scheme: str = "http") -> None:
        """Scrape one more, or none of this name any more where there is no address."""
        self.targets.pop(name, None)
        if address:
            self.targets[name] = json.dumps(
                {"targets": [address], "labels": {"__scheme__": scheme, "instance": name}}
            )
        part = self.folder / "targets.part"
        part.write_text(f"[{','.join(self.targets.values())}]")
        part.replace(self.folder / "targets.json")

    def alerts(self, *states: str) -> set[str]:
        """Alerts in one of these states."""
        found = httpx.get(f"{self.url}/api/v1/alerts", trust_env=False).raise_for_status().json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in found if alert["state"] in states}

    def looks(self) -> int:
        """How often all targets answered in the last half minute, the least of them."""
        query = {"query": "min(count_over_time(up{job='stead'}[30s]) * min_over_time(up{job='stead'}[30s]))"}
        found = httpx.get(f"{self.url}/api/v1/query", params=query, trust_env=False).json()["data"]["result"]
        return int(found[0]["value"][1]) if found else 0


class World:
    """The cell, the clouds behind it, and Prometheus."""

    def __init__(self, wrong_clock: Path) -> None:
        self.wrong_clock = wrong_clock
        self.stack = ExitStack()

    def __enter__(self) -> Self:
        enter = self.stack.enter_context
        try:
            self.postgres = enter(Postgres(fsync=False))
            self.nats = enter(Nats())
            self.cloud = enter(SimCloud())
            self.dsn = self.new_database()
            self.bus = ("--nats", self.nats.url, "--cell", "alerting")
            self.server = enter(self.new_server(self.dsn, *self.bus))
            self.metrics_port = free_port()
            self.agent = enter(self.new_agent())
            self.prometheus = enter(Prometheus())
        except BaseException:
            self.stack.close()
            raise
        self.prometheus.watch("server", f"127.0.0.1:{self.server.port}")
        self.prometheus.watch("agent", f"127.0.0.1:{self.metrics_port}")
        self.back_up()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def new_database(self) -> str:
        """With the schema, which several servers would bring up one after the other."""
        dsn = self.postgres.create_database(f"cell_{secrets.token_hex(4)}")
        asyncio.run(migrate(dsn))
        asyncio.run(allow_lane(dsn, "*", "shop"))
        return dsn

    @staticmethod
    def new_server(dsn: str, *words: str) -> Stead:
        """One that is not started."""
        return Stead("server", "--open", "--database", dsn, *words, web=True)

    def new_agent(self, name: str = "a1", **told: str) -> Stead:
        words = ("--lane", LANE, "--name", name, "--set", f"url={self.cloud.url}")
        port = ("--metrics-port", str(self.metrics_port)) if name == "a1" else ()
        return Stead("agent", "run", *self.bus, *words, *port, told=told)

    def sql(self, text: str) -> None:
        """Statements at the database."""

        async def run() -> None:
            connection = await asyncpg.connect(self.dsn)
            await connection.execute(text)
            await connection.close()

        asyncio.run(run())

    def value(self, query: str) -> int:
        """What a query finds."""

        async def run() -> int:
            connection = await asyncpg.connect(self.dsn)
            found = int(await connection.fetchval(query))
            await connection.close()
            return found

        return asyncio.run(run())

    def back_up(self) -> None:
        """As the timer does it every night."""
        file = self.server.folder / f"{secrets.token_hex(4)}.stead"
        command = [sys.executable, "-m", "stead", "backup", "create", str(file), "--database", self.dsn]
        subprocess.run(command, check=True, capture_output=True)

    def ask(self, count: int = 1, region: str = "us-east-1") -> list[str]:
        """Ask for VMs; their paths."""
        place = {"provider": "aws", "region": region, "spec": "small", "image": "debian-12"}
        body = {"kind": "vm", "spec": place, "expect_agent": True}
        paths = [f"shop/m/g/{secrets.token_hex(4)}" for _ in range(count)]
        with httpx.Client(base_url=f"http://127.0.0.1:{self.server.port}", trust_env=False, timeout=60) as web:
            for path in paths:
                web.post(f"/v1/resources/{path}", json=body).raise_for_status()
        return paths

    def cancel(self) -> None:
        """Cancel every operation in progress."""
        with SyncClient(f"http://127.0.0.1:{self.server.port}") as client:
            for operation in list(client.operations(running=True)):
                with suppress(Exception):  # it may end in this moment
                    client.cancel(operation.id)

    @property
    def controller(self) -> int:
        """The process beside the server."""
        (pid,) = children(self.server.pid)
        return pid

    @contextmanager
    def frozen(self, pid: int) -> Iterator[None]:
        """A process that does nothing."""
        assert signal_process(pid, signal.SIGSTOP), "it has ended"
        try:
            yield
        finally:
            signal_process(pid, signal.SIGCONT)

    @contextmanager
    def down(self, server: Server) -> Iterator[None]:
        """It crashes, and is started again in the end."""
        server.kill()
        try:
            yield
        finally:
            server.start()

    @contextmanager
    def again_and_again(self, do: Callable[[], Any]) -> Iterator[None]:
        """Repeat a request in several threads, and ignore its errors."""
        ended = threading.Event()

        def run() -> None:
            while not ended.wait(0.2):
                with suppress(httpx.HTTPError):
                    do()

        threads = [threading.Thread(target=run) for _ in range(12)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()

    def read(self) -> None:
        """A request that reads the database."""
        httpx.get(f"http://127.0.0.1:{self.server.port}/v1/resources", trust_env=False, timeout=30)

    def fault(self, **fault: Any) -> None:
        """At the cloud."""
        place = {"provider": "aws", "region": "us-east-1"}
        httpx.post(
            f"{self.cloud.url}/v1/_faults", json={"faults": [place | fault]}, trust_env=False
        ).raise_for_status()


def server_down(world: World) -> Iterator[None]:
    with world.down(world.server):
        yield


def controller_missing(world: World) -> Iterator[None]:
    with world.frozen(world.controller):
        yield


def database_away(world: World) -> Iterator[None]:
    with world.down(world.postgres):
        yield


def database_slow(world: World) -> Iterator[None]:
    world.sql(
        "ALTER TABLE backups RENAME TO kept_backups; "
        "CREATE VIEW backups AS SELECT b.* FROM kept_backups b, (SELECT pg_sleep(1.5) OFFSET 0) slow"
    )
    yield
    world.sql("DROP VIEW backups; ALTER TABLE kept_backups RENAME TO backups")


def connections_exhausted(world: World) -> Iterator[None]:
    async def hold(ended: threading.Event) -> None:
        connection = await asyncpg.connect(world.dsn)
        async with connection.transaction():
            await connection.execute("LOCK TABLE resources IN ACCESS EXCLUSIVE MODE")
            await asyncio.to_thread(ended.wait)
        await connection.close()

    ended = threading.Event()
    holder = threading.Thread(target=lambda: asyncio.run(hold(ended)))
    holder.start()
    with world.again_and_again(world.read):
        yield
        ended.set()
    holder.join()


def bus_away(world: World) -> Iterator[None]:
    with world.down(world.nats):
        yield


def bus_leaderless(world: World) -> Iterator[None]:
    with ExitStack() as stack:
        trio = stack.enter_context(NatsTrio())
        dsn = world.new_database()
        words = ("--nats", trio.url, "--cell", "three", "--bus-replicas", "3")
        server = stack.enter_context(world.new_server(dsn, *words))
        world.prometheus.watch("three", f"127.0.0.1:{server.port}")
        stack.callback(world.prometheus.watch, "three", "")
        for node in trio.nodes[1:]:
            node.kill()
        yield


def bus_forgot(world: World) -> Iterator[None]:
    world.nats.kill()
    world.nats.wipe()
    world.nats.start()
    yield


def journal_lags(world: World) -> Iterator[None]:
    with world.frozen(world.controller):
        world.ask()
        yield


def timers_late(world: World) -> Iterator[None]:
    with world.frozen(world.agent.pid):
        world.ask()
        wait_until(lambda: world.value("SELECT count(due) FROM resources") > 0, "a timer to run")
        with world.frozen(world.controller):
            world.sql("UPDATE resources SET due = due - interval '2 minutes' WHERE due IS NOT NULL")
            yield
    world.cancel()


def reconciler_fails(world: World) -> Iterator[None]:
    world.sql("ALTER TABLE lease_notices RENAME TO kept_notices")
    yield
    world.sql("ALTER TABLE kept_notices RENAME TO lease_notices")


def lanes_unserved(world: World) -> Iterator[None]:
    world.ask(region="nowhere")
    yield
    world.cancel()


def agents_away(world: World) -> Iterator[None]:
    with world.down(world.agent):
        yield


def orders_untaken(world: World) -> Iterator[None]:
    with world.frozen(world.agent.pid):
        world.ask()
        yield


def work_fails(world: World) -> Iterator[None]:
    world.fault(kind="fail", status=403, code="UnauthorizedOperation")
    with world.again_and_again(world.ask):
        yield
    world.cloud.restart()  # a restarted cloud has no faults


def server_errors(world: World) -> Iterator[None]:
    with world.down(world.postgres), world.again_and_again(world.read):
        yield


def custody_lost(world: World) -> Iterator[None]:
    world.fault(kind="slow", seconds=8)
    with world.new_agent("b1"):
        with world.frozen(world.agent.pid):
            pass
        world.ask(40)
        wait_until(lambda: in_hand(world) > 20, "the agent to have orders")
        with world.frozen(world.agent.pid):
            wait_until(lambda: not unfinished(world), "the other to do all of it")
        yield
    world.cloud.restart()


def in_hand(world: World) -> float:
    text = httpx.get(f"http://127.0.0.1:{world.metrics_port}/metrics", trust_env=False).text
    found = re.search(r"^stead_agent_orders_in_hand (\S+)", text, re.M)
    return float(found[1]) if found else 0.0


def unfinished(world: World) -> bool:
    """Whether anything is in progress."""
    with SyncClient(f"http://127.0.0.1:{world.server.port}") as client:
        return any(client.operations(running=True))


def clock_skew(world: World) -> Iterator[None]:
    world.agent.stop()
    with world.new_agent(LD_PRELOAD=str(world.wrong_clock), CLOCK_OFFSET="3600"):
        yield
    world.agent.start()


def backup_old(world: World) -> Iterator[None]:
    world.sql("UPDATE backups SET at = at - interval '27 hours'")
    yield
    world.back_up()


def certificate_ending(world: World) -> Iterator[None]:
    authority = certificates.authority("test", 1000)
    folder = world.server.folder
    file, key = folder / "https.pem", folder / "https.key"

    def write(days: float) -> None:
        made, made_key = certificates.server(authority, ["localhost"], days)
        file.write_text(made)
        key.write_text(made_key)
        key.chmod(0o600)

    write(10)
    words = (*world.bus, "--tls-cert", str(file), "--tls-key", str(key))
    with Https(world.dsn, *words) as server:
        world.prometheus.watch("https", f"127.0.0.1:{server.port}", "https")
        yield
        write(300)
        wait_until(lambda: "SteadCertificateExpiring" not in world.prometheus.alerts("firing"), "the alert to end")
        world.prometheus.watch("https", "")


class Https(Stead):
    """A server that speaks HTTPS."""

    def __init__(self, dsn: str, *words: str) -> None:
        super().__init__("server", "--open", "--database", dsn, *words, web=True)

    def ready(self) -> bool:
        with suppress(httpx.HTTPError):
            url = f"https://127.0.0.1:{self.port}/readyz"
            return httpx.get(url, verify=False, trust_env=False).status_code == 200
        return False


def identity_ending(world: World) -> Iterator[None]:
    world.sql(
        "INSERT INTO agent_identities (name, lanes, user_key, issued_at, expires_at) VALUES "
        "('away', '{aws.away}', 'U', now() - interval '25 days', now() + interval '5 days')"
    )
    yield
    world.sql("UPDATE agent_identities SET issued_at = now(), expires_at = now() + interval '30 days'")


FAULTS: Mapping[str, Callable[[World], Iterator[None]]] = {
    "SteadServerDown": server_down,
    "SteadControllerMissing": controller_missing,
    "SteadDatabaseAway": database_away,
    "SteadDatabaseSlow": database_slow,
    "SteadConnectionsExhausted": connections_exhausted,
    "SteadBusAway": bus_away,
    "SteadBusLeaderless": bus_leaderless,
    "SteadBusForgot": bus_forgot,
    "SteadJournalLags": journal_lags,
    "SteadTimersLate": timers_late,
    "SteadReconcilerFails": reconciler_fails,
    "SteadLanesUnserved": lanes_unserved,
    "SteadAgentsDisconnected": agents_away,
    "SteadOrdersUntaken": orders_untaken,
    "SteadOperationsFail": work_fails,
    "SteadServerErrors": server_errors,
    "SteadCustodyLost": custody_lost,
    "SteadClockSkew": clock_skew,
    "SteadBackupOld": backup_old,
    "SteadCertificateExpiring": certificate_ending,
    "SteadIdentityExpiring": identity_ending,
}
"""By alert, what is made to raise it; when a fault is over, what it has broken is mended."""
