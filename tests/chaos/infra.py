"""Infrastructures that come and go: people who make some over all places, change them, scale them, and delete them.

One place is a strict EC2; the others are the simulated cloud's. What infrastructures share is made and removed with
them, again and again, by several at the same time.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

from tests.chaos.cell import EC2, IMAGE, PLACES
from tests.chaos.load import LIMITS, TIMEOUT, Asked, Load

POLICIES = ("continue", "rollback", "refine")

CANCELS = 0.15
"""How often somebody changes their mind."""

HABITS = {"suspend": 3, "resume": 3, "reboot": 2, "refine": 2, "scale": 4, "delete": 3}
"""What is asked of an infrastructure, and how often."""


@dataclass
class InfraLoad:
    """Those who have infrastructures: one each, and when it is gone they make another under the same name."""

    load: Load
    """Through which it is asked, and which remembers what was let in."""
    random: Random
    people: int

    async def run(self, seconds: float) -> None:
        """Ask for so long, then wait for the last end."""
        end = asyncio.get_running_loop().time() + seconds
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT, limits=LIMITS) as client:
            await asyncio.gather(*(self._one(client, f"/chaos/i{n}", end) for n in range(self.people)))

    async def _one(self, client: httpx.AsyncClient, path: str, end: float) -> None:
        loop = asyncio.get_running_loop()
        there: list[str] = []
        while loop.time() < end:
            if not there:
                groups = self._groups()
                body = {"spec": {"subgroups": groups}, "on_partial": self.random.choice(POLICIES)}
                begun = await self._ask(client, path, "create", "mci", body)
                there = [group["name"] for group in groups]
            else:
                begun = await self._change(client, path, there)
            if begun is not None:
                await self._ended(client, begun, end)
            if not await self._there(client, path):
                there = []
            await asyncio.sleep(self.random.uniform(0, 2))

    def _groups(self) -> list[dict[str, Any]]:
        """Subgroups at some places, one of them EC2 half of the time."""
        places = self.random.sample(PLACES, self.random.randint(1, 2)) + [EC2] * self.random.randint(0, 1)
        return [
            {
                "name": f"{provider}-{region}",
                "provider": provider,
                "region": region,
                "size": self.random.randint(1, 8),
                "spec": "t3.micro" if (provider, region) == EC2 else "small",
                "image": IMAGE,
            }
            for provider, region in places
        ]

    async def _change(self, client: httpx.AsyncClient, path: str, groups: list[str]) -> Asked | None:
        (action,) = self.random.choices(list(HABITS), list(HABITS.values()))
        if action != "scale":
            return await self._ask(client, path, action, "mci")
        size, group = self.random.randint(1, 8), f"{path}/{self.random.choice(groups)}"
        for way in ("scale-out", "scale-in"):
            begun = await self._ask(client, group, way, "subgroup", {"spec": {"size": size}})
            if begun is not None:
                return begun
        return None

    async def _ask(
        self, client: httpx.AsyncClient, path: str, action: str, kind: str, body: dict[str, Any] | None = None
    ) -> Asked | None:
        wish = {"kind": kind, **(body or {})}
        answer = await self.load._answer(client, f"/v1/resources{path}", wish, action=action)
        return self.load._told(answer, path, action, f"{kind}: ")

    async def _ended(self, client: httpx.AsyncClient, begun: Asked, end: float) -> None:
        """Wait for the end, perhaps after a second thought."""
        if self.random.random() < CANCELS:
            await asyncio.sleep(self.random.uniform(0, 3))
            said = await self.load._answer(client, f"{begun.address}/cancel")
            self.load.counts[f"mci: cancelled{'' if said.status_code == 202 else ' too late'}"] += 1
        while asyncio.get_running_loop().time() < end:
            now = await self._get(client, begun.address)
            if now.get("outcome"):
                self.load.counts[f"mci: {begun.action} ended {now['outcome']}"] += 1
                return
            await asyncio.sleep(0.2)

    async def _there(self, client: httpx.AsyncClient, path: str) -> bool:
        return bool((await self._get(client, f"/v1/resources{path}")).get("state"))

    async def _get(self, client: httpx.AsyncClient, address: str) -> dict[str, Any]:
        for _ in range(50):
            with suppress(httpx.TransportError):
                answer = await client.get(f"{self.random.choice(self.load.addresses)}{address}")
                if answer.status_code < 500:
                    said: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
                    return said
            await asyncio.sleep(0.2)
        return {}
