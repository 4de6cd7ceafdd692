"""What users and operators do that they should not, and what only one member suffers from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.chaos.cell import LANES, Process
from tests.chaos.load import Asked
from tests.chaos.world import Strike, Struck, World

SIZES = (70_000, 400_000, 520_000, 3_000_000)
"""Characters of a spec: a large one, two that are nearly too large, and one that is rejected."""

MEMBERS = 90
LABELS = {f"{i:02}{'n' * 60}": "v" * 200 for i in range(50)}
"""Members of an infrastructure, and their labels, as many as are allowed: too much for one message, not for two."""

WIDE = "gcp"
"""The provider that bears so many members at once."""


@asynccontextmanager
async def oversized(world: World) -> AsyncIterator[Struck | None]:
    """A user asks for more than fits into a message: a single machine, or many that are one order."""
    size, name = world.random.choice(SIZES), f"{world.random.getrandbits(40):010x}"
    provider, _, region = world.random.choice(LANES).partition(".")
    if world.random.random() < 0.5:
        spec = {"provider": provider, "region": region, "cpu": 2, "note": "x" * size}
        await _ask(world, f"/chaos/big/vm-{name}", "vm", spec)
    else:
        size = MEMBERS * len(str(LABELS))
        region = world.random.choice([lane for lane in LANES if lane.startswith(f"{WIDE}.")]).partition(".")[2]
        group = {"name": "g", "provider": WIDE, "region": region, "size": MEMBERS, "labels": LABELS}
        group |= {"spec": "small", "image": "debian-12"}
        await _ask(world, f"/chaos/big-{name}", "mci", {"subgroups": [group]})
    yield Struck(f"a spec of {size} characters", 1.0)


async def _ask(world: World, path: str, kind: str, spec: dict[str, object]) -> None:
    """Ask for it under one key until there is an answer; it may be rejected."""
    key = path.rpartition("-")[2]
    body = {"kind": kind, "spec": spec, "expect_agent": True}
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=10) as client:  # deadline: asked again
        for _ in range(60):
            url = f"{world.random.choice(world.cell.addresses)}/v1/resources{path}"
            try:
                answer = await client.post(
                    url, params={"action": "create"}, json=body, headers={"Idempotency-Key": key}
                )
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code == 202:
                world.accepted.append(Asked(answer.json()["operation"]["id"], path, "create"))
                return
            if answer is not None and answer.status_code < 500:
                return
            await asyncio.sleep(world.random.uniform(0.1, 0.5))


@asynccontextmanager
async def agent_twice(world: World) -> AsyncIterator[Struck | None]:
    """A second agent of the same name, on the same lanes. Both end each other as often as they are started."""
    one = world.some(world.cell.agents)
    if one is None:
        yield None
        return
    twin = Process(f"{one.name}-twin", one.arguments, one.planted, one.env)
    with world.hurting(one.name):
        twin.launch()
        try:
            yield Struck(f"a second {one.name}", world.pause())
        finally:
            twin.close()


USERS: dict[str, Strike] = {"spec-oversized": oversized, "agent-twice": agent_twice}
