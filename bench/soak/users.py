"""Those who ask: each has an infrastructure of two VMs, takes it through its life, and then has another."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from bench.fleet import LANES

VM = "/all/1"
"""Where the first VM of an infrastructure is, below it."""

LIFE = (
    ("", "create"),
    (VM, "suspend"),
    (VM, "resume"),
    (VM, "reboot"),
    ("", "suspend"),
    ("", "resume"),
    ("", "delete"),
)
"""What is asked of an infrastructure or its VM, one after the other; in the end nothing is left of it."""

AT_ONCE = 16
"""Requests at a time when as many as possible are made."""


@dataclass
class User:
    """Somebody, and how far they have come."""

    number: int
    lives: int = 0
    step: int = 0

    @property
    def path(self) -> str:
        """Of their infrastructure."""
        return f"/soak{self.number % 20}/i{self.number}-{self.lives}"

    @property
    def spec(self) -> dict[str, object]:
        provider, region = LANES[self.number % len(LANES)].split(".")
        group = {
            "name": "all",
            "provider": provider,
            "region": region,
            "size": 2,
            "spec": "small",
            "image": "debian-12",
        }
        return {"subgroups": [group]}

    def go_on(self) -> None:
        """To the next action, perhaps of the next infrastructure."""
        self.step = (self.step + 1) % len(LIFE)
        self.lives += self.step == 0


@dataclass
class Users:
    """All of them, who take turns."""

    urls: Sequence[str]
    count: int
    told: Counter[str] = field(default_factory=Counter)
    """How many requests were answered how."""
    waits: list[float] = field(default_factory=list)
    """Seconds that answers took, since somebody last took this list."""
    turn: int = 0

    def __post_init__(self) -> None:
        self.everybody = [User(number) for number in range(self.count)]

    @property
    def accepted(self) -> int:
        return self.told["accepted"]

    async def flat_out(self, seconds: float) -> None:
        """Ask as fast as answers come."""
        end = time.monotonic() + seconds

        async def one_after_the_other(web: httpx.AsyncClient) -> None:
            while time.monotonic() < end:
                await self._ask(web, self._next())

        async with _web() as web, asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(one_after_the_other(web))

    async def at_rate(self, rate: float, seconds: float) -> None:
        """Ask so often, whether answers come or not."""
        began = time.monotonic()
        async with _web() as web, asyncio.TaskGroup() as group:
            for i in range(round(rate * seconds)):
                await asyncio.sleep(max(0.0, began + i / rate - time.monotonic()))
                group.create_task(self._ask(web, self._next()))

    def _next(self) -> User:
        self.turn += 1
        return self.everybody[self.turn % self.count]

    async def _ask(self, web: httpx.AsyncClient, user: User) -> None:
        below, action = LIFE[user.step]
        body = {"kind": "vm" if below else "mci", **({"spec": user.spec} if action == "create" else {})}
        key = f"{user.path}:{user.step}"
        url = f"{self.urls[self.turn % len(self.urls)]}/v1/resources{user.path}{below}"
        began = time.perf_counter()
        try:
            answer = await web.post(url, params={"action": action}, json=body, headers={"Idempotency-Key": key})
        except httpx.HTTPError as error:  # a connection that was closed just then; their next turn has the same key
            self.told[type(error).__name__] += 1
            return
        self.waits.append(time.perf_counter() - began)
        if answer.status_code == 202:
            self.told["accepted"] += 1
            user.go_on()
        else:  # the last is still under way, which their next turn finds ended
            self.told[str(answer.json().get("code", answer.status_code))] += 1


def _web() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=100, keepalive_expiry=2)  # before a server ends what nobody uses
    return httpx.AsyncClient(trust_env=False, timeout=60, limits=limits)
