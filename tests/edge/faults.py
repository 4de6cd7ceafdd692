"""What is done to links, to the clouds behind them, and to the processes at both ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.chaos import faults
from tests.chaos.cell import in_thread
from tests.chaos.world import Strike, Struck, World
from tests.edge.cell import EdgeCell, PlaceCloud
from tests.edge.links import Link


@dataclass
class EdgeWorld(World):
    """Where faults strike."""

    def __post_init__(self) -> None:
        assert isinstance(self.cell, EdgeCell)
        self.edge = self.cell

    def free(self, share: float = 0.0) -> list[int]:
        """Links that are well, one or about so large a part of all of them."""
        well = [n for n, link in enumerate(self.edge.links.states) if link is self.edge.links.usual]
        count = max(1, round(share * len(self.edge.clouds)))
        return self.random.sample(well, min(count, len(well)))

    async def slow(self, cloud: PlaceCloud, seconds: float) -> None:
        """Whatever is done at a cloud takes so long, and up to as long again, for good."""
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=60) as client:
            fault = {"kind": "slow", "seconds": seconds, "jitter": seconds}
            (await client.post(f"{cloud.url}/v1/_faults", json={"faults": [fault]})).raise_for_status()

    def link(self) -> float:
        """Seconds that a link is bad: few, or more than anybody waits for a word from there."""
        return self.random.uniform(1, 6) + self.random.choice([0.0, 0.0, self.custody, 2 * self.custody])


def _edge(world: World) -> EdgeWorld:
    assert isinstance(world, EdgeWorld)
    return world


def _bad(says: str, link: Mapping[str, Any], share: float = 0.0) -> Strike:
    """Some links are like this for a while."""

    @asynccontextmanager
    async def strike(told: World) -> AsyncIterator[Struck | None]:
        world = _edge(told)
        struck = world.free(share)
        if not struck:
            yield None
            return
        links = world.edge.links
        try:
            for place in struck:
                await in_thread(links.set, place, Link(**link))
            yield Struck(f"{says} at {', '.join(map(str, struck))}", world.link())
        finally:
            await in_thread(links.heal, *struck)

    return strike


def _cloud(says: str, *troubles: Mapping[str, Any]) -> Strike:
    """The cloud of one place is told of faults."""

    @asynccontextmanager
    async def strike(told: World) -> AsyncIterator[Struck | None]:
        world = _edge(told)
        place = world.random.randrange(len(world.edge.clouds))
        async with httpx.AsyncClient(
            base_url=world.edge.clouds[place].url, trust_env=False, verify=False, timeout=60
        ) as client:
            answer = await client.post("/v1/_faults", json={"faults": troubles})
            ids = [fault["id"] for fault in answer.raise_for_status().json()["faults"]]
            try:
                yield Struck(f"the cloud of {place} {says}", world.random.uniform(2, 8))
            finally:
                for id in ids:
                    (await client.delete(f"/v1/_faults/{id}")).raise_for_status()

    return strike


KINDS: dict[str, Strike] = {
    "link-cut": _bad("nothing gets through", {"cut": "both"}),
    "link-cut-up": _bad("nothing gets to the cell", {"cut": "up"}),
    "link-cut-down": _bad("nothing comes from the cell", {"cut": "down"}),
    "many-cut": _bad("nothing gets through", {"cut": "both"}, share=0.4),
    "link-loses": _bad("packets get lost", {"loss": 0.25}),
    "link-slow": _bad("packets take their time", {"delay": 0.4, "jitter": 0.1}),
    "link-reorders": _bad("packets overtake each other", {"delay": 0.02, "jitter": 0.3}),
    "link-repeats": _bad("packets come twice", {"delay": 0.01, "jitter": 0.05, "duplicate": 0.3}),
    "link-awful": _bad("the link is awful", {"loss": 0.1, "delay": 0.1, "jitter": 0.4, "duplicate": 0.1}, share=0.3),
    "agent-killed": faults.agent_killed,
    "agent-stopped": faults.agent_stopped,
    "agent-oversleeps": faults.agent_oversleeps,
    "controller-killed": faults.controller_killed,
    "carrier-killed": faults.carrier_killed,
    "controller-oversleeps": faults.controller_oversleeps,
    "bus-killed": faults.bus_killed,
    "bus-lost": faults.bus_lost,
    "bus-repeats": faults.bus_repeats,
    "database-restarted": faults.database_restarted,
    "cloud-fails": _cloud("fails at some", {"kind": "fail", "members": True, "fraction": 0.3, "code": "NoRoom"}),
    "cloud-spoils": _cloud("breaks what it makes", {"kind": "broken-result", "fraction": 0.3}),
    "cloud-drops": _cloud("breaks connections", {"kind": "drop", "fraction": 0.4}),
    "cloud-loses": _cloud("does things and does not say so", {"kind": "lost", "fraction": 0.4}),
    "cloud-slow": _cloud("does things late", {"kind": "latency", "seconds": 0.5, "jitter": 2}),
}
"""Every kind of fault."""
