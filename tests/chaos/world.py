"""Where faults strike, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from stead.bus.consumer import ACK_WAIT
from tests.chaos.cell import Cell, Process
from tests.chaos.load import Asked

EVERYTHING = {"postgres", "nats"}
"""What nothing goes on without."""


@dataclass(frozen=True)
class Struck:
    """What a fault does, in words, and for how many seconds."""

    says: str
    seconds: float


@dataclass
class World:
    """Where faults strike, and what they go by."""

    cell: Cell
    random: Random
    custody: float
    """Seconds after which an agent that is not heard of has lost its orders."""
    hurt: set[str] = field(default_factory=set)
    """Servers that a fault has struck and that are not back yet: no other strikes them. Agents, too."""
    accepted: list[Asked] = field(default_factory=list)
    """Requests of faults that were accepted."""

    def broken(self) -> bool:
        """Whether something that everything needs is away, or may be: what is struck, or not yet healed."""
        return bool(self.hurt & EVERYTHING) or self.cell.broken()

    def undisturbed(self, name: str) -> float | None:
        """For how many seconds an agent runs undisturbed; None where it does not."""
        return None if name in self.hurt else self.cell.undisturbed(name)

    @contextmanager
    def hurting(self, name: str) -> Iterator[None]:
        """While something is struck. What was cut off counts as started anew when it no longer is."""
        self.hurt.add(name)
        try:
            yield
        finally:
            self.hurt.discard(name)
            self.cell.disturb(name)

    def short(self) -> float:
        return self.random.uniform(1, 5)

    def pause(self) -> float:
        """Seconds that a process may lose: few, or more than messages wait for their acknowledgement."""
        return self.short() + self.random.choice([0.0, ACK_WAIT])

    def some(self, processes: Sequence[Process]) -> Process | None:
        """One that is well, as long as another is."""
        well = [one for one in processes if one.well and one.name not in self.hurt]
        return self.random.choice(well) if len(well) > 1 else None

    async def set(self, *faults: dict[str, Any]) -> list[int]:
        """Put faults in force at the cloud; their ids."""
        async with self._client() as client:
            answer = await client.post("/v1/_faults", json={"faults": faults})
        return [fault["id"] for fault in answer.raise_for_status().json()["faults"]]

    async def clear(self, ids: Sequence[int]) -> None:
        """Take faults at the cloud back."""
        async with self._client() as client:
            for id in ids:
                (await client.delete(f"/v1/_faults/{id}")).raise_for_status()

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.cell.cloud.url, trust_env=False, verify=False, timeout=60)


Strike = Callable[[World], AbstractAsyncContextManager[Struck | None]]
"""None: there was nothing to be struck just now."""
