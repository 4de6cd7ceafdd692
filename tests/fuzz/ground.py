"""What bad input is sent to: a server, an agent and a cloud, each a process, on a database and a bus of their own."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx

from stead.access.direct import create_token
from stead.dev.children import children
from stead.dev.engines import Nats, Postgres
from tests.access.house import VM
from tests.access.test_every_endpoint import BLAZAR_LEASE, NOTE, POLICY, SCALING
from tests.drivers.cloud import SimCloud
from tests.integration.test_processes import Stead
from tests.lanes import every_lane

ROLES = {"admin": "*", "operator": "shop", "viewer": "shop"}
MCI = {
    "kind": "mci",
    "expect_agent": True,
    "spec": {
        "defaults": {"provider": "sim", "region": "a", "spec": "small", "image": "debian-12"},
        "subgroups": [{"name": "g", "size": 2}],
    },
}
LANE = "sim.a"
AGENT = "a1"
ENDED = 30.0
"""Seconds for an ordinary action."""

BAD = (b"Traceback", b"the handler failed", b"CRITICAL", b"Unhandled", b"never retrieved", b"encountered error")
"""What no log may say."""


@dataclass
class Ground:
    """All that runs."""

    dsn: str
    bus: str
    cell: str
    server: Stead
    agent: Stead
    tokens: list[str]
    """None at all, one that is none, and one for each role; the admin's is the third."""
    known: dict[str, str] = field(default_factory=dict)
    """What stands in the paths of requests about things that are there."""

    def pids(self) -> list[int]:
        """Of the server, what is beside it, and the agent."""
        found = [self.server.pid, self.agent.pid]
        return found + [child for pid in found for child in children(pid)]

    def web(self) -> httpx.Client:
        """As somebody who may do everything, with a token that nobody else knows."""
        token = asyncio.run(create_token(self.dsn, f"t{secrets.token_hex(4)}", [("admin", "*")], timedelta(days=1)))
        shown = {"Authorization": f"Bearer {token}"}
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.server.port}", headers=shown, timeout=60, trust_env=False
        )

    def told(self, answer: bytes) -> str:
        """What the server's log says of a request that it failed at."""
        found = re.search(rb'"request_id":"(\w+)"', answer)
        lines = self.server.log.read_bytes().splitlines() if found else []
        return "; ".join(line.decode(errors="replace") for line in lines if found and found[1] + b" failed" in line)

    def complaints(self) -> list[str]:
        """What the logs say that they should not."""
        found = []
        for process in (self.server, self.agent):
            said = process.log.read_bytes()
            for word in BAD:
                if (at := said.find(word)) >= 0:
                    found.append(
                        f"{process.arguments[0]} says: {said[max(0, at - 1500) : at + 3000].decode(errors='replace')}"
                    )
                    break
            if not process.running:
                found.append(f"{process.arguments[0]} has ended: {said[-3000:].decode(errors='replace')}")
        return found

    def ordinary(self) -> list[str]:
        """What is wrong with an ordinary action now: nothing, if all is well."""
        path = f"/v1/resources/fit{secrets.token_hex(4)}/m/g/1"
        with self.web() as web:
            for name in [one["name"] for one in web.get("/v1/cells/-/policies").json().get("items", [])]:
                web.delete(f"/v1/cells/-/policies/{name}")
            web.put("/v1/cells/-/lanes/sim.a/limit", json={"members": 50})
            web.put("/v1/cells/-/providers/sim/limits", json={"members": 50, "regions": 50})
            try:
                for action, body, state in (("create", VM, "Running"), ("terminate", {}, "Terminated")):
                    answer = web.post(f"{path}?action={action}", json=body)
                    if answer.status_code != 202:
                        return [f"an ordinary {action} is answered with {answer.status_code}: {answer.text[:500]}"]
                    until = time.monotonic() + ENDED
                    while (now := web.get(path).json().get("state")) != state:
                        if time.monotonic() > until:
                            return [f"after an ordinary {action} it is {now} for {ENDED:g} s"]
                        time.sleep(0.1)
            except httpx.HTTPError as error:
                return [f"an ordinary action fails: {error!r}"]
        return []

    def furnish(self) -> None:
        """Something of everything, so that requests can be about it."""
        with self.web() as web:
            created: Any = web.post("/v1/resources/shop/web", json=MCI).json()
            web.put("/v1/cells/-/hosts/h1", json={"lane": LANE, "properties": {"cpus": 16}})
            web.put("/v1/queues/shop/web")
            web.put("/v1/scaling/shop/web", json=SCALING)
            web.put("/v1/cells/-/policies/none", json={"text": POLICY})
            web.put("/v1/cells/-/lifecycles/note", json={"document": NOTE})
            lease = web.post("/blazar/shop/v1/leases", json=BLAZAR_LEASE).json()
        operation = created.get("operation", {}).get("id", "")
        self.known = {
            **{
                "path": "shop/web",
                "cell": "-",
                "id": operation.rpartition("/")[2],
                "nsId": "shop",
                "mciId": "web",
                "subgroupId": "g",
                "vmId": "g-1",
            },
            **{"ns": "shop", "namespace": "shop", "name": "web", "lane": LANE, "provider": "sim", "kind": "note"},
            **{
                "/v1/leases/{path}#path": "shop/other",
                "/v1/cells/{cell}/hosts/{name}#name": "h1",
                "/v1/cells/{cell}/policies/{name}#name": "none",
            },
            **{
                "/v1/cells/{cell}/hosts/{name}/works#name": "h1",
                "/v1/cells/{cell}/tokens/{name}#name": "t",
                "/blazar/{ns}/v1/os-hosts/{id}#id": "h1",
            },
            **{
                "/blazar/{ns}/v1/leases/{id}#id": str(lease.get("lease", {}).get("id", "")),
                "token": secrets.token_hex(8),
            },
        }


@contextmanager
def ground(postgres: Postgres, nats: Nats) -> Iterator[Ground]:
    """For as long as the context lasts."""
    dsn = postgres.create_database(f"fuzz_{secrets.token_hex(4)}")
    every_lane(dsn)
    cell = f"f{secrets.token_hex(4)}"
    bus = ("--nats", nats.url, "--cell", cell)
    unlimited = [word for name in ("changes", "namespace-changes", "reads") for word in ("--rate", f"{name}=0")]
    with (
        SimCloud() as cloud,
        Stead("server", "--database", dsn, *bus, *unlimited, port_option=True) as server,
        Stead("agent", "run", *bus, "--lane", LANE, "--set", f"url={cloud.url}", "--name", AGENT) as agent,
    ):
        day = timedelta(days=1)
        tokens = [asyncio.run(create_token(dsn, role, [(role, where)], day)) for role, where in ROLES.items()]
        found = Ground(dsn, nats.url, cell, server, agent, ["", "none.such.token", *tokens])
        found.furnish()
        yield found
