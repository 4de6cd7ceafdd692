"""Those who have machines in a datacenter, each with a disk, and one who puts its nodes in maintenance.

They know of a machine what the interface last showed, and ask for what can be asked of it then. A machine that was
lost with its node they delete or destroy, and make another under a new name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

from tests.chaos.datacenter import LANE, PLACE
from tests.chaos.load import LIMITS, TIMEOUT, Asked, Load

MACHINES = 4
"""Of each of them."""

PAUSE = 0.5
"""Seconds between two wishes for one thing, on average."""

CANCELS = 0.05
"""How often somebody changes their mind."""

DRAINS = 2.0
"""Seconds for which a node stays as it is, on average."""

MACHINE: Mapping[str, Mapping[str, int]] = {
    "": {"deploy": 1},
    "RUNNING": {"pause": 4, "stop": 4, "reboot": 2, "reset": 1, "delete": 2, "destroy": 1},
    "PAUSED": {"resume": 5, "stop": 2, "reboot": 1, "delete": 1, "destroy": 1},
    "HALTED": {"start": 6, "delete": 3, "destroy": 1},
    "DELETED": {"restore": 3, "destroy": 2},
    "ERROR": {"delete": 1, "destroy": 2},
}
DISK: Mapping[str, Mapping[str, int]] = {
    "": {"create": 1, "assign": 2},
    "CREATED": {"attach": 4, "delete": 2, "destroy": 1},
    "ASSIGNED": {"detach": 3, "destroy": 1},
    "DELETED": {"restore": 3, "destroy": 2},
    "TOBEDELETED": {"destroy": 1},
    "ERROR": {"delete": 1, "destroy": 2},
}
"""What is asked of a thing in a state, and how often. Of what is on its way, anything: they are told no."""

NONSENSE = 0.1
"""How often something is asked of what is on its way."""


@dataclass
class TenantLoad:
    """All of them."""

    load: Load
    """Through which it is asked, and which remembers what was let in."""
    random: Random
    tenants: int

    async def run(self, seconds: float) -> None:
        """Ask for so long."""
        if not self.tenants:
            return
        end = asyncio.get_running_loop().time() + seconds
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT, limits=LIMITS) as client:
            for node in ("n1", "n2"):
                await self._ask(client, f"{PLACE}/{node}", "create", "node", lane=LANE)
            machines = [(f"/tenant{n}", m) for n in range(self.tenants) for m in range(MACHINES)]
            everybody = [self._machine(client, space, m, end) for space, m in machines]
            await asyncio.gather(*everybody, self._maintenance(client, end))

    async def _machine(self, client: httpx.AsyncClient, space: str, number: int, end: float) -> None:
        """A machine and its disk, by turns."""
        turn = {"machine": 1, "disk": 1}
        while asyncio.get_running_loop().time() < end:
            kind = self.random.choices(["machine", "disk"], [3, 2])[0]
            machine = f"{space}/space/m{number}-{turn['machine']}"
            path = machine if kind == "machine" else f"{space}/space/d{number}-{turn['disk']}"
            state = str((await self._get(client, f"/v1/resources{path}")).get("state", ""))
            if state == "DESTROYED":
                turn[kind] += 1
                continue
            habits = (MACHINE if kind == "machine" else DISK).get(state)
            if habits is None and self.random.random() < NONSENSE:
                habits = (MACHINE if kind == "machine" else DISK)["ERROR"]
            if habits is not None:
                (action,) = self.random.choices(list(habits), list(habits.values()))
                spec = {"cpu": 1, "memory": 64} if kind == "machine" else {"size": 1, "machine": machine}
                body = {"lane": LANE, "spec": spec} if not state else {}
                begun = await self._ask(client, path, action, kind, **body)
                if begun is not None and self.random.random() < CANCELS:
                    await asyncio.sleep(self.random.uniform(0, 1))
                    said = await self.load._answer(client, f"{begun.address}/cancel")
                    self.load.counts[f"{kind}: cancelled{'' if said.status_code == 202 else ' too late'}"] += 1
            await asyncio.sleep(self.random.expovariate(1 / PAUSE))

    async def _maintenance(self, client: httpx.AsyncClient, end: float) -> None:
        """One node after the other, so that there is always one to go to."""
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            node = f"{PLACE}/{self.random.choice(['n1', 'n2'])}"
            for action in ("maintain", "enable"):
                await asyncio.sleep(min(self.random.expovariate(1 / DRAINS), max(0.0, end - loop.time())))
                begun = await self._ask(client, node, action, "node")
                if begun is not None:
                    await self._ended(client, begun, end)

    async def _ended(self, client: httpx.AsyncClient, begun: Asked, end: float) -> None:
        while asyncio.get_running_loop().time() < end:
            now = await self._get(client, begun.address)
            if now.get("outcome"):
                self.load.counts[f"node: {begun.action} ended {now['outcome']}"] += 1
                return
            await asyncio.sleep(0.2)

    async def _ask(self, client: httpx.AsyncClient, path: str, action: str, kind: str, **body: Any) -> Asked | None:
        answer = await self.load._answer(client, f"/v1/resources{path}", {"kind": kind, **body}, action=action)
        return self.load._told(answer, path, action, f"{kind}: ")

    async def _get(self, client: httpx.AsyncClient, address: str) -> dict[str, Any]:
        for _ in range(50):
            with suppress(httpx.TransportError):
                answer = await client.get(f"{self.random.choice(self.load.addresses)}{address}")
                if answer.status_code < 500:
                    said: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
                    return said
            await asyncio.sleep(0.2)
        return {}
