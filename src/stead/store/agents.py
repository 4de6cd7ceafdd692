"""Agents: which runs of them are connected, and which of these their sites were notified of."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stead.store.statements import StorePart

AGENT_TIMEOUT = 30.0
"""Seconds without a word after which an agent is away."""


@dataclass(frozen=True, slots=True)
class PresentAgent:
    """A run of an agent that is there, and what it serves."""

    agent: str
    epoch: int
    lanes: Sequence[str]
    version: str = ""
    successor: bool = False
    rejected: Mapping[str, str] = field(default_factory=dict)
    """By lane, why the provider rejects the agent."""
    clock_offset: float = 0.0
    """Seconds by which its clock is ahead of the database's."""


class Agents(StorePart):
    """Runs of agents, and which of them their sites were told of."""

    async def record_presence(self, said: Sequence[PresentAgent], sites: str) -> dict[tuple[str, int], int]:
        """Record runs of agents that are connected. Lanes that begin with `sites` lead to sites.

        The answer: runs that are superseded on one of their lanes, by name and epoch, each with the newest epoch.
        """
        names, epochs = [each.agent for each in said], [each.epoch for each in said]
        about = [each.version for each in said], [each.successor for each in said]
        lanes = ["\n".join(each.lanes) for each in said]
        rejected = [json.dumps(dict(each.rejected)) for each in said]
        offsets = [each.clock_offset for each in said]
        rows = await self._sql.fetch("record_agents", names, epochs, *about, lanes, sites, rejected, offsets)
        return {(r["name"], r["epoch"]): r["by"] for r in rows}

    async def read_all(self) -> list[Mapping[str, Any]]:
        """All agents that have an identity, and all that were heard of."""
        return [dict(r) for r in await self._sql.fetch("list_agents", AGENT_TIMEOUT)]

    async def find_superseded(self, runs: Collection[tuple[str, int]]) -> dict[tuple[str, int], frozenset[str]]:
        """Of runs of agents, those whose name a newer run has: the lanes that the newer one serves."""
        if not runs:
            return {}
        names, epochs = zip(*runs, strict=True)
        rows = await self._sql.fetch("find_superseded_runs", list(names), list(epochs))
        return {(r["name"], r["epoch"]): frozenset(r["lanes"]) for r in rows}

    async def read_last_epochs(
        self, asked: Sequence[tuple[str, Sequence[str]]]
    ) -> list[tuple[int, list[list[str]], list[str]]]:
        """Of agents and the lanes of sites that each serves: the latest epoch that was heard of, of the agent or from
        there, 0 where there was none; the sites, each with lane, path and state; and the lanes of forgotten sites."""
        serves = [(n, lane) for n, (_, lanes) in enumerate(asked, 1) for lane in lanes]
        numbers, lanes = zip(*serves, strict=True) if serves else ((), ())
        rows = await self._sql.fetch("read_last_epochs", [agent for agent, _ in asked], list(numbers), list(lanes))
        return [(r["epoch"], r["sites"], list(r["forgotten"])) for r in rows]

    async def list_unannounced(self, away: float, limit: int) -> list[Mapping[str, Any]]:
        """Agents that have connected from a site which has not heard of it yet; so many sites are met at a time."""
        return [dict(r) for r in await self._sql.fetch("list_unannounced_agents", away, limit)]

    async def mark_announced(self, known: Sequence[tuple[str, int, int]]) -> None:
        """Sites have heard of agents: by lane and epoch, the notify-ids."""
        lanes, epochs, ids = zip(*known, strict=True)
        await self._sql.fetch("mark_agents_announced", list(lanes), list(epochs), list(ids))

    async def list_missing(self, away: float, limit: int) -> list[Mapping[str, Any]]:
        """Agents of sites that were not heard of for so many seconds."""
        return [dict(r) for r in await self._sql.fetch("list_missing_agents", away, limit)]

    async def remove(self, known: Sequence[tuple[str, int]], away: float) -> None:
        """Sites have heard that agents are gone, by lane and epoch."""
        lanes, epochs = zip(*known, strict=True)
        await self._sql.fetch("delete_agents", list(lanes), list(epochs), away)

    async def read_notify_ids(self, runs: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """By lane and epoch, the notify-ids of runs that their sites have heard of."""
        lanes, epochs = zip(*runs, strict=True)
        rows = await self._sql.fetch("read_notify_ids", list(lanes), list(epochs))
        return {(r["lane"], r["epoch"]): r["notify"] for r in rows}
