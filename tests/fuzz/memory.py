"""How much memory processes have, looked at on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

SHARES = (0.1, 0.5, 1.0)


def resident(pid: int) -> float:
    """MB that a process has in memory; 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:")), 0.0)


class Memory:
    """What some processes have together at a tenth, at half and at the end of the way."""

    def __init__(self, pids: Callable[[], Sequence[int]] = lambda: [os.getpid()]) -> None:
        self.pids = pids
        self.samples: dict[str, float] = {}

    def at(self, done: int, of: int) -> bool:
        """Look, where it is time to; whether it was."""
        for share in SHARES:
            name = f"{share:.0%}"
            if name not in self.samples and done >= share * of:
                self.samples[name] = round(sum(map(resident, self.pids())), 1)
                return True
        return False

    @property
    def line(self) -> str:
        return told(self.samples)


def told(samples: dict[str, float]) -> str:
    """In one line."""
    return "RSS " + ", ".join(f"{name} {size:.0f} MB" for name, size in samples.items())
