"""Somebody who has clusters and apps at many sites, and goes on creating, changing and deleting them.

What is asked, how often it is repeated and what is remembered is as in any such run; only the things are others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.chaos.load import LIMITS, TIMEOUT, Load, Vm
from tests.edge.cell import NAME

APPS = 4
"""In each cluster, at most."""

AT_ONCE = 40
"""Requests under way while all of it is made for the first time."""

NONSENSE = 0.05
"""The part of requests that are made whatever is known."""

ENDS = {"create": "Ready", "update": "Ready", "delete": "NotPresent"}

HABITS: dict[str, dict[str, int]] = {
    "": {"create": 1},
    "NotPresent": {"create": 1},
    "Ready": {"update": 75, "delete": 25},
    "UpdateError": {"delete": 1},
    "CreateError": {"delete": 1},
    "DeleteError": {"delete": 1},
}
"""What is asked of a thing that is known to be in a state, and how often."""

ERRORS = ("UpdateError", "CreateError", "DeleteError")

SELDOM = 0.15
"""How often something is deleted that others are in, where it might be."""


@dataclass
class Thing(Vm):
    """A cluster, or an app in one."""

    site: str = ""
    cluster: int = 0
    app: int | None = None

    @property
    def kind(self) -> str:
        return "clusterinst" if self.app is None else "appinst"

    @property
    def path(self) -> str:
        cluster = f"/{NAME}/{self.site}/c{self.cluster}"
        return cluster if self.app is None else f"{cluster}/a{self.app}"


def things(sites: Sequence[str], instances: int) -> Iterator[Thing]:
    """So many, over all sites alike: a cluster, some apps in it, another cluster."""
    for number in range(instances):
        site, within = sites[number % len(sites)], number // len(sites)
        cluster, app = divmod(within, APPS + 1)
        yield Thing(number, site=site, cluster=cluster, app=None if app == 0 else app)


@dataclass
class EdgeLoad(Load):
    """All who ask."""

    sites: Sequence[str] = field(kw_only=True)
    versions: int = 0
    """How many specs were asked for."""

    def __post_init__(self) -> None:
        self.all = list(things(self.sites, self.vms))
        self.machines = [*self.all]

    async def fill(self) -> None:
        """Ask for everything once, clusters first; wait until the answers are there, not until it is made."""
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT, limits=LIMITS) as client:
            for apps in (False, True):
                some = asyncio.Semaphore(AT_ONCE)
                wanted = [thing for thing in self.all if (thing.kind == "appinst") is apps]
                await asyncio.gather(*(self._first(client, some, thing) for thing in wanted))

    async def _first(self, client: httpx.AsyncClient, some: asyncio.Semaphore, thing: Thing) -> None:
        async with some:
            for _ in range(100):  # its cluster may not be ready yet
                action, body = self._wish(thing)
                answer = await self._answer(client, f"/v1/resources{thing.path}", body, action=action)
                thing.state = self._learned(thing.state, action, answer)
                if self._told(answer, thing.path, action) is not None:
                    return
                await asyncio.sleep(0.2)

    def _wish(self, vm: Vm) -> tuple[str, dict[str, Any]]:
        assert isinstance(vm, Thing)
        habits = HABITS.get(vm.state, HABITS["Ready"])
        if vm.state and self.random.random() < NONSENSE:
            habits = dict.fromkeys(ENDS, 1)
        (action,) = self.random.choices(list(habits), list(habits.values()))
        if action == "delete" and vm.kind == "clusterinst" and self.random.random() > SELDOM:
            action = "update"
        body: dict[str, Any] = {"kind": vm.kind}
        if action != "delete":
            self.versions += 1
            body["spec"] = {"version": self.versions}
        if action == "delete" and vm.state in ERRORS:
            body |= {"force": True, "reason": "it failed"}
        return action, body

    def _learned(self, state: str, action: str, answer: httpx.Response) -> str:
        if answer.status_code in (200, 202):
            return ENDS[action]
        if answer.status_code == 404:
            return ""
        return str(answer.json().get("current_state") or state)
