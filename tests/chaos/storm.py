"""Faults one after the other and beside each other, drawn by chance from a seed.

Kinds are drawn as from a deck of cards: each comes once before any comes again. So a short run has seen them all.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.faults import KINDS
from tests.chaos.world import Strike, World


@dataclass(frozen=True)
class Fault:
    """A fault that struck."""

    at: float
    """Seconds after the beginning of the run."""
    kind: str
    says: str
    seconds: float


@dataclass
class Storm:
    """All the faults of a run."""

    world: World
    every: float
    """Seconds between two faults, on average."""
    quiet: float = 0.0
    """Seconds before the first."""
    kinds: Sequence[str] = tuple(KINDS)
    table: Mapping[str, Strike] = field(default_factory=lambda: KINDS)
    """What each kind does."""
    faults: list[Fault] = field(default_factory=list)
    standing: dict[asyncio.Task[None], str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    _deck: list[str] = field(default_factory=list)
    _errors: list[Exception] = field(default_factory=list)

    async def rage(self, seconds: float) -> None:
        """Strike for so long; then take back whatever still stands."""
        end = time.monotonic() + seconds
        await asyncio.sleep(min(self.quiet, seconds))
        try:
            while (left := end - time.monotonic()) > 0:
                if self.kinds:
                    task = asyncio.create_task(self._strike(self._draw()))
                    self.standing[task] = ""
                    task.add_done_callback(self._over)
                await asyncio.sleep(min(left, self.world.random.uniform(0.5, 1.5) * self.every))
        finally:
            for task in self.standing:
                task.cancel()
            if self.standing:
                await asyncio.wait(self.standing)
        if self._errors:
            raise ExceptionGroup("faults that could not be set or taken back", self._errors)

    def _over(self, task: asyncio.Task[None]) -> None:
        del self.standing[task]
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._errors.append(error)

    def _draw(self) -> str:
        if not self._deck:
            self._deck = list(self.kinds)
            self.world.random.shuffle(self._deck)
        return self._deck.pop()

    async def _strike(self, kind: str) -> None:
        async with self.table[kind](self.world) as struck:
            if struck is None:
                if self._deck:  # the last one would come for ever, where there is nothing for it to strike
                    self._deck.insert(0, kind)
                return
            self.faults.append(Fault(time.monotonic() - self.began, kind, struck.says, struck.seconds))
            task = asyncio.current_task()
            assert task is not None
            self.standing[task] = struck.says
            await asyncio.sleep(struck.seconds)

    @property
    def seen(self) -> Counter[str]:
        """How often each kind struck."""
        return Counter(fault.kind for fault in self.faults)

    def stands(self) -> str:
        """What is wrong just now."""
        return ", ".join(says for says in self.standing.values() if says) or "all is well"
