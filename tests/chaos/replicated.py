"""A database and a bus of three nodes each, as production has them.

PostgreSQL is kept by Patroni: one node is the primary, one follows it synchronously, and when the primary is lost
another takes its place. HAProxy leads to whichever is the primary. NATS keeps three copies of each stream.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from stead.dev.children import Server, alive, children, free_port, signal_process
from stead.dev.engines import Clients, Nats, postgres_binary, unprivileged_user
from tests.chaos.cuts import USERS, Cuts

NODES = 3
SCOPE = "chaos"
PROGRAMS = ("patroni", "etcd", "haproxy")

TTL = 20
"""Seconds after which a primary that is not heard of has lost its place; Patroni takes no less."""

PATIENCE = 300.0
"""Seconds for nodes to find each other, or to come back, on a machine that has much else to do."""

SETTINGS = {
    "max_connections": 150,
    "shared_buffers": "64MB",
    "wal_level": "replica",
    "hot_standby": "on",
    "fsync": "off",  # a crash of a server loses nothing by it, and the machine's is not tried
    "full_page_writes": "on",  # or nobody can be rewound from it
    "synchronous_commit": "on",
    "log_min_duration_statement": 1000,
}


def missing() -> str:
    """What has to be installed before; nothing where all is there."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"{', '.join(absent)} is missing (apt install patroni etcd-server haproxy)" if absent else ""


class Etcd(Server):
    """Where the nodes agree on who leads."""

    def __init__(self) -> None:
        super().__init__("etcd")
        self.peers = free_port()

    def command(self) -> Sequence[str | Path]:
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peers}"
        own = ["--name", "one", "--data-dir", str(self.folder / "data"), "--initial-cluster", f"one={peer}"]
        here = ["--listen-client-urls", client, "--advertise-client-urls", client]
        return ["etcd", *own, *here, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]

    def ready(self) -> bool:
        return _answers(f"http://127.0.0.1:{self.port}/health")


class Node(Server):
    """A PostgreSQL, and the Patroni that keeps it."""

    def __init__(self, number: int, etcd: Etcd, cuts: Cuts | None = None) -> None:
        super().__init__(f"node-{number}", user=unprivileged_user() if os.geteuid() == 0 else None)
        self.number = number
        self.member = f"pg{number}"
        self.rest = free_port()
        self.data = self.folder / "data"
        self.file = self.folder / "patroni.yml"
        agreed = f"127.0.0.1:{etcd.port}"
        seen = cuts.seen_by(self.name, agreed) if cuts is not None else agreed
        self.file.write_text(yaml.safe_dump(self._config(seen)), encoding="utf-8")

    def _config(self, etcd: str) -> dict[str, Any]:
        trusted = [f"host {what} all 127.0.0.1/32 trust" for what in ("all", "replication")]
        anew = {f"remove_data_directory_on_{why}": True for why in ("rewind_failure", "diverged_timelines")}
        common = {"use_pg_rewind": True, "use_slots": True, "parameters": SETTINGS, **anew}
        return {
            "scope": SCOPE,
            "name": self.member,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd3": {"hosts": etcd},
            "bootstrap": {
                "dcs": {
                    **{"ttl": TTL, "loop_wait": 2, "retry_timeout": 4, "maximum_lag_on_failover": 1 << 20},
                    **{"synchronous_mode": True, "primary_start_timeout": 0, "postgresql": common},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
                "pg_hba": trusted,
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self.data),
                "bin_dir": str(postgres_binary("postgres").parent),
                "pgpass": str(self.folder / "pgpass"),
                "pg_hba": trusted,
                "authentication": {
                    name: {"username": user, "password": "x"}
                    for name, user in (("replication", "follower"), ("superuser", "postgres"), ("rewind", "rewinder"))
                },
                "parameters": {"unix_socket_directories": str(self.folder)},
            },
            "watchdog": {"mode": "off"},
        }

    def command(self) -> Sequence[str | Path]:
        return ["env", "-u", "PYTHONPATH", "-u", "VIRTUAL_ENV", "patroni", self.file]

    def ready(self) -> bool:
        """Patroni answers; its PostgreSQL may not be there yet."""
        return _answers(f"http://127.0.0.1:{self.rest}/liveness")

    def serves(self, role: str) -> bool:
        """Whether its PostgreSQL is there, as `primary`, `synchronous` or `replica`."""
        return self.running and _answers(f"http://127.0.0.1:{self.rest}/{role}")

    def lose(self) -> None:
        """End all of it as a loss of power would."""
        self.end(signal.SIGKILL)
        self.crash()

    def crash(self) -> None:
        """End PostgreSQL alone, with all its backends; Patroni sees it."""
        with suppress(OSError, ValueError):
            postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
            if not alive(postmaster):
                return
            signal_process(postmaster, signal.SIGSTOP)  # so that no backend comes to be, or is waited for, in between
            everybody = [*children(postmaster), postmaster]
            for pid in everybody:
                signal_process(pid, signal.SIGKILL)
            _until(lambda: not any(alive(pid) for pid in everybody), "the backends to end")

    def destroy(self) -> None:
        self.lose()


class Balancer(Server):
    """Leads to the primary, and breaks connections to whoever is it no more."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__("haproxy")
        servers = [f"  server {one.member} 127.0.0.1:{one.port} check port {one.rest}" for one in nodes]
        lines = [
            "global",
            "  maxconn 400",
            "defaults",
            "  mode tcp",
            "  timeout connect 2s",
            "  timeout client 1h",
            "  timeout server 1h",
            "  timeout check 2s",
            "listen primary",
            f"  bind 127.0.0.1:{self.port}",
            "  option httpchk OPTIONS /primary",
            "  http-check expect status 200",
            "  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions",
            *servers,
        ]
        self.file = self.folder / "haproxy.cfg"
        self.file.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def command(self) -> Sequence[str | Path]:
        return ["haproxy", "-db", "-f", self.file]

    def ready(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


class Replicated(Clients):
    """A PostgreSQL of three nodes, reached at one port."""

    name = "postgres"

    def __init__(self, cuts: Cuts | None = None) -> None:
        self.etcd = Etcd()
        self.nodes = [Node(number, self.etcd, cuts) for number in range(1, NODES + 1)]
        self.balancer = Balancer(self.nodes)
        self.port = self.balancer.port
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for server in self.servers.values():
                stack.callback(server.close)
            self.etcd.start()
            self.nodes[0].start()
            _until(lambda: self.nodes[0].serves("primary"), "the first node to lead")
            for node in self.nodes[1:]:
                node.start()
            _until(lambda: all(node.serves("replica") for node in self.nodes[1:]), "the others to follow")
            _until(lambda: any(node.serves("synchronous") for node in self.nodes), "one to follow synchronously")
            self.balancer.start()
            _until(self._writable, "the way to the primary")  # at first it takes everybody for one
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def servers(self) -> dict[str, Server]:
        """All of them, by name."""
        return {server.name: server for server in (self.etcd, self.balancer, *self.nodes)}

    def _writable(self) -> bool:
        try:
            for _ in range(2 * NODES):  # it leads to each of them in turn
                self.tool("psql", "--quiet", "--command", "CREATE TEMPORARY TABLE written ()")
        except RuntimeError:
            return False
        return True

    def primary(self) -> Node | None:
        """Whoever leads just now."""
        return next((node for node in self.nodes if node.serves("primary")), None)

    def standby(self) -> Node | None:
        """Whoever follows synchronously."""
        return next((node for node in self.nodes if node.serves("synchronous")), None)

    def heal(self) -> None:
        """Start what has ended, and wait until one leads and the others follow, one of them synchronously."""
        for node in self.nodes:
            if not node.running:
                node.process = None
                node.start()
        _until(self.whole, "all nodes of the database to be well")

    def whole(self) -> bool:
        """One leads, the others follow."""
        followers = [node for node in self.nodes if node.serves("replica")]
        return self.primary() is not None and len(followers) == NODES - 1 and self.standby() is not None

    def switch_over(self, node: Node) -> bool:
        """Have the primary give its place to another in good order; whether it does."""
        try:
            url, body = f"http://127.0.0.1:{node.rest}/switchover", {"leader": node.member}
            return httpx.post(url, json=body, timeout=30, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False


class NatsNode(Nats):
    """One of the servers of a bus, which knows the others by their ports."""

    def __init__(self, number: int, routes: Sequence[int], cuts: Cuts | None = None) -> None:
        self.number = number
        self.routes = routes
        name = f"nats-{number + 1}"
        others = ",".join(f"nats://127.0.0.1:{port}" for port in routes)
        others = cuts.seen_by(name, others) if cuts is not None else others
        own = routes[number]
        super().__init__(
            "--cluster_name", SCOPE, "--cluster", f"nats://127.0.0.1:{own}", "--routes", others, "--no_advertise"
        )
        self.name = name
        self.watch = free_port()
        self.arguments = (*self.arguments, "--http_port", str(self.watch))

    def well(self) -> bool:
        """It has caught up with the others."""
        return self.running and _answers(f"http://127.0.0.1:{self.watch}/healthz")


class NatsTrio:
    """A bus of three servers, each with a copy of every stream."""

    name = "nats"

    def __init__(self, cuts: Cuts | None = None) -> None:
        routes = [free_port() for _ in range(NODES)]
        self.nodes = [NatsNode(number, routes, cuts) for number in range(NODES)]
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return ",".join(node.url for node in self.nodes)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for node in self.nodes:
                stack.callback(node.close)
                node.start()
            _until(lambda: all(node.well() for node in self.nodes), "the three to find each other")
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ways_to(self, node: NatsNode) -> list[tuple[str, int]]:
        """Between a server and the others, regardless of who opens them."""
        own = node.routes[node.number]
        others = [one for one in self.nodes if one is not node]
        there = [(node.name, one.routes[one.number]) for one in others]
        return [*there, *((one.name, own) for one in others), (USERS, own)]

    def heal(self) -> None:
        """Wait until all have caught up with each other."""
        _until(lambda: all(node.well() for node in self.nodes), "the three to be well")

    @property
    def servers(self) -> dict[str, Server]:
        return {node.name: node for node in self.nodes}


def _until(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {PATIENCE:.0f} s for {what}")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2, trust_env=False).status_code == 200
    except (httpx.HTTPError, json.JSONDecodeError):
        return False
