"""Many actions under way: users ask for this and that, at whichever controller, and again when nobody answers.

Every request has a key and is repeated under it until there is an answer, so each is let in once or refused. What was
let in is remembered, to be asked for at the end. Who asks knows of a VM what the last answer said, and now and then
asks for something that makes no sense.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from tests.chaos.cell import PLACES

TIMEOUT = 4.0
"""Seconds for one try."""

AT_ONCE = 300
"""Requests under way, at most."""

NONSENSE = 0.05
"""The part of requests that are made whatever is known."""

CANCELS = 0.03
"""How often somebody changes their mind."""

RETRIES = 0.03
"""How often somebody asks once more for something from before."""

LOOK_BACK = 0.3
"""How often somebody comes back to a VM that should be gone, instead of making another."""

ENDS = {
    "create": "Running",
    "suspend": "Suspended",
    "resume": "Running",
    "reboot": "Running",
    "terminate": "Terminated",
}

HEADING = {
    "Creating": "Running",
    "Suspending": "Suspended",
    "Resuming": "Running",
    "Rebooting": "Running",
    "Terminating": "Terminated",
}
"""Where a VM on its way will probably be the next time."""

HABITS: dict[str, dict[str, int]] = {
    "": {"create": 1},
    "Running": {"suspend": 45, "reboot": 40, "terminate": 15},
    "Suspended": {"resume": 85, "terminate": 15},
    "Failed": {"terminate": 1},
    "Undefined": {"terminate": 1},
    "Terminated": {"terminate": 1},
}
"""What is asked of a VM that is known to be in a state, and how often."""


@dataclass(frozen=True)
class Asked:
    """A request that was let in."""

    operation: str
    """Its UUID."""
    path: str
    action: str

    @property
    def address(self) -> str:
        """Of the operation."""
        return f"/v1/operations/{self.path.split('/')[1]}/{self.operation}"


@dataclass
class Vm:
    """One machine of somebody's; when it is gone they make another, under a new name."""

    number: int
    generation: int = 1
    state: str = ""

    @property
    def path(self) -> str:
        return f"/chaos/m{self.number % 7}/g{self.number % 3}/vm-{self.number}-{self.generation}"

    @property
    def spec(self) -> dict[str, Any]:
        provider, region = PLACES[self.number % len(PLACES)]
        return {"provider": provider, "region": region, "cpu": 2}


@dataclass
class Load:
    """All who ask."""

    addresses: Sequence[str]
    random: Random
    vms: int
    rate: float
    """Requests a second."""
    accepted: list[Asked] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When something was let in, in seconds after the beginning."""
    counts: Counter[str] = field(default_factory=Counter)
    under_way: set[asyncio.Task[None]] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.machines = [Vm(number) for number in range(self.vms)]

    async def run(self, seconds: float) -> None:
        """Ask for so long; then wait until every request has its answer."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT, limits=LIMITS) as client:
            try:
                while loop.time() < end:
                    if len(self.under_way) < AT_ONCE:
                        task = asyncio.create_task(self._ask(client))
                        self.under_way.add(task)
                        task.add_done_callback(self._done)
                    await asyncio.sleep(self.random.expovariate(self.rate))
                while self.under_way:
                    await asyncio.wait(self.under_way)
            finally:
                for task in self.under_way:
                    task.cancel()

    def _done(self, task: asyncio.Task[None]) -> None:
        self.under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.counts[f"broken: {task.exception()!r}"] += 1

    async def _ask(self, client: httpx.AsyncClient) -> None:
        """One request, and perhaps a second thought about what it began."""
        if self.accepted and self.random.random() < RETRIES:
            await self._retry(client, self.random.choice(self.accepted))
            return
        vm = self.random.choice(self.machines)
        action, body = self._wish(vm)
        path = vm.path
        answer = await self._answer(client, f"/v1/resources{path}", body, action=action)
        if path == vm.path:
            vm.state = self._learned(vm.state, action, answer)
        begun = self._told(answer, path, action)
        if begun is not None and self.random.random() < CANCELS:
            await asyncio.sleep(self.random.uniform(0, 2))
            said = await self._answer(client, f"{begun.address}/cancel")
            self.counts["cancelled" if said.status_code == 202 else "cancelled too late"] += 1

    def _wish(self, vm: Vm) -> tuple[str, dict[str, Any]]:
        """What somebody wants of a VM, as far as they know it."""
        if vm.state == "Terminated" and self.random.random() > LOOK_BACK:
            vm.generation += 1
            vm.state = ""
        habits = HABITS.get(vm.state)
        if habits is None or (vm.state and self.random.random() < NONSENSE):
            habits = dict.fromkeys(ENDS, 1)
        (action,) = self.random.choices(list(habits), list(habits.values()))
        body: dict[str, Any] = {"kind": "vm"}
        if action == "create":
            body["spec"] = vm.spec
        if vm.state == "Failed":
            body |= {"force": True, "reason": "it failed"}
        return action, body

    async def _retry(self, client: httpx.AsyncClient, one: Asked) -> None:
        """Ask once more for what some operation was to do; most have done it."""
        answer = await self._answer(client, f"{one.address}/retry")
        self._told(answer, one.path, one.action, "retried ")

    def _told(self, answer: httpx.Response, path: str, action: str, how: str = "") -> Asked | None:
        """Remember what was let in, and count what was not."""
        said = answer.json()
        if answer.status_code != 202:
            self.counts["idle" if answer.status_code == 200 else f"refused {said['code']}"] += 1
            return None
        begun = Asked(said["operation"]["id"].rpartition("/")[2], path, action)
        self.accepted.append(begun)
        self.times.append(time.monotonic() - self.began)
        self.counts[f"joined {action}" if said["joined"] else f"{how}{action}"] += 1
        return begun

    async def _answer(
        self, client: httpx.AsyncClient, address: str, body: dict[str, Any] | None = None, **query: str
    ) -> httpx.Response:
        """Ask one controller after the other, under one key, until one answers."""
        key = f"{self.random.getrandbits(64):016x}"
        if address.startswith("/v1/resources/"):  # an agent may have been killed before it was heard of
            body = {"expect_agent": True, **(body or {})}
        while True:
            url = f"{self.random.choice(self.addresses)}{address}"
            try:
                answer = await client.post(url, params=query, json=body, headers={"Idempotency-Key": key})
            except httpx.TransportError as error:
                self.counts[f"repeated after {type(error).__name__}"] += 1
            else:
                if answer.status_code < 500:
                    return answer
                self.counts[f"repeated after {answer.status_code}"] += 1
            await asyncio.sleep(self.random.uniform(0.1, 0.5))

    def _learned(self, state: str, action: str, answer: httpx.Response) -> str:
        """What is known of a VM after an answer about it."""
        if answer.status_code in (200, 202):
            return ENDS[action]
        if answer.status_code == 404:
            return ""
        now = str(answer.json().get("current_state") or state)
        return HEADING.get(now, now)


LIMITS = httpx.Limits(max_connections=AT_ONCE + 10, keepalive_expiry=5)
