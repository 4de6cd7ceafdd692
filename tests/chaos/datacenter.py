"""A datacenter in a cell: two nodes, each with a libvirt whose machines are those of its test driver.

Such a libvirt keeps its machines in its own memory: who kills it, loses them. What is true then is that they are
gone, and that has to be found. It also forgets everything when the last connection to it is closed; so one is kept
open here.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stead.lifecycle.pace import DEFAULT
from tests.drivers.libvirt_world import LibvirtWorld
from tests.integration.datacenter import LANE, agent, libvirts

__all__ = ["LANE", "PLACE", "Datacenter", "running"]

PLACE = "/dc"
"""Where its nodes are."""


@dataclass(frozen=True)
class Datacenter:
    """One that runs."""

    world: LibvirtWorld

    @property
    def nodes(self) -> Sequence[str]:
        return list(self.world.daemons)

    def kill(self, node: str) -> None:
        """Its libvirt ends, with all that it had."""
        self.world.daemons[node].crash()

    def heal(self, node: str) -> None:
        """It is there again, and empty."""
        self.world.daemons[node].heal()
        self.world.ask(node, lambda connection: connection.getHostname())

    def agent(self, pace: float) -> Sequence[str]:
        """What its agents are told, with a time for calls that fits into what custody keeps for them."""
        return agent(self.world, grace=0, timeout=f"{0.9 * DEFAULT.scaled(pace).call:.1f}")


@contextmanager
def running() -> Iterator[Datacenter]:
    """One that has its nodes and nothing else."""
    folder = Path(tempfile.mkdtemp(prefix="stead-pool-"))
    try:
        with libvirts() as daemons:
            yield Datacenter(LibvirtWorld(daemons, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
