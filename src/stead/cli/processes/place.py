"""Where the processes of a cell find it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stead.lifecycle.files.times import seconds
from stead.lifecycle.pace import DEFAULT


@dataclass(frozen=True)
class Place:
    """Where a cell's database and bus are, and as whom one speaks on the bus."""

    database: str
    nats: str
    cell: str
    pace: float = 1.0
    identity: Path | None = None
    lifetime: str = "30d"
    """Of what agents connect with."""
    leaves: bool = False
    """Whether agents of sites may be behind leaf nodes."""
    webhooks: Sequence[str] = ()
    """How addresses begin at which owners of leases may have something told."""
    replicas: int = 1
    """Servers of the bus that keep each message."""
    kept: str = "90d"
    """For how long what has ended is."""
    retention: str = "7d"
    """For how long what was deleted lies in the recycle bin."""

    def words(self) -> list[str]:
        """The same, as it is told to another process; without addresses."""
        given = ["--identity", str(self.identity)] if self.identity is not None else []
        given += ["--leaf-nodes"] if self.leaves else []
        given += [word for prefix in self.webhooks for word in ("--webhooks", prefix)]
        given += ["--bus-replicas", str(self.replicas), "--keep-ended", self.kept, "--retention", self.retention]
        return ["--cell", self.cell, "--pace", str(self.pace), *given, "--agent-lifetime", self.lifetime]

    def addresses(self) -> dict[str, str]:
        """They go by the environment: in them may be passwords, and others can read a command line."""
        return {"STEAD_DATABASE": self.database, "STEAD_NATS": self.nats}

    def options(self) -> dict[str, Any]:
        """The same, as the engine takes it."""
        return {
            "pace": replace(DEFAULT.scaled(self.pace), retention=int(seconds(self.retention))),
            "identity": self.identity,
            "lifetime": float(seconds(self.lifetime)),
            "leaves": self.leaves,
            "replicas": self.replicas,
        }
