"""What the driver is told: the nodes of a datacenter, and the storage that all of them share."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

TIMEOUT_MARGIN = 1.0
"""Seconds at the end of a call in which nothing is begun any more."""
LEFT = 4.0
"""Seconds of a call that are left after a gentle stop has failed, at the least."""

NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The nodes of a datacenter, and what they share.

    Credentials: those that libvirt itself has for an address, such as a certificate or a key of ssh.
    """

    nodes: dict[str, str] | str
    """Where libvirt is on each node, by the node's name; or the same as text: `n1=URI,n2=URI`."""
    pool: str
    """The folder that all nodes share, under the same name on each."""
    provider: str = ""
    """As the lane has it; without meaning here."""
    region: str = ""
    """As the lane has it; without meaning here."""
    hypervisor: Literal["kvm", "qemu", "test"] = "kvm"
    """What runs machines: `qemu` emulates them, `test` only keeps account of them."""
    migration: Literal["live", "saved"] = "live"
    """How a machine that is on moves to another node: as it runs, or with its memory saved to the pool in between."""
    peers: dict[str, str] | str = ""
    """How nodes reach each other to move a machine, where that differs from `nodes`."""
    grace: Annotated[float, Meta(ge=0)] = 5.0
    """Seconds that a machine has to shut down before it is switched off; 0: at once."""
    timeout: Annotated[float, Meta(ge=2 * TIMEOUT_MARGIN)] = 10.0
    """Seconds that a call may last. A cell has a limit for that, which its pace makes longer."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if not self.addresses:
            raise ValueError("it needs the addresses of its nodes")
        for name in self.addresses:
            if not NODE.fullmatch(name):
                raise ValueError(f"{name!r} is no name for a node")
        if strangers := sorted(self.meeting.keys() - self.addresses.keys()):
            raise ValueError(f"{', '.join(strangers)} is no node")
        if not self.pool.startswith("/"):
            raise ValueError("the pool is a folder, from the root on")
        if self.grace and self.timeout < self.grace + LEFT:
            raise ValueError(f"the timeout must be {LEFT:.0f} seconds longer than the grace")

    @property
    def addresses(self) -> dict[str, str]:
        """Where libvirt is on each node."""
        return _pairs(self.nodes)

    @property
    def meeting(self) -> dict[str, str]:
        """How others reach a node."""
        return _pairs(self.peers)


def _pairs(said: dict[str, str] | str) -> dict[str, str]:
    """A table, or a text that stands for one: a command line has no tables."""
    if isinstance(said, dict):
        return said
    if said.lstrip().startswith("{"):
        pairs: Any = msgspec.json.decode(said, type=dict[str, str])
        return dict(pairs)
    pairs = [part.partition("=") for part in said.split(",") if part.strip()]
    return {name.strip(): address.strip() for name, _, address in pairs}
