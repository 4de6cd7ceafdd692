"""For any history before and after a backup, a restore changes no machine, and nothing is done twice.

Machines of one cell each live a generated history; a backup is taken at a random moment, the histories end, and the
backup is restored. Then an operator cancels some of what was in progress, and releases the rest.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from contextlib import suppress
from functools import partial

import pytest

from stead import backup
from stead.client import Client, DriftReport, ProblemError
from tests.integration.doomed import PACE
from tests.integration.served import served
from tests.integration.test_backup import Life, life
from tests.integration.test_restore import probed
from tests.integration.whole import agent, until
from tests.tiers import first_fast

__all__ = ["life"]

FEW, MACHINES, LIVES = 20, 20, 25
"""Histories in the fast tier; histories in one of the other lives, and lives."""

NEXT = {"Running": ("suspend", "reboot", "terminate"), "Suspended": ("resume", "terminate")}
WEIGHTS = {"create": 1, "suspend": 4, "resume": 4, "reboot": 2, "terminate": 1}
STEPS = 4
"""Actions in a history, at most."""

RESOURCES = "SELECT path, state, operation IS NOT NULL AS busy FROM resources"
LEFT = "SELECT count(*) FROM operations"

PATIENCE = 180.0
"""Seconds for all histories of a life, on a machine that has other things to do."""


class Histories:
    """What users do to the machines of a life: one change of a machine after the other, many machines at once."""

    def __init__(self, life: Life, client: Client, seed: int, machines: int) -> None:
        self.life, self.client = life, client
        self.chance = random.Random(seed)
        self.left = {f"/ns/m/g/{number}": self.chance.randint(1, STEPS) for number in range(machines)}
        self.asked = 0

    async def play(self) -> None:
        """All of them, with a backup at a random moment."""
        moment = self.chance.randint(len(self.left) // 2, sum(self.left.values()))
        taking: asyncio.Future[None] | None = None
        async with asyncio.timeout(PATIENCE):
            while await self._step():
                if taking is None and self.asked >= moment:
                    taking = asyncio.ensure_future(self._back_up())
                await asyncio.sleep(0.05)
            await (taking or self._back_up())

    async def _back_up(self) -> None:
        await backup.take(self.life.dsn, self.life.folder / "one.stead", self.life.cell)

    async def _step(self) -> bool:
        """Ask for the next change of what is at rest; whether anything is left to do or in progress."""
        found = {r["path"]: r for r in await self.life.fetch(RESOURCES)}
        for path, left in self.left.items():
            allowed = NEXT.get(found[path]["state"], ()) if path in found else ("create",)
            if not left or (path in found and found[path]["busy"]):
                continue
            self.left[path] = left - 1 if allowed else 0
            if allowed:
                action = self.chance.choices(allowed, [WEIGHTS[one] for one in allowed])[0]
                spec = {"cpu": 2}
                await self.client.request_action(
                    path, action, kind="vm", spec=spec, lane=self.life.lane, expect_agent=True
                )
                self.asked += 1
        return any(self.left.values()) or any(r["busy"] for r in found.values()) or len(found) < len(self.left)


async def deeds(life: Life, tokens: list[str]) -> dict[str, Counter[str]]:
    """By token, what was ever done to its machines, and how often."""
    found = await asyncio.gather(*(life.world.history(token) for token in tokens))
    each = [[line["verb"] for one in instances for line in one["history"]] for instances in found]
    return {token: Counter(verbs) for token, verbs in zip(tokens, each, strict=True)}


async def tokens_of(life: Life) -> list[str]:
    return [r["token"] for r in await life.fetch("SELECT token::text FROM resources ORDER BY path")]


async def truths(client: Client) -> dict[str, DriftReport]:
    return {one.path: one async for one in client.drift(below="/")}


async def cancelled(client: Client, life: Life, chance: random.Random) -> set[str]:
    """An operator gives some of what is in progress up; the paths."""
    found = set()
    for record in await life.fetch("SELECT id::text, path FROM operations ORDER BY path"):
        if chance.random() < 0.5:
            with suppress(ProblemError):  # what is undone already cannot be cancelled
                await client.cancel(record["id"])
                found.add(record["path"])
    return found


async def one_life(life: Life, seed: int, machines: int) -> None:
    chance = random.Random(-seed - 1)
    working = partial(agent, life.bus, life.cell, life.world, timeout=PACE.call)
    async with served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s, Client(s.url) as client, working():
        await Histories(life, client, seed, machines).play()
        tokens = await tokens_of(life)
    before = await deeds(life, tokens)
    await life.back(life.folder / "one.stead", hold=True, custody=PACE.custody)
    async with served(life.dsn, life.bus, cell=life.cell, pace=PACE) as s, Client(s.url) as client, working():
        await probed(life)
        assert await deeds(life, tokens) == before, "no machine changes by the restore"
        given_up = await cancelled(client, life, chance)

        async def ended() -> bool:
            left = await life.fetch("SELECT path FROM operations")
            return not given_up & {r["path"] for r in left}

        await until(ended, 60)
        assert await deeds(life, tokens) == before, "to cancel is to observe"
        shown = await truths(client)
        await client.release_hold()

        async def at_rest() -> bool:
            return bool((await life.fetch(LEFT))[0]["count"] == 0)

        await until(at_rest, 120)
        rows = await life.fetch("SELECT path, token::text FROM resources")
        after = await deeds(life, tokens)
        for row in rows:
            done = after[row["token"]] - before[row["token"]]
            assert done <= Counter([shown[row["path"]].next_action]), (
                f"{row['path']}: {done}, shown: {shown[row['path']]}"
            )
        for path, truth in (await truths(client)).items():
            settled = truth.matches or truth.next_action.startswith("record") or truth.reason in ("unsaid", "final")
            assert settled, f"{path}: {truth}"
        twice = (await life.world.get("_ledger"))["twice"]
        assert not [one for one in twice["deeds"] if one["token"] in before]
        assert not [one for one in twice["instances"] if one["token"] in before]


@pytest.mark.parametrize(("seed", "machines"), first_fast([(0, FEW), *((seed, MACHINES) for seed in range(LIVES))]))
async def test_restored_histories_change_no_machine_before_the_release(life: Life, seed: int, machines: int) -> None:
    await one_life(life, seed, machines)
