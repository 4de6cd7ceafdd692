"""A fleet: a group of many VMs over all places, and somebody who goes on asking things of all of them at once.

Beside it a smaller one, the wing, which has nothing where regions take turns: it is done sooner and asked more often.

Nobody can ask for a group with its members yet, so it is put there before the run: rows and lines in the database, as
if it had been made the long way, and the instances at the cloud.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import batched
from random import Random
from typing import Any

import asyncpg
import httpx

from stead.drivers.base import Member
from stead.drivers.sim.driver import LIMIT, Config, SimDriver
from tests.chaos.cell import PLACES, Cell
from tests.chaos.load import LIMITS, TIMEOUT, Asked, Load

FLEET, WING = "/chaos/fleet", "/chaos/wing"

WING_SHARE = 5
"""The fleet has so many times as many VMs as the wing."""

LIMITED = {
    "aws": {"members": 15, "regions": 1},
    "azure": {"members": 20, "regions": 2},
    "gcp": {"members": 100, "regions": None},
}
"""What each provider bears at once: so little that many have to wait, and at one of them more than fits a message."""

SHARES = {
    FLEET: [place for place in PLACES for _ in range(1 if place[0] == "aws" else 2)],
    WING: [place for place in PLACES if place[0] != "aws"],
}
"""Where the VMs of each are: fewer where one region at a time is served."""

ACTIONS = {"suspend": "resume", "resume": "suspend", "reboot": "reboot"}
"""What is asked of the fleet, and what after it."""

REBOOTS = 0.25
"""How often it is rebooted where it might be suspended."""

CANCELS = 0.4
"""How often somebody changes their mind about all of it."""

SINGLES = 2.0
"""Seconds between two requests for a single member, on average."""

FASTER = 0.1
"""How often one is made though nobody holds the fleet; then the fleet has to wait for that member."""

GROUP_WALK = [
    ("user", "request", "Absent", "Preparing"),
    ("controller", "next", "Preparing", "Prepared"),
    ("controller", "next", "Prepared", "Creating"),
    ("controller", "children", "Creating", "Running"),
]
VM_WALK = [("user", "request", "Absent", "Creating"), ("agent", "succeeded", "Creating", "Running")]
"""How a group and its VMs came to be: by whom, on what, from where and to where."""

_ROW = """INSERT INTO resources (path, kind, state, fence, lane, token, spec, observe_at)
    SELECT $1::text, $2::text, 'Running', 1, $3, gen_random_uuid(), $4::jsonb,
           CASE WHEN $2::text = 'vm' THEN now() + interval '1 minute' END"""
_LINE = """INSERT INTO journal (path, kind, actor, trigger, detail, source, target)
    VALUES ($1, $2, $3, $4, 'create', $5, $6)"""
_FACTS = "UPDATE resources SET facts = jsonb_build_object('id', $2::text) WHERE path = $1"


async def make(cell: Cell, vms: int) -> None:
    """Put a fleet of so many VMs there, and its wing, at a cloud that takes no time for it."""
    connection = await asyncpg.connect(cell.dsn, timeout=5)
    try:
        rows = [
            (member(group, n), *SHARES[group][n % len(SHARES[group])])
            for group, size in sizes(vms).items()
            for n in range(size)
        ]
        told = [
            (path, "vm", f"{provider}.{region}", f'{{"provider": "{provider}", "region": "{region}", "cpu": 2}}')
            for path, provider, region in rows
        ]
        async with connection.transaction():
            await connection.executemany(_ROW, [*((group, "mci", "", "{}") for group in SHARES), *told])
        for place in PLACES:
            await _instances(cell, connection, place, [path for path, *where in rows if tuple(where) == place])
        lines = [(group, "mci", *step) for group in SHARES for step in GROUP_WALK]
        lines += [(path, "vm", *step) for path, *_ in rows for step in VM_WALK]
        async with connection.transaction():
            await connection.executemany(_LINE, lines)
    finally:
        await connection.close()


async def _instances(
    cell: Cell, connection: asyncpg.Connection[asyncpg.Record], place: tuple[str, str], paths: Sequence[str]
) -> None:
    """Make what the rows of one place stand for."""
    provider, region = place
    rows = await connection.fetch("SELECT path, token::text FROM resources WHERE path = ANY ($1::text[])", paths)
    driver = SimDriver(Config(url=cell.cloud.url, provider=provider, region=region, timeout=60))
    try:
        for part in batched(rows, LIMIT):
            spec = {"provider": provider, "region": region, "cpu": 2}
            members = [Member(path=row["path"], token=row["token"], spec=spec, facts={}) for row in part]
            results = await driver.perform("create", members, part[0]["token"])
            await connection.executemany(_FACTS, [(result.path, result.facts["id"]) for result in results])
    finally:
        await driver.close()


async def limit(cell: Cell) -> None:
    """Say what providers bear at once."""
    async with httpx.AsyncClient(base_url=cell.addresses[0], trust_env=False, verify=False, timeout=60) as client:
        for provider, limits in LIMITED.items():
            (await client.put(f"/v1/cells/-/providers/{provider}/limits", json=limits)).raise_for_status()


def sizes(vms: int) -> dict[str, int]:
    """How many VMs each group has, where the fleet has so many."""
    return {FLEET: vms, WING: vms // WING_SHARE}


def member(group: str, number: int) -> str:
    """The path of one of its VMs."""
    return f"{group}/g/vm-{number:05}"


@dataclass
class FleetLoad:
    """Those who ask things of the fleet: one for each group, of all of it, and one of single members."""

    load: Load
    """Through which it is asked, and which remembers what was let in."""
    random: Random
    vms: int
    pause: float = 1.0
    """Seconds between an end and what is asked next, at most."""
    held: bool = False
    """Whether something is under way about all of the fleet, as far as is known."""

    async def run(self, seconds: float) -> None:
        """Ask for so long, then wait for the last end; nobody waits for single members."""
        if not self.vms:
            return
        end = asyncio.get_running_loop().time() + seconds
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=TIMEOUT, limits=LIMITS) as client:
            asking = [self._all(client, group, end) for group in SHARES]
            await asyncio.gather(*asking, self._singles(client, end))

    async def _all(self, client: httpx.AsyncClient, group: str, end: float) -> None:
        loop = asyncio.get_running_loop()
        action, failed = "suspend", ""
        while loop.time() < end:
            if failed:
                begun = await self._retry(client, group, failed, action)
            else:
                begun = await self._ask(client, group, action, "mci")
            failed = ""
            if begun is not None:
                self.held = self.held or group == FLEET
                outcome = await self._ended(client, begun, end)
                self.held = self.held and group != FLEET
                failed = begun.operation if outcome in ("failed", "cancelled") else ""
            if not failed:  # where nobody could follow, something else may be possible
                action = self._next(action)
            await asyncio.sleep(self.random.uniform(0, self.pause))

    def _next(self, action: str) -> str:
        follows = ACTIONS[action]
        if follows == "reboot" or (follows == "suspend" and self.random.random() < REBOOTS):
            return "suspend" if action == "reboot" else "reboot"
        return follows

    async def _ask(self, client: httpx.AsyncClient, path: str, action: str, kind: str) -> Asked | None:
        answer = await self.load._answer(client, f"/v1/resources{path}", {"kind": kind}, action=action)
        return self.load._told(answer, path, action, f"{path.rpartition('/')[2] if kind == 'mci' else 'member'}: ")

    async def _retry(self, client: httpx.AsyncClient, group: str, operation: str, action: str) -> Asked | None:
        answer = await self.load._answer(client, f"{Asked(operation, group, action).address}/retry")
        return self.load._told(answer, group, action, f"{group.rpartition('/')[2]}: retried ")

    async def _ended(self, client: httpx.AsyncClient, begun: Asked, end: float) -> str:
        """How an operation ended, perhaps after it was cancelled; empty where the run is over before."""
        loop = asyncio.get_running_loop()
        if self.random.random() < CANCELS:
            await asyncio.sleep(self.random.uniform(0.5, 2))
            said = await self.load._answer(client, f"{begun.address}/cancel")
            self.load.counts[f"group: cancelled{'' if said.status_code == 202 else ' too late'}"] += 1
        while loop.time() < end:
            with suppress(httpx.TransportError):
                url = self.random.choice(self.load.addresses)
                answer = await client.get(f"{url}{begun.address}")
                now: dict[str, Any] = answer.json() if answer.status_code == 200 else {}
                if now.get("outcome"):
                    self.load.counts[f"group: ended {now['outcome']}"] += 1
                    return str(now["outcome"])
            await asyncio.sleep(0.2)
        return ""

    async def _singles(self, client: httpx.AsyncClient, end: float) -> None:
        """Members are somebody's VMs as well: whoever asks for one finds it held, or is faster."""
        loop = asyncio.get_running_loop()
        while (left := end - loop.time()) > 0:
            path = member(FLEET, self.random.randrange(self.vms))
            action = self.random.choice(list(ACTIONS))
            if self.held or self.random.random() < FASTER:
                await self._ask(client, path, action, "vm")
            await asyncio.sleep(min(left, self.random.expovariate(1 / SINGLES)))
