"""What came of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fuzz.memory import told

GROWTH = 1.25
"""By how much memory may have grown from half of the way to its end."""
SPARE = 30.0
"""MB that are no growth: what is kept for a while, and what the allocator holds back."""


@dataclass
class Result:
    """How much bad input there was, what was answered, and what should not have been."""

    name: str
    count: int
    seed: int
    answers: Mapping[str, int]
    failures: list[str]
    memory: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def flat(self) -> bool:
        """Whether memory stayed as it was over the second half."""
        half, end = self.memory.get("50%", 0.0), self.memory.get("100%", 0.0)
        return end <= max(half * GROWTH, half + SPARE)

    @property
    def clean(self) -> bool:
        return not self.failures and self.flat

    @property
    def line(self) -> str:
        said = ", ".join(f"{name} {times}" for name, times in sorted(self.answers.items()))
        memory = f"; {told(self.memory)}" if self.memory else ""
        wrong = f"{len(self.failures)} failures" + ("" if self.flat else ", memory grows")
        return f"{self.name}: {self.count} in {self.seconds:.0f} s (seed {self.seed}); {said}{memory}; {wrong}"
