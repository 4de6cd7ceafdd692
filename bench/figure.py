"""One measured figure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """What was measured, what it has to be, and what it was measured beside."""

    name: str
    value: float
    unit: str
    beside: str
    """The other side of a ratio, or what else was running."""
    bar: float | None = None
    at_most: bool = False
    """The bar is a ceiling."""
    detail: dict[str, Any] = field(default_factory=dict)
    """The rates that the figure was made of."""

    @property
    def met(self) -> bool | None:
        """Whether it reaches its bar; None where it has none."""
        if self.bar is None:
            return None
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def written(self) -> dict[str, Any]:
        """For `results.json`."""
        return {**asdict(self), "met": self.met}


def middle(values: list[float]) -> float:
    """The median: one bad round on a busy machine does not count."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
